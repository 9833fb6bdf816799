"""The scope of what was learned: one owner of requests, one server, one model.

What brim learns from a request depends on what its client sent, so it applies only to that client's requests.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Generic, NamedTuple, TypeVar

V = TypeVar("V")

_EACH = 64
"""Maximum number of values for one owner, since a client can name any model."""
_OWNERS = 4_096
"""Maximum number of owners with values. Values are learned only from answers, so a flood of invalid keys does not
displace other owners.
"""


class LearningScope(NamedTuple):
    """Whose requests, to which server, for which model."""

    model: str
    """The model; empty if the requests name none."""
    owner: tuple[str, ...] = ()
    """The client that sent the requests; empty in a program with a single owner."""
    server: str = ""
    """The address of the server, if it is known."""


class LearnedValues(Generic[V]):
    """What was learned, by scope; the number of values is limited for each owner. Threads may share it."""

    def __init__(self) -> None:
        self._owners: OrderedDict[tuple[str, ...], OrderedDict[LearningScope, V]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, scope: LearningScope) -> V | None:
        """Return the value of a scope; `None` if there is none."""
        with self._lock:
            own = self._owners.get(scope.owner)
            return None if own is None else own.get(scope)

    def put(self, scope: LearningScope, value: V) -> None:
        """Keep a value; above the limits, forget the owner's oldest value, or the least recently used owner."""
        with self._lock:
            own = self._owners.setdefault(scope.owner, OrderedDict())
            own[scope] = value
            own.move_to_end(scope)
            self._owners.move_to_end(scope.owner)
            if len(own) > _EACH:
                own.popitem(last=False)
            if len(self._owners) > _OWNERS:
                self._owners.popitem(last=False)
