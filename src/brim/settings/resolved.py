"""The settings of a profile, a flow and a step: their values, and the objects that a program builds from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from brim.errors import InvalidValue
from brim.meter import meter_for
from brim.sessions.settings import SessionSettings
from brim.settings.builder import Builder, Contents

if TYPE_CHECKING:
    from brim.llm import LanguageModel
    from brim.meter.window import Window
    from brim.sessions import Session
    from brim.sessions.conversations import Conversations
    from brim.sessions.loop import Loop
    from brim.sessions.loop.loop import Act
    from brim.settings.exchange import ModelAnswer
    from brim.store import Store

_SESSION = {
    "compact_at": "compaction.at",
    "summarise": "compaction.summarise",
    "keep_turns": "compaction.keep_turns",
    "summary_share": "compaction.summary_share",
    "stable": "session.stable",
    "tool_limit": "session.tool_limit",
    "memory_limit": "session.memory_limit",
    "capture": "session.capture",
}
"""The settings of a session by argument."""
_LIMITED = ("reserve", "cap", "warn", "limit")
"""The settings of a window without its size."""
_LIMITS = ("max_iterations", "max_sub_ticks", "max_steps", "max_cost", "max_seconds")
_LOOP = {name: f"loop.{name}" for name in ("tick_cap", "handoff_share", *_LIMITS, "boundary")}
_LOOP["tool_limit"] = "session.tool_limit"
"""The settings of a loop by argument."""


class Resolved(Builder):
    """The settings of a profile, a flow and a step."""

    __slots__ = ()

    def exchange(
        self, contents: Contents, model: LanguageModel, *, history: str | None = None, **options: Any
    ) -> ModelAnswer:
        """Return the answer of a model to the prompt of these settings.

        Strategy A of `history.strategy` truncates a history that is too long. Strategy B has it summarised first, in a
        call of its own; a history that fits is not summarised. Entries that `most` leaves out do not fit: their
        summary comes before the entries that are shown.

        Args:
            contents: the sections by name.
            model: the model.
            history: the section that strategy B summarises; by default `history`, or `lessons` if there is none.
            options: arguments of `fit`.

        Raises:
            DoesNotFit: the required sections are bigger than the budget.
            ModelError: the model could not be called; a failed summary is no error.
            UnknownName: strategy B is set, and no section has the name of the history.
        """
        from brim.settings.exchange import exchange

        return exchange(self, contents, model, history, options)

    def session(self, **options: Any) -> Session:
        """Return a session; the options of `brim.Session` override the settings.

        With `store.url` it is kept in that store, which is opened unless one is given.

        Raises:
            SourceError: a setting is invalid.
            InvalidValue: neither a window nor a model is set.
        """
        from brim.sessions.session import Session

        return Session(**self._arguments(_SESSION, options))

    def conversations(self, **options: Any) -> Conversations:
        """Return the conversations of a program; the options of `brim.Conversations` override the settings.

        With `store.url` each conversation is kept in that store. What is not set has the defaults of the class.

        Raises:
            SourceError: a setting is invalid.
        """
        from brim.sessions.conversations import Conversations
        from brim.sessions.learning.windows import WindowLimits

        made = {name: self.value(key) for name, key in _SESSION.items() if self.is_set(key)}
        made["margin"] = self.value("safety_margin")
        if "window" not in options and self.value("window.size") is not None:
            made["window"] = self.window()
        elif "window" not in options:  # The model of the settings says nothing of the other models of a program.
            made["limits"] = WindowLimits(**{name: self.value(f"window.{name}") for name in _LIMITED})
        return Conversations(**self._shared(options), **{**made, **options})

    def loop(self, goal: str, act: Act, **options: Any) -> Loop:
        """Return a loop; the options of `brim.Loop` override the settings.

        Raises:
            SourceError: a setting is invalid.
            InvalidValue: neither a window nor a model is set.
        """
        from brim.sessions.loop.loop import Loop

        return Loop(goal, act, **self._arguments(_LOOP, options))

    def store(self) -> Store | None:
        """Open the store of `store.url`, or return `None` if it is not set.

        Raises:
            SourceError: the URL is invalid.
            StoreError: the store cannot be opened.
        """
        from brim.store import open_store

        url = self._store_url()
        return None if url is None else open_store(url)

    def _arguments(self, table: Mapping[str, str], options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of a session or a loop."""
        made = {name: self.value(key) for name, key in table.items()}
        return {**self._shared(options), **made, **options, "window": self._margined_window(options)}

    def _shared(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of sessions, conversations and loops alike that are not among the options."""
        made = {name: self.value(name) for name in ("model", "meter") if name not in options}
        return made if "store" in options else {**made, "store": self._store_url()}

    def _store_url(self) -> str | None:
        """Return the address of the store, which whoever opens it closes; `None` if it is not set."""
        from brim.store import check_url

        url: str | None = self.value("store.url")
        try:
            if url is not None:
                check_url(url)
        except InvalidValue as error:
            raise self.blame("store.url", error) from error
        return url

    def _margined_window(self, options: Mapping[str, Any]) -> Window:
        """Return the window of the options, of their model or of the settings, without the safety margin."""
        model = options.get("model")
        window = options.get("window") or (self.window() if model is None else None)
        if window is None and model is None:
            raise InvalidValue("window.size", None, "set, or a model whose window is known: a session needs a window")
        window = SessionSettings.of(window, model).window
        if not self.value("safety_margin"):
            return window
        chosen = options.get("meter", self.value("meter"))
        own = model is None and "meter" not in options
        meter = self.meter() if own else meter_for(chosen, model if chosen is None else None)
        return window if meter.exact else replace(window, limit=self.within_margin(window.budget, meter))
