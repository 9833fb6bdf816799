"""The trimmers that work on plain chat messages: brim, the references, and libraries without message classes.

Every trimmer has the same three calls: take the messages, trim them, give them back. Only `trim` is measured: a user
of a library has its own message objects already. Each trimmer imports its library when it is made; one that is not
installed raises `ImportError`, and the benchmark reports that in a line. The adapters of frameworks with message
classes of their own are in `bench/frameworks.py`, and `bench/registry.py` lists all trimmers.
"""

# ruff: noqa: D102 - what each call does is said on the base

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from typing import Any, ClassVar

import brim
from bench import counting
from bench.suite import Message, NotAsked, judge
from brim.meter.vocabularies import vocabulary


class Trimmer:
    """The base: takes and gives chat messages as they are, and remembers nothing."""

    name: ClassVar[str] = "no trimming"
    package: ClassVar[str] = "brim"
    """The distribution whose version is reported."""

    def begin(self) -> None:
        """Forget the last conversation: another one begins."""

    def take(self, messages: Sequence[Message], budget: int) -> Any:  # noqa: ARG002 - some trimmers ask for it
        """Return the messages as the library wants them."""
        return list(messages)

    def trim(self, taken: Any, budget: int) -> Any:  # noqa: ARG002 - the one that trims nothing needs none
        """Return what the library keeps, in its own classes. This is what is measured."""
        return taken

    def give(self, kept: Any) -> Any:
        """Return what was kept as chat messages."""
        return kept


class PopOldest(Trimmer):
    """What people write by hand: the oldest message out until the rest fits, the system message kept."""

    name = "pop oldest until it fits"

    def __init__(self) -> None:
        self.count = counting.tiktoken_count()

    def trim(self, taken: list[Message], budget: int) -> list[Message]:
        sizes = [judge.PER_MESSAGE + sum(map(self.count, judge.texts(message))) for message in taken]
        total, first = sum(sizes), 1
        while total > budget and first < len(taken) - 1:
            total -= sizes[first]
            first += 1
        return [*taken[:1], *taken[first:]]


class Brim(Trimmer):
    """brim, called with the whole history for each prompt."""

    name = "brim"
    meter = "o200k_base"

    def begin(self) -> None:
        forget()

    def trim(self, taken: list[Message], budget: int) -> Any:
        return brim.fit_messages(taken, budget=budget, meter=self.meter).messages


class BrimHistory(Trimmer):
    """brim with a history that gets the new messages only."""

    name = "brim History"

    def begin(self) -> None:
        forget()
        self.history = brim.History(meter=Brim.meter)
        self.seen = 0

    def trim(self, taken: list[Message], budget: int) -> Any:
        self.history.extend(taken[self.seen :])
        self.seen = len(taken)
        return self.history.fit(budget=budget).messages


class WrappedBrim(Trimmer):
    """What `brim.wrap` and the integrations do: whole histories in, with their defaults."""

    name = "brim.wrap"

    def begin(self) -> None:
        forget()
        self.conversations: brim.Conversations | None = None

    def trim(self, taken: list[Message], budget: int) -> Any:
        if self.conversations is None:
            self.conversations = brim.Conversations(brim.Window(budget), meter=Brim.meter)
        return self.conversations.request(taken).messages


class SessionBrim(Trimmer):
    """A session with its defaults."""

    name = "brim.Session"

    def begin(self) -> None:
        forget()
        self.session: brim.Session | None = None
        self.seen = 0

    def trim(self, taken: list[Message], budget: int) -> Any:
        if self.session is None:
            self.session = brim.Session(brim.Window(budget), meter=Brim.meter)
        self.session.add(taken[self.seen :])
        self.seen = len(taken)
        return self.session.prompt().messages


class Cleared(Trimmer):
    """What providers do on their servers: old results become a placeholder, then the oldest turns leave.

    It counts as brim does, so that only the choice differs.
    """

    name = "reference: old results cleared"

    def trim(self, taken: list[Message], budget: int) -> list[Message]:
        count = brim.meter(Brim.meter).count_messages
        made, total = list(taken), count(taken)
        for i in range(judge.turns(taken)[-1][0]):
            if total <= budget:
                return made
            short = {**taken[i], "content": "[Old tool result content cleared]"}
            saved = count([taken[i]]) - count([short])
            # In protocols of plain text every message of the user after the task is a result.
            if saved > 0 and (taken[i]["role"] == "tool" or (taken[i]["role"] == "user" and i > 1)):
                made[i], total = short, total - saved
        first = int(made[0]["role"] == "system")
        turns = [made[first:][start:end] for start, end in judge.turns(made[first:])]
        while total > budget and len(turns) > 2:
            total -= count(turns.pop(1))
        return [*made[:first], *(message for turn in turns for message in turn)]


class LiteLLM(Trimmer):
    """LiteLLM's trim_messages; max_tokens is the budget."""

    name = "LiteLLM trim_messages"
    package = "litellm"

    def __init__(self) -> None:
        os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
        counting.tiktoken_encoding("cl100k_base")
        counting.tiktoken_encoding()
        self.call = import_module("litellm.utils").trim_messages

    def trim(self, taken: list[Message], budget: int) -> Any:
        return self.call(taken, model="gpt-4o", max_tokens=budget)


def prompt(trimmer: Trimmer, history: Sequence[Message], budget: int) -> list[Message] | None:
    """Return the prompt that a trimmer makes, or `None` where it says that nothing fits."""
    try:
        return list(trimmer.give(trimmer.trim(trimmer.take(history, budget), budget)))
    except brim.BrimError:
        return None


def forget() -> None:
    """Empty brim's memory of counts, so that a conversation begins as it does in a new process."""
    vocabulary(Brim.meter).memo.clear()


def plain_texts_only(messages: Sequence[Message]) -> None:
    """Refuse parts of content for a library, or an adapter, that knows texts only.

    Raises:
        NotAsked: a message holds something else than a text.
    """
    if any(isinstance(message.get("content"), list) for message in messages):
        raise NotAsked("the adapter passes texts only")


class Asked:
    """A trimmer as the conformance suite asks it: each history on its own."""

    def __init__(self, trimmer: Trimmer) -> None:
        self.trimmer = trimmer
        self.name = trimmer.name

    def trim(self, messages: list[Message], budget: int) -> Any:
        """Return what the trimmer makes of one history."""
        self.trimmer.begin()
        return self.trimmer.give(self.trimmer.trim(self.trimmer.take(messages, budget), budget))
