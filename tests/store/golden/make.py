"""Writes the golden files of the version that brim has now: `python tests/store/golden/make.py`.

It is run once, when a version is released. A file that is there is never written again.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from brim.store import Store, open_store
from brim.store.repeated_text import decode_repeated, handle_of
from brim.store.repeats import LOG
from brim.store.schema import VERSIONS, statements
from brim.store.words import text_words

HERE = Path(__file__).resolve().parent

LONG = "".join(f"Line {number}: the ferry to Cacilhas\n" for number in range(40))
"""A text that a message has too."""
PYTHON = ("brim_handle(", "brim_terms(", "brim_checksum(")
"""Functions that brim adds to SQLite. A golden file has no rows before the last version, so it needs none of them."""
TABLES = {
    "brim_sessions": "key, id, created, updated, last, noted, meta",
    "brim_entries": "place, kind, at, body",
    "brim_texts": "id, handle, body",
    "brim_kept": "session, text, at",
    "brim_repeats": "place, texts",
    "brim_documents": "kind, id, version, at, body",
    "brim_jobs": "number, queue, id, body, added, worker, attempt, until, done, result",
}


def fill(store: Store) -> None:
    """Write something of everything."""
    store.append("trip", [("meta", {"title": "Lisbon"}), ("message", {"role": "user", "content": "Book a flight."})])
    store.append("trip", [("usage", {"input_tokens": 12}), ("note", {"odd": "\0 \ud800 \ud83d\ude00 数据"})])
    store.append("other", [("message", {"role": "user", "content": "Hello."})])
    store.keep("trip", {"b2:one": "The flight TP-1234 leaves at 7:40 from gate 12.", "b2:odd": "\0 \ud800 数据库"})
    store.keep("other", {"b2:one": "The flight TP-1234 leaves at 7:40 from gate 12."})
    store.append("other", [("message", {"role": "tool", "content": LONG})])
    store.keep("other", {f"b2:{7:032x}": LONG}, repeating={f"b2:{7:032x}": [2]})
    asked = [{"role": "user", "content": "When does the tram leave?"}, {"role": "assistant", "content": "At 7:15."}]
    store.append("other", [*(("message", {"message": raw}) for raw in asked), ("meta", {"title": "Belém"})])
    turn = json.dumps(asked, separators=(",", ":"))
    texts = {handle_of(turn): [3, 4], handle_of("At 7:15."): [4], handle_of("A tram at 7:15."): [3, 4]}
    store.keep("other", dict(zip(texts, (turn, "At 7:15.", "A tram at 7:15."), strict=True)), repeating=texts)
    store.save("loop", "l1", {"iteration": 1}, version=0)
    store.save("loop", "l1", {"iteration": 2}, version=1)
    for job in ("done", "held", "open"):
        store.enqueue("ticks", job, {"n": job})
    done = store.lease("ticks", "w1", 60)
    assert done is not None
    store.complete(done, {"ok": True})
    store.lease("ticks", "w2", 60)


def dump(kind: str) -> str:
    """Return a store as the statements that make it."""
    times = iter(range(1_000, 2_000))
    with open_store("sqlite:///:memory:", clock=lambda: float(next(times))) as store:
        fill(store)
        rows = store._rows  # type: ignore[attr-defined]
        steps = [line for version in range(1, len(VERSIONS) + 1) for line in statements(version, kind)]
        lines = [line for line in steps if not any(name in line for name in PYTHON)]
        for table, columns in TABLES.items():
            if kind == "sqlite" and table in ("brim_texts", "brim_repeats"):
                columns += ", words"  # noqa: PLW2901
            quoted = " || ', ' || ".join(f"quote({column})" for column in columns.split(", "))
            for (values,) in rows(f"SELECT {quoted} FROM {table} ORDER BY 1"):
                serial = (
                    " OVERRIDING SYSTEM VALUE"
                    if kind == "postgres" and table in ("brim_sessions", "brim_texts", "brim_jobs")
                    else ""
                )
                told = values.replace("X'", "'\\x") if kind == "postgres" else values
                lines.append(f"INSERT INTO {table} ({columns}){serial} VALUES ({told})")
        texts = [
            ("brim_texts", "id", text_id, text_words(store._texts([body])[0]))  # type: ignore[attr-defined]
            for text_id, body in rows("SELECT id, body FROM brim_texts ORDER BY id")
        ]
        for place, written in rows("SELECT place, texts FROM brim_repeats ORDER BY place"):
            read = store._read_repeated([(place, decode_repeated(place % LOG, written))])  # type: ignore[attr-defined]
            found = [word for _, _, text in read for word in text_words(text)]
            texts.append(("brim_repeats", "place", place, found))
        for table, column, key, words in texts:
            if kind == "sqlite":
                indexed = " ".join(dict.fromkeys(words))
                lines.append(f"INSERT INTO brim_words (rowid, words) VALUES ({key}, '{indexed}')")
            else:
                vector = " ".join(f"''{word}'':{place}" for place, word in enumerate(words, start=1))
                lines.append(f"UPDATE {table} SET words = '{vector}' WHERE {column} = {key}")
    return "".join(f"{line};\n" for line in lines)


if __name__ == "__main__":
    for database in ("sqlite", "postgres"):
        path = HERE / f"v{len(VERSIONS)}.{database}.sql"
        if path.exists():
            sys.exit(f"{path.name} is there, and is never written again")
        path.write_text(dump(database), encoding="utf-8")
