"""Gemini and Bedrock behind the gateway: legal within the window, streams byte for byte, refusals in their own words."""

import contextlib
import json
import threading
import urllib.request

import pytest

from brim.gateway.http import server
from brim.gateway.http.app import GatewayApp
from brim.gateway.settings import GatewaySettings, RequestRule
from brim.gateway.upstream.answer import _usage_at_end as usage_at_end
from brim.wire.overflow import is_overflow
from gateway import conftest
from model_server import running
from provider_server import ProviderServer

WINDOW = 2_000
PATHS = {
    "gemini": (
        "/v1beta/models/gemini-3-pro:generateContent",
        "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse",
    ),
    "bedrock": (
        "/model/us.anthropic.claude-sonnet-4-5%3A0/converse",
        "/model/us.anthropic.claude-sonnet-4-5%3A0/converse-stream",
    ),
}


@pytest.fixture
def started():
    """Start a server and a gateway before it: `started(window=..., **rule)` returns both and the two addresses."""
    with contextlib.ExitStack() as stack:

        def start(window=WINDOW, real=WINDOW, **told):
            upstream = ProviderServer(real)
            url = stack.enter_context(running(upstream))
            rule = {"policy": told.pop("policy", "fit")}
            default = RequestRule(window=window, meter="o200k_base", **rule)
            settings = GatewaySettings(upstream=url + told.pop("base", ""), default=default, **told)
            app = GatewayApp(settings)
            return upstream, url, stack.enter_context(running(app, server.config(app, settings)))

        yield start


def post(url, path, body, **headers):
    return conftest.post(url, json.dumps(body).encode(), path, **headers)


def body(route, rounds, words=40):
    """Return a request with so many rounds of a call and its result."""
    text = "the harbour is silting up " * (words // 5)
    if route == "gemini":
        said = [{"role": "user", "parts": [{"text": "Find out why."}]}]
        for i in range(rounds):
            call = {"functionCall": {"name": "look", "args": {"number": i}}, "thoughtSignature": "s"}
            said.append({"role": "model", "parts": [call]})
            answer = {"functionResponse": {"name": "look", "response": {"result": f"{i}: {text}"}}}
            said.append({"role": "user", "parts": [answer]})
        return {"contents": said, "generationConfig": {"maxOutputTokens": 50}}
    said = [{"role": "user", "content": [{"text": "Find out why."}]}]
    for i in range(rounds):
        thought = {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s"}}}
        said.append(
            {
                "role": "assistant",
                "content": [thought, {"toolUse": {"toolUseId": f"t{i}", "name": "look", "input": {}}}],
            }
        )
        result = {"toolResult": {"toolUseId": f"t{i}", "content": [{"text": f"{i}: {text}"}]}}
        said.append({"role": "user", "content": [result]})
    return {"messages": said, "inferenceConfig": {"maxTokens": 50}}


@pytest.mark.parametrize("route", PATHS)
def test_a_request_that_is_too_long_is_cut_and_stays_legal(started, route):
    upstream, _, gateway = started()
    status, headers, _ = post(gateway, PATHS[route][1], body(route, 100))
    assert (status, upstream.illegal, upstream.refused) == (200, [], 0)
    assert int(headers["x-brim-edits"]) > 0
    assert WINDOW // 2 < upstream.sizes[0] <= WINDOW
    assert upstream.models == [{"gemini": "gemini-3-pro", "bedrock": "us.anthropic.claude-sonnet-4-5:0"}[route]]


@pytest.mark.parametrize("route", PATHS)
@pytest.mark.parametrize("streamed", [0, 1], ids=["whole", "streamed"])
def test_what_fits_and_its_answer_pass_byte_for_byte(started, route, streamed):
    upstream, url, gateway = started()
    given = body(route, 2)
    direct, passed = post(url, PATHS[route][streamed], given), post(gateway, PATHS[route][streamed], given)
    assert passed[2] == direct[2]
    assert passed[1]["content-type"] == direct[1]["content-type"]
    assert upstream.bodies[0] == upstream.bodies[1]


@pytest.mark.parametrize("route", PATHS)
@pytest.mark.parametrize("streamed", [0, 1], ids=["whole", "streamed"])
def test_a_refusal_is_known_and_the_request_is_sent_once_more(started, route, streamed):
    upstream, _, gateway = started(window=4 * WINDOW)
    status, headers, _ = post(gateway, PATHS[route][streamed], body(route, 52))
    assert (status, upstream.refused, upstream.illegal) == (200, 1, [])
    assert headers["x-brim-retried"] == "1"


@pytest.mark.parametrize("route", PATHS)
def test_a_refusal_of_the_gateway_is_in_the_words_of_the_provider(started, route):
    _, _, gateway = started(policy="refuse")
    status, headers, raw = post(gateway, PATHS[route][0], body(route, 200))
    found = is_overflow(raw)
    assert (status, headers["x-should-retry"]) == (400, "false")
    assert found.sent > found.limit
    if route == "gemini":
        assert json.loads(raw)["error"]["status"] == "INVALID_ARGUMENT"
    else:
        assert json.loads(raw)["message"].startswith("The model returned the following errors: prompt is too long: ")
        assert headers["x-amzn-errortype"] == "ValidationException"


def test_the_own_key_is_sent_as_each_provider_takes_it(started, monkeypatch):
    monkeypatch.setenv("OWN_KEY", "k-own")
    monkeypatch.setenv("CLIENT_KEY", "k-client")
    upstream, _, gateway = started(upstream_key="OWN_KEY", keys=("CLIENT_KEY",), base="/v1")
    assert post(gateway, PATHS["gemini"][0], body("gemini", 1), x_goog_api_key="k-client")[0] == 200
    assert post(gateway, PATHS["bedrock"][0], body("bedrock", 1), authorization="Bearer k-client")[0] == 200
    assert upstream.headers[0]["x-goog-api-key"] == "k-own"
    assert upstream.headers[1]["authorization"] == "Bearer k-own"
    assert "k-client" not in str(upstream.headers)


@pytest.mark.parametrize("route", PATHS)
def test_a_stream_without_events_is_passed_on_as_it_comes(started, route):
    """Gemini's stream without `alt=sse` is a JSON array; a client saw nothing of it before it was complete."""
    upstream, url, gateway = started()
    path, given = PATHS[route][1].removesuffix("?alt=sse"), body(route, 2)
    direct = post(url, path, given)[2]
    upstream.paused = threading.Event()
    asked = urllib.request.Request(gateway + path, json.dumps(given).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(asked, timeout=30) as answer:
        first = answer.read1(100_000)
        upstream.paused.set()
        rest = answer.read()
    assert first + rest == direct
    assert 0 < len(first) < len(direct)
    if route == "gemini":
        assert [each["usageMetadata"]["candidatesTokenCount"] for each in json.loads(direct)] == [6] * 6


def test_the_usage_at_the_end_of_a_stream_without_events_is_read():
    array = b'[{"usageMetadata" : {"promptTokenCount": 3}}\r\n,{"usageMetadata": {"promptTokenCount": 9}}]'
    assert usage_at_end(array) == {"promptTokenCount": 9}
    assert usage_at_end(b'\x00{"usage":{"inputTokens":5}}\x01') == {"inputTokens": 5}
    assert usage_at_end(b'{"usage') is usage_at_end(b"") is usage_at_end(b'"usage": {') is None
