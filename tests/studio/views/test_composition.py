"""A request and sections that are put together on the page: the fit of `brim fit --sections`, to the byte."""

import json

import pytest

import brim
from brim.cli import main
from brim.errors import BrimError, InvalidValue, SourceError, UnknownName
from brim.studio.views import lab
from brim.studio.views.composition import compose, result

TOOL = {
    "type": "function",
    "function": {"name": "track", "description": "Tell where an order is.", "parameters": {"type": "object"}},
}
REQUEST = json.dumps(
    {
        "model": "gpt-4o",
        "temperature": 0.5,
        "tools": [TOOL],
        "messages": [
            {"role": role, "content": f"{role} {i}: " + "what was said " * 12}
            for i in range(12)
            for role in ("user", "assistant")
        ],
    }
)
DOCUMENTS = [f"document {i} tells " + "about orders and parcels " * (4 + i) for i in range(8)]
SECTIONS = f"""
budget: 900
messages: {{priority: medium}}
sections:
  - {{name: rules, page: system, priority: required, content: Answer from the documents.}}
  - name: documents
    keep: best
    floor: 20%
    scores: [3, 1, 4, 1, 5, 9, 2, 6]
    content: {json.dumps(DOCUMENTS)}
  - {{name: question, priority: required, content: "Where is order 12, and who said so?"}}
"""


def on_the_command_line(folder, budget, capsys):
    (folder / "body.json").write_text(REQUEST, encoding="utf-8")
    (folder / "spec.yaml").write_text(SECTIONS, encoding="utf-8")
    given = ["-r", str(folder / "body.json"), "--sections", str(folder / "spec.yaml"), "--budget", str(budget)]
    assert main(["fit", *given, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("budget", [600, 900, 1_400, 9_000])
def test_the_page_fits_what_the_command_line_fits_to_the_byte(workspace, tmp_path, capsys, budget):
    source = compose(workspace, REQUEST, SECTIONS, None, None)["source"]
    told, made = lab.fit(workspace, source, budget, None), result(workspace, source, budget, None)
    expected = on_the_command_line(tmp_path, budget, capsys)
    assert json.loads(made["text"]) == expected["request"]
    parts = expected["receipt"]["parts"]
    assert told["used"] == made["used"] == expected["receipt"]["used"] <= budget
    assert told["pieces"]["names"] == [part["name"] for part in parts]
    assert told["now"]["used"] == [part["used"] for part in parts]
    assert all(part["name"] in made["receipt"] for part in parts)
    assert json.loads(made["text"])["tools"] == [TOOL]


def test_the_budget_is_that_of_the_form_then_of_the_sections_then_the_window(workspace):
    assert compose(workspace, REQUEST, SECTIONS, 700, None)["budget"] == 700
    assert compose(workspace, REQUEST, SECTIONS, None, None)["budget"] == 900
    alone = compose(workspace, REQUEST, None, None, None)
    assert alone["budget"] == brim.Window.of("gpt-4o").budget
    assert lab.fit(workspace, alone["source"], None, None)["model"] == "gpt-4o"
    assert lab.fit(workspace, compose(workspace, REQUEST, "", None, "gpt-5")["source"], None, None)["model"] == "gpt-5"
    with pytest.raises(InvalidValue, match="name a model"):
        compose(workspace, "[]", "sections: [{name: a, content: b}]", None, None)


def test_what_does_not_fit_is_opened_and_says_what_it_takes(workspace):
    source = compose(workspace, REQUEST, SECTIONS, 20, None)["source"]
    told = lab.fit(workspace, source, None, None)
    assert not told["fits"]
    assert lab.fit(workspace, source, told["needed"], None)["fits"]


def test_sections_alone_are_a_prompt_and_the_same_texts_are_the_same_source(workspace):
    given = (workspace, "", SECTIONS, 400, "gpt-4o")
    first, second = compose(*given), compose(*given)
    assert first == second
    assert compose(workspace, "", SECTIONS, 401, "gpt-4o") != first
    roles = [
        message["role"] for message in json.loads(result(workspace, first["source"], None, None)["text"])["messages"]
    ]
    assert roles == ["system", "user"]


@pytest.mark.parametrize(
    ("request_", "sections", "told"),
    [
        ("", "  ", "at least one of them"),
        ("{", SECTIONS, "the request"),
        ('{"model": "gpt-4o"}', SECTIONS, "either messages, input or contents"),
        (REQUEST, "sections: [", "the sections"),
        (REQUEST, "sections: [{name: a}]", "exactly one of content, file, files"),
        (REQUEST, "sections: [{name: a, file: /etc/passwd}]", "file is read by brim fit"),
        (REQUEST, "sections: [{name: a, files: '*'}]", "files is read by brim fit"),
        (REQUEST, "{sections: [], messages: {file: /etc/passwd}}", "file is read by brim fit"),
        (REQUEST, "sections: [{name: a, content: b, page: top}]", "page must be one of"),
        (7, SECTIONS, "a string"),
        (REQUEST, {"sections": []}, "a string"),
    ],
)
def test_what_cannot_be_understood_is_refused_with_its_place(workspace, request_, sections, told):
    with pytest.raises(BrimError) as caught:
        compose(workspace, request_, sections, 500, None)
    assert told in str(caught.value)
    assert "root:" not in str(caught.value)


def test_a_model_or_a_source_that_is_unknown_is_refused(workspace):
    with pytest.raises((UnknownName, SourceError)):
        compose(workspace, REQUEST, SECTIONS, 500, "no-such-model-at-all")
    with pytest.raises(UnknownName):
        result(workspace, "request:0000000000", 500, None)
    with pytest.raises(InvalidValue):
        compose(workspace, REQUEST, SECTIONS, "many", None)
