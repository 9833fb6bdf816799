"""A hundred shapes of secrets, through every way out: none of the kinds that docs/security.md promises comes out."""

import json
import logging
import re
from pathlib import Path

import pytest

from brim.gateway.http import server
from brim.gateway.http.app import GatewayApp
from brim.gateway.settings import GatewaySettings, RequestRule
from brim.history.compact import model_summary
from brim.history.compact.continuation import continuation
from brim.history.compact.plan import apply, plan
from brim.history.compact.summary import as_talk, once, read_back, summarise
from brim.meter import meter
from brim.redaction import redact
from brim.studio.workspace import Workspace
from gateway.conftest import get, post
from hostile.secret_shapes import KINDS, SHAPES
from hostile.test_canaries import run
from model_server import ModelServer, running
from store_file import readable
from studio.serving import Served

CHARS = meter("chars")
PLACES = ("user", "agent", "call", "result")
ROOM = 2_000_000
"""Characters: nothing has to give way, so nothing is left out by chance."""


def history(place, shapes=SHAPES):
    """Return a run in which every shape stands once, in a message of its own."""
    said = [{"role": "user", "content": "Set up the servers, and tell me what you did."}]
    for at, shape in enumerate(shapes):
        text = f"I looked at {shape.name}.\n\n{shape.text}\n\nThat is done."
        made = json.dumps({"path": f"notes{at}.md", "content": text if place == "call" else ""})
        call = {"id": f"c{at}", "type": "function", "function": {"name": "write_file", "arguments": made}}
        told = text if place == "agent" else "Next."
        said.append({"role": "assistant", "content": told, "tool_calls": [call]})
        said.append({"role": "tool", "tool_call_id": f"c{at}", "content": text if place == "result" else "ok"})
        said.append({"role": "user", "content": text if place == "user" else f"Go on with {at}."})
    return said


def summary(messages):
    def told(message):
        calls = "".join(
            f"\n{c['function']['name']} {c['function']['arguments']}" for c in message.get("tool_calls", ())
        )
        return message["content"] + calls

    talk = "\n\n".join(f"{message['role']}: {told(message)}" for message in messages)
    return summarise(talk, ROOM, CHARS) + as_talk(once(read_back(talk, "\n\n")))


def compacted(messages):
    made = plan(messages, meter=CHARS, room=ROOM // 20, keep_turns=1, summary_share=1, input_limit=ROOM)
    read = json.dumps(model_summary.ask(made), ensure_ascii=False)
    return read + apply(made, made.summary()).summary


def hand_over(messages):
    found = None
    for _ in range(3):
        found = continuation(messages, goal=messages[3]["content"], previous=found)
    return found.text() + json.dumps(found.to_dict(), ensure_ascii=False)


def leaks(text):
    """Return the shapes whose secret is in a text, plain or as JSON writes it."""
    return [shape.name for shape in SHAPES if shape.secret in text or json.dumps(shape.secret)[1:-1] in text]


def test_the_list_of_the_docs_is_the_list_of_the_tests():
    page = Path(__file__).parents[2].joinpath("docs", "security.md").read_text(encoding="utf-8")
    part = page[page.index("These secrets are recognised in texts:") :].split("\n\n")[1]
    assert re.findall(r"^- ([^:]+):", part, re.M) == list(KINDS)
    assert len(SHAPES) >= 100


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("way", [summary, compacted, hand_over], ids=lambda way: way.__name__)
def test_no_summary_and_no_hand_over_holds_a_secret(way, place):
    assert leaks(way(history(place))) == []


def test_no_report_of_an_audit_holds_a_secret(tmp_path):
    lines = [json.dumps({"model": "gpt-4o", "messages": history(place), "id": place}) for place in PLACES]
    (tmp_path / "traces.jsonl").write_text("\n".join(lines))
    words = ("audit", "traces.jsonl", "--window", "2000")
    told = run(tmp_path, *words) + run(tmp_path, *words, "--json")
    assert "requests" in told
    assert leaks(told) == []


def test_nothing_that_a_gateway_writes_about_its_requests_holds_a_secret(tmp_path, caplog, capfd):
    """Its log, metrics, status, store with receipts, and what the studio shows of them."""
    store = f"sqlite:///{tmp_path}/brim.db"
    with running(ModelServer()) as upstream, caplog.at_level(logging.DEBUG):
        settings = GatewaySettings(
            upstream=f"{upstream}/v1", default=RequestRule(policy="fit", window=1_000), store=store
        )
        app = GatewayApp(settings)
        with running(app, server.config(app, settings)) as url:
            for place in PLACES:
                if place == "result":  # The store holds what was kept of a result that was shortened.
                    told = readable(tmp_path / "brim.db")
                for start in range(0, len(SHAPES), 27):
                    body = {"model": "gpt-4o", "messages": history(place, SHAPES[start : start + 27]), "max_tokens": 9}
                    assert post(url, json.dumps(body).encode(), x_brim_session_id=f"{place}-{start}")[0] == 200
            told += get(url, "/metrics")[2] + get(url, "/brim/status")[2]
    with Served(Workspace(url=store, config=str(tmp_path))) as studio:
        views = ("about", "sessions", "settings", "search")
        told += b"".join(studio.ask(f"/api/{view}")[2] for view in views)
    told += caplog.text.encode() + "".join(capfd.readouterr()).encode()
    assert told.count(b"gpt-4o") > 10
    assert leaks(told.decode("utf-8", "replace")) == []


ESCAPED = {
    "plain": lambda text: text,
    "JSON": lambda text: json.dumps({"content": text}),
    "JSON between lines": lambda text: json.dumps({"content": f"x\n{text}\ny"}),
    "JSON inside of JSON": lambda text: json.dumps({"a": json.dumps({"content": f"x\n{text}"})}),
    "a call": lambda text: f"called: write {json.dumps({'content': text})}\nnext",
}


@pytest.mark.parametrize("escaped", ESCAPED)
def test_no_escape_hides_a_secret_and_what_was_masked_stays(escaped):
    told = {shape.name: redact(ESCAPED[escaped](shape.text)) for shape in SHAPES}
    assert [shape.name for shape in SHAPES if shape.secret in told[shape.name]] == []
    assert [name for name, text in told.items() if redact(text) != text] == []
