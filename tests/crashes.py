"""Writers that are killed, and what must be true of what they leave behind.

A scenario is a pair of functions. `write` runs in a process of its own until it is killed: it looks at what is there,
goes on from it, and acknowledges each write when the call has returned. `check` is told everything that was ever
acknowledged in a place, and raises if something of it is missing or torn.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from brim.errors import Conflict
from brim.receipts.receipt import handle
from brim.store import Store, open_store

Ack = Callable[[str], None]
"""Tells whoever started the writer that something was written."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where a scenario writes: a folder of its own, and a store that others may write to as well."""

    folder: Path
    url: str
    name: str
    """A name that nothing else in the store has."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Scenario:
    """One way to write, and how to see that nothing was lost."""

    write: Callable[[Place, random.Random, Ack], None]
    check: Callable[[Place, list[str]], None]
    workers: int = 1
    """How many processes write at the same time; the first is killed first, the others go on for a while."""


def _text(number: int) -> str:
    """Return a text of some thousand characters that only this number has."""
    seed = hashlib.sha256(str(number).encode()).hexdigest()
    return f"number{number} " + f"{seed} " * (number % 40)


def _number(acked: list[str]) -> int:
    return max(map(int, acked), default=0)


def write_log(place: Place, dice: random.Random, ack: Ack) -> None:
    """Append batches of one to four entries, each to what was last seen."""
    with open_store(place.url) as store:
        last = len(store.entries(place.name))
        while True:
            size = dice.randint(1, 4)
            batch = [("note", {"text": _text(last + i), "left": size - i}) for i in range(1, size + 1)]
            last = store.append(place.name, batch, after=last)
            ack(str(last))


def check_log(place: Place, acked: list[str]) -> None:
    """See that the log has no gap, no torn batch and all that was acknowledged."""
    with open_store(place.url) as store:
        found = store.entries(place.name)
    assert [entry.number for entry in found] == list(range(1, len(found) + 1))
    assert all(entry.body["text"] == _text(entry.number) for entry in found)
    assert not found or found[-1].body["left"] == 0, "a batch was torn"
    assert len(found) >= _number(acked), f"{_number(acked)} were acknowledged, {len(found)} are there"


def write_step(place: Place, dice: random.Random, ack: Ack) -> None:
    """Do what a compaction does: keep texts, log them and move a document on, in one transaction."""
    with open_store(place.url) as store:
        saved = store.load("step", place.name)
        step = saved.version if saved else 0
        while True:
            step += 1
            texts = [_text(step * 10 + i) for i in range(dice.randint(1, 3))]
            with store.transaction():
                store.append(place.name, [("text", {"text": text}) for text in texts])
                store.append(place.name, [("compaction", {"step": step, "handles": [*map(handle, texts)]})])
                store.save("step", place.name, {"step": step}, version=step - 1)
            ack(str(step))


def check_step(place: Place, acked: list[str]) -> None:
    """See that document, log and texts tell the same step, and that each text is found."""
    with open_store(place.url) as store:
        saved = store.load("step", place.name)
        entries = store.entries(place.name, kinds=["compaction"])
        step = saved.body["step"] if saved else 0
        assert [entry.body["step"] for entry in entries] == list(range(1, step + 1)), "a step is in one place only"
        assert step >= _number(acked), f"{_number(acked)} were acknowledged, {step} are there"
        for name in [name for entry in entries[-20:] for name in entry.body["handles"]]:
            text = store.text(name)
            assert text is not None, f"a text of session {place.name} is lost"
            assert handle(text) == name
            assert name in {each.handle for each in store.search(text.split()[0], session=place.name)}


def write_purges(place: Place, dice: random.Random, ack: Ack) -> None:
    """Write sessions that share a text and purge all but the newest two."""
    shared = _text(7)
    with open_store(place.url) as store:
        names = _ours(store, place.name)
        turn = max((int(name.rpartition("/")[2]) for name in names), default=0)
        while True:
            turn += 1
            name, own = f"{place.name}/{turn}", f"{_word(place)} turn{turn} {_text(dice.randint(1, 50))}"
            store.append(name, [("note", {"own": handle(own)}), *(("text", {"text": text}) for text in (own, shared))])
            for old in _ours(store, place.name)[2:]:
                store.purge(session=old)
            ack(str(turn))


def _word(place: Place) -> str:
    """Return a word that no other place has: on a server, all of them share one store."""
    return f"place{handle(place.name)[-12:]}"


def _ours(store: Store, prefix: str) -> list[str]:
    """Return the sessions of a place, the newest first."""
    rows = [row.id for row in store.sessions(limit=10_000) if row.id.startswith(prefix + "/")]
    return sorted(rows, key=lambda name: -int(name.rpartition("/")[2]))


def check_purges(place: Place, acked: list[str]) -> None:
    """See that what was not purged is whole, and that nothing is left of what was."""
    with open_store(place.url) as store:
        names = _ours(store, place.name)
        last = _number(acked)
        assert not last or int(names[0].rpartition("/")[2]) >= last
        assert len(names) <= 4, f"{names} should have been purged"
        kept = {each.handle for each in store.search(_word(place), limit=1_000)}
        for name in names:
            if name.rpartition("/")[2] in acked:
                own = store.entries(name)[0].body["own"]
                assert store.text(own) is not None
                assert own in kept
                assert store.text(handle(_text(7))) == _text(7)
        assert len(kept) <= len(names), "the text of a purged session is left"


def write_settings(place: Place, dice: random.Random, ack: Ack) -> None:
    """Raise a number in a settings file, again and again."""
    from brim.settings import load_config
    from brim.settings.changes import plan

    path = place.folder / "brim.yaml"
    if not path.exists():
        path.write_text("# mine\nbudgets:\n  context_budget_chars: 20000  # raise me\n")
    value = _setting(path)
    while True:
        value += 1
        plan(load_config(str(path)), {"context_budget_chars": str(value)}).make()
        ack(str(value))


def _setting(path: Path) -> int:
    from brim.settings import load_config

    return int(load_config(str(path)).resolve()["context_budget_chars"].value)


def check_settings(place: Place, acked: list[str]) -> None:
    """See that the file can be read, with its comments, and has the last value or the one after it."""
    path = place.folder / "brim.yaml"
    if not path.exists() or (not acked and not path.read_text()):
        assert not acked
        return
    assert _setting(path) - max(20_000, _number(acked)) in (0, 1)
    assert path.read_text().startswith("# mine\n")
    assert path.read_text().endswith("# raise me\n")


SCENARIOS = {
    "session writes": Scenario(write=write_log, check=check_log),
    "steps in one transaction": Scenario(write=write_step, check=check_step),
    "purges": Scenario(write=write_purges, check=check_purges),
    "config saves": Scenario(write=write_settings, check=check_settings),
}
"""What is killed, by name. Another scenario is another row."""


def write_lies(place: Place, dice: random.Random, ack: Ack) -> None:
    """Acknowledge before writing: a mistake that the check must see."""
    with open_store(place.url) as store:
        last = len(store.entries(place.name))
        while True:
            ack(str(last + 3))
            with suppress(Conflict):
                store.append(place.name, [("note", {"text": _text(last + 1), "left": 0})], after=last)
            last += 1


LIES = {"lies": Scenario(write=write_lies, check=check_log)}
"""A writer that loses what it acknowledged, to see that it is found out."""
