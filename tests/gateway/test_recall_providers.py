"""Recall behind Gemini and Bedrock: a hard window, legal requests, and a client that never sees `brim_recall`."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim.gateway.recall.calls import assembled, offered
from gateway.test_providers import PATHS, WINDOW, body, post, started
from model_server import sse
from properties import examples

__all__ = ["started"]

RECALL, LOOK, TEXT, THOUGHT = "brim_recall", "look", "text", "thought"
WAYS = [("gemini", 0), ("gemini", 1), ("bedrock", 0)]
"""The routes, whole and streamed, on which a model may recall."""
SHAPES = [
    [RECALL, LOOK],
    [LOOK, RECALL],
    [TEXT, RECALL, LOOK, RECALL, LOOK],
    [RECALL, RECALL, LOOK],
]
"""Answers that call the tool together with tools of the client."""


def part(route, kind, i, first):
    """Return one part of an answer; only the first call of Gemini is signed."""
    if kind == TEXT:
        return {"text": "Words."}
    query = {"query": "heliotrope"}
    if route == "gemini":
        if kind == THOUGHT:
            return {"text": "Hm.", "thought": True}
        return {"functionCall": {"name": kind, "args": query}, **({"thoughtSignature": "s1"} if first else {})}
    if kind == THOUGHT:
        return {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "s"}}}
    return {"toolUse": {"toolUseId": f"t-{i}", "name": kind, "input": query}}


def said(route, kinds):
    calls = [i for i, kind in enumerate(kinds) if kind in (RECALL, LOOK)]
    return [part(route, kind, i, i == calls[0]) for i, kind in enumerate(kinds)]


def asked(route, **more):
    """Return a request that is too long, with a secret in the part that is cut, and a tool of the client."""
    values = body(route, 60)
    secret = "The password of the gate is heliotrope."
    if route == "gemini":
        values["contents"][2]["parts"][0]["functionResponse"]["response"]["result"] += secret
        declared = {"functionDeclarations": [{"name": LOOK, "description": "Look.", "parameters": {"type": "OBJECT"}}]}
        return {**values, "tools": [declared], **more}
    values["messages"][2]["content"][0]["toolResult"]["content"][0]["text"] += secret
    schema = {"json": {"type": "object"}}
    tools = [{"toolSpec": {"name": LOOK, "description": "Look.", "inputSchema": schema}}]
    return {**values, "toolConfig": {"tools": tools, "toolChoice": {"auto": {}}}, **more}


def answer_of(route, raw):
    """Return the parts of an answer and its reason to stop, as a client reads it."""
    events = [json.loads(line[6:]) for line in raw.split(b"\n") if line.startswith(b"data: ")] or [json.loads(raw)]
    if route == "bedrock":
        (event,) = events
        return event["output"]["message"]["content"], event["stopReason"]
    candidates = [each for event in events for each in event["candidates"]]
    parts = [part for each in candidates for part in each.get("content", {}).get("parts", ())]
    return parts, candidates[-1].get("finishReason")


def names(parts):
    """Return what the parts for the client are: their calls and texts."""
    calls = [part.get("functionCall") or part.get("toolUse") for part in parts]
    shown = [part.get("text") if not part.get("thought") else None for part in parts]
    return [call["name"] if call else text for call, text in zip(calls, shown, strict=True) if call or text]


@pytest.mark.parametrize(("route", "way"), WAYS)
def test_a_recall_is_answered_by_the_gateway(started, route, way):
    upstream, _, gateway = started(recall=True)
    upstream.script = [said(route, [THOUGHT, RECALL, RECALL])]
    status, headers, raw = post(gateway, PATHS[route][way], asked(route))
    assert (status, upstream.illegal, upstream.refused) == (200, [], 0)
    assert headers["content-type"] == ("text/event-stream" if way else "application/json")
    assert b"brim_recall" not in raw
    assert "".join(names(answer_of(route, raw)[0])) == "The silt comes from the river."
    first, second = map(json.loads, upstream.bodies)
    key = "contents" if route == "gemini" else "messages"
    tools = first["tools"][0]["functionDeclarations"] if route == "gemini" else first["toolConfig"]["tools"]
    assert [(tool.get("toolSpec") or tool)["name"] for tool in tools] == [RECALL, LOOK]
    assert "heliotrope" not in json.dumps(first[key])
    results = second[key][-1]["parts" if route == "gemini" else "content"]
    assert ["heliotrope" in json.dumps(each) for each in results] == [True, True]
    assert max(upstream.sizes) <= WINDOW
    assert WINDOW // 2 < int(headers["x-brim-tokens-after"]) <= WINDOW
    assert upstream.models == [upstream.models[0]] * 2


@pytest.mark.slow
@pytest.mark.parametrize("kinds", SHAPES, ids=", ".join)
@pytest.mark.parametrize(("route", "way"), WAYS)
def test_calls_of_the_client_beside_a_recall_are_answered_as_not_run(started, route, way, kinds):
    upstream, _, gateway = started(recall=True)
    upstream.script = [said(route, [THOUGHT, *kinds])]
    status, _, raw = post(gateway, PATHS[route][way], asked(route))
    assert (status, upstream.illegal, upstream.refused, len(upstream.bodies)) == (200, [], 0, 2)
    assert "".join(names(answer_of(route, raw)[0])) == "The silt comes from the river."
    second = json.loads(upstream.bodies[1])
    key = "contents" if route == "gemini" else "messages"
    results = second[key][-1]["parts" if route == "gemini" else "content"]
    due = [kind == LOOK for kind in kinds if kind in (LOOK, RECALL)]
    assert ["Not run" in json.dumps(each) for each in results] == due


@pytest.mark.parametrize(("route", "way"), WAYS)
def test_a_model_that_only_recalls_is_asked_once_more_without_the_tool(started, route, way):
    upstream, _, gateway = started(recall=True)
    upstream.script = [said(route, [THOUGHT, RECALL, RECALL])] * 5
    status, _, raw = post(gateway, PATHS[route][way], asked(route))
    assert (status, upstream.illegal, upstream.refused, len(upstream.bodies)) == (200, [], 0, 6)
    assert RECALL.encode() not in raw + upstream.bodies[5]
    assert "This was the last recall." in upstream.bodies[4].decode()
    assert "This was the last recall." not in upstream.bodies[3].decode()


@pytest.mark.parametrize(("route", "way"), WAYS)
def test_an_answer_without_recalls_keeps_its_bytes(started, route, way):
    upstream, url, gateway = started(recall=True)
    kinds = [THOUGHT, TEXT, LOOK]
    upstream.script = [said(route, kinds), said(route, kinds)]
    _, headers, passed = post(gateway, PATHS[route][way], asked(route))
    sent = json.loads(upstream.bodies[0])
    assert int(headers["x-brim-edits"]) > 0
    assert passed == post(url, PATHS[route][way], sent)[2]


@pytest.mark.parametrize(
    ("path", "given"),
    [
        (PATHS["bedrock"][1], asked("bedrock")),
        (PATHS["gemini"][1].removesuffix("?alt=sse"), asked("gemini")),
        (PATHS["gemini"][0], asked("gemini", tools=[{"googleSearch": {}}])),
        (PATHS["gemini"][0], asked("gemini", generationConfig={"candidateCount": 2})),
        (
            PATHS["gemini"][1],
            asked("gemini", toolConfig={"functionCallingConfig": {"streamFunctionCallArguments": True}}),
        ),
    ],
    ids=["binary frames", "a JSON array", "a tool of Google's alone", "two answers", "calls in pieces"],
)
def test_what_could_not_be_taken_out_again_is_not_offered(started, path, given):
    upstream, _, gateway = started(recall=True)
    status, headers, _ = post(gateway, path, given)
    assert (status, upstream.illegal, upstream.refused) == (200, [], 0)
    assert int(headers["x-brim-edits"]) > 0
    assert RECALL not in upstream.bodies[0].decode()


BLANK = st.text(" \n\t", max_size=2)
LISTS = {
    "gemini": [
        None,
        "null",
        "[]",
        '[{"functionDeclarations": []}]',
        '[{"function_declarations": [{"name": "f"}]}]',
        '[{"x": 1}, {"functionDeclarations": null}]',
    ],
    "bedrock": [
        None,
        "null",
        "{}",
        '{"tools": null}',
        '{"tools" : [ ]}',
        '{"toolChoice": {"auto": {}}, "tools": [{"cachePoint": {}}]}',
    ],
}


@pytest.mark.parametrize("format", LISTS)
@examples(25)
@given(draw=st.data())
def test_the_tool_stands_first_and_every_other_value_stays(format, draw):
    """Compared with what Python makes of the whole body."""
    tools, blank = draw.draw(st.sampled_from(LISTS[format])), draw.draw(BLANK)
    key, list_key = ("tools", "contents") if format == "gemini" else ("toolConfig", "messages")
    fields = [f'"{list_key}":[{{"a": "]{{"}}]', '"n": 1.50'] + (
        [] if tools is None else [f'"{key}"{blank}:{blank}{tools}']
    )
    text = "{" + blank + ",".join(draw.draw(st.permutations(fields))) + "}"
    values, made = json.loads(text), json.loads(offered(text, format))
    found, given_tools = made.pop(key), values.pop(key, None)
    assert made == values
    if format == "gemini":
        listed = [tool for tool in found if "functionDeclarations" in tool or "function_declarations" in tool]
        (own,) = listed
        name = "functionDeclarations" if "functionDeclarations" in own else "function_declarations"
        assert own[name][0]["name"] == RECALL
        had = [each for tool in given_tools or () for each in tool.get(name) or ()]
        assert own[name][1:] == had
        assert [tool for tool in found if tool is not own] == [tool for tool in given_tools or () if name not in tool]
    else:
        assert found["tools"][0]["toolSpec"]["name"] == RECALL
        had = given_tools or {}
        assert {**found, "tools": found["tools"][1:]} == {**had, "tools": had.get("tools") or []}


def test_a_part_of_gemini_without_a_text_is_followed_by_one():
    pieces = [{"candidates": [{"content": {"parts": [{"text": text}]}}]} for text in (None, "one ", "word")]
    (candidate,) = assembled("gemini", b"".join(sse(piece) for piece in pieces))["candidates"]
    assert candidate["content"]["parts"] == [{"text": "one word"}]
