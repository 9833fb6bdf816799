import json

import pytest


@pytest.fixture
def prompts(here):
    (here / "a.md").write_text("x" * 10)
    (here / "b.md").write_text("x" * 1030)
    return here


@pytest.mark.usefixtures("prompts")
def test_a_file_that_is_over_ends_with_1(brim):
    told = brim("check", "*.md", "--budget", "1000", "--meter", "chars")
    assert told.code == 1
    assert told.out == (
        "       count   budget   left   file\n"
        "───────────────────────────────────\n"
        "ok        10    1,000    990   a.md\n"
        "OVER   1,030    1,000    -30   b.md\n"
        "\n2 files, 1 over budget (chars, exact)\n"
    )


@pytest.mark.usefixtures("spec")
def test_a_file_of_sections_is_fitted_first(brim):
    told = brim("check", "spec.yaml")
    assert told.code == 0
    assert "spec.yaml   1 section shortened or dropped" in told.out
    assert brim("check", "spec.yaml", "--budget", "3").code == 1


def test_a_larger_budget_of_the_command_line_does_not_hide_that_a_file_is_over_its_own(brim, here):
    """ "`brim check --budget N` silently overrides the budget in the YAML file"."""
    text = "budget: 1000\nmeter: chars\nsections:\n  - {name: a, content: %s, priority: required, floor: 2000}\n"
    (here / "a.yaml").write_text(text % ("x" * 1030))
    told = brim("check", "a.yaml", "--budget", "4000")
    assert told.code == 1
    assert "OVER   1,030    1,000    -30   a.yaml   budget of the file" in told.out
    assert "budget of the file" not in brim("check", "a.yaml", "--budget", "900").out


def test_standard_input_can_be_checked(brim):
    assert brim("check", "-", "--budget", "2", stdin=b"hello world").code == 0
    assert brim("check", "-", "--budget", "1", stdin=b"hello world").code == 1


MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "word " * 7_000}]
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "look",
            "description": "Look at " * 900,
            "parameters": {"type": "object", "properties": {}},
        },
    }
]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"model": "gpt-4", "messages": MESSAGES}, 0),
        ({"model": "gpt-4", "messages": MESSAGES, "max_tokens": 2_000}, 1),  # no room for the answer
        ({"model": "gpt-4", "messages": MESSAGES, "tools": TOOLS}, 1),
        ({"model": "gpt-5", "messages": MESSAGES, "tools": TOOLS}, 0),
    ],
    ids=["fits", "no room for the answer", "tools count", "a larger window"],
)
def test_a_request_is_counted_as_one_by_its_own_model(brim, here, body, code):
    (here / "request.JSON").write_text(json.dumps(body))
    for stdin, name in ((b"", "request.JSON"), (json.dumps(body).encode(), "-")):
        told = brim("check", name, "--json", stdin=stdin)
        assert told.code == code, told.err
        found = json.loads(told.out)["files"][0]
        assert found["kind"] == "request"
        assert found["count"] == json.loads(brim("count", "--request", name, "--json", stdin=stdin).out)["total"]


def test_the_budget_and_the_model_of_the_command_line_come_first(brim, here):
    (here / "request.json").write_text(json.dumps({"model": "gpt-5", "messages": MESSAGES}))
    assert brim("check", "request.json", "--model", "gpt-3.5-turbo", "--budget", "7000").code == 1
    told = brim("check", "request.json", "--budget", "7100")
    assert told.code == 0
    assert "a request" in told.out


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"model": "gpt-5", "messages": [{"role": "user", "content": "x"}]}}', "extra data"),
        ('{"messages": [{"role": "user", "content": "x"}]}', "budget is missing"),
    ],
)
def test_a_request_that_is_broken_is_refused(brim, here, text, told):
    (here / "request.json").write_text(text)
    found = brim("check", "request.json", "--json")
    assert found.code == 2
    assert told in json.loads(found.out)["files"][0]["problem"]


GOOD = '{"model": "gpt-4", "messages": [{"role": "user", "content": "hi"}]}'


def test_a_broken_file_among_others_has_a_row_and_hides_none(brim, here):
    """A stranger ran this on seven requests: the first broken one hid those over their budget."""
    (here / "a.json").write_text(GOOD)
    (here / "b.json").write_text('{"model": "gpt-4",\n "messages": [')
    (here / "c.json").write_text(GOOD.replace("hi", "word " * 9_000))
    (here / "d.json").write_text(GOOD.replace("gpt-4", "gpt-6000"))
    told = brim("check", "*.json")
    assert told.code == 2
    rows = {line.split()[0]: line for line in told.out.splitlines() if ".json" in line}
    assert "a.json" in rows["ok"]
    assert "c.json" in rows["OVER"]
    shown = "".join(told.out.split())
    assert "b.json:2:notJSON" in shown
    assert "d.json:1:nomodeliscalled'gpt-6000'" in shown
    assert "4 files, 1 over budget, 2 could not be checked" in told.out
    found = json.loads(brim("check", "*.json", "--json").out)["files"]
    assert [(each["path"], each["ok"]) for each in found] == [(f"{name}.json", name == "a") for name in "abcd"]
    assert found[1]["problem"].startswith("b.json:2: not JSON")
    (here / "b.json").unlink()
    (here / "d.json").unlink()
    assert brim("check", "*.json").code == 1


def test_a_named_file_that_is_missing_has_a_row_also_alone(brim, here):
    (here / "a.json").write_text(GOOD)
    for others in ((), ("a.json",)):
        told = brim("check", *others, "missing.json")
        assert (told.code, "ERROR" in told.out, told.err) == (2, True, "")


@pytest.mark.parametrize("budget", [(), ("--budget", "100")], ids=["no budget", "a budget"])
def test_a_request_with_a_misspelt_key_is_refused(brim, here, budget):
    text = '{"model":"gpt-4","mesages":[]}'
    (here / "request.json").write_text(text)
    for name in ("request.json", "-"):
        told = brim("check", name, *budget, "--json", stdin=text.encode())
        assert told.code == 2
        assert "did you mean 'messages'?" in json.loads(told.out)["files"][0]["problem"]
