"""Gemini contents: what is read in either spelling, how results find their calls, and what an edit keeps."""

import pytest

import brim
from brim.errors import InvalidValue
from brim.testing import CharMeter
from brim.wire import format_of, wire

CHARS = CharMeter()
GEMINI = wire("gemini")


def user(*parts):
    return {"role": "user", "parts": [{"text": each} if isinstance(each, str) else each for each in parts]}


def calls(*names, ids=(), signature="sig"):
    made = [{"functionCall": {"name": name, "args": {"path": "a.py"}}} for name in names]
    for part, id_ in zip(made, ids, strict=False):
        part["functionCall"]["id"] = id_
    made[0]["thoughtSignature"] = signature
    return {"role": "model", "parts": made}


def answers(name, response=None, **fields):
    return {"functionResponse": {"name": name, "response": response or {"result": "ok"}, **fields}}


@pytest.mark.parametrize("snake", [False, True])
def test_each_part_is_read_as_what_it_is_in_either_spelling(snake):
    call, result, data = (
        ("function_call", "function_response", "inline_data")
        if snake
        else (
            "functionCall",
            "functionResponse",
            "inlineData",
        )
    )
    mime = "mime_type" if snake else "mimeType"
    message = GEMINI.read(
        {
            "role": "model",
            "parts": [
                {"text": "hm", "thought": True},
                {"text": "hi"},
                {call: {"name": "f", "args": {"a": 1}}},
                {result: {"name": "f", "response": {"output": "one"}}},
                {result: {"id": "x", "name": "g", "response": {"rows": [1], "more": None}}},
                {data: {mime: "image/png", "data": "iVBORw=="}},
                {"executableCode": {"code": "x"}},
                {"thoughtSignature": "s"},
            ],
        },
        0,
    )
    assert [(piece.kind, piece.text, piece.id) for piece in message.pieces] == [
        ("thinking", "hm", ""),
        ("text", "hi", ""),
        ("call", '{"a":1}', "f"),
        ("result", "", "f"),
        ("output", "one", ""),
        ("result", "", "x"),
        ("output", '{"rows":[1],"more":null}', ""),
        ("image", "data:image/png;base64,iVBORw==", ""),
        ("opaque", '{"executableCode":{"code":"x"}}', ""),
    ]


def test_the_format_is_recognised_by_its_parts():
    assert format_of([user("hi")]) == "gemini"
    assert format_of([{"parts": [{"text": "hi"}]}]) == "gemini"


@pytest.mark.parametrize(
    "broken",
    [
        {"role": "system", "parts": [{"text": "a system instruction stands apart"}]},
        {"role": "user", "parts": "text"},
        {"role": "model", "parts": [{"functionCall": {"args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": "text"}}]},
    ],
)
def test_what_cannot_be_read_is_named(broken):
    with pytest.raises(InvalidValue, match=r"messages\[3\]"):
        GEMINI.read(broken, 3)


@pytest.mark.parametrize(
    ("ids", "given"),
    [
        ((), ({}, {})),
        (("a", "b"), ({"id": "a"}, {"id": "b"})),
        (("a", "b"), ({}, {})),
        ((), ({"id": "x"}, {"id": "y"})),
    ],
    ids=["by name", "by id", "ids left out", "ids made up"],
)
def test_a_result_answers_its_call_by_id_or_by_name(ids, given):
    messages = [user("task"), calls("read", "grep", ids=ids)]
    messages.append(user(answers("read", **given[0]), answers("grep", **given[1])))
    assert brim.fit_messages(messages, 10_000, meter=CHARS).messages == messages


def test_a_result_of_another_call_is_left_out():
    messages = [user("task"), calls("read", ids=("a",)), user(answers("grep", id="b"), "go on")]
    sent = brim.fit_messages(messages, 10_000, meter=CHARS).messages
    assert sent == [user("task"), user("go on")]


def test_an_edit_keeps_the_signature_the_spelling_and_the_shape_of_a_result():
    long = {"role": "model", "parts": [{"function_call": {"name": "write", "args": {"body": "word " * 300}}}]}
    long["parts"][0]["thought_signature"] = b"sig"
    messages = [user("task"), long, user({"function_response": {"name": "write", "response": {"rows": ["x" * 900]}}})]
    sent = brim.fit_messages(messages, 400, meter=CHARS).messages
    part = sent[1]["parts"][0]
    assert part["thought_signature"] == b"sig"
    assert isinstance(part["function_call"]["args"], dict)
    response = sent[2]["parts"][0]["function_response"]["response"]
    assert list(response) == ["rows"]
    assert isinstance(response["rows"], list)


def test_the_system_instruction_and_the_declared_functions_are_counted():
    tools = [{"functionDeclarations": [{"name": "read", "description": "d" * 400, "parametersJsonSchema": {}}]}]
    plain = brim.fit_messages([user("hi")], 10_000, meter=CHARS).used
    for system in ("s" * 50, {"parts": [{"text": "s" * 50}]}, [{"text": "s" * 50}]):
        fitted = brim.fit_messages([user("hi")], 10_000, meter=CHARS, tools=tools, system=system)
        assert fitted.used > plain + 450


def test_the_signature_of_a_call_that_nothing_answers_goes_to_the_next_one():
    """Function call is missing a thought_signature in functionCall parts."""
    messages = [user("task"), calls("read", "grep", ids=("a", "b")), user(answers("grep", id="b"))]
    sent = brim.fit_messages(messages, 10_000, meter=CHARS).messages
    kept = {**messages[1]["parts"][1], "thoughtSignature": "sig"}
    assert sent == [messages[0], {"role": "model", "parts": [kept]}, messages[2]]


@pytest.mark.parametrize("budget", range(90, 800, 30))
def test_images_of_a_result_are_not_replaced_by_texts(budget):
    """parts.0.function_response.parts.0.text: Extra inputs are not permitted."""
    image = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}
    result = answers("read", {"output": "many words " * 20}, parts=[image])
    messages = [user("task"), calls("read"), user(result), calls("read"), user(answers("read")), user("go on")]
    try:
        sent = brim.fit_messages(messages, budget, meter="gpt-5").messages
    except brim.DoesNotFit:
        return
    for part in (part for message in sent for part in message["parts"] if "functionResponse" in part):
        response = part["functionResponse"]
        assert all(list(each) == ["inlineData"] for each in response.get("parts", ()))
        assert ("image omitted" in str(response["response"])) <= (not response.get("parts"))
