"""The conversations that a gateway cut: each is listed with its cuts, and each cut has its receipt."""

import json
from contextlib import contextmanager

from brim.gateway.http import server
from brim.gateway.http.app import GatewayApp
from brim.gateway.settings import GatewaySettings, RequestRule
from brim.redaction import REMOVED
from brim.sessions.conversations import conversation as conversations
from brim.sessions.log.overview import overview
from gateway.conftest import asked, conversation, post
from hostile.test_canaries import FORMLESS, SHAPES, secret_of
from model_server import ModelServer, running


@contextmanager
def served_gateway(url, *, window=1_000, **settings):
    """Run a gateway in front of a model on loopback that writes to a store."""
    with running(ModelServer(window=window)) as upstream:
        told = GatewaySettings(
            upstream=f"{upstream}/v1", default=RequestRule(policy="fit", window=window), store=url, **settings
        )
        app = GatewayApp(told)
        with running(app, server.config(app, told)) as address:
            yield address


def prompt_of(studio, name):
    """Return the last prompt of a conversation by the name that its client gave."""
    rows = studio.get("sessions")[1]["sessions"]
    return studio.get("prompt", session=next(row["id"] for row in rows if row["id"].endswith(name)))[1]


def test_with_capture_a_prompt_is_what_was_sent_with_secrets_masked_and_within_bounds(alone, monkeypatch):
    url = f"sqlite:///{alone.folder}/brim.db"
    shapes = [f"password: {shape}" if shape in FORMLESS else shape for shape in SHAPES]
    said = conversation(30)
    said[-1]["content"] += " The keys: " + " ; ".join(shapes)
    with served_gateway(url, capture=True) as address:
        headers = post(address, asked(said), x_brim_session_id="talk")[1]
        monkeypatch.setattr(conversations, "_MOST_CAPTURED", 1_000)
        post(address, asked(conversation(60)), x_brim_session_id="other")
    shown = prompt_of(alone, "talk")
    assert (shown["kind"], shown["used"]) == ("sent", int(headers["x-brim-tokens-after"]))
    assert sum(each["units"] for each in shown["rows"] if each["sent"]) == shown["used"]
    assert {each["state"] for each in shown["rows"]} & {"left out", "shortened"}
    assert "Only the sum was recorded." not in {each["why"] for each in shown["rows"]}
    texts = [each["text"] for each in shown["rows"] if each["sent"]]
    assert any(text.startswith("The task: find out") for text in texts)
    assert any(REMOVED in text for text in texts)
    assert [shape for shape in SHAPES if secret_of(shape) in json.dumps(shown)] == []
    whole = prompt_of(alone, "other")
    assert whole["kind"] == "sums"
    assert sum(each["units"] for each in whole["rows"] if each["sent"]) == whole["used"]


def test_without_capture_a_prompt_has_sums_and_the_store_has_no_text(alone):
    url = f"sqlite:///{alone.folder}/brim.db"
    with served_gateway(url) as address:
        post(address, asked(conversation(30)), x_brim_session_id="talk")
    shown = prompt_of(alone, "talk")
    assert shown["kind"] == "sums"
    assert "looked at the log" not in json.dumps(shown)
    assert sum(each["units"] for each in shown["rows"] if each["sent"]) == shown["used"]


def test_a_conversation_of_a_gateway_opens_on_every_screen_of_a_session(alone):
    """Four screens said that there is no such session, in the demo that was shipped."""
    with served_gateway(f"sqlite:///{alone.folder}/brim.db") as address:
        for turns in (30, 60):
            post(address, asked(conversation(turns)), x_brim_session_id="talk")
    (row,) = overview(alone.workspace.store()).gateway
    used, cuts = row.to_dict()["used"], row.to_dict()["cuts"]
    shown = {view: alone.get(view, session=row.id)[1] for view in ("timeline", "ledger", "cache", "prompt")}
    assert shown["timeline"]["points"][-1]["used"] == shown["prompt"]["used"] == used
    assert [each["kind"] for each in shown["timeline"]["marks"]].count("compaction") == cuts > 0
    assert len([each for each in shown["ledger"]["edits"] if each["kind"] == "compaction"]) == cuts
    assert len(shown["cache"]["calls"]) == len(shown["timeline"]["points"])
    assert sum(each["units"] for each in shown["prompt"]["rows"] if each["sent"]) == used
    assert all(each["why"] for each in shown["prompt"]["rows"] if not each["sent"])
