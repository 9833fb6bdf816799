"""A prompt is shown as it was sent, with what was left out or shortened, in every format, and its tokens add up."""

import json

import pytest

import brim
from brim.studio.views.prompt import prompt, prompt_body
from brim.studio.workspace import Workspace

TOOL = {"name": "look", "description": "Look it up.", "parameters": {"type": "object", "properties": {}}}
TOOLS = {
    "openai": [{"type": "function", "function": TOOL}],
    "responses": [{"type": "function", **TOOL}],
    "anthropic": [{"name": "look", "description": "Look it up.", "input_schema": TOOL["parameters"]}],
}


def said(format, role, text):
    kind = "input_text" if role == "user" else "output_text"
    return {
        "openai": {"role": role, "content": text},
        "responses": {"type": "message", "role": role, "content": [{"type": kind, "text": text}]},
        "anthropic": {"role": role, "content": [{"type": "text", "text": text}]},
    }[format]


def recorded(folder, format, *, turns=30, capture=True, budget=900, **asked):
    """Return a workspace with a session whose last prompt had to leave something out, and that prompt."""
    url = f"sqlite:///{folder}/brim.db"
    with brim.open_store(url) as store:
        session = brim.Session(
            window=4_000,
            model="gpt-4o",
            store=store,
            id="s",
            capture=capture,
            format=format,
            compact_at="never",
            stable=False,
        )
        for i in range(turns):
            session.add(said(format, "user", f"question {i} " + "word " * 20))
            session.add(said(format, "assistant", f"answer {i} " + "word " * 30))
        session.add(said(format, "user", "the last question " + "word " * asked.pop("long", 5)))
        fitted = session.prompt(system="Be brief.", tools=TOOLS[format], memory=["The sky is blue."], budget=budget)
        session.record_usage(input_tokens=fitted.used + 7)
    return Workspace(url=url, config=str(folder)), fitted


@pytest.mark.parametrize("format", list(TOOLS))
def test_the_body_holds_the_messages_that_were_sent_to_the_byte(tmp_path, format):
    workspace, fitted = recorded(tmp_path, format)
    assert prompt(workspace, "s")["kind"] == "sent"
    assert prompt(workspace, "s")["format"] == format
    body = json.loads(prompt_body(workspace, "s")["body"])
    assert body["model"] == "gpt-4o"
    assert body["input" if format == "responses" else "messages"] == fitted.messages
    assert body["tools"] == TOOLS[format]
    assert {"openai": None, "responses": "instructions", "anthropic": "system"}[format] in (None, *body)
    workspace.close()


@pytest.mark.parametrize("format", list(TOOLS))
def test_every_message_is_sent_or_left_out_with_a_reason_and_the_tokens_add_up(tmp_path, format):
    workspace, fitted = recorded(tmp_path, format, budget=1_000)
    told = prompt(workspace, "s")
    came = [row for row in told["rows"] if row["from"] is not None]
    assert [row["from"] for row in came] == list(range(61))
    gone = [row for row in came if row["state"] == "left out"]
    assert gone
    assert all(row["why"] for row in gone)
    memory = [row["why"] for row in told["rows"] if row["state"] == "memory"]
    assert memory == ["The memory of the program, at the end of each prompt."] * (format != "anthropic")
    assert all(row["why"] for row in came if row["state"] == "whole")
    sent = [row for row in told["rows"] if row["sent"]]
    apart = 1 if format == "openai" else 2  # The tools, and a system prompt that is no message.
    assert len([row for row in sent if row["text"]]) == len(fitted.messages) + apart
    assert {"note", "memory"} & {row["state"] for row in sent} or any(row["state"] == "extended" for row in sent)
    assert told["used"] == fitted.used == sum(row["units"] for row in sent)
    assert {row["category"] for row in sent} >= {"tools", "system", "user", "assistant"}
    workspace.close()


def test_a_shortened_message_is_distinct_from_a_dropped_one(tmp_path):
    workspace, fitted = recorded(tmp_path, "openai", turns=2, long=3_000)
    rows = prompt(workspace, "s")["rows"]
    last = [row for row in rows if row["from"] is not None][-1]
    assert last["state"] == "shortened"
    assert last["why"]
    assert last["units"] < 3_000 < last["was"]
    assert "".join(text for sign, text in last["taken"] if sign == "-").count("word") > 2_000
    assert any("the last question" in str(message["content"]) for message in fitted.messages)
    workspace.close()


def test_a_shortened_result_comes_from_the_result_of_its_own_call(workspace, tmp_path):
    ends = "the start of a file, the same in each of them\n" * 5, "the end of a file, the same in each of them\n" * 5
    with brim.open_store(f"sqlite:///{tmp_path}/brim.db") as store:
        session = brim.Session(window=2_000, model="gpt-4o", store=store, id="s", capture=True, compact_at="never")
        calls = [{"id": f"c{i}", "type": "function", "function": {"name": "read", "arguments": "{}"}} for i in range(2)]
        session.add([{"role": "user", "content": "look"}, {"role": "assistant", "content": "", "tool_calls": calls}])
        for i in range(2):
            text = "".join(f"row {k} of file {i}\n" for k in range(400))
            session.add({"role": "tool", "tool_call_id": f"c{i}", "content": text.join(ends)})
        session.prompt()
    rows = [row for row in prompt(workspace, "s")["rows"] if row["role"] == "tool"]
    assert [(row["from"], row["state"]) for row in rows] == [(2, "shortened"), (3, "shortened")]


