"""Texts that repeat the log of their session: found by the entries that they repeat.

Nothing of them is written that the log has, so they belong to one session, and go with it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from brim.errors import StoreError
from brim.store.base import RepeatedText
from brim.store.body import (
    check_name,
    check_whole,
    decode_bodies,
    decode_text,
    decode_utf8,
    encode_text,
    json_bytes,
    run_length,
    text_bytes,
)
from brim.store.jobs import JobStore
from brim.store.repeated_text import (
    decode_repeated,
    encode_repeated,
    handle_bytes,
    handle_of,
    is_turn,
    is_within,
    repeated_text,
    text_of,
)
from brim.store.repetition import RepeatedEntries, pack_repeated, source_of, unpack_repeated
from brim.store.words import text_words

LOG = 1 << 32
"""Places of one log: that of an entry is its number and the key of its session times this."""
ROWS = 200
"""Texts that one statement writes; SQLite has at most 999 values in one in old versions."""
AT_OR_BEFORE = "COALESCE((SELECT max(b.place) FROM brim_entries b WHERE b.place <= ?), 0)"
"""The place of the row that has an entry: several that were written together may be in one."""
_NEAR = 16
"""Entries between two texts whose messages are read together."""
_LONGEST = 1_000
"""Entries from the first to the last message of a turn that is found by these two numbers."""


class TextRow(NamedTuple):
    """The texts that end with one entry."""

    place: int
    texts: bytes
    """As `encode_repeated` writes them."""
    words: list[str]
    known: list[str]
    """Those of the words that are indexed already."""


class RepeatStore(JobStore):
    """The texts of a store that repeat the log of their session."""

    _holds: str
    """Whether `texts` of a row holds the bytes of one value."""

    def repeats(self, session: str, *, after: int = 0) -> list[RepeatedText]:
        """Return the texts that repeat entries of a session, with the last above `after`, in the order of that."""
        rows = self._read(
            "WITH s AS (SELECT key FROM brim_sessions WHERE id = ?) SELECT place, texts FROM brim_repeats "
            f"WHERE place > (SELECT key * {LOG} FROM s) + ? AND place < (SELECT (key + 1) * {LOG} FROM s) "
            "ORDER BY place",
            (check_name("session", session), min(check_whole("after", after), LOG - 1)),
        )
        return [each for place, texts in rows for each in decode_repeated(place % LOG, bytes(texts))]

    def _keep_repeated(self, key: int, texts: Mapping[str, str], repeating: Mapping[str, Sequence[int]]) -> set[str]:
        """Write the texts whose handles are their hashes and whose entries are there; return their handles."""
        wanted = {
            name: sorted(numbers)
            for name, numbers in repeating.items()
            if numbers and name in texts and name == handle_of(texts[name])
        }
        spans = [(key * LOG + numbers[0], key * LOG + numbers[-1]) for numbers in wanted.values()]
        messages = self._messages(span for span in spans if span[1] - span[0] < _LONGEST)
        made: dict[int, dict[RepeatedText, str]] = {}
        taken = set()
        for name, numbers in wanted.items():
            one = self._repeated(key, name, numbers, texts[name], messages)
            if one is not None:
                taken.add(name)
                made.setdefault(key * LOG + one.last, {})[one] = texts[name]
        places = sorted(made)
        for first in range(0, len(places), ROWS):
            self._write_repeated({place: made[place] for place in places[first : first + ROWS]})
        return taken

    def _repeated(
        self, key: int, name: str, numbers: list[int], text: str, messages: Mapping[int, Mapping[str, Any]]
    ) -> RepeatedText | None:
        """Return how a text repeats entries; `None` if some are not there."""
        first, last = numbers[0], numbers[-1]
        among = [number for number in range(first, last + 1) if key * LOG + number in messages]
        if among == numbers:
            bodies = [messages[key * LOG + number] for number in numbers]
            if is_turn(text, bodies):
                return repeated_text(first, last, name, turn=True)
            if first == last and is_within(text, bodies):
                return repeated_text(first, last, name)
        source = RepeatedEntries(key, tuple(numbers))
        entries = self._entries_of([source])
        if len(entries) < len(numbers):
            return None
        beside = pack_repeated(text_bytes(text), source, _joined(source, entries))
        return repeated_text(first, last, name, packed=min(encode_text(text), beside, key=len))

    def _write_repeated(self, made: Mapping[int, Mapping[RepeatedText, str]]) -> None:
        """Write and index texts by the places of their last entries, without those that are there."""
        marks = ", ".join("?" * len(made))
        there = self._rows(f"SELECT place, texts FROM brim_repeats WHERE place IN ({marks})", [*made])
        known = {int(place): decode_repeated(place % LOG, bytes(texts)) for place, texts in there}
        rows = []
        for place, texts in made.items():
            had = known.get(place, [])
            new = [each for each in texts if each not in had]
            if new:
                words = [word for _, _, text in self._read_repeated([(place, had)]) for word in text_words(text)]
                more = [word for each in new for word in text_words(texts[each])]
                rows.append(TextRow(place, encode_repeated([*had, *new]), [*words, *more], words))
        if rows:
            self._index_repeated(rows)

    def _find_repeated(self, handle: str, key: int | None) -> str | None:
        """Return the text of a handle, or of its first characters, that repeats a log: of a session, or of any."""
        among, values = "", [handle_bytes(handle)]  # type: tuple[str, list[Any]]
        if key is not None:
            among, values = " AND place > ? AND place < ?", [*values, key * LOG, (key + 1) * LOG]
        rows = self._rows(f"SELECT place, texts FROM brim_repeats WHERE {self._holds}{among} ORDER BY place", values)
        for place, texts in rows:
            named = [each for each in decode_repeated(place % LOG, bytes(texts)) if handle.startswith(each.handle)]
            for _, _, text in self._read_repeated([(place, named)], handle):
                return text
        return None

    def _read_repeated(
        self, rows: Sequence[tuple[int, Sequence[RepeatedText]]], handle: str | None = None
    ) -> Iterator[tuple[int, RepeatedText, str]]:
        """Yield the texts of rows with their places; with a handle, only those that have it.

        Raises:
            StoreError: the entries of a text are not those that it was written with.
        """
        spans = [(place - each.last + each.first, place) for place, texts in rows for each in texts if not each.packed]
        messages = self._messages(spans)
        for place, texts in rows:
            for each in texts:
                if each.packed:
                    text: str | None = self._texts([each.packed])[0]
                else:
                    start = place - each.last + each.first
                    bodies = [messages[at] for at in range(start, place + 1) if at in messages]
                    text = text_of(each, bodies, handle)
                if text is None and handle is None:
                    problem = "a text does not match its entries: the store was changed by another program"
                    raise StoreError(self.url, problem)
                if text is not None and (handle is None or handle_of(text).startswith(handle)):
                    yield place, each, text

    def _messages(self, spans: Iterable[tuple[int, int]]) -> dict[int, Mapping[str, Any]]:
        """Return the bodies of the messages at places from the first to the last of each span."""
        return self._bodies(spans, " AND kind = 'message'")

    def _bodies(self, spans: Iterable[tuple[int, int]], only: str = "") -> dict[int, Mapping[str, Any]]:
        """Return the bodies of entries at places from the first to the last of each span."""
        joined: list[list[int]] = []
        for first, last in sorted(spans):
            if joined and first <= joined[-1][1] + _NEAR:
                joined[-1][1] = max(last, joined[-1][1])
            else:
                joined.append([first, last])
        found: dict[int, Mapping[str, Any]] = {}
        for first, last in joined:
            rows = self._rows(
                f"SELECT place, body FROM brim_entries WHERE place >= {AT_OR_BEFORE} AND place <= ? "
                f"AND length(body) > 0{only}",
                (first, last),
            )
            bodies = iter(decode_bodies(self.url, [bytes(body) for _, body in rows]))
            for place, body in rows:
                run = dict(zip(range(int(place), int(place) + run_length(bytes(body))), bodies, strict=False))
                found |= {at: body for at, body in run.items() if first <= at <= last}
        return found

    def _let_repeated_go(self, key: int) -> int:
        """Remove the texts that repeat the log of a session, whose entries are still there; return their number."""
        log = (key * LOG, (key + 1) * LOG)
        rows = self._rows("SELECT place, texts FROM brim_repeats WHERE place > ? AND place < ?", log)
        decoded = [(int(place), decode_repeated(place % LOG, bytes(texts))) for place, texts in rows]
        for first in range(0, len(decoded), ROWS):
            self._forget_repeated(decoded[first : first + ROWS])
        self._changed("DELETE FROM brim_repeats WHERE place > ? AND place < ?", log)
        return sum(len(texts) for _, texts in decoded)

    def _entries_of(self, sources: Sequence[RepeatedEntries]) -> dict[int, bytes]:
        """Return the JSON of the entries of sources by their places."""
        places = {source.session * LOG + number for source in sources for number in source.numbers}
        bodies = self._bodies((place, place) for place in places)
        return {place: json_bytes("body", body) for place, body in bodies.items() if place in places}

    def _texts(self, bodies: Sequence[bytes]) -> list[str]:
        """Return texts by how they are written."""
        sources = [source_of(bytes(body)) for body in bodies]
        entries = self._entries_of([source for source in sources if source is not None])
        made = []
        for body, source in zip(bodies, sources, strict=True):
            if source is None:
                made.append(decode_text(self.url, body))
            else:
                content = unpack_repeated(self.url, bytes(body), _joined(source, entries))
                made.append(decode_utf8(self.url, content))
        return made

    @abstractmethod
    def _index_repeated(self, rows: Sequence[TextRow]) -> None:
        """Write rows, new or longer than they were, and index their words."""

    def _forget_repeated(self, rows: Sequence[tuple[int, Sequence[RepeatedText]]]) -> None:
        """Remove the words of texts that are removed; PostgreSQL has them in the row."""


def _joined(source: RepeatedEntries, entries: Mapping[int, bytes]) -> bytes:
    """Return the JSON of the entries of a source, one after the other."""
    return b"".join(entries.get(source.session * LOG + number, b"") for number in source.numbers)
