"""The conversations that a gateway cut: each is listed with its cuts, and each cut has its receipt."""

import json
import time
from contextlib import contextmanager
from unittest.mock import patch

import pytest

import brim
from brim.gateway.http import server
from brim.gateway.http.app import GatewayApp
from brim.gateway.report import traffic
from brim.gateway.settings import GatewaySettings, RequestRule
from brim.history.compact.secrets import REMOVED
from brim.sessions.conversations import conversation as conversations
from brim.sessions.log.overview import overview
from brim.studio.views.gateway import TRAFFIC
from gateway.conftest import asked, conversation, post
from hostile.test_canaries import FORMLESS, SHAPES, secret_of
from model_server import ModelServer, running


def conversations_of(served):
    return [row.to_dict() for row in overview(served.workspace.store()).gateway]


def test_conversations_are_listed_with_their_newest_prompt_and_their_cuts(served):
    told = served.get("gateway")[1]
    rows = {row["id"].rpartition(".")[2]: row for row in conversations_of(served)}
    assert rows
    cut = [each for each in told["requests"] if each.get("cut")]
    for row in rows.values():
        own = [each for each in told["requests"] if each.get("session") == row["id"] and each["edits"]]
        newest = max(own, key=lambda each: each["at"])
        assert (row["used"], row["before"], row["budget"]) == (newest["after"], newest["before"], newest["budget"])
        assert row["cuts"] == max(each["cut"] for each in cut if each["session"] == row["id"]) > 0
        assert row["window"] == 6_000


def test_requests_have_their_tokens_before_and_after(served):
    told = served.get("gateway")[1]
    cut = [each for each in told["requests"] if each.get("edits")]
    assert cut
    for each in cut:
        assert each["budget"] * 0.1 < each["after"] <= each["budget"]
        assert each["after"] < each["before"]
    (one,) = told["gateways"]
    assert sum(one["ends"].values()) == len(told["requests"])


@contextmanager
def served_gateway(url, *, window=1_000, **settings):
    """Run a gateway in front of a model on loopback that writes to a store, soon after each request."""
    with patch.object(traffic, "_INTERVAL", 0.1), running(ModelServer(window=window)) as upstream:
        told = GatewaySettings(
            upstream=f"{upstream}/v1", default=RequestRule(policy="fit", window=window), store=url, **settings
        )
        app = GatewayApp(told)
        with running(app, server.config(app, told)) as address:
            yield address


def until(ready):
    """Return a value as soon as it is there."""
    end = time.monotonic() + 20
    while not (found := ready()) and time.monotonic() < end:
        time.sleep(0.05)
    return found


def test_with_capture_a_row_leads_to_what_was_sent_with_secrets_masked_and_within_bounds(alone, monkeypatch):
    url = f"sqlite:///{alone.folder}/brim.db"
    shapes = [f"password: {shape}" if shape in FORMLESS else shape for shape in SHAPES]
    said = conversation(30)
    said[-1]["content"] += " The keys: " + " ; ".join(shapes)
    with served_gateway(url, capture=True) as address:
        headers = post(address, asked(said), x_brim_session_id="talk")[1]
        monkeypatch.setattr(conversations, "_MOST_CAPTURED", 1_000)
        post(address, asked(conversation(60)), x_brim_session_id="other")
        rows = until(lambda: (got := alone.get("gateway")[1]["requests"]) and len(got) == 2 and got)
    big, row = rows
    assert (row["id"], row["step"]) == (headers["x-brim-request-id"], 1)
    shown = alone.get("prompt", session=row["session"], step=row["step"])[1]
    assert (shown["kind"], shown["used"]) == ("sent", int(headers["x-brim-tokens-after"]))
    assert sum(each["units"] for each in shown["rows"] if each["sent"]) == shown["used"]
    assert {each["state"] for each in shown["rows"]} & {"left out", "shortened"}
    assert "Only the sum was recorded." not in {each["why"] for each in shown["rows"]}
    texts = [each["text"] for each in shown["rows"] if each["sent"]]
    assert any(text.startswith("The task: find out") for text in texts)
    assert any(REMOVED in text for text in texts)
    assert [shape for shape in SHAPES if secret_of(shape) in json.dumps(shown)] == []
    whole = alone.get("prompt", session=big["session"], step=big["step"])[1]
    assert whole["kind"] == "sums"
    assert sum(each["units"] for each in whole["rows"] if each["sent"]) == whole["used"]


def test_without_capture_a_row_leads_to_sums_and_the_store_has_no_text(alone):
    url = f"sqlite:///{alone.folder}/brim.db"
    with served_gateway(url) as address:
        post(address, asked(conversation(30)), x_brim_session_id="talk")
        (row,) = until(lambda: alone.get("gateway")[1]["requests"])
    shown = alone.get("prompt", session=row["session"], step=row["step"])[1]
    assert shown["kind"] == "sums"
    assert "looked at the log" not in json.dumps(shown)
    assert sum(each["units"] for each in shown["rows"] if each["sent"]) == shown["used"]


def test_a_gateway_that_ended_or_fell_silent_is_shown_as_stopped(alone):
    url = f"sqlite:///{alone.folder}/brim.db"
    with served_gateway(url) as address:
        post(address, asked(conversation(2)))
        (row,) = until(lambda: alone.get("gateway")[1]["gateways"])
        assert row["running"]
    (row,) = alone.get("gateway")[1]["gateways"]
    assert not row["running"]
    with brim.open_store(url) as store:
        (name,) = store.ids(TRAFFIC)
        saved = store.load(TRAFFIC, name)
        for age, runs in ((60.0, True), (120.0, False)):  # Killed, it could not say that it stopped.
            body = {**saved.body, "stopped": False, "seen": time.time() - age}
            store.save(TRAFFIC, name, body, version=store.load(TRAFFIC, name).version)
            assert alone.get("gateway")[1]["gateways"][0]["running"] == runs


@pytest.mark.parametrize("view", ["timeline", "ledger", "cache", "prompt"])
def test_a_conversation_of_a_gateway_opens_on_every_screen_of_a_session(served, view):
    """Four screens said that there is no such session, in the demo that is shipped."""
    row = max(conversations_of(served), key=lambda each: each["cuts"])
    status, shown = served.get(view, session=row["id"])
    assert status == 200, shown
    used = shown.get("used") or shown["status"]["used"]
    assert used == row["used"]
    if view == "timeline":
        assert shown["points"][-1]["used"] == used
        assert [each["kind"] for each in shown["marks"]].count("compaction") == row["cuts"]
    if view == "prompt":
        assert sum(each["units"] for each in shown["rows"] if each["sent"]) == used
        assert all(each["why"] for each in shown["rows"] if not each["sent"])
    if view == "ledger":
        assert len([each for each in shown["edits"] if each["kind"] == "compaction"]) == row["cuts"]
