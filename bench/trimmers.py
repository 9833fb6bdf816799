"""The trimmers that work on plain chat messages: brim, the references, and libraries without message classes.

Every trimmer has the same three calls: take the messages, trim them, give them back. Only `trim` is measured: a user
of a library has its own message objects already. Each trimmer imports its library when it is made; one that is not
installed raises `ImportError`, and the benchmark reports that in a line. The adapters of frameworks with message
classes of their own are in `bench/frameworks/`, and `bench/registry.py` lists all trimmers.
"""

# ruff: noqa: D102 - what each call does is said on the base

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

import brim
from bench import peers
from bench.suite import Judge, Message, NotAsked, judge
from brim.meter.vocabularies import vocabulary


class Trimmer:
    """The base: takes and gives chat messages as they are, and remembers nothing."""

    name: ClassVar[str] = "no trimming"

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


@dataclass(frozen=True, kw_only=True, slots=True)
class Peer:
    """A trimmer that can be made."""

    name: str
    make: Callable[[], Trimmer]
    """Raises `ImportError` if its library is not installed."""
    package: str = ""
    """The distribution whose version is reported; empty for trimmers that are defined here."""
    note: str = ""
    """How it was set up, as a sentence."""
    seconds: float = 0
    """CPU seconds that it may spend on a replay before it is stopped; 0 is as much as it takes."""


class PopOldest(Trimmer):
    """What people write by hand: the oldest message out until the rest fits, the system message kept."""

    name = "pop oldest until it fits"

    def __init__(self) -> None:
        self.count = peers.tiktoken_count()

    def trim(self, taken: list[Message], budget: int) -> list[Message]:
        sizes = [judge.PER_MESSAGE + sum(map(self.count, judge.texts(message))) for message in taken]
        total, first = sum(sizes), 1
        while total > budget and first < len(taken) - 1:
            total -= sizes[first]
            first += 1
        return [*taken[:1], *taken[first:]]


class Groups(Trimmer):
    """The reference: the oldest turn out until the rest fits, each text counted once."""

    name = "reference: oldest turn out, counts cached"
    low = 1.0
    """The share of the budget that is cut to when it is exceeded, and then held."""

    def __init__(self) -> None:
        self.judge = Judge(count=peers.tiktoken_count())
        self.begin()

    def begin(self) -> None:
        self.judge.memo.clear()
        self.first = 0
        """The index that the kept history begins at."""

    def trim(self, taken: list[Message], budget: int) -> list[Message]:
        head = judge.leading(taken)
        runs = [run for run in judge.turns(taken) if run[0] >= max(self.first, len(head))]
        sizes = [self.judge.size(taken[start:end]) for start, end in runs]
        total = sum(sizes) + self.judge.size(head)
        if total > budget:
            drop = 0
            while total > budget * self.low and drop < len(runs) - 1:
                total -= sizes[drop]
                drop += 1
            runs = runs[drop:]
            self.first = runs[0][0] if self.low < 1 else 0
        return [*head, *taken[runs[0][0] if runs else len(taken) :]]


class HeldGroups(Groups):
    """The reference in its stable form."""

    name = "reference: the same, cut to 50 % and hold"
    low = 0.5


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
    stable: ClassVar[bool | None] = None

    def begin(self) -> None:
        forget()
        self.history = brim.History(meter=Brim.meter, stable=self.stable)
        self.seen = 0

    def trim(self, taken: list[Message], budget: int) -> Any:
        self.history.extend(taken[self.seen :])
        self.seen = len(taken)
        return self.history.fit(budget=budget).messages


class StableBrimHistory(BrimHistory):
    """The same, in stable mode."""

    name = "brim History stable"
    stable = True


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
    """LiteLLM's trim_messages."""

    name = "LiteLLM trim_messages"

    def __init__(self) -> None:
        os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
        peers.tiktoken_encoding("cl100k_base")
        peers.tiktoken_encoding()
        self.call = import_module("litellm.utils").trim_messages

    def trim(self, taken: list[Message], budget: int) -> Any:
        return self.call(taken, model="gpt-4o", max_tokens=budget)


class Headroom(Trimmer):
    """headroom's compress, with the budget as the model's limit."""

    name = "headroom compress"

    def __init__(self) -> None:
        os.environ["HF_HUB_OFFLINE"] = "1"
        os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
        peers.tiktoken_encoding("cl100k_base")
        peers.tiktoken_encoding()
        self.call = import_module("headroom").compress

    def trim(self, taken: list[Message], budget: int) -> Any:
        return self.call(taken, model="gpt-4o", model_limit=budget).messages


class PromptBudget(Trimmer):
    """promptbudget's pack_chat, which knows a role and a text."""

    name = "promptbudget pack_chat"

    def __init__(self) -> None:
        peers.tiktoken_encoding()
        self.library = import_module("promptbudget")
        self.tokenizer = self.library.TiktokenTokenizer(encoding_name="o200k_base")

    def take(self, messages: Sequence[Message], budget: int) -> Any:  # noqa: ARG002
        plain_texts_only(messages)
        shown = [replace_absent(message) for message in messages]
        leads = [message for message in shown if message["role"] == "system"]
        return (leads[0]["content"] if leads else None), [each for each in shown if each["role"] != "system"]

    def trim(self, taken: Any, budget: int) -> Any:
        system, history = taken
        return self.library.pack_chat(
            history,
            budget,
            system=system,
            tokenizer=self.tokenizer,
            tokens_per_message=judge.PER_MESSAGE,
        )

    def give(self, kept: Any) -> Any:
        return kept.to_openai()


class CtxBudgeter(Trimmer):
    """ctxbudgeter with an item for each message, the newer the more important."""

    name = "ctxbudgeter"

    def __init__(self) -> None:
        peers.tiktoken_encoding()
        self.library = import_module("ctxbudgeter")

    def take(self, messages: Sequence[Message], budget: int) -> Any:
        plain_texts_only(messages)
        pack = self.library.ContextPack(model="gpt-4o", token_budget=budget, reserved_output_tokens=0)
        for i, message in enumerate(messages):
            pack.add(
                name=str(i),
                content="\n".join([message["role"] + ":", *judge.texts(message)]),
                priority=100 * i // len(messages),
                required=message["role"] == "system" or i == len(messages) - 1,
            )
        return pack, list(messages)

    def trim(self, taken: Any, budget: int) -> Any:  # noqa: ARG002 - the pack was told the budget when it was made
        pack, messages = taken
        return [messages[int(item.name)] for item in pack.compile().included_in_input_order()]


def prompt(trimmer: Trimmer, history: Sequence[Message], budget: int) -> list[Message] | None:
    """Return the prompt that a trimmer makes, or `None` where it says that nothing fits."""
    try:
        return list(trimmer.give(trimmer.trim(trimmer.take(history, budget), budget)))
    except brim.BrimError:
        return None


def forget() -> None:
    """Empty brim's memory of counts, so that a conversation begins as it does in a new process."""
    vocabulary(Brim.meter).memo.clear()


def replace_absent(message: Message) -> Message:
    """Return the message with an empty text for a content that is not there, for libraries that want one."""
    return {**message, "content": message.get("content") or ""}


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
