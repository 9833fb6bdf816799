"""How each model counts: its own meter, corrected by the usage that its answers report."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from hashlib import blake2b
from typing import Any

from brim.errors import StoreError
from brim.gateway.known import known
from brim.meter import Scale, meter
from brim.meter.calibrated import Calibrated, begin
from brim.meter.chat import RequestCounter, chat_of
from brim.meter.estimate import OTHER
from brim.sessions.calibrating import Calibrating, SentPrompt, share, shared
from brim.store.base import Store

_MOST = 256
"""Models that are remembered: clients can name any."""


class Meters:
    """The meters of models. Safe for threads."""

    def __init__(self, store: Store | None = None) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, str | None], Calibrating] = OrderedDict()
        self._plain: dict[str, Scale] = {}
        self._chats: OrderedDict[tuple[Scale, str], RequestCounter] = OrderedDict()
        self._tools: OrderedDict[tuple[Scale, str, bool, bytes], tuple[int, bool]] = OrderedDict()

    def scale(self, model: str, given: str | None = None) -> Scale:
        """Return what counts requests to a model.

        Raises:
            UnknownName: the meter that was given is none.
        """
        found = self._of(model, given)
        if found.calibration is None or found.calibration.calls or not found.learns:
            return found.meter
        if given is None and known(model) is not None:
            return found.meter
        return self._bound(found.meter)

    def ready(self, model: str, given: str | None) -> bool:
        """Return whether what counts for a model is loaded."""
        return (model, given) in self._known

    def learns(self, model: str, given: str | None = None) -> bool:
        """Return whether what an answer reports corrects the count."""
        return self._of(model, given).learns

    def learn(self, model: str, given: str | None, sent: SentPrompt, actual: int) -> None:
        """Take what an answer reported for a prompt."""
        found = self._of(model, given)
        if not found.learns or actual <= 0:
            return
        with self._lock:
            found.sent = sent
            mix = found.mix()
            recount = mix is not None and found.record(mix, actual, sent.used)
            if recount:
                found.recount()
        if recount:
            with suppress(StoreError):  # It is learned again, if need be.
                share(self._store, model or None, found.calibration)

    def _of(self, model: str, given: str | None) -> Calibrating:
        key = (model, given)
        found = self._known.get(key)
        if found is not None:
            return found
        own = given if given is not None else None if known(model) is not None else OTHER
        calibration = None
        with suppress(StoreError, ValueError, KeyError, TypeError):  # What another version kept may be of no use.
            calibration = shared(self._store, model or None)
        made = Calibrating(own, model if own is None else None, calibration)
        made.meter.count("ready")  # A vocabulary is loaded with its first count.
        with self._lock:
            self._known[key] = made
            while len(self._known) > _MOST:
                self._known.popitem(last=False)
        return made

    def chat(self, scale: Scale, provider: str) -> RequestCounter:
        """Return what counts messages with a meter, as new: it takes note of whether it had to estimate."""
        made = self._chats.get((scale, provider))
        if made is None:
            made = self._chats[scale, provider] = chat_of(scale, provider)
            while len(self._chats) > _MOST:
                self._chats.popitem(last=False)
        return made.fresh()

    def offered(
        self, scale: Scale, chat: RequestCounter, tools: Sequence[Any] | None, *, system: bool
    ) -> tuple[int, bool]:
        """Return the units of the tools of a request, and whether that is exact; the same tools are counted once.

        Raises:
            InvalidValue: they are no list of tools.
        """
        if not tools:
            return chat.tools(tools, system=system)
        said = json.dumps(tools, ensure_ascii=False).encode("utf-8", "surrogatepass")
        key = (scale, chat.provider, system, blake2b(said, digest_size=16).digest())
        found = self._tools.get(key)
        if found is None:
            found = self._tools[key] = chat.tools(tools, system=system)
            while len(self._tools) > _MOST:
                self._tools.popitem(last=False)
        return found

    def _bound(self, scale: Scale) -> Scale:
        """Return the upper bound of an estimate about which nothing is known yet."""
        found = self._plain.get(scale.name)
        if found is None:
            found = self._plain[scale.name] = Calibrated(scale, begin(scale))
        return found


def warm() -> None:
    """Load what counting needs, so that the first request does not wait for it."""
    for name in ("gpt-5", OTHER):
        meter(name).count("ready")
