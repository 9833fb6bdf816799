"""Writes the golden files of the version that brim has now: `python tests/store/golden/make.py`.

It is run once, when a version is released. A file that is there is never written again.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import brim
from brim.store import Store, open_store
from brim.store.schema import VERSION, statements
from brim.store.texts import DROPPED, INDEXED, index_words
from brim.store.values import decode_body

HERE = Path(__file__).resolve().parent

ODD = "\0 \ud800 \ud83d\ude00 数据库"
SYSTEM = "You plan trips."
TABLES = {
    "brim_sessions": "key, id, created, updated, last, meta",
    "brim_entries": "place, kind, at, body",
    "brim_documents": "kind, id, version, at, body",
}
_BODIES = ("meta", "body")


def asked(day: int) -> list[dict[str, Any]]:
    """Return what is said about one day of the trip."""
    call = {"id": f"c{day}", "type": "function", "function": {"name": "timetable", "arguments": f'{{"day": {day}}}'}}
    return [
        {"role": "user", "content": f"When does the ferry to Cacilhas leave on day {day}?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{day}", "content": f"Ferry {day}: 7:{day:02d}, pier {day % 3}\n" * 12},
        {"role": "assistant", "content": f"At 7:{day:02d} from pier {day % 3}."},
    ]


def step(tick: brim.Tick) -> brim.Step:
    """Return one step of the loop."""
    said = {"role": "assistant", "content": f"Step {tick.iteration}: the tram was checked."}
    return brim.Step(messages=[said], end="iteration", result={"checked": tick.iteration})


def fill(store: Store) -> None:
    """Write something of everything."""
    session = brim.Session(brim.Window(1_200, warn=0.5), meter="o200k_base", store=store, id="trip")
    for day in range(14):
        session.add(asked(day))
        session.record_usage(input_tokens=session.prompt(system=SYSTEM).used)
    brim.Loop("Check every tram", step, window=4_000, meter="o200k_base", store=store, id="trams").run(ticks=3)
    store.append("odd", [("note", {"odd": ODD, "raw": b"\x89PNG"}), ("text", {"text": ODD})], meta={"title": "Belém"})
    store.save("calibration", "m1", {"calls": 1}, version=0)
    store.save("calibration", "m1", {"calls": 2}, version=1)


def dump(rows: Any, kind: str) -> str:
    """Return a store as the statements that make it."""
    lines = statements(kind)
    for table, columns in TABLES.items():
        quoted = " || ', ' || ".join(map(_quoted if kind == "sqlite" else _quoted_bytes, columns.split(", ")))
        serial = " OVERRIDING SYSTEM VALUE" if kind == "postgres" and table == "brim_sessions" else ""
        for (values,) in rows(f"SELECT {quoted} FROM {table} ORDER BY 1"):
            lines.append(f"INSERT INTO {table} ({columns}){serial} VALUES ({values})")
    for place, name, body in rows("SELECT place, kind, body FROM brim_entries ORDER BY place"):
        if name in (*INDEXED, DROPPED):
            words = dict.fromkeys(index_words(name, decode_body("golden", body)))
            if kind == "sqlite":
                lines.append(f"INSERT INTO brim_words (rowid, words) VALUES ({place}, '{' '.join(words)}')")
            else:
                vector = " ".join(f"''{word}''" for word in words)
                lines.append(f"UPDATE brim_entries SET words = '{vector}' WHERE place = {place}")
    return "".join(f"{line};\n" for line in lines)


def _quoted(column: str) -> str:
    return f"quote({column})"


def _quoted_bytes(column: str) -> str:
    if column not in _BODIES:
        return _quoted(column)
    return f"CASE WHEN {column} IS NULL THEN 'NULL' ELSE '''\\x' || hex(CAST({column} AS BLOB)) || '''' END"


if __name__ == "__main__":
    if list(HERE.glob(f"v{VERSION}.*")):
        sys.exit(f"the files of version {VERSION} are there, and are never written again")
    times = iter(range(1_000, 100_000))
    with open_store("sqlite:///:memory:", clock=lambda: float(next(times))) as store:
        fill(store)
        for database in ("sqlite", "postgres"):
            text = dump(store._rows, database)  # type: ignore[attr-defined]
            (HERE / f"v{VERSION}.{database}.sql").write_text(text, encoding="utf-8")
        opened = brim.Session.open("trip", store=store)
        told = {"status": opened.status().to_dict(), "messages": opened.messages}
        (HERE / f"v{VERSION}.json").write_text(json.dumps(told, indent=1), encoding="utf-8")
