"""The scope of what was learned: one owner of requests, one server, one model.

What brim learns from a request depends on what its client sent, so it applies only to that client's requests.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Hashable
from hashlib import blake2b
from typing import Generic, NamedTuple, TypeVar
from urllib.parse import urlsplit

V = TypeVar("V")

STORE_INTERVAL = 60
"""Seconds after which the store is read again, since other processes may have learned or forgotten something."""
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

    @property
    def id(self) -> str:
        """The id of its documents in a store: the model, and a hash of owner and server if it has them."""
        model = self.model.encode("utf-8", "replace").decode().replace("\0", "?")[:200] or "?"
        if not self.owner and not self.server:
            return model
        others = json.dumps([self.owner, self.server, self.model])
        return f"{model}#{blake2b(others.encode(), digest_size=12).hexdigest()}"

    @property
    def about(self) -> dict[str, dict[str, str]]:
        """Owner and server, for people who read the store; empty in a program with a single owner."""
        if not self.owner and not self.server:
            return {}
        server = urlsplit(self.server).netloc.rpartition("@")[2]
        return {"scope": {"client": " ".join(filter(None, self.owner)), "server": server}}


class LearnedValues(Generic[V]):
    """What was learned, by scope; the number of values is limited for each owner. Threads may share it."""

    def __init__(self) -> None:
        self._owners: OrderedDict[tuple[str, ...], OrderedDict[Hashable, V]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, scope: LearningScope, kind: Hashable = None) -> V | None:
        """Return the value of a scope, for one kind if there are several; `None` if there is none."""
        with self._lock:
            own = self._owners.get(scope.owner)
            return None if own is None else own.get((scope, kind))

    def put(self, scope: LearningScope, value: V, kind: Hashable = None) -> None:
        """Keep a value; above the limits, forget the owner's oldest value, or the least recently used owner."""
        with self._lock:
            own = self._owners.setdefault(scope.owner, OrderedDict())
            own[scope, kind] = value
            own.move_to_end((scope, kind))
            self._owners.move_to_end(scope.owner)
            if len(own) > _EACH:
                own.popitem(last=False)
            if len(self._owners) > _OWNERS:
                self._owners.popitem(last=False)

    def drop(self, scope: LearningScope) -> None:
        """Forget the values of a scope."""
        with self._lock:
            own = self._owners.get(scope.owner, OrderedDict())
            for key in [key for key in own if isinstance(key, tuple) and key[0] == scope]:
                del own[key]
