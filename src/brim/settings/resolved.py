"""The settings that hold in one place, each with its origin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from brim.errors import UnknownName
from brim.settings import making
from brim.settings.guard import LARGEST, LEAST, OLDER, RECENT, TOTAL, Guarded, guard
from brim.settings.keys import ANY, BARE, SETTINGS, name_of, setting_of
from brim.settings.layer import Value, Values
from brim.settings.presets import Budgets, detected

if TYPE_CHECKING:
    from brim.history.fitted import Fitted
    from brim.meter.base import BaseMeter
    from brim.meter.window import Window
    from brim.receipts.section import Section
    from brim.sections.fitting import Prompt
    from brim.sessions import Session
    from brim.sessions.conversations import Conversations
    from brim.sessions.loop import Loop
    from brim.sessions.loop.loop import Act
    from brim.settings.config import Config
    from brim.store import Store

_OUTSIDE = ("env", "flags", "defaults")
"""Layers that replace nothing: single values from outside, and what there is without any."""
_LEAST_TOTAL = LEAST[TOTAL]


class Resolved:
    """The settings that hold for a profile, a flow and a step: looked up in the layers when they are asked for."""

    __slots__ = ("_config", "_guarded", "_layers", "flow", "profile", "step")

    def __init__(
        self,
        config: Config,
        layers: tuple[Values, ...],
        profile: str | None,
        flow: str | None,
        step: str | int | None,
    ) -> None:
        self._config = config
        self._layers = layers
        self._guarded: Guarded | None = None
        self.profile = profile
        self.flow = flow
        self.step = step

    def __getitem__(self, key: str) -> Value:
        full = BARE.get(key, key)
        found = self._found(full)
        if full == TOTAL and _LEAST_TOTAL <= found.value <= LARGEST:
            return found
        return self._guards().values[full] if full in LEAST else found

    def __iter__(self) -> Iterator[str]:
        """Yield the names of all settings, those of sections where one is set."""
        for key in SETTINGS:
            if "*" not in key:
                yield name_of(key)
        set_here = (key for layer in self._layers[:-1] for key in layer if key.startswith("sections."))
        yield from dict.fromkeys(set_here)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and setting_of(key) is not None

    def items(self) -> Iterator[tuple[str, Value]]:
        """Yield all settings with their values."""
        for key in self:
            yield key, self[key]

    def value(self, key: str) -> Any:
        """Return the value of a setting.

        Raises:
            UnknownName: there is no such setting.
        """
        return self[key].value

    def below(self, key: str) -> Value | None:
        """Return the value that would hold without the layer that sets it; nothing below the defaults."""
        full, first = BARE.get(key, key), self[key]
        star = getattr(setting_of(full), "key", full)
        found = [value for each in dict.fromkeys((full, star)) for layer in self._layers if (value := layer.get(each))]
        return next((value for value in found if value.origin != first.origin or value.where != first.where), None)

    def is_set(self, key: str) -> bool:
        """Return whether anything but the defaults sets it."""
        return self[key].origin != "defaults"

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was put right and what looks wrong, in sentences."""
        told = (*self._guards().warnings, *making.window_warnings(self))
        self.log(told)
        return told

    @property
    def preset(self) -> str | None:
        """The preset whose values the three budgets have, whoever set them."""
        values = self._guards().values
        return detected(Budgets(values[TOTAL].value, values[RECENT].value, values[OLDER].value))

    def names(self) -> tuple[str, ...]:
        """Return the names of the sections that have settings."""
        keys = (key for layer in self._layers[:-1] for key in layer if key.startswith("sections."))
        names = dict.fromkeys(key.removeprefix("sections.").rpartition(".")[0] for key in keys)
        return tuple(name for name in names if name != ANY)

    def window(self) -> Window | None:
        """Return the window, or nothing where neither its size nor a model is set.

        Raises:
            SourceError: the settings do not make one.
        """
        return making.window(self)

    def meter(self) -> BaseMeter:
        """Return what measures: the meter that is set, or the model's, or the usual one.

        Raises:
            SourceError: there is no such meter or model.
        """
        return making.meter(self)

    def sections(self, contents: Mapping[str, str | Sequence[str] | Section]) -> list[Section]:
        """Return the sections that the settings make of contents by name; one that is a Section already is taken so.

        Raises:
            UnknownName: one is not listed, and `prompt.unknown_section` refuses such.
        """
        return making.sections(self, contents)

    def fit(self, contents: Mapping[str, str | Sequence[str] | Section], **asked: Any) -> Prompt:
        """Return the prompt that the settings make; what is asked here stands in for them.

        `system` and `tools`, which are sent with it, take from its budget. `emit` is called with its `prompt_assembled`
        event, which names the `agent` and tells what `about` holds.

        Raises:
            DoesNotFit: what is required is bigger than the budget.
        """
        return making.prompt(self, contents, asked)

    def fit_messages(self, messages: Sequence[Any], **asked: Any) -> Fitted:
        """Return the history that the settings make; what is asked here stands in for them.

        Raises:
            DoesNotFit: what has to stay is bigger than the budget.
        """
        return making.history(self, messages, asked)

    def session(self, **asked: Any) -> Session:
        """Return a session that the settings make; what is asked here stands in for them.

        With `store.url` it is kept in that store, which is opened unless one is given.

        Raises:
            SourceError: the settings make none.
            InvalidValue: they name neither a window nor a model.
        """
        from brim.settings import running

        return running.session(self, asked)

    def conversations(self, **asked: Any) -> Conversations:
        """Return what fits the requests of a program as the settings say; what is asked here stands in for them.

        With `store.url` each conversation is kept in that store.

        Raises:
            SourceError: the settings make none.
        """
        from brim.settings import running

        return running.conversations(self, asked)

    def loop(self, goal: str, act: Act, **asked: Any) -> Loop:
        """Return a loop that the settings make; what is asked here stands in for them.

        Raises:
            SourceError: the settings make none.
            InvalidValue: they name neither a window nor a model.
        """
        from brim.settings import running

        return running.loop(self, goal, act, asked)

    def store(self) -> Store | None:
        """Open the store that is set, if one is.

        Raises:
            StoreError: it cannot be opened.
        """
        from brim.settings import running

        return running.store(self)

    def _found(self, key: str) -> Value:
        layers = self._layers
        if self._config.replaces and key.startswith("budgets."):
            layers = self._replacing()
        for layer in layers:
            if (found := layer.get(key)) is not None:
                return found
        setting = setting_of(key)
        if setting is None:
            raise UnknownName("setting", key, [name_of(each) for each in SETTINGS])
        return self._found(setting.key)

    def _replacing(self) -> tuple[Values, ...]:
        """Return the layers that count for budgets: the strongest file that has any stands for all of them."""
        mode = next(found for layer in self._layers if (found := layer.get("override_mode")) is not None)
        if mode.value == "merge":
            return self._layers
        kept: list[Values] = []
        replaced = False
        for layer in self._layers:
            origin = next(iter(layer.values())).origin
            if origin in _OUTSIDE:
                kept.append(layer)
            elif not replaced and any(key.startswith("budgets.") for key in layer):
                kept.append(layer)
                replaced = True
        return tuple(kept)

    def _guards(self) -> Guarded:
        if self._guarded is None:
            bounds = self._found("bounds").value
            self._guarded = guard(self._found(TOTAL), self._found(RECENT), self._found(OLDER), bounds)
            self.log(self._guarded.warnings)
        return self._guarded

    def log(self, warnings: tuple[str, ...]) -> None:
        """Log what this config has not logged before."""
        new = [told for told in warnings if told not in self._config.told]
        if new:
            import logging

            self._config.told.update(new)
            for told in new:
                logging.getLogger("brim.settings").warning("%s", told)
