import json

import pytest


@pytest.fixture
def docs(here):
    (here / "docs" / "deep").mkdir(parents=True)
    (here / "docs" / "a.md").write_text("x" * 100)
    (here / "docs" / "deep" / "b.md").write_text("y" * 20)
    (here / "docs" / "deep" / "c.md").write_text("z" * 5)
    (here / "docs" / "logo.png").write_bytes(b"\0")
    (here / ".git").mkdir()
    (here / ".git" / "config").write_text("no")
    return here


def test_standard_input_is_counted(brim):
    assert brim("count", stdin=b"hello world").out == "2 tokens (o200k_base, exact)\n"
    assert brim("count", "-", stdin=b"").out == "0 tokens (o200k_base, exact)\n"


@pytest.mark.usefixtures("docs")
def test_the_files_of_a_directory_are_listed_the_largest_first(brim, here):
    (here / "docs" / "deep" / "d.md").write_text("d" * 50)
    assert brim("count", ".", "--meter", "chars").out == (
        "chars   file\n"
        "────────────────────────\n"
        "  100   ./docs/a.md\n"
        "   50   ./docs/deep/d.md\n"
        "   20   ./docs/deep/b.md\n"
        "    5   ./docs/deep/c.md\n"
        "\n175 chars in 4 files (chars, exact); skipped 1 file: not text\n"
    )


@pytest.mark.usefixtures("docs")
def test_an_estimate_says_so(brim):
    told = brim("count", "docs/a.md", "--model", "claude-sonnet-4-5").out
    assert told.startswith("about ")
    assert "tokens, at most " in told
    assert "estimate" in told
    values = json.loads(brim("count", "docs/a.md", "--model", "claude-sonnet-4-5", "--json").out)
    assert values["exact"] is False
    assert values["upper"] >= values["total"] > 0


@pytest.mark.usefixtures("docs")
def test_json_has_every_file(brim):
    assert json.loads(brim("count", "docs", "--meter", "chars", "--json").out) == {
        "total": 125,
        "upper": 125,
        "unit": "chars",
        "meter": "chars",
        "exact": True,
        "files": [
            {"path": "docs/a.md", "count": 100},
            {"path": "docs/deep/b.md", "count": 20},
            {"path": "docs/deep/c.md", "count": 5},
        ],
        "skipped": ["docs/logo.png"],
    }
