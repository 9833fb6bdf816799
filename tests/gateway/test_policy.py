"""What is done with a request that is too long, by model, key and route."""

import json

import pytest

import brim
from brim.gateway.fit import plan
from brim.gateway.settings import RequestRule, settings_of
from brim.sessions.conversations import Conversations
from brim.wire.overflow import is_overflow
from gateway.conftest import asked, conversation, parsed, post

LONG = conversation(60)


def test_warn_sends_the_request_unchanged_and_reports_the_excess(gateway, upstream):
    url, _ = gateway(policy="warn")
    body = asked(LONG)
    _, headers, _ = post(url, body)
    assert upstream.bodies[-1] == body
    assert int(headers["x-brim-over"]) == int(headers["x-brim-tokens-before"]) - upstream.window
    assert "x-brim-over" not in post(url, asked(conversation(1)))[1]


@pytest.mark.parametrize(
    ("path", "code", "words"),
    [
        ("/v1/chat/completions", "context_length_exceeded", "maximum context length is 1000 tokens"),
        ("/v1/messages", None, "prompt is too long"),
        ("/v1/responses", "context_length_exceeded", "exceeds the context window"),
    ],
)
def test_refuse_answers_as_the_provider_would(gateway, upstream, path, code, words):
    url, _ = gateway(policy="refuse")
    key = "input" if path == "/v1/responses" else "messages"
    status, headers, answer = post(url, json.dumps({"model": "gpt-4o", "max_tokens": 1, key: LONG}).encode(), path)
    told = json.loads(answer)["error"]
    assert status == 400
    assert words in told["message"]
    assert is_overflow(answer) is not None
    assert told.get("code") == code
    assert headers["x-should-retry"] == "false"
    assert not upstream.bodies


@pytest.mark.parametrize(("short", "status"), [(0, 200), (1, 400)])
def test_refuse_sends_a_request_that_fills_the_window_exactly(gateway, upstream, short, status):
    url, _ = gateway(policy="refuse", window=brim.meter("gpt-4o").count_messages(conversation(3)) - short)
    assert post(url, asked(conversation(3)))[0] == status


def test_rules_apply_by_model_key_and_route(gateway, upstream, monkeypatch):
    monkeypatch.setenv("TEAM_A", "key-a")
    monkeypatch.setenv("TEAM_B", "key-b")
    rules = (
        RequestRule(model="gpt-4*", key="TEAM_B", policy="refuse"),
        RequestRule(route="messages", policy="pass"),
        RequestRule(model="small-*", window=200),
    )
    url, _ = gateway(keys=("TEAM_A", "TEAM_B"), rules=rules)
    assert post(url, asked(LONG), authorization="Bearer key-a")[1]["x-brim-policy"] == "fit"
    assert post(url, asked(LONG), authorization="Bearer key-b")[0] == 400
    assert post(url, asked(LONG, max_tokens=1), "/v1/messages", x_api_key="key-a")[1]["x-brim-policy"] == "pass"
    small = asked(LONG).replace(b"gpt-4o", b"small-1")
    assert 80 < int(post(url, small, authorization="Bearer key-b")[1]["x-brim-tokens-after"]) <= 200
    assert "authorization" not in upstream.headers[-1]


def test_a_client_chooses_a_smaller_budget(gateway, upstream):
    url, _ = gateway()
    assert 120 < int(post(url, asked(LONG), x_brim_budget="300")[1]["x-brim-tokens-after"]) <= 300
    assert post(url, asked(LONG), x_brim_budget="-1")[0] == 400


def test_settings_pin_messages_by_their_text(gateway, upstream):
    text = LONG[41]["content"][:60]
    url, _ = gateway(pin=(text.upper(),))
    for _ in range(2):
        assert post(url, asked(LONG))[0] == 200
        assert LONG[41] in json.loads(upstream.bodies[-1])["messages"]
    url, _ = gateway(pin=("e",))
    assert post(url, asked(LONG))[0] == 200
    assert not upstream.refused
    assert not upstream.illegal


@pytest.mark.slow
@pytest.mark.parametrize("rule", [{"policy": "fit", "window": None}, {"policy": "warn"}, {"policy": "refuse"}])
def test_a_request_that_stays_whole_is_counted_as_the_next_one_of_its_conversation(gateway, upstream, rule):
    upstream.window = 40_000
    url, _ = gateway(**{"window": 40_000, **rule})
    off = []
    for turns in range(240, 256):
        status, headers, answer = post(url, asked(conversation(turns, 40)).replace(b"gpt-4o", b"mystery-2"))
        assert (status, headers["x-brim-edits"]) == (200, "0")
        off.append(int(headers["x-brim-tokens-after"]) / json.loads(answer)["usage"]["prompt_tokens"] - 1)
    assert off[0] > 0.05
    assert min(off) >= 0
    assert max(off[4:]) < 0.01, "four reports that agree are believed"


@pytest.mark.parametrize(("profile", "window"), [("session", 128_000), (None, 128_000)])
def test_the_window_of_a_profile_is_bounded_by_that_of_the_model(profile, window):
    config = brim.load_config(environ={}, flags={"gateway.upstream": "http://127.0.0.1:9/v1"}).resolve(profile=profile)
    settings = settings_of(config, {})
    made = parsed("chat", asked(LONG))
    with Conversations(log=False) as engine:
        assert plan(made, settings, engine, ()).room.window == window
        named = settings_of(config, {"window": 4_000})
        assert plan(made, named, engine, ()).room.window == 4_000
