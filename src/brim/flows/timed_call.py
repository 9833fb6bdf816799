"""A call of a model that may not take longer than so many seconds."""

from __future__ import annotations

from threading import Thread
from typing import Any

from brim.errors import ModelError
from brim.llm import LanguageModel, Reply


def complete_within(model: LanguageModel, seconds: float, messages: list[Any], system: str | None = None) -> Reply:
    """Return the answer of a model, whose own time limit may be longer, or missing.

    Raises:
        ModelError: it does not answer in time; its thread goes on, and the answer is not used.
    """
    box: list[Reply | BaseException] = []

    def ask() -> None:
        try:
            box.append(model.complete(messages) if system is None else model.complete(messages, system))
        except BaseException as error:  # Raised again in the waiting thread.
            box.append(error)

    thread = Thread(target=ask, name="brim-model", daemon=True)
    thread.start()
    thread.join(seconds)
    if not box:
        raise ModelError(f"it took longer than {seconds:g} seconds")
    if isinstance(box[0], BaseException):
        raise box[0]
    return box[0]
