import pytest

from brim.errors import SourceError
from brim.files.text_files import FileMatch, expand, texts


@pytest.fixture
def tree(tmp_path, monkeypatch):
    for name, data in {
        "a.md": b"one",
        "sub/b.md": b"two",
        "sub/deep/c.txt": b"three",
        "sub/logo.png": b"\x89PNG\0",
        "sub/latin.txt": b"caf\xe9",
        ".hidden/d.md": b"four",
        "sub/.e.md": b"five",
        "[odd].md": b"six",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("tree")
@pytest.mark.parametrize(
    ("patterns", "paths"),
    [
        (["a.md", "a.md", "./a.md"], ["a.md"]),
        (["sub"], ["sub/b.md", "sub/latin.txt", "sub/logo.png", "sub/deep/c.txt"]),
        (["**/*.md"], ["[odd].md", "a.md", "sub/b.md"]),
        ([".hidden"], [".hidden/d.md"]),
        (["[odd].md"], ["[odd].md"]),
        (["-", "a.md"], ["-", "a.md"]),
    ],
    ids=str,
)
def test_names_patterns_and_directories_lead_to_files(patterns, paths):
    assert [found.path for found in expand(patterns)] == paths


@pytest.mark.usefixtures("tree")
def test_a_pattern_without_a_match_is_refused():
    with pytest.raises(SourceError, match=r"\*\.zip: no file matches this pattern"):
        expand(["*.zip"])


@pytest.mark.usefixtures("tree")
def test_what_a_directory_led_to_is_passed_over_when_it_is_no_text():
    read = {each.path: (each.text, each.problem) for each in texts(expand(["sub"]))}
    assert read["sub/b.md"] == ("two", "")
    assert read["sub/logo.png"] == (None, "a binary file, not text: byte 4 is NUL")
    assert read["sub/latin.txt"][0] is None


@pytest.mark.usefixtures("tree")
def test_what_the_user_named_must_be_text():
    with pytest.raises(SourceError, match=r"sub/logo\.png: a binary file"):
        list(texts([FileMatch("sub/logo.png", named=True)]))
