"""The value of each setting for a profile, a flow and a step, with its origin."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

from brim.errors import BrimError, UnknownName
from brim.history.compact.secrets import redact
from brim.settings.budgets import LARGEST, LEAST, OLDER, RECENT, TOTAL, BoundedBudgets, Budgets, bounded, detected
from brim.settings.keys import ANY, BARE, SETTINGS, name_of, setting_of
from brim.settings.values import Value, Values, error_at

_OUTSIDE = ("env", "flags", "defaults")
"""Layers that `override_mode: replace` does not replace: single values from outside, and the defaults."""
_LEAST_TOTAL = LEAST[TOTAL]


class Lookup:
    """Settings that are looked up in the layers when they are read."""

    __slots__ = ("_bounded", "_layers", "_logged", "_replaces", "flow", "profile", "step")

    def __init__(
        self,
        layers: tuple[Values, ...],
        place: tuple[str | None, str | None, str | int | None],
        *,
        replaces: bool,
        logged: set[str],
    ) -> None:
        self._layers = layers
        self._replaces = replaces
        self._logged = logged
        self._bounded: BoundedBudgets | None = None
        self.profile, self.flow, self.step = place

    def __getitem__(self, key: str) -> Value:
        full = BARE.get(key, key)
        found = self._found(full)
        if full == TOTAL and _LEAST_TOTAL <= found.value <= LARGEST:
            return found
        return self._budgets().values[full] if full in LEAST else found

    def __iter__(self) -> Iterator[str]:
        """Yield the names of all settings, and of the settings of sections that are set."""
        for key in SETTINGS:
            if "*" not in key:
                yield name_of(key)
        yield from self._section_keys()

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
            UnknownName: no setting has that key.
        """
        return self[key].value

    def below(self, key: str) -> Value | None:
        """Return the value without the layer that sets it, or `None` if only the defaults do."""
        full, first = BARE.get(key, key), self[key]
        star = getattr(setting_of(full), "key", full)
        found = [value for each in dict.fromkeys((full, star)) for layer in self._layers if (value := layer.get(each))]
        return next((value for value in found if value.origin != first.origin or value.where != first.where), None)

    def is_set(self, key: str) -> bool:
        """Return whether any layer but the defaults sets it."""
        return self[key].origin != "defaults"

    @property
    def preset(self) -> str | None:
        """The preset whose values the three budgets have, whatever set them."""
        values = self._budgets().values
        return detected(Budgets(values[TOTAL].value, values[RECENT].value, values[OLDER].value))

    def names(self) -> tuple[str, ...]:
        """Return the names of the sections that have settings."""
        names = (key.removeprefix("sections.").rpartition(".")[0] for key in self._section_keys())
        return tuple(name for name in dict.fromkeys(names) if name != ANY)

    def log(self, *warnings: str) -> None:
        """Log the warnings that were not logged for these files before."""
        for warning in warnings:
            if warning not in self._logged:
                self._logged.add(warning)
                logging.getLogger("brim.settings").warning("%s", redact(warning))

    def blame(self, key: str, error: BrimError) -> BrimError:
        """Return an error with the file and line of the setting that caused it."""
        if key not in self or not self[key].where:
            return error
        return error_at(self[key].where, f"{key}: {error}")

    def _section_keys(self) -> dict[str, None]:
        return dict.fromkeys(key for layer in self._layers[:-1] for key in layer if key.startswith("sections."))

    def _found(self, key: str) -> Value:
        layers = self._layers
        if self._replaces and key.startswith("budgets."):
            layers = self._replacing()
        for layer in layers:
            if (found := layer.get(key)) is not None:
                return found
        setting = setting_of(key)
        if setting is None:
            raise UnknownName("setting", key, [name_of(each) for each in SETTINGS])
        return self._found(setting.key)

    def _replacing(self) -> tuple[Values, ...]:
        """Return the layers that count for budgets: of the files, only the strongest that sets one."""
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

    def _budgets(self) -> BoundedBudgets:
        if self._bounded is None:
            bounds = self._found("bounds").value
            self._bounded = bounded(self._found(TOTAL), self._found(RECENT), self._found(OLDER), bounds)
            self.log(*self._bounded.warnings)
        return self._bounded
