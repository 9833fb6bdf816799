"""An independent opinion on a prompt: its size, whether a provider would take it, and what is left of the history.

It knows no trimmer and shares no code with brim. A text is counted by the function that is given, usually
tiktoken's; a tokenizer that breaks down on a text is asked for it in pieces.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .adapter import Message

PER_MESSAGE = 3
"""Units of framing that each message costs beside its texts."""

ROLES = ("system", "developer", "user", "assistant", "tool")
LEADING = ("system", "developer")

_PIECE = 50_000
"""Characters that no tokenizer in use breaks down on."""
_SURROGATE = re.compile("[\ud800-\udfff]")
_ENDS = 4
"""Characters at the start or at the end that a cut text has in common with what it was cut from."""
_SAMPLE = 16
"""Characters in a row that are looked for in what a text may have been cut from."""
_SAMPLES = 32
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, kw_only=True, slots=True)
class Judge:
    """Sizes by one way to count, each text counted once."""

    count: Callable[[str], int]
    memo: dict[str, int] = field(default_factory=dict)

    def text(self, text: str) -> int:
        """Return the tokens of one text."""
        known = self.memo.get(text)
        if known is None:
            known = self.memo[text] = self._counted(_SURROGATE.sub("\ufffd", text))
        return known

    def message(self, message: Mapping[str, Any]) -> int:
        """Return the units of one message."""
        return PER_MESSAGE + sum(map(self.text, texts(message)))

    def size(self, messages: Sequence[Mapping[str, Any]]) -> int:
        """Return the units of a prompt."""
        return sum(map(self.message, messages))

    def _counted(self, text: str) -> int:
        try:
            return self.count(text)
        except KeyboardInterrupt:
            raise
        except BaseException:  # A panic of a Rust library is no Exception.
            return sum(self.count(text[i : i + _PIECE]) for i in range(0, len(text), _PIECE))


def texts(message: Mapping[str, Any]) -> list[str]:
    """Return every text of a message that costs tokens: its content, and the names and arguments of its calls."""
    found = [body(message)]
    for call in message.get("tool_calls") or ():
        found += [call["function"]["name"], call["function"]["arguments"]]
    return found


def body(message: Mapping[str, Any]) -> str:
    """Return the text of a message's content, that of its text parts joined."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content or () if isinstance(part.get("text"), str))


def gist(message: Mapping[str, Any]) -> tuple[object, ...]:
    """Return what two messages that say the same have in common, whatever else they carry."""
    calls = tuple(
        (call.get("id"), call["function"]["name"], call["function"]["arguments"])
        for call in message.get("tool_calls") or ()
    )
    return message.get("role"), body(message), calls, message.get("tool_call_id")


def illegal(messages: Sequence[Mapping[str, Any]]) -> str | None:
    """Return why OpenAI's chat endpoint would answer 400, or `None` if it would not."""
    if not messages:
        return "there is no message"
    waiting: dict[str, int] = {}
    for i, message in enumerate(messages):
        role = message.get("role")
        if role not in ROLES:
            return f"messages[{i}] has the role {role!r}"
        if role == "tool":
            answered = message.get("tool_call_id")
            if answered not in waiting:
                return f"messages[{i}] answers the call {answered!r}, which the message before it did not make"
            del waiting[answered]
            continue
        if waiting:
            return _unanswered(waiting)
        calls = message.get("tool_calls") or ()
        if role == "assistant" and not calls and message.get("content") is None:
            return f"messages[{i}] is from the assistant and has neither content nor calls"
        waiting = {call["id"]: i for call in calls}
        if len(waiting) < len(calls):
            return f"messages[{i}] makes two calls of the same id"
    return _unanswered(waiting) if waiting else None


def _unanswered(waiting: Mapping[str, int]) -> str:
    call, at = next(iter(waiting.items()))
    return f"the call {call!r} of messages[{at}] has no answer"


def turns(messages: Sequence[Mapping[str, Any]]) -> list[tuple[int, int]]:
    """Return the history as runs from one index to another: a message, or one that calls with all its results."""
    found = []
    start = 0
    while start < len(messages):
        end = start + 1
        if messages[start].get("tool_calls"):
            while end < len(messages) and messages[end].get("role") == "tool":
                end += 1
        found.append((start, end))
        start = end
    return found


def leading(messages: Sequence[Message]) -> list[Message]:
    """Return the system and developer messages at the start."""
    found = []
    for message in messages:
        if message.get("role") not in LEADING:
            break
        found.append(message)
    return found


def task(messages: Sequence[Message]) -> Message | None:
    """Return the first user message, which says what all the rest is for."""
    return next((message for message in messages if message.get("role") == "user"), None)


def left(
    original: Mapping[str, Any], prompt: Sequence[Mapping[str, Any]], history: Sequence[Mapping[str, Any]]
) -> str | None:
    """Return whether `original` stands in a prompt "whole" or "cut", or `None` if it is lost.

    What is another message of the history, unchanged, is not a cut of this one, however much they look alike.
    """
    others = {gist(message) for message in history} - {gist(original)}
    best = None
    for message in prompt:
        found = None if gist(message) in others else standing(original, message)
        if found == "whole":
            return found
        best = best or found
    return best


def standing(original: Mapping[str, Any], candidate: Mapping[str, Any]) -> str | None:
    """Return whether `candidate` is `original` "whole" or "cut", or `None` if it is something else."""
    if original.get("role") != candidate.get("role") or _ids(original) != _ids(candidate):
        return None
    wanted, found = body(original), body(candidate)
    if wanted == found or (wanted and wanted in found):
        return "whole" if _arguments(original) == _arguments(candidate) else "cut"
    if not found:
        return None
    bound = _ids(original)[0] is not None or bool(_ids(original)[1])
    return "cut" if bound or _drawn(found, wanted) else None


def _ids(message: Mapping[str, Any]) -> tuple[object, tuple[object, ...]]:
    return message.get("tool_call_id"), tuple(call.get("id") for call in message.get("tool_calls") or ())


def _arguments(message: Mapping[str, Any]) -> list[str]:
    return [call["function"]["arguments"] for call in message.get("tool_calls") or ()]


def _drawn(found: str, wanted: str) -> bool:
    """Whether `found` begins or ends as `wanted` does, if only by a word, or a quarter of it can be found there."""
    found, wanted = found.strip(), wanted.strip()
    if found[:_ENDS] == wanted[:_ENDS] or found[-_ENDS:] == wanted[-_ENDS:]:
        return True
    word = _WORD.match(wanted)
    if word and (first := _WORD.match(found)) and first[0] == word[0]:
        return True
    step = max(1, len(found) // _SAMPLES)
    samples = [found[i : i + _SAMPLE] for i in range(0, max(1, len(found) - _SAMPLE + 1), step)]
    return 4 * sum(sample in wanted for sample in samples) >= len(samples)
