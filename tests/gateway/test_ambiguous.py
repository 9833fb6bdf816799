"""Requests that servers read in different ways: no spelling of a body, a path or a model escapes a limit.

What ordinary clients send is in the same tables, and passes.
"""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brim.gateway.http.problem import HttpProblem
from brim.gateway.settings import RequestRule
from gateway.conftest import asked, conversation, get, parsed, post

LONG, SHORT = conversation(60), conversation(1)


def twice(*pairs):
    """Return a body whose keys may repeat."""
    return ("{" + ", ".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in pairs) + "}").encode()


MODEL = ("model", "gpt-4o")
TWICE = {
    "messages": twice(MODEL, ("messages", LONG), ("messages", SHORT)),
    "the short ones first": twice(MODEL, ("messages", SHORT), ("messages", LONG)),
    "model": twice(("model", "gpt-4o"), ("model", "tiny"), ("messages", SHORT)),
    "content": b'{"model": "gpt-4o", "messages": [{"role": "user", "content": "long", "content": "x"}]}',
    "a key with an escape": b'{"model": "gpt-4o", "messages": [], "me\\u0073sages": [{"role": "user", "content": "x"}]}',
    "quotes by their number": twice(MODEL, ("a", 1), ("messages", SHORT)).replace(
        b'"a": 1', rb'"a": "\u0022\u0022", "a": "\\u0022"'
    ),
    "in a schema": asked(SHORT, tools=[{"type": "function", "function": {"name": "f", "parameters": {}}}]).replace(
        b'"parameters": {}', b'"parameters": {"type": "object", "type": "string"}'
    ),
    "with spaces": json.dumps(json.loads(asked(SHORT)), indent=8).encode().replace(b"{", b'{"n": 1,\n\n"n": 2,', 1),
}


@pytest.mark.parametrize("policy", ["fit", "refuse", "warn"])
def test_a_key_twice_is_refused_and_named(gateway, upstream, policy):
    url, _ = gateway(policy=policy)
    for name, body in TWICE.items():
        status, _, answer = post(url, body)
        message = json.loads(answer)["error"]["message"]
        assert (status, "is repeated; servers disagree" in message) == (400, True), (name, message)
        assert name not in ("messages", "model", "content") or f"the key '{name}' is repeated" in message
    assert upstream.bodies == []


_TEXTS = st.text() | st.sampled_from(['"', "\\", '\\"', '\\\\"', "\\u0022", "\ud800", "a\\", "\\\\u0022"])
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | _TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(_TEXTS, inner),
    max_leaves=6,
)


def spelt(value, quote, indent=None):
    """Return JSON with another spelling of quotes inside of strings."""
    return json.dumps(value, indent=indent).replace("\\\\", "\0").replace('\\"', quote).replace("\0", "\\\\")


@settings(max_examples=40)
@given(st.dictionaries(_TEXTS, _VALUES, max_size=4), st.sampled_from(['\\"', "\\u0022"]), st.sampled_from([None, 3]))
def test_no_body_without_a_repeated_key_is_taken_for_one_and_every_repeated_key_is_found(values, quote, indent):
    raw = spelt(values, quote, indent).encode()
    assert parsed("chat", raw).values == values
    for key in values:
        with pytest.raises(HttpProblem, match="is repeated"):
            parsed("chat", raw[:-1] + f", {spelt(key, quote)}: 1}}".encode())


PATHS = {
    "/v1/chat/completions;x": 400,
    "/v1/chat/completions;v=1": 400,
    "/v1;a/chat/completions": 400,
    "/v1/chat%3Bx/completions": 400,
    "/v1/%EF%BD%83hat/completions": 400,
    "/v1/chat/completion%EF%BD%93": 400,
    "/v1/%CD%BEx": 400,
}


def test_a_path_with_parameters_or_other_letters_reaches_nobody(gateway, upstream):
    url, _ = gateway(policy="refuse")
    for path, expected in PATHS.items():
        assert post(url, asked(LONG), path)[0] == expected, path
    assert upstream.bodies == []


@pytest.mark.parametrize(
    "path",
    [
        "/v1/engines/gpt-4o/chat/completions",
        "/engines/gpt-4o/chat/completions",
        "/V1/Engines/gpt-4o/Chat/completions",
        "/openai/deployments/gpt-4o/chat/completions?api-version=2025-04-01-preview",
    ],
)
def test_a_path_that_names_the_model_of_a_chat_is_fitted_and_keeps_its_path(gateway, upstream, path):
    """ "`/v1/engines/...` escapes the policy", and Azure's deployments were never fitted."""
    url, _ = gateway(policy="refuse")
    body = json.dumps({"messages": LONG}).encode()
    status, _, answer = post(url, body, path)
    assert (status, b"maximum context length" in answer) == (400, True)
    url, _ = gateway(policy="fit")
    status, headers, _ = post(url, body, path)
    assert int(headers["x-brim-edits"]) > 0
    assert upstream.paths[0].endswith(path.partition("?")[0])
    assert get(url, path)[0] == 405


