"""Closes the store of an object that opened it."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from brim.store import Store


class StoreOwner:
    """An object with a store, which it closes if it opened it. A `with` block closes it."""

    _owned: Store | None
    """The store, if this object opened it."""

    def close(self) -> None:
        """Close the store, if it was passed as a URL."""
        if self._owned is not None:
            self._owned.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
