"""A message that a prompt left out is kept next time: the setting, its diff, and its undo."""

import json
from contextlib import chdir

import pytest

import brim
from brim.errors import InvalidType
from brim.studio.workspace import Workspace
from studio.logs import ask

ERROR = "psycopg.OperationalError: connection to orders-db:5432 refused after 30 seconds of waiting for the pool"


@pytest.fixture
def workspace(tmp_path):
    """A session that was compacted after a result with an error, in a project without a settings file."""
    with brim.open_store(f"sqlite:///{tmp_path}/brim.db") as store:
        session = brim.Session(2_000, meter="o200k_base", store=store, id="s", capture=True, summarise="extract")
        session.add({"role": "user", "content": "Find why orders fail."})
        for i in range(12):
            call = {"id": f"c{i}", "type": "function", "function": {"name": "logs", "arguments": f'{{"page": {i}}}'}}
            said = f"Traceback of page {i}\n" + f"{i} all is quiet here\n" * 40 + (ERROR if i == 3 else "")
            session.add({"role": "assistant", "content": None, "tool_calls": [call]})
            session.add({"role": "tool", "tool_call_id": f"c{i}", "content": said})
            session.prompt()
    made = Workspace(url=f"sqlite:///{tmp_path}/brim.db", config=str(tmp_path))
    yield made
    made.close()


def lost_row(workspace):
    rows = ask(workspace, "prompt", session="s", step="12")["rows"]
    return next(i for i, row in enumerate(rows) if row["state"] == "left out" and "orders-db" in row["text"])


def test_a_lost_error_is_pinned_by_a_new_settings_file_and_the_undo_removes_it(workspace, tmp_path):
    told = ask(workspace, "keep", session="s", step="12", at=str(lost_row(workspace)))
    assert told["key"] == "history.pin"
    assert ERROR.startswith(told["text"])
    assert 40 < len(told["text"]) <= 80
    assert json.loads(told["value"]) == [told["text"]]
    assert "1 of 26" in told["would"]
    plan = ask(workspace, "plan", key=told["key"], value=told["value"])
    assert plan["path"] == str(tmp_path / "brim.yaml")
    assert f'+  pin: ["{told["text"]}"]' in plan["diff"]
    assert plan["applies"]["value"] == [told["text"]]
    assert plan["applies"]["origin"] == "project"
    assert not (tmp_path / "brim.yaml").exists()
    ask(workspace, "save", plan=plan["id"])
    settings = brim.load_config(tmp_path).resolve()
    assert list(settings.value("history.pin")) == [told["text"]]
    again = ask(workspace, "keep", session="s", step="12", at=str(lost_row(workspace) + 2))
    assert json.loads(again["value"]) == [told["text"], again["text"]]
    ask(workspace, "undo")
    assert not (tmp_path / "brim.yaml").exists()


def test_the_pinned_message_is_in_the_next_run(workspace):
    told = ask(workspace, "keep", session="s", step="12", at=str(lost_row(workspace)))
    ask(workspace, "save", plan=ask(workspace, "plan", key=told["key"], value=told["value"])["id"])
    with chdir(workspace.config):
        session = brim.load_config().resolve().session(window=2_000, summarise="extract")
    for entry in workspace.store().entries("s", kinds=["message"]):
        session.add(entry.body["message"])
        prompt = session.prompt()
    assert ERROR in str(prompt.messages)


@pytest.mark.parametrize("at", ["0", "999", "x"])
def test_only_a_message_that_was_changed_can_be_kept(workspace, at):
    with pytest.raises(InvalidType):
        ask(workspace, "keep", session="s", step="12", at=at)
