"""The metrics of a gateway: why something was done, and with which model, in a bounded number of labels."""

import http.client
import json
import re

import pytest

from brim.gateway import state
from brim.gateway.client.parsed import parse
from brim.gateway.report.activity import GatewayMetrics
from brim.gateway.report.lines import line_of
from gateway.attacks import KEY_SHAPES
from gateway.conftest import admitted, asked, call, conversation, get, post, seen_by
from gateway.raw_server import raw_upstream
from gateway.scripted import JSON, played
from gateway.test_overflow import OPENAI
from gateway.test_relay import opened, settled

LONG = conversation(60)


def metrics(url):
    """Return the samples of the metrics page by name and labels."""
    page = get(url, "/metrics")[2].decode()
    rows = (line.rsplit(" ", 1) for line in page.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, value in rows}


def test_what_was_done_has_a_reason_and_the_name_of_the_model(gateway, upstream):
    url, _ = gateway(window=None)
    post(url, asked(LONG, model="org/my-model:7b"), x_brim_session_id="a")
    post(url, asked(LONG, model="org/my-model:7b"), x_brim_session_id="b")
    post(url, asked(LONG, model="org/my-model:7b"), x_brim_budget="x")
    found = metrics(url)
    model = 'model="org/my-model:7b"'
    assert found[f'brim_requests_total{{{model},outcome="ok",route="chat"}}'] == 2
    assert found[f'brim_requests_total{{{model},outcome="refused_400",route="chat"}}'] == 1
    assert found[f'brim_refusals_total{{{model},reason="invalid",route="chat"}}'] == 1
    assert found[f"brim_windows_learned_total{{{model}}}"] == 1
    assert found[f'brim_overflows_total{{{model},retried="true"}}'] == 1
    assert found[f'brim_cuts_total{{{model},reason="refusal"}}'] == 2
    assert found[f'brim_requests_cut_total{{{model},route="chat"}}'] == 2
    assert int(found[f'brim_saved_tokens_total{{{model},route="chat"}}']) > 1_000


def test_the_window_of_a_cut_is_named_by_where_it_comes_from(gateway, upstream):
    url, _ = gateway()
    post(url, asked(LONG))
    assert metrics(url)['brim_cuts_total{model="gpt-4o",reason="setting"}'] == 1
    url, _ = gateway(window=None)
    post(url, asked(LONG, model="none-such"), x_brim_budget="500")
    assert metrics(url)['brim_cuts_total{model="none-such",reason="header"}'] == 1


def test_fifty_models_outside_of_the_catalogue_have_labels_and_the_others_share_one():
    made = GatewayMetrics()
    labels = [made.label(f"my-model-{i}") for i in range(60)]
    assert labels == [f"my-model-{i}" for i in range(50)] + ["other"] * 10
    assert (made.label("my-model-3"), made.label("gpt-4o"), made.label("")) == ("my-model-3", "gpt-4o", "other")


def test_the_name_of_a_model_is_short_and_plain_and_holds_no_key():
    def label(model, **headers):
        return parse(admitted(**headers), "chat", json.dumps({"model": model}).encode()).label

    assert label("gw-model") == "gw-model"
    assert re.fullmatch(r"a_b_\.[0-9a-f]{12}", label("a\nb\x1b"))
    assert re.fullmatch(r"[0-9a-f]{12}", label("m" * 500))
    assert label(None) == label(7) == ""
    assert "my-secret-key" not in label("of my-secret-key", x_api_key="my-secret-key")
    for key in KEY_SHAPES:
        assert key not in label(f"model {key}", x_api_key=key)


def test_a_cut_that_is_held_is_no_new_cut(gateway, upstream):
    url, app = gateway()
    seen = seen_by(app)
    for turns in range(40, 50):
        assert post(url, asked(conversation(turns)), x_brim_session_id="talk")[0] == 200
    found = metrics(url)
    assert found['brim_requests_cut_total{model="gpt-4o",route="chat"}'] == 10
    cuts = [event.fields["cut"] for event in seen if event.name == "cut"]
    assert cuts == [*range(1, len(cuts) + 1)]
    assert found['brim_cuts_total{model="gpt-4o",reason="setting"}'] == len(cuts)
    assert 1 <= len(cuts) < 6