def test_a_session_without_capture_has_its_sums_by_category(tmp_path):
    workspace, fitted = recorded(tmp_path, "openai", capture=False)
    told = prompt(workspace, "s")
    assert (told["kind"], told["step"], told["steps"]) == ("sums", 1, 1)
    assert sum(row["units"] for row in told["rows"]) == fitted.used
    for wrong in ("0", "2", "999", "x"):
        with pytest.raises(brim.UnknownName):
            prompt(workspace, "s", wrong)
    with pytest.raises(brim.InvalidValue):
        prompt_body(workspace, "s")
    workspace.close()


def test_an_estimate_that_usage_corrected_has_a_row_of_its_own(workspace, tmp_path):
    url = f"sqlite:///{tmp_path}/brim.db"
    with brim.open_store(url) as store:
        session = brim.Session(window=90_000, model="claude-sonnet-4-5", store=store, id="s", capture=True)
        for i in range(12):
            session.add(said("anthropic", "user", f"{i} " + "some words of a question " * 60))
            fitted = session.prompt(system="Be brief.")
            counted = brim.meter("claude-sonnet-4-5").count_messages(fitted.messages)
            session.record_usage(input_tokens=int(counted * 1.3), output_tokens=5)
            session.add(said("anthropic", "assistant", "an answer"))
    for step in range(1, 13):
        told = prompt(workspace, "s", str(step))
        assert sum(row["units"] for row in told["rows"] if row["sent"]) == told["used"]
    extra = [row for row in told["rows"] if row["category"] == "correction"]
    assert extra
    assert extra[0]["units"] > 50
    assert "estimates" in extra[0]["why"]
    assert told["answer"] == {"text": "an answer"}


def test_messages_that_a_compaction_replaced_stand_in_their_place_with_the_reason(workspace, tmp_path):
    url = f"sqlite:///{tmp_path}/brim.db"
    with brim.open_store(url) as store:
        session = brim.Session(window=9_000, model="gpt-4o", store=store, id="s", capture=True)
        for i in range(12):
            session.add(said("openai", "user", f"question {i} " + "word " * 60))
            session.add(said("openai", "assistant", f"answer {i} " + "word " * 60))
        session.add(said("openai", "user", "question 12"))
        session.prompt(system="Be brief.")
        session.add(said("openai", "assistant", "answer 12"))
        assert session.compact()
        session.add(said("openai", "user", "question 13"))
        fitted = session.prompt(system="Be brief.")
    before, now = (prompt(workspace, "s", str(step))["rows"] for step in (1, 2))
    replaced = [row for row in now if row["why"] == "A compaction had replaced it before this step."]
    assert replaced
    assert all((row["state"], row["sent"]) == ("left out", False) for row in replaced)
    had = [row["text"] for row in before if row["sent"]]
    kept = [row["text"] for row in now if row["sent"]]
    gone = [text for text in had if text not in kept and text.startswith(("question", "answer"))]
    assert [row["text"] for row in replaced] == gone
    order = [row["text"] for row in now if row["text"] in had]
    assert order == [text for text in had if text in order]
    assert sum(row["units"] for row in now if row["sent"]) == fitted.used
    sent = json.loads(prompt_body(workspace, "s")["body"])["messages"]
    assert [row["text"] for row in now if row["sent"] and row["text"]] == [each["content"] for each in sent]


def test_what_a_compaction_replaced_is_missing_at_every_later_step(workspace, tmp_path):
    """Step 37 said that nothing was left out, while its prompt held a summary in place of 48 messages."""
    url = f"sqlite:///{tmp_path}/brim.db"
    said_before = []
    with brim.open_store(url) as store:
        session = brim.Session(window=9_000, model="gpt-4o", store=store, id="s", capture=True)
        for step in range(4):
            for i in range(8):
                text = f"question {step} {i} " + "word " * 60
                session.add(said("openai", "user", text))
                session.add(said("openai", "assistant", "Go on."))
                said_before.append(text)
            session.add(said("openai", "user", f"and now, {step}?"))
            session.prompt(system="Be brief.")
            session.add(said("openai", "assistant", f"answer {step}"))
            if step == 1:
                assert session.compact()
    rows = prompt(workspace, "s", "4")["rows"]
    out = [row["text"] for row in rows if not row["sent"]]
    shown = [row["text"] for row in rows if row["sent"]]
    assert out
    assert sorted([text for text in [*out, *shown] if text in said_before]) == sorted(said_before)
    assert not {*out} & {*shown} - {"Go on."}
