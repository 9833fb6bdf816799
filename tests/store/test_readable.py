"""A person reads a store with `sqlite3`, by the queries of docs/store.md."""

import json
import re
import shutil
import sqlite3
import subprocess
import zlib

import pytest

import brim
from checkout import ROOT

PAGE = (ROOT / "docs" / "store.md").read_text(encoding="utf-8")
SQL = re.search(r"```sql\n(.*?)```", PAGE, re.DOTALL)[1]


def asked(day, lines):
    call = {"id": f"c{day}", "type": "function", "function": {"name": "timetable", "arguments": "{}"}}
    return [
        {"role": "user", "content": f"When does the ferry leave on day {day}?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{day}", "content": f"Boat {day}: 7:{day:02d} from the pier\n" * lines},
        {"role": "assistant", "content": f"At 7:{day:02d}."},
    ]


@pytest.fixture
def said(tmp_path):
    """What was said in a store, in the file of that name."""
    messages = [message for day in range(12) for message in asked(day, 100 if day == 3 else 12)]
    with brim.Session(brim.Window(2_000), meter="o200k_base", store=f"sqlite:///{tmp_path}/brim.db", id="trip") as talk:
        for message in messages:
            talk.add(message)
            talk.prompt()
    return messages


def answers(path, run):
    """Return the rows of the three queries of the page."""
    view, *queries = [part.strip() for part in SQL.split(";") if part.strip()]
    assert len(queries) == 3
    return [run(path, f"{view};", f"{query};") for query in queries]


def by_shell(path, view, query):
    ended = subprocess.run(["sqlite3", "-json", path], input=view + query, capture_output=True, text=True, check=True)
    return [[*row.values()] for row in json.loads(ended.stdout)]


def by_python(path, view, query):
    with sqlite3.connect(path) as connection:
        connection.create_function("sqlar_uncompress", 2, lambda body, _: zlib.decompress(body))
        connection.execute(view)
        rows = [list(row) for row in connection.execute(query)]
    connection.close()
    return rows


@pytest.mark.slow
@pytest.mark.parametrize("run", [by_shell, by_python])
def test_the_queries_of_the_page_answer_what_they_ask(said, tmp_path, run):
    if run is by_shell and shutil.which("sqlite3") is None:
        pytest.skip("there is no sqlite3 shell here")
    log, prompts, places = answers(tmp_path / "brim.db", run)
    assert [(role, content) for _, _, role, content in log] == [(each["role"], each["content"]) for each in said]
    assert len(prompts) == len(said)
    assert all(0 < used <= budget for _, used, budget, _ in prompts)
    cuts = [cut for _, _, _, cut in prompts if cut]
    assert cuts
    assert all("were shortened or left out" in cut for cut in cuts)
    assert [content for _, _, content in places] == [
        each["content"] for each in said if "ferry" in (each["content"] or "")
    ]


def test_most_of_a_talk_is_text_that_can_be_read_as_it_is(said, tmp_path):
    with sqlite3.connect(tmp_path / "brim.db") as connection:
        rows = connection.execute("SELECT typeof(body), body FROM brim_entries WHERE kind = 'message'").fetchall()
    connection.close()
    assert [kind for kind, _ in rows].count("blob") == 1  # The one result of 100 lines.
    assert [json.loads(body)["message"] for kind, body in rows if kind == "text"] == [
        message for message in said if len(message["content"] or "") < 1_000
    ]
