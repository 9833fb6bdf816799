"""Every view over HTTP: unknown names, empty workspaces and hostile texts."""

import json

import pytest

import brim


def test_an_empty_desk_answers_every_view_without_making_a_store(alone):
    for view in ("about", "sessions", "flows", "settings"):
        status, told = alone.get(view)
        assert status == 200, (view, told)
    assert alone.get("sessions")[1]["sessions"] == []
    assert list(alone.folder.iterdir()) == []


def test_text_from_strangers_comes_back_as_json_text(alone):
    evil = "<img src=x onerror=alert(1)></script>\ud800\u2028"
    store = brim.open_store(f"sqlite:///{alone.folder}/brim.db")
    session = brim.Session(window=2_000, model="gpt-5", store=store, id="s", capture=True)
    session.add({"role": "user", "content": evil})
    session.prompt()
    status, headers, body = alone.ask("/api/prompt?session=s")
    assert status == 200
    assert headers["content-type"] == "application/json"
    assert evil in [row["text"] for row in json.loads(body)["rows"]]


@pytest.mark.parametrize("view", ["cache", "timeline", "ledger"])
def test_an_unknown_session_is_an_error(served, view):
    status, told = served.get(view, session="order-incident")
    assert status == 404
    assert "orders-incident" in told["problem"]
    assert served.get(view)[0] == 400


def test_an_unknown_view_is_an_error(served):
    assert served.get("nothing")[0] == 404
    assert served.post("nothing")[0] == 404
    assert served.get("save")[0] == 404