def test_the_v1_path_of_azure_is_fitted(gateway, upstream, served_model):
    """`/openai/v1/chat/completions` was passed on unfitted."""
    for base in ("", "/openai/v1", "/v1"):
        url, _ = gateway(upstream=served_model[1] + base)
        upstream.paths.clear()
        _, headers, _ = post(url, asked(LONG), "/openai/v1/chat/completions?api-version=preview")
        assert int(headers["x-brim-edits"]) > 0
        assert upstream.paths[-1] == f"{base if base == '/v1' else ''}/openai/v1/chat/completions"


STATE = {
    "/v1/chat/completions": {},
    "/v1/responses": {
        "previous_response_id": "resp_1",
        "conversation": {"id": "conv_1"},
        "prompt": {"id": "pmpt_1"},
    },
    "/v1/messages": {"thread": {"type": "continue", "id": "t"}},
    "/v1beta/models/gemini-3-pro:generateContent": {
        "cachedContent": "cachedContents/1",
        "cached_content": "cachedContents/1",
        "previous_interaction_id": "v1_1",
    },
    "/model/amazon.nova-pro/converse": {"promptVariables": {"a": {"text": "b"}}},
}
"""Fields by which a request goes on from what the provider has, by the path that knows them."""
STATELESS = {"thread": {"type": "create"}, "prompt": "a plain text", "previous_response_id": None, "conversation": None}


@pytest.mark.parametrize("path", STATE)
def test_state_of_a_provider_is_passed_on_and_a_field_like_others_elsewhere(gateway, upstream, path):
    url, _ = gateway(policy="refuse")
    text = "hello " * 3_000
    said = {"contents": [{"parts": [{"text": text}]}], "input": text}
    said["messages"] = [{"role": "user", "content": [{"text": text}] if "converse" in path else text}]
    key = {"/v1/responses": "input", "/v1beta/models/gemini-3-pro:generateContent": "contents"}.get(path, "messages")
    known = [(name, value) for fields in STATE.values() for name, value in fields.items()]
    for name, value in (*known, *STATELESS.items()):
        partial = (name, value) in STATE[path].items()
        body = json.dumps({"model": "gpt-4o", key: said[key], name: value}).encode()
        status, headers, _ = post(url, body, path)
        assert headers.get("x-brim-passthrough") == ("partial" if partial else None), name
        assert partial or status == 400, name


SPELLINGS = ("gpt-5", "GPT-5", " gpt-5", "gpt-5 ", "openai/gpt-5", "OpenAI/GPT-5", "ｇｐｔ-5", "ＧＰＴ－５", "gpt-5-2025-08-07", "models/gpt-5")  # fmt: skip


@pytest.mark.parametrize("model", SPELLINGS)
def test_a_rule_holds_for_every_spelling_of_a_model(gateway, upstream, model):
    rules = (RequestRule(model="gpt-5*", policy="refuse", window=500),)
    url, _ = gateway(window=None, rules=rules)
    status, _, answer = post(url, asked(LONG, model=model))
    assert (status, b"maximum context length is 500 tokens" in answer) == (400, True)
    assert upstream.bodies == []


@pytest.mark.parametrize("model", ["local-model", "LOCAL-model", " local-model", "openai/local-model", "ｌocal-model"])
def test_the_window_that_a_server_lists_holds_for_every_spelling(gateway, upstream, model):
    upstream.tells_window = True
    url, _ = gateway(window=None, policy="refuse")
    status, _, answer = post(url, asked(LONG, model=model))
    assert (status, b"maximum context length is 1000 tokens" in answer) == (400, True)
    assert "/props" in upstream.paths


def test_lists_under_several_keys_are_counted_all(gateway, upstream):
    """Which of them a server reads, nobody knows."""
    url, _ = gateway(policy="refuse")
    for first, other, path in (
        ("messages", "input", "/v1/chat/completions"),
        ("input", "messages", "/v1/responses"),
        ("messages", "contents", "/v1/messages"),
        ("messages", "Messages", "/v1/chat/completions"),
    ):
        for long in (first, other):
            body = {"model": "gpt-4o", "max_tokens": 9, first: SHORT, other: SHORT, long: LONG}
            assert post(url, json.dumps(body).encode(), path)[0] == 400, (path, long)
    assert upstream.bodies == []
