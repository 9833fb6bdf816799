"""`brim fit REQUEST.json --sections SPEC.yaml`: sections share the budget of a request."""

import json

import pytest

from brim.meter import meter

SPEC = """
sections:
  - {name: rules, content: "Be brief.", priority: required, page: system}
  - {name: documents, content: ["doc one", "doc two"], ids: [a, b], keep: best, scores: [1, 2]}
  - {name: question, content: "Why?", priority: required}
messages: {priority: high, ceiling: "60%"}
"""


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    messages = [{"role": role, "content": f"{role} {i} " * 20} for i in range(30) for role in ("user", "assistant")]
    body = {"model": "gpt-4o", "temperature": 0, "messages": messages}
    (tmp_path / "body.json").write_text(json.dumps(body))
    (tmp_path / "spec.yaml").write_text(SPEC)
    return body


def test_sections_join_the_body_of_a_request(files, brim):
    told = brim("fit", "body.json", "--sections", "spec.yaml", "--budget", "700")
    body = json.loads(told.out)
    assert body["temperature"] == 0
    assert body["messages"][0] == {"role": "system", "content": "Be brief."}
    assert body["messages"][-1]["content"] == "doc one\ndoc two\n\nWhy?"
    assert 3 < len(body["messages"]) < len(files["messages"])
    assert meter("gpt-4o").count_messages(body["messages"]) <= 700


@pytest.mark.parametrize("system", ["Speak French.", "", [{"type": "text", "text": "Speak French."}]])
def test_a_system_prompt_of_the_body_comes_before_the_sections_if_it_is_a_string(system, files, brim, tmp_path):
    model = "claude-sonnet-4-5"
    (tmp_path / "body.json").write_text(json.dumps({**files, "model": model, "max_tokens": 9, "system": system}))
    told = brim("fit", "body.json", "--sections", "spec.yaml", "--budget", "900")
    if isinstance(system, str):
        assert json.loads(told.out)["system"] == "\n\n".join(filter(None, [system, "Be brief."]))
    else:
        assert "system must be a string, to be joined by sections" in told.err


def test_a_file_with_messages_is_not_a_prompt(files, brim):
    told = brim("fit", "spec.yaml", "--budget", "700")
    assert "messages is for requests" in told.err


def test_other_fields_of_the_body_are_counted(files, brim, tmp_path):
    """A `response_format` of the body went beside the budget."""
    schema = {"type": "json_schema", "json_schema": {"name": "a", "schema": {"description": "an answer " * 150}}}
    (tmp_path / "body.json").write_text(json.dumps({**files, "response_format": schema}))
    body = json.loads(brim("fit", "body.json", "--sections", "spec.yaml", "--budget", "900").out)
    assert body["response_format"] == schema
    assert meter("gpt-4o").count_messages(body["messages"], fields={"response_format": schema}) <= 900


def test_the_settings_of_a_project_hold_for_what_the_file_does_not_set(files, brim, tmp_path):
    (tmp_path / "spec.yaml").write_text(SPEC.replace("page: system", "").partition("messages:")[0])
    (tmp_path / "brim.yaml").write_text(
        "prompt: {total: 700, messages: {ceiling: 200}}\nsections: {rules: {page: system}}\nmodel: gpt-4o\n"
    )
    told = json.loads(brim("fit", "body.json", "--sections", "spec.yaml", "--config", "brim.yaml", "--json").out)
    assert told["request"]["messages"][0] == {"role": "system", "content": "Be brief."}
    assert told["receipt"]["budget"] == 700
    assert 60 < sum(part["used"] for part in told["receipt"]["parts"] if part["name"].startswith("messages")) <= 200
