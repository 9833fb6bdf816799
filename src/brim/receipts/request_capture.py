"""The input of a fit of a request, so that the fit can be run again: its sections, its history and their terms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from brim.receipts.capture import Capture
from brim.receipts.history_input import HistoryInput
from brim.receipts.schema import check


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestCapture:
    """The input of a fit of a request."""

    sections: Capture
    """All sections: those of the system prompt, then those of the user's message."""
    history: HistoryInput
    """The messages and the tools."""
    leading: int
    """How many of the sections are the system prompt's."""
    terms: Mapping[str, Any]
    """The terms on which the history and the tools share the budget, by the names of the arguments."""
    model: str | None
    """The model that the body names."""

    @property
    def budget(self) -> int:
        """The budget of the fit."""
        return self.sections.budget

    def to_dict(self) -> dict[str, Any]:
        """Return copies of the values as JSON values.

        Raises:
            InvalidValue: a section, a message, a tool or an argument cannot be written as JSON.
        """
        return {
            "request": {"leading": self.leading, "terms": dict(self.terms), "model": self.model},
            "sections": self.sections.to_dict(),
            "history": self.history.to_dict(),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], place: str = "capture") -> RequestCapture:
        """Return the input that `to_dict` wrote; `place` is its path in error messages.

        Raises:
            InvalidValue: it is not the input of a fit of a request.
        """
        check(place, {**values, "sections": {}, "history": {}}, "request_capture")
        return cls(
            sections=Capture.from_dict(values["sections"], f"{place}.sections"),
            history=HistoryInput.from_dict(values["history"], f"{place}.history"),
            **values["request"],
        )
