"""Where keys go, as docs/gateway.md says: to the gateway, to upstream, or nowhere."""

import json

import pytest

from gateway.conftest import asked, call, conversation, get, post
from gateway.scripted import JSON, played

TEAM, MODEL, OWN = "key-of-team-a", "key-of-the-gateway", "key-of-the-client"
MESSAGES = {"anthropic_version": "2023-06-01"}
PLACES = {
    "chat": ("POST", "/v1/chat/completions", {}),
    "responses": ("POST", "/v1/responses", {}),
    "messages": ("POST", "/v1/messages", MESSAGES),
    "a count": ("POST", "/v1/messages/count_tokens", MESSAGES),
    "another path": ("POST", "/v1/embeddings", {}),
    "another path of Anthropic": ("GET", "/v1/models/claude", MESSAGES),
}
HEADERS = ("authorization", "x-api-key", "api-key", "x-goog-api-key")
CASES = [
    # Whether the gateway has keys and a key for upstream; what the client sends; what upstream receives, or a status.
    (False, False, {}, {}),
    (False, False, {"authorization": f"Bearer {OWN}"}, {"authorization": f"Bearer {OWN}"}),
    (False, False, {"x-api-key": OWN}, {"x-api-key": OWN}),
    (False, False, {"authorization": f"Bearer {OWN}", "x-api-key": OWN}, {"authorization": f"Bearer {OWN}", "x-api-key": OWN}),
    (False, False, {"api-key": OWN, "authorization": "Basic eA=="}, {"api-key": OWN, "authorization": "Basic eA=="}),
    (False, True, {}, MODEL),
    (False, True, {"authorization": f"Bearer {OWN}"}, MODEL),
    (False, True, {"x-api-key": OWN, "api-key": OWN, "x-goog-api-key": OWN}, MODEL),
    (True, False, {}, 401),
    (True, False, {"authorization": f"Bearer {OWN}", "x-api-key": OWN}, 401),
    (True, False, {"api-key": TEAM}, 401),
    (True, False, {"authorization": f"Bearer {TEAM}"}, {}),
    (True, False, {"x-api-key": TEAM}, {}),
    (True, False, {"x-api-key": TEAM, "authorization": f"Bearer {TEAM}", "api-key": TEAM}, {}),
    (True, False, {"x-api-key": TEAM, "authorization": f"Bearer {OWN}"}, {"authorization": f"Bearer {OWN}"}),
    (True, False, {"authorization": f"bearer {TEAM}", "x-api-key": OWN}, {"x-api-key": OWN}),
    (True, True, {"x-api-key": TEAM}, MODEL),
    (True, True, {"authorization": f"Bearer {TEAM}"}, MODEL),
    (True, True, {"x-api-key": TEAM, "authorization": f"Bearer {OWN}"}, MODEL),
    (True, True, {"authorization": f"Bearer {OWN}"}, 401),
]  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
def test_keys_go_where_the_page_says(gateway, upstream, monkeypatch, place):
    monkeypatch.setenv("TEAM_A", TEAM)
    monkeypatch.setenv("MODEL_KEY", MODEL)
    method, path, more = PLACES[place]
    for keys in (False, True):
        for own in (False, True):
            told = ({"keys": ("TEAM_A",)} if keys else {}) | ({"upstream_key": "MODEL_KEY"} if own else {})
            cases = [(shown, due) for first, second, shown, due in CASES if (first, second) == (keys, own)]
            with played(gateway, *[(200, JSON, [b'{"input_tokens": 1}'])] * len(cases), **told) as (url, model, _):
                for shown, expected in cases:
                    due = expected
                    model.received.clear()
                    sent = {name.replace("-", "_"): value for name, value in (shown | more).items()}
                    answer = call(url, method, path, asked(conversation(1)), **sent)
                    if due == 401:
                        assert (answer[0], model.received) == (401, [])
                        assert TEAM not in str(answer)
                        continue
                    if due == MODEL:
                        due = {"x-api-key": MODEL} if more else {"authorization": f"Bearer {MODEL}"}
                    ((_, _, received, _),) = model.received
                    assert {name: received[name] for name in HEADERS if name in received} == due, shown


@pytest.mark.parametrize(("path", "more"), [("/v1/chat/completions", {}), ("/v1/messages", MESSAGES)])
def test_the_question_for_the_windows_of_models_has_the_key_of_the_request(gateway, upstream, monkeypatch, path, more):
    monkeypatch.setenv("TEAM_A", TEAM)
    monkeypatch.setenv("MODEL_KEY", MODEL)
    for own in (False, True):
        told = {"keys": ("TEAM_A",), "window": None} | ({"upstream_key": "MODEL_KEY"} if own else {})
        listed = ("models", 200, JSON, [json.dumps({"data": [{"id": "gpt-4o", "context_length": 900}]}).encode()])
        with played(gateway, listed, (200, JSON, [b"{}"]), **told) as (url, model, _):
            shown = {"x_api_key": TEAM, "authorization": f"Bearer {OWN}"}
            assert post(url, asked(conversation(60)), path, **shown, **more)[1]["x-brim-edits"] != "0"
        (_, _, probe, _), (_, _, sent, _) = model.received
        due = {"authorization": f"Bearer {OWN}"}
        if own:
            due = {"x-api-key": MODEL} if more else {"authorization": f"Bearer {MODEL}"}
        for received in (probe, sent):
            assert {name: received[name] for name in HEADERS if name in received} == due


def test_a_key_of_the_gateway_is_needed_before_a_websocket_is_refused(gateway, upstream, monkeypatch):
    monkeypatch.setenv("TEAM_A", TEAM)
    url, _ = gateway(keys=("TEAM_A",))
    upgrade = {"connection": "Upgrade", "upgrade": "websocket"}
    assert get(url, "/v1/responses", **upgrade)[0] == 401
    assert get(url, "/v1/responses", **upgrade, x_api_key=TEAM)[0] == 426


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("path", ["/v1beta/models/gemini-3-pro:generateContent", "/v1/embeddings"])
def test_a_key_in_the_query_is_not_sent_beside_that_of_the_gateway(gateway, upstream, monkeypatch, path, own):
    monkeypatch.setenv("MODEL_KEY", MODEL)
    told = {"upstream_key": "MODEL_KEY"} if own else {}
    with played(gateway, (200, JSON, [b"{}"]), **told) as (url, model, _):
        body = json.dumps({"contents": [{"parts": [{"text": "Go."}]}]}).encode()
        assert call(url, "POST", f"{path}?alt=json&Key={OWN}&a%20b=c", body)[0] == 200
    target = model.received[-1][1]
    assert target.partition("?")[2] == ("alt=json&a%20b=c" if own else f"alt=json&Key={OWN}&a%20b=c")
