"""The result of fitting a request: the provider's own arguments, and the receipt."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from brim.receipts.receipt import Receipt


@dataclass(slots=True, eq=False)
class Request:
    """A fitted request."""

    body: dict[str, Any]
    """The arguments for the provider's client: `client.chat.completions.create(**request.body)`."""
    messages: list[Any]
    """The messages of the body. A message of the history that was not changed is the caller's own object."""
    system: str
    """The text of the system sections; in some formats it is one of the messages too."""
    tools: list[Any] | None
    """The tools that are offered, in the order given."""
    used: int
    """Tokens of the whole request."""
    budget: int
    _write: Callable[[], Receipt] = field(repr=False)
    texts: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The text of each section that is present, by name."""
    _receipt: Receipt | None = field(default=None, repr=False)

    @property
    def receipt(self) -> Receipt:
        """The receipt, which is written when it is first read."""
        if self._receipt is None:
            self._receipt = self._write()
        return self._receipt

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Request):
            return NotImplemented
        return self.body == other.body and self.receipt == other.receipt

    __hash__ = None  # type: ignore[assignment]  # its body may change

    def __reduce__(self) -> tuple[Any, ...]:
        # The receipt takes the place of the fit that it would be written from.
        values = {name: getattr(self, name) for name in ("body", "messages", "system", "tools", "used", "budget")}
        return _restored, (values | {"texts": dict(self.texts)}, self.receipt)


def _restored(values: dict[str, Any], receipt: Receipt) -> Request:
    return Request(**values, _write=lambda: receipt)
