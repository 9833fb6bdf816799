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
def test_a_directory_is_drawn_as_a_tree(brim):
    assert brim("count", ".", "--meter", "chars", "--threshold", "10").out == (
        "chars   share\n"
        "────────────────────────────────\n"
        "  125    100%   docs\n"
        "  100     80%   ├── a.md\n"
        "   25     20%   └── deep/\n"
        "   20     16%       ├── b.md\n"
        "    5      4%       └── … 1 more\n"
        "\n125 chars in 3 files (chars, exact); skipped 1 file: not text\n"
    )


@pytest.mark.usefixtures("docs")
@pytest.mark.parametrize(
    ("threshold", "lines"),
    [
        (5, ["docs", "├── a.md", "└── deep/", "    ├── b.md", "    └── c.md"]),
        (25, ["docs", "├── a.md", "└── deep/"]),
        (26, ["docs", "├── a.md", "└── … 2 more"]),
        (101, ["docs", "└── … 3 more"]),
    ],
)
def test_what_is_below_the_threshold_is_grouped_where_something_beside_it_is_not(brim, threshold, lines):
    drawn = brim("count", ".", "--meter", "chars", "--threshold", str(threshold)).out.split("\n\n")[0].splitlines()[2:]
    assert [line[16:] for line in drawn] == lines


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


def test_a_request_that_is_counted_as_a_text_is_mentioned(brim, here):
    said = {"role": "user", "content": "hello"}
    (here / "body.json").write_text(json.dumps({"model": "gpt-5", "messages": [said, said]}))
    (here / "people.json").write_text(json.dumps({"role": "user", "name": "Ann"}))
    (here / "broken.json").write_text('{"messages": [{"role": "user"')
    assert brim("count", "body.json").err == (
        "body.json is a request with 2 messages; to count it as its provider does, use --request\n"
    )
    assert [brim("count", name).err for name in ("people.json", "broken.json")] == ["", ""]
