"""The newest requests of a gateway, kept in its store: numbers and names, no text."""

import json
import time

import openai
import pytest

import brim
from brim.gateway.report.traffic import KIND, MOST
from gateway.conftest import asked, conversation, post
from gateway.raw_server import raw_upstream, whole

SECRET = "the vault code is heron-4711"


def document(url):
    with brim.open_store(url) as store:
        (name,) = store.ids(KIND)
        return store.load(KIND, name).body


def until(url, seen, seconds=5.0):
    """Return the document once a condition holds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with brim.open_store(url) as store:
            if store.ids(KIND) and seen(found := document(url)):
                return found
        time.sleep(0.05)
    raise AssertionError("the document was never written")


@pytest.mark.slow
def test_each_request_is_stored_with_its_numbers_and_without_its_text(gateway, chat, upstream, tmp_path):
    url = f"sqlite:///{tmp_path}/brim.db"
    base, _ = gateway(store=url, window=400)
    client = chat(base)
    said = [{"role": "user", "content": SECRET}, {"role": "assistant", "content": "yes " * 600}] * 3
    short = client.chat.completions.with_raw_response.create(model="gpt-5", messages=said[:1])
    long = client.chat.completions.with_raw_response.create(
        model="gpt-5", messages=[*said, {"role": "user", "content": "go on"}], max_tokens=50
    )
    with pytest.raises(openai.BadRequestError):
        client.chat.completions.create(model="gpt-5", messages=said[:1], extra_headers={"x-brim-budget": "many"})
    found = until(url, lambda body: len(body["requests"]) == 3)
    first, second, third = found["requests"]
    for row, answer in ((first, short), (second, long)):
        assert row["id"] == answer.headers["x-brim-request-id"]
        assert row["before"] == int(answer.headers["x-brim-tokens-before"])
        assert row["after"] == int(answer.headers["x-brim-tokens-after"])
        assert row["edits"] == int(answer.headers["x-brim-edits"])
        assert (row["status"], row["route"], row["model"]) == (200, "chat", "gpt-5")
        assert row["first_ms"] >= row["overhead_ms"] > 0
    assert first["edits"] == 0 < second["edits"]
    assert second["after"] < second["before"]
    assert (third["status"], third["refused"]) == (400, True)
    assert found["ends"] == {"ok": 2, "refused_400": 1}
    assert SECRET not in json.dumps(found)
    assert "sk-test" not in json.dumps(found)


def test_the_last_requests_are_written_at_the_end_and_the_next_gateway_starts_anew(
    chat, upstream, served_model, tmp_path
):
    from brim.gateway.http import server
    from brim.gateway.http.app import GatewayApp
    from brim.gateway.settings import GatewaySettings, RequestRule
    from model_server import running

    url = f"sqlite:///{tmp_path}/brim.db"
    settings = GatewaySettings(
        upstream=served_model[1] + "/v1", default=RequestRule(policy="fit", window=upstream.window), store=url
    )
    for _ in range(2):
        app = GatewayApp(settings)
        with running(app, server.config(app, settings)) as base:
            chat(base).chat.completions.create(model="gpt-5", messages=[{"role": "user", "content": "hello"}])
        assert len(document(url)["requests"]) == 1
        assert document(url)["stopped"]


def test_an_answer_that_breaks_off_is_counted_once(gateway, upstream, tmp_path):
    with raw_upstream([whole(b"12345678", "Content-Type: application/json")[:-4], "close"]) as server:
        base, app = gateway(upstream=server.url + "/v1", store=f"sqlite:///{tmp_path}/brim.db")
        assert post(base, asked(conversation(1)))[0] == 502
        assert dict(app.state.traffic._ends) == {"refused_502": 1}


def test_only_the_newest_requests_are_kept(tmp_path):
    from brim.gateway.http.problem import HttpProblem
    from brim.gateway.report.traffic import Traffic
    from brim.sessions.log.tolerant_store import TolerantStore

    with brim.open_store(f"sqlite:///{tmp_path}/brim.db") as store:
        traffic = Traffic(TolerantStore(store), "here")
        for i in range(MOST + 50):
            traffic.add_refusal("gpt-5", str(i), "chat", HttpProblem(400, "no"))
        traffic.write()
        found = store.load(KIND, "here").body
        assert [row["id"] for row in found["requests"]] == [str(i) for i in range(50, MOST + 50)]
        assert found["ends"] == {"refused_400": MOST + 50}
