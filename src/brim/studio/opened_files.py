"""Files that were opened in the studio: their conversations become sessions of a temporary store.

A file is read in the background, in whatever format `brim audit` reads; a receipt becomes a session of one prompt.
Nothing leaves the machine. The temporary store is removed when the studio stops.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from threading import Lock, Thread
from typing import Any

from brim.audit.index import RecordSpan, scanned
from brim.audit.records import Recording, opened
from brim.audit.threads import ConversationThreads, RecordReader
from brim.audit.trace import Place
from brim.errors import BrimError, SourceError
from brim.files.text_files import FileMatch
from brim.meter import DEFAULT, is_file
from brim.receipts.capture import Capture
from brim.receipts.receipt import Receipt
from brim.requests.replay import replay
from brim.sessions.log.cut_record import folded
from brim.store import Store, open_store
from brim.studio.recorded_session import KIND, RecordedSession

FORMATS = (
    "A request, a log of requests, a session of Claude Code or Codex, a trace of OpenTelemetry, LangSmith or Langfuse, "
    "or a receipt can be opened"
)
_SQLITE = b"SQLite format 3\x00"


class _Unreadable(Exception):
    """A file has nothing that can be shown."""


@dataclass(slots=True)
class OpenedFile:
    """One file that was opened."""

    id: str
    name: str
    path: str
    size: int = 0
    """Bytes of the file, unpacked."""
    done: int = 0
    """Bytes that were read; each is read twice, to find the conversations and to count them."""
    problem: str = ""
    """Why it cannot be shown, in one sentence."""
    finished: bool = False
    skipped: int = 0
    """Records that could not be read."""
    sessions: list[str] = field(default_factory=list)
    prompts: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        names = ("id", "name", "size", "problem", "finished", "skipped", "prompts")
        values = {name: getattr(self, name) for name in names}
        share = 1.0 if self.finished else min(0.99, self.done / max(1, 2 * self.size))
        return {**values, "share": share, "found": len(self.sessions), "sessions": self.sessions[:1]}


class OpenedFiles:
    """The files of one studio, and the store of their sessions."""

    def __init__(self) -> None:
        """Start without files; the temporary store is created with the first file."""
        self._lock = Lock()
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._store: Store | None = None
        self._files: dict[str, OpenedFile] = {}
        self._sessions: set[str] = set()

    def open(self, path: str, name: str | None = None, *, wait: float = 0.0) -> OpenedFile:
        """Start to read a file, and wait a few seconds for it to finish.

        Raises:
            SourceError: the file cannot be read, or it has nothing that can be shown.
        """
        try:
            with open(path, "rb") as file:
                head = file.read(len(_SQLITE))
        except OSError as error:
            raise SourceError(path, f"cannot be opened: {(error.strerror or str(error)).lower()}") from error
        if head == _SQLITE:
            raise SourceError(path, "this is a store: brim studio --store sqlite:///FILE opens it")
        store = self._prepared()
        with self._lock:
            one = OpenedFile(str(len(self._files) + 1), self._title(name or os.path.basename(path)), path)
            self._files[one.id] = one
        reading = Thread(target=self._read, args=(one, store), daemon=True)
        reading.start()
        reading.join(wait)
        if wait and one.problem:
            raise SourceError(path, one.problem)
        return one

    def new_path(self) -> str:
        """Return the path of a new temporary file, for a file that is uploaded."""
        self._prepared()
        assert self._folder is not None
        descriptor, path = tempfile.mkstemp(dir=self._folder.name, suffix=".upload")
        os.close(descriptor)
        return path

    def files(self) -> list[OpenedFile]:
        """Return the files, the newest first."""
        with self._lock:
            return [*self._files.values()][::-1]

    def store_of(self, session: str) -> Store | None:
        """Return the temporary store if the session was read from a file, or else `None`."""
        return self._store if session in self._sessions else None

    @property
    def store(self) -> Store | None:
        """The temporary store; `None` until a file is opened."""
        return self._store

    def close(self) -> None:
        """Close the temporary store, and remove it."""
        with self._lock:
            if self._store is not None:
                self._store.close()
            if self._folder is not None:
                self._folder.cleanup()
            self._store = self._folder = None

    def _prepared(self) -> Store:
        with self._lock:
            if self._store is None:
                self._folder = tempfile.TemporaryDirectory(prefix="brim-opened-", ignore_cleanup_errors=True)
                self._store = open_store(f"sqlite:///{os.path.join(self._folder.name, 'opened.db')}")
            return self._store

    def _title(self, name: str) -> str:
        taken = {each.name for each in self._files.values()}
        names = (name if i == 1 else f"{name} ({i})" for i in range(1, 10_000))
        return next(each for each in names if each not in taken)

    def _read(self, one: OpenedFile, store: Store) -> None:
        assert self._folder is not None
        try:
            recording = opened(FileMatch(one.path, named=True), self._folder.name)
            if recording.problem:
                raise _Unreadable(recording.problem)
            one.size = recording.size
            receipt = _receipt(recording)
            if receipt is not None:
                self._add_receipt(one, store, receipt)
            else:
                self._add_conversations(one, store, recording)
        except (BrimError, _Unreadable) as error:
            one.problem = str(error)
        except Exception as error:  # A file from a stranger must not stop the studio.
            one.problem = f"it cannot be read: {type(error).__name__}: {error}"
        one.finished = True

    def _add_conversations(self, one: OpenedFile, store: Store, recording: Recording) -> None:
        def progress(read: int) -> None:
            one.done = read

        found = scanned(recording, 0, progress)
        one.skipped = found.bad
        if not found.formats:
            detail = f": {found.named[0][1]}" if found.named else ": it is empty"
            raise _Unreadable(f"it has nothing that can be shown{detail}. {FORMATS}")
        reader = RecordReader((recording,))
        for conversation in sorted(found.conversations().values(), key=lambda each: min(span.offset for span in each)):
            self._add_conversation(one, store, reader, conversation)
            one.done = min(2 * one.size, one.done + sum(span.length for span in conversation))
        if not one.sessions:
            raise _Unreadable("it has no request to a model")

    def _add_conversation(self, one: OpenedFile, store: Store, reader: RecordReader, spans: list[RecordSpan]) -> None:
        begun: list[RecordedSession] = []

        def begin() -> RecordedSession:
            begun.append(RecordedSession(store, f"{one.name}:{len(one.sessions) + len(begun) + 1}", one.name))
            return begun[-1]

        def problem(_: Place, text: str) -> None:  # noqa: ARG001 - the reader of a file counts them
            one.skipped += 1

        with store.transaction():
            ConversationThreads(begin, problem=problem).run(reader.items(spans))
        for session in begun:
            if session.prompts:
                self._sessions.add(session.name)
                one.sessions.append(session.name)
                one.prompts += session.prompts

    def _add_receipt(self, one: OpenedFile, store: Store, receipt: Receipt) -> None:
        name = f"{one.name}:1"
        values = receipt.to_dict()
        prompt = {
            **{key: values[key] for key in ("used", "budget", "unit", "exact")},
            "messages": len(receipt.parts),
            "truncated": receipt.truncated,
            "categories": {},
            "sent": _sent(receipt.capture),
            "model": receipt.capture.model if receipt.capture is not None else None,
            "receipt": values,
        }
        status = {
            **{key: prompt[key] for key in ("model", "unit", "exact", "used", "budget")},
            "window": receipt.budget,
            "peak": receipt.used,
            "prompts": 1,
        }
        store.append(name, [("prompt", prompt)], meta={"kind": KIND, "status": status, "file": one.name})
        self._sessions.add(name)
        one.sessions, one.prompts = [name], 1


def _sent(given: Capture | None) -> list[Any] | None:
    """Return the messages of a fit as a session records them; `None` if the receipt has none."""
    if given is None or given.kind != "messages" or given.messages is None:
        return None
    head = [{"role": "system", "content": given.system}] if given.system and given.options["format"] == "openai" else []
    return folded([*head, *replay(given, budget=given.budget).messages], given.messages)


def _receipt(recording: Recording) -> Receipt | None:
    """Return the receipt in a file; `None` if the file is not a receipt."""
    with open(recording.path, "rb") as file:
        head = file.read(4_096)
        if not head.lstrip().startswith(b"{") or b'"budget"' not in head:
            return None
        try:
            values = json.loads(head + file.read())
        except (ValueError, RecursionError):
            return None
    if not isinstance(values, dict) or not isinstance(values.get("parts"), list):
        return None
    return receipt_of(values)


def receipt_of(values: Mapping[str, Any]) -> Receipt:
    """Return a receipt. It may come from a stranger, so a file that it names as its meter is not opened."""
    receipt = Receipt.from_dict(values)
    given = receipt.capture
    if given is None or given.meter is None or not is_file(given.meter):
        return receipt
    return replace(receipt, capture=replace(given, meter=None if given.model else DEFAULT))
