"""The session of a request without a name: it shows what this request contained, and nothing else.

Two users who begin with the same words may share a session until their requests differ, so a request sees the log of
its session only as far as it had been written with it. A conversation that the caller names has no such limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from brim.meter import BaseMeter
from brim.sessions.log.dropped_texts import DroppedTexts
from brim.sessions.recall_tool import Recall
from brim.sessions.session import Session
from brim.sessions.settings import SessionSettings
from brim.sessions.status import Status


class RequestSession(Recall):
    """A session as one request knows it."""

    def __init__(self, session: Session, leading: Sequence[Any], known: Sequence[Any]) -> None:
        """Limit a session to what it contains now.

        Args:
            session: the session, which may go on with other requests.
            leading: the system messages of the request.
            known: the messages of the conversation, to which only later requests add.
        """
        self._session, self._leading, self._known = session, leading, known
        self._length, self._number = len(known), session.number

    def __repr__(self) -> str:
        return f"<RequestSession {self.id!r}: {self._length:,} messages, {self.settings.model or self.meter.name}>"

    @property
    def id(self) -> str:
        """Its name in the store."""
        return self._session.id

    @property
    def messages(self) -> list[Any]:
        """The messages of the request."""
        return [*self._leading, *self._known[len(self._leading) : self._length]]

    @cached_property
    def dropped(self) -> DroppedTexts:  # type: ignore[override]
        """The texts of the request that were dropped from its prompt."""
        return self._session.dropped.until(self._number)

    @property
    def settings(self) -> SessionSettings:
        """The settings by which it stays within its window."""
        return self._session.settings

    @property
    def meter(self) -> BaseMeter:
        """The meter."""
        return self._session.meter

    @property
    def format(self) -> str:
        """The format of the messages."""
        return self._session.format

    @property
    def budget(self) -> int:
        """Tokens that a prompt may take."""
        return self._session.budget

    @property
    def notices(self) -> list[str]:
        """The notices for the user, the newest last."""
        return self._session.notices

    def status(self) -> Status:
        """Return how full its context is."""
        return self._session.status()