def test_a_request_that_is_too_long_is_refused_with_its_numbers(gateway, upstream):
    url, app = gateway(policy="refuse")
    seen = seen_by(app)
    assert post(url, asked(LONG))[0] == 400
    assert metrics(url)['brim_refusals_total{model="gpt-4o",reason="too_long",route="chat"}'] == 1
    (event,) = seen
    assert (event.name, event.fields["budget_tokens"]) == ("refused", upstream.window)
    assert event.fields["needed_tokens"] > upstream.window


def test_after_a_refusal_without_numbers_a_cut_says_so(gateway, upstream):
    url, app = gateway(window=None)
    seen = seen_by(app)
    message = "Your input exceeds the context window of this model. Please adjust your input and try again."
    upstream.script = [(400, {"error": {"message": message, "code": "context_length_exceeded"}})]
    upstream.window = 1_500
    for name in ("one", "two"):
        assert post(url, asked(LONG), x_brim_session_id=name)[0] == 200
    (cut,) = [event for event in seen if event.name == "cut"]
    assert (cut.fields["reason"], cut.session.split(".")[1]) == ("ceiling", "two")
    assert "kept below the size of a rejected prompt" in line_of(cut)


def test_the_line_of_a_cut_names_the_agent_that_asks_for_a_summary(gateway, upstream):
    url, app = gateway()
    seen = seen_by(app)
    asks = "You are performing a CONTEXT CHECKPOINT COMPACTION. Create a handoff summary for another LLM."
    assert (
        post(url, asked([*LONG, {"role": "assistant", "content": "Well."}, {"role": "user", "content": asks}]))[0]
        == 200
    )
    (cut,) = [event for event in seen if event.name == "cut"]
    assert "for a summary that Codex requested" in line_of(cut)


def ends(url):
    """Return the requests of chats by how they ended."""
    found = {name: int(count) for name, count in metrics(url).items() if name.startswith("brim_requests_total")}
    return {re.search('outcome="([^"]+)"', name)[1]: count for name, count in found.items()}


def test_each_request_is_counted_once_at_its_real_end(gateway, upstream):
    url, _ = gateway()
    for _ in range(3):
        with pytest.raises(http.client.IncompleteRead):
            post(url, asked(conversation(1), stream=True, user="reset"))
    assert ends(url) == {"broken": 3}
    assert metrics(url)['brim_upstream_errors_total{model="gpt-4o",reason="broken",route="chat"}'] == 3
    upstream.pause, upstream.pieces = 0.2, 100
    for _ in range(3):
        with opened(url, asked(conversation(1), stream=True)) as link:
            assert link.recv(1_000)
    assert settled(lambda: ends(url).get("left") == 3)
    upstream.pause = 0
    post(url, asked(conversation(1), stream=True))
    post(url, asked(conversation(1)), x_brim_budget="x")
    upstream.script = [(429, {"error": {}})]
    post(url, asked(conversation(1)))
    due = {"broken": 3, "left": 3, "ok": 1, "refused_400": 1, "upstream_4xx": 1}
    assert ends(url) == due


def test_a_gateway_is_ready_while_its_upstream_is(gateway, upstream, monkeypatch):
    monkeypatch.setattr(state, "_ASKED", 0.0)
    with raw_upstream([b""]) as server:
        url, _ = gateway(upstream=server.url + "/v1")
        assert get(url, "/readyz")[::2] == (200, b'{"status": "ok"}')
    status, _, said = get(url, "/readyz")
    assert (status, json.loads(said)["status"]) == (503, "upstream refused the connection; check its address and port")
    assert get(url, "/healthz")[::2] == (200, b'{"status": "ok"}')
    assert get(gateway()[0], "/readyz")[0] == 200


def test_an_upstream_that_wants_a_key_is_there_since_readiness_sends_none(gateway, upstream, monkeypatch):
    monkeypatch.setenv("MODEL_KEY", "key-of-the-gateway")
    with played(gateway, ("models", 401, JSON, [b"{}"]), upstream_key="MODEL_KEY") as (url, model, _):
        assert get(url, "/readyz")[::2] == (200, b'{"status": "ok"}')
    assert "key-of-the-gateway" not in str(model.received)


def test_upstream_is_asked_seldom_whether_it_is_there(gateway, upstream):
    url, _ = gateway()
    for _ in range(20):
        assert get(url, "/readyz")[0] == 200
    assert len([path for path in upstream.paths if path.endswith("/models")]) <= 2


