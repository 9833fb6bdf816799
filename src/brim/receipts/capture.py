"""The input of a fit of sections, so that the fit can be run again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from brim.errors import InvalidValue, check_choice, picklable
from brim.receipts.schema import check
from brim.receipts.section import Section


@dataclass(frozen=True, kw_only=True, slots=True)
class Capture:
    """The input of a fit of sections, so that it can be run again."""

    sections: tuple[Section, ...]
    budget: int
    meter: str | None
    """The name of the meter, if the fit had one by name."""
    model: str | None
    """The model whose meter was used, if any."""
    options: Mapping[str, Any]
    """The other arguments of the fit, by name."""
    summaries: Mapping[str, str] = field(default_factory=dict)
    """The summaries that were written, by their source text."""
    measure: Any = field(default=None, repr=False, compare=False)
    """The meter itself, which is not part of the JSON."""

    def to_dict(self) -> dict[str, Any]:
        """Return the capture as JSON values.

        Raises:
            InvalidValue: a section's `keep` is an object, which JSON cannot represent.
        """
        rows = []
        for section in self.sections:
            if not isinstance(section.keep, str):
                raise InvalidValue(f"section {section.name!r}: keep", section.keep, "a name, to be captured as JSON")
            row = {slot.name: getattr(section, slot.name) for slot in fields(section)}
            row = {key: list(value) if isinstance(value, tuple) else value for key, value in row.items()}
            rows.append({key: value for key, value in row.items() if value is not None or key not in ("scores", "ids")})
        return {
            "sections": rows,
            "budget": self.budget,
            "meter": self.meter,
            "model": self.model,
            "options": dict(self.options),
            "summaries": dict(self.summaries),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], place: str = "capture") -> Capture:
        """Return the capture that `to_dict` wrote; `place` is its path in error messages.

        Raises:
            InvalidValue: it is not a capture.
        """
        check(place, values, "capture")
        known = [slot.name for slot in fields(Section)]
        for i, row in enumerate(values["sections"]):
            for key in row:
                check_choice(f"{place}.sections[{i}]: a key", key, known)
        return cls(**{**values, "sections": tuple(Section(**row) for row in values["sections"])})

    def __reduce__(self) -> tuple[Any, ...]:
        values = {slot.name: getattr(self, slot.name) for slot in fields(self)}
        return _restored, (values | {"measure": self.measure if picklable(self.measure) else None},)


def _restored(values: Mapping[str, Any]) -> Capture:
    return Capture(**values)
