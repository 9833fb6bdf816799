import json
import os
import re
from pathlib import Path

import pytest

import brim as library
from talk import calling, item_call, item_output, loop, result, system, user

TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
BODY = {"model": "gpt-4o", "messages": [system(), *loop(9, 300), user("end")], "tools": [TOOL], "temperature": 0.5}


@pytest.fixture
def request_file(here):
    path = here / "request.json"
    path.write_text(json.dumps(BODY, indent=2))
    return path


@pytest.mark.usefixtures("request_file")
def test_the_body_comes_out_with_the_fitted_messages_in_place(brim):
    told = brim("fit", "request.json", "--budget", "600")
    there = library.fit_messages(BODY["messages"], 600, model="gpt-4o", tools=[TOOL])
    assert told.code == 0
    assert json.loads(told.out) == {**BODY, "messages": there.messages}
    assert list(json.loads(told.out)) == list(BODY)
    steps = there.receipt.history["context_truncation"]
    losses = len(there.receipt.losses)
    assert told.err.splitlines()[0] == (
        f"{there.used} of 600 tokens (o200k_base, an estimate),"
        f" {steps['steps_included']} of {steps['steps_total']} turns, {losses} shortened or dropped"
    )
    assert sum(line.startswith("messages[") for line in told.err.splitlines()) == losses


@pytest.mark.usefixtures("request_file")
def test_what_fits_comes_out_byte_for_byte(brim):
    told = brim("fit", "request.json")
    assert told.out == Path("request.json").read_text()
    assert "of 123,904 tokens" in told.err


@pytest.mark.usefixtures("here")
def test_the_answer_that_the_body_asks_for_is_kept_free(brim):
    Path("request.json").write_text(json.dumps({**BODY, "max_tokens": 127_500}))
    assert "of 500 tokens" in brim("fit", "request.json").err
    told = brim("fit", "request.json", "--model", "gpt-4")
    assert (told.code, told.out) == (2, "")
    assert told.err.startswith("brim: request.json:1: max_tokens must be less than the window of 8,192, not 127500")


def test_standard_input_is_a_request_with_the_option(brim):
    messages = [user("task"), item_call("a"), item_output("a", "r " * 200), user("end")]
    body = json.dumps({"input": messages, "instructions": "be brief"}).encode()
    told = brim("fit", "-", "--meter", "chars", "--budget", "300", stdin=body)
    assert told.code == 0
    assert json.loads(told.out)["instructions"] == "be brief"
    sent = json.loads(told.out)["input"]
    assert (sent[:2], sent[-1], len(sent)) == (messages[:2], messages[-1], 4)
    start, mark, end = re.split(r"(\[\d+ characters omitted\])", sent[2]["output"])
    assert mark == f"[{400 - 2 * (start + end).count('r')} characters omitted]"
    assert min(start.count("r"), end.count("r")) > 10
    used = sum(len(str(each.get("content") or each.get("output") or "")) for each in sent)
    assert 150 < used <= 300
    told = brim("fit", "-", stdin=b'[{"')
    assert (told.code, told.err) == (2, "brim: standard input:1: not JSON: unterminated string\n")


@pytest.mark.usefixtures("request_file")
def test_options_reach_the_fit(brim):
    told = brim("fit", "request.json", "--budget", "500", "--select", "recency+relevance", "--query", "3 3 3")
    given = {"select": "recency+relevance", "query": "3 3 3"}
    there = library.fit_messages(BODY["messages"], 500, model="gpt-4o", tools=[TOOL], **given)
    assert json.loads(told.out)["messages"] == there.messages


@pytest.mark.usefixtures("request_file")
def test_the_receipt_is_written_and_can_be_replayed(brim):
    options = ("--budget", "600", "--out", "fitted.json", "--receipt", "receipt.json", "--capture")
    told = brim("fit", "request.json", *options)
    assert (told.code, told.out) == (0, "")
    again = library.replay(Path("receipt.json").read_text())
    assert again.messages == json.loads(Path("fitted.json").read_text())["messages"]
    told = brim("replay", "receipt.json", "--budget", "5000", "--budget", "300")
    assert told.code == 0
    heads = ["turn", "priority", "size", "recorded", "at", "5,000", "at", "300"]
    assert heads in [line.split() for line in told.out.splitlines()]
    assert "at 5,000: " in told.out
    assert " turns changed; " in told.out
    assert brim("replay", "receipt.json", "--why", "messages[1]").out.startswith("messages[1] is whole: ")


REFUSED = [
    (('{"sections": []}',), "and this one has none of them; sections are described in YAML"),
    (('[{"role": "usr"}]',), "request.json:1: messages[0] role must be one of"),
    (('{"messages": [],\n"messages": []}',), "request.json:2: the key 'messages' is repeated"),
    (("[]", "--select", "best"), "select must be one of recency, priority, relevance, not 'best'"),
    (("[]", "--model", "gpt-55"), "no model is called 'gpt-55'"),
    (('{"messages": [], "model": "gpt-55"}',), "request.json:1: no model, vocabulary or unit is called 'gpt-55'"),
]


@pytest.mark.parametrize(("given", "problem"), REFUSED, ids=[problem for _, problem in REFUSED])
def test_a_mistake_is_one_sentence_and_nothing_is_written(brim, here, given, problem):
    text, *options = given
    (here / "request.json").write_text(text)
    budget = [] if "--budget" in options or "--model" in options else ["--budget", "900"]
    told = brim("fit", "request.json", "--out", "fitted.json", *budget, *options)
    assert (told.code, told.out) == (2, "")
    assert told.err.startswith("brim: ")
    assert problem in told.err
    assert told.err.count("\n") == 1
    assert os.listdir() == ["request.json"]


@pytest.mark.usefixtures("here")
def test_a_long_history_is_summarised_in_few_lines(brim):
    messages = [user("task")]
    for i in range(120):
        messages += [calling(f"c{i}"), result(f"c{i}", f"{i} " * 40)]
    Path("request.json").write_text(json.dumps(messages))
    options = ("--meter", "chars", "--budget", "4000", "--receipt", "receipt.json", "--capture")
    told = brim("fit", "request.json", *options)
    assert len(told.err.splitlines()) == 22
    assert told.err.splitlines()[-1].startswith("… ")
    told = brim("replay", "receipt.json", "--budget", "8000")
    assert len(told.out.splitlines()) < 60
    assert " more" in told.out
    assert len(json.loads(brim("replay", "receipt.json", "--json").out)["replays"][0]["receipt"]["parts"]) == 121


@pytest.mark.parametrize("name", ["-", "request.txt", "request"])
def test_a_request_is_known_by_its_content_too(brim, request_file, name):
    written = request_file.read_text()
    if name != "-":
        request_file.rename(name)
    told = brim("fit", name, "--budget", "600", stdin=written.encode())
    there = library.fit_messages(BODY["messages"], 600, model="gpt-4o", tools=[TOOL])
    assert told.code == 0
    assert json.loads(told.out) == {**BODY, "messages": there.messages}