def test_errors_of_upstream_have_a_metric_and_a_line(gateway, upstream):
    url, app = gateway()
    seen = seen_by(app)
    for status in (429, 500, 529, 404):
        upstream.script.append((status, {"error": {"type": "some_error", "message": "Not now."}}))
        assert post(url, asked(LONG[:1]), x_brim_session_id="talk")[0] == status
    found, where = metrics(url), 'model="gpt-4o"'
    reasons = {
        name.split('reason="')[1].split('"')[0]: value
        for name, value in found.items()
        if name.startswith(f"brim_upstream_errors_total{{{where}")
    }
    assert reasons == {"429": 1, "500": 1, "529": 1}
    lines = [line_of(event)[9:] for event in seen if event.name == "upstream_error"]
    assert [line.split(": ", 1)[1] for line in lines] == [f"upstream answered {each}" for each in (429, 500, 529)]
    assert lines[0].startswith("upstream ")
    assert app.state.activity.summary()["upstream_errors"] == 3
    url, _ = gateway(upstream="http://127.0.0.1:9/v1")
    assert post(url, asked(LONG[:1]))[0] == 502
    assert metrics(url)['brim_upstream_errors_total{model="gpt-4o",reason="upstream",route="chat"}'] == 1


EVENTS = [(b"content-type", b"text/event-stream")]
HALF = b'data: {"choices":[{"delta":{"content":"Half"}}]}\n\n'


@pytest.mark.parametrize(
    ("steps", "reason", "said"),
    [
        (
            [HALF, b'data: {"error":{"type":"overloaded_error","message":"Overloaded sk-1"}}\n\n'],
            "error_event",
            "upstream ended its stream with overloaded_error",
        ),
        (
            [HALF, b'data: {"error":{"type":"a secret text"}}\n\n'],
            "error_event",
            "upstream ended its stream with error",
        ),
        ([HALF, b'data: {"choices":[],"error":null}\n\ndata: [DONE]\n\n'], None, None),
    ],
    ids=["overloaded", "an odd type", "no error"],
)
def test_an_error_in_a_stream_is_one_of_upstream(gateway, steps, reason, said):
    with played(gateway, (200, EVENTS, steps)) as (url, _, app):
        lines = seen_by(app)
        assert post(url, asked(LONG[:1], stream=True))[0] == 200
        found = {name: value for name, value in metrics(url).items() if name.startswith("brim_upstream_errors_total{")}
    told = [line_of(event).split(": ", 1)[1] for event in lines if event.name == "upstream_error"]
    assert told == ([said] if said else [])
    assert [name.split('reason="')[1].split('"')[0] for name in found] == ([reason] if reason else [])


def test_what_providers_report_is_counted_with_the_window(gateway, upstream):
    url, _ = gateway()
    usage = {"prompt_tokens": 40, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 30}}
    answer = {"choices": [{"message": {"role": "assistant", "content": "Done."}}], "usage": usage}
    for _ in range(2):
        upstream.script.append((200, answer))
        post(url, asked(LONG[:1]))
    found, where = metrics(url), 'model="gpt-4o",route="chat"'
    kinds = {kind: found[f'brim_usage_tokens_total{{kind="{kind}",{where}}}'] for kind in ("input", "output", "cached")}
    assert kinds == {"input": 80, "output": 14, "cached": 60}
    assert found['brim_window_tokens{model="gpt-4o"}'] == upstream.window


def test_a_refused_request_of_another_path_is_not_counted_as_a_chat(gateway, upstream):
    url, _ = gateway()
    for path in ("/v1/models", "/brim/status", "/v1/%2e%2e/x"):
        assert call(url, "GET", path, host="evil.example")[0] == 421
    assert call(url, "POST", "/metrics")[0] == 405
    page = metrics(url)
    for name in ("brim_requests_total", "brim_refusals_total"):
        rows = {row: value for row, value in page.items() if row.startswith(name)}
        assert sum(rows.values()) == 4
        assert all('route="other"' in row for row in rows)


def test_a_shorter_answer_is_told_and_a_refusal_that_confirms_the_window_teaches_nothing(gateway, upstream):
    url, app = gateway()
    upstream.words, seen = OPENAI, seen_by(app)
    body = asked([{"role": "user", "content": "hello " * 600}], max_tokens=900)
    assert post(url, body)[1].get("x-brim-retried") == "1"
    lines = [line_of(event) for event in seen if event.name in ("overflow", "window_learned")]
    assert len(lines) == 1
    told = re.search(r"sent again with (\d+), and the answer limited to (\d+)$", lines[0])
    assert told is not None
    assert (int(told[1]), int(told[2])) == (608, 392)
