"""Recognises errors about prompts that were too long, and the limits that they state.

Providers report them with a code, a phrase or a stop reason; all that are listed here come from real answers. A rate
limit is a different error, even if its message mentions too many tokens.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from brim.wire import plain

CODES = (
    "context_length_exceeded",
    "context_window_exceeded",
    "contextwindowexceedederror",
    "exceed_context_size_error",
    "model_context_window_exceeded",
    "model_max_prompt_tokens_exceeded",
    "request_body_too_large_after_decoding",
    "request_too_large",
    "string_above_max_length",
)
"""Values of `code`, `type`, stop reasons, and class names of errors."""

_N = r"(?<!\d)(\d(?:[\d,_.]{0,30}\d)?)(?![,_.]?\d)"
"""A whole number, never a part of one."""
_MOST = rf"maximum context length is (?P<limit>{_N})(?: tokens)?"
_PHRASES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"prompt is too long(?:: (?P<sent>{_N}) tokens > (?P<limit>{_N}) maximum"
        rf"|: (?P<sent2>{_N}), model maximum context length: (?P<limit2>{_N}))?",
        rf"prompt \(length (?P<sent>{_N})\) is longer than the maximum model length of (?P<limit>{_N})",
        rf"prompt \(total length (?P<sent>{_N})\) is too long to fit into the model \(context length (?P<limit>{_N})",
        rf"current length is (?P<sent>{_N}) while limit is (?P<limit>{_N})",
        rf"request body too large for .{{1,60}} model\. max size: (?P<limit>{_N}) tokens",
        rf"input length and `?max_tokens`? exceed context limit"
        rf"(?:: (?P<sent>{_N}) \+ (?P<reply>{_N}) > (?P<limit>{_N}))?",
        rf"{_MOST} and your request has (?P<sent>{_N}) input tokens(?: \((?P<reply>{_N}) > )?",
        rf"{_MOST}\W{{1,3}}however,? you requested (?P<reply>{_N}) output tokens and your prompt contains"
        rf" (?:at least )?(?P<sent>{_N}) input",
        rf"{_MOST}\W{{1,3}}however,? you requested (?:about )?(?P<total>{_N}) tokens"
        rf" \([^)]{{0,120}}\D(?P<reply>{_N}) (?:in|for) the (?:completion|output)",
        rf"{_MOST}\W{{1,3}}however,? you requested (?:about )?(?P<total>{_N}) tokens",
        rf"{_MOST}\D{{0,60}}(?P<sent>{_N}) (?:input )?tokens",
        rf"{_MOST}",
        rf"maximum context length of (?P<limit>{_N}) tokens\. You requested a total of {_N} tokens:"
        rf" (?P<sent>{_N}) tokens from the input messages and (?P<reply>{_N}) tokens for the completion",
        rf"passed (?P<sent>{_N}) input tokens and requested (?P<reply>{_N}) output tokens\."
        rf".{{0,40}}context length is only (?P<limit>{_N})",
        rf"input \((?P<sent>{_N}) tokens\) is longer than the model's context length \((?P<limit>{_N}) tokens\)",
        rf"input length \(?(?P<sent>{_N})\)? exceeds (?:the |model's )?maximum"
        rf" (?:allowed input|context) length (?:of |\()(?P<limit>{_N})",
        rf"input tokens exceed the configured limit of (?P<limit>{_N}) tokens"
        rf"(?:\. Your messages resulted in (?P<sent>{_N}) tokens)?",
        rf"maximum prompt length is (?P<limit>{_N}) but the request contains (?P<sent>{_N}) tokens",
        rf"prompt contains (?P<sent>{_N}) tokens.{{0,60}}?(?P<limit>{_N}) maximum context length",
        rf"input token count(?: \((?P<sent>{_N})\)| of (?P<sent2>{_N}))?"
        rf" exceeds the (?:maximum|limit)[^\d]{{0,40}}(?P<limit>{_N})",
        rf"input token count is (?P<sent>{_N}) but (?:the )?model only supports up to (?P<limit>{_N})",
        rf"prompt token count of (?P<sent>{_N}) exceeds the limit of (?P<limit>{_N})",
        rf"exceeded model token limit: (?P<limit>{_N})(?: \(requested: (?P<sent>{_N})\))?",
        rf"tokens in the prompt cannot exceed (?P<limit>{_N})(?: - received (?P<sent>{_N}))?",
        rf"`inputs` tokens \+ `max_new_tokens` must be <= (?P<limit>{_N})(?:\. Given: (?P<sent>{_N}) `inputs` tokens"
        rf" and (?P<reply>{_N}))?",
        rf"`inputs` must have less than (?P<limit>{_N}) tokens(?:\. Given: (?P<sent>{_N}))?",
        rf"request \((?P<sent>{_N}) tokens\) exceeds the available context size \((?P<limit>{_N}) tokens\)",
        rf"keep the first (?P<sent>{_N}) tokens when .{{0,20}}overflows\."
        rf".{{0,60}}context length of only (?P<limit>{_N})",
        rf"range of input length should be \[1, (?P<limit>{_N})\]",
        r"exceeds? the available context size",
        r"exceeds? (?:the |this model's |its )?context (?:window|length|size|limit)",
        r"context (?:size|length) has been exceeded",
        r"exceeded max context length",
        r"\b(?:exceed|too |large|full|fit|beyond|reduce|maximum|over)\w*+\b.{0,80}\bcontext window",
        r"\bcontext window\b.{0,80}\b(?:exceed|too |large|full|fit|beyond|reduce|maximum|over)",
        r"input is too long",
        r"too many input tokens",
        r"too many total text bytes",
        r"input tokens exceeded",
        r"reduce the length of (?:the |your )?(?:messages|prompt|input|completion)",
        r"exceeds? (?:the )?maximum (?:number of )?(?:input |prompt )?tokens? (?:allowed|limit|length)",
        r"greater than the context length",
        r"maximum context length",
        r"longer than the model's context length",
        r"maximum sequence length",
    )
)
"""Phrases from real answers; those with numbers come first. `total` is the sum of the prompt and the requested
answer.
"""

_RATE = re.compile(
    r"rate.?limit|tokens per (?:min|day)|per.?minute|\b[TR]P[MD]\b|quota|throttl|too many requests|billing",
    re.IGNORECASE,
)
"""Phrases of rate limits; a shorter prompt does not help against them."""
_TOLD = ("message", "code", "type", "error_code", "detail", "status", "reason", "error", "msg")
_BELOW = ("error", "details", "response", "body", "detail", "errors", "incomplete_details")
_ANSWER = ("choices", "content", "output", "candidates")
"""Fields of an answer. An answer repeats the client's `metadata` and instructions, so only its error is read."""
_OF_ANSWER = ("error", "incomplete_details")
_STOPS = ("stop_reason", "finish_reason", "native_finish_reason", "stopReason", "finishReason")
_DEEPEST = 6
_REASON = 120
"""Characters of a phrase that are kept."""
_LONGEST = 4_000
"""Characters of one message that are searched."""


_NO_NUMBERS = 0.75
"""The share of a rejected prompt to send again if the error has no numbers."""
_MARGIN = 0.95
"""The share of a stated limit that is used."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Overflow:
    """A prompt that was too long for a model."""

    reason: str
    """The code or phrase that identified the error."""
    limit: int | None = None
    """The context window, if the error states it."""
    sent: int | None = None
    """The tokens of the prompt, if the error states them."""
    reply: int | None = None
    """The counted tokens that were reserved for the reply, if the error states them."""
    summed: bool = False
    """Whether the tokens of the prompt may include those of the reply: "you requested 9,000 tokens"."""
    accepted: bool = False
    """Whether the prompt was accepted, but the answer ended because the window was full."""

    @property
    def factor(self) -> float | None:
        """The factor by which the prompt must shrink; `None` if the numbers are unknown."""
        if not self.limit or not self.sent:
            return None
        room = self.limit - (self.reply or 0)
        return room / self.sent if 0 < room < self.sent else None

    @property
    def retry_share(self) -> float:
        """The share of the rejected prompt to send again: from the numbers with a margin, or three quarters."""
        return _NO_NUMBERS if self.factor is None else self.factor * _MARGIN

    def beside(self, answer: int | None, counted: int | None = None) -> Overflow:
        """Return the overflow with the requested answer, if the prompt is too long only because of the answer.

        Args:
            answer: the requested limit of the answer.
            counted: brim's count of the rejected prompt; it shows whether a stated sum includes the answer.
        """
        if answer is None or self.reply or not self.limit or not self.sent or self.accepted:
            return self
        prompt = self.sent - answer
        if self.summed and counted and prompt > 0 and abs(prompt - counted) < abs(self.sent - counted):
            return replace(self, sent=prompt, reply=answer, summed=False)
        counts = answer < self.limit and self.sent <= self.limit < self.sent + answer
        return replace(self, reply=answer) if counts else self

    def without_numbers(self) -> Overflow:
        """Return the overflow without the numbers of the error."""
        return replace(self, limit=None, sent=None, reply=None, summed=False)


def is_overflow(error: object) -> Overflow | None:
    """Return the overflow that an error or an answer reports, or `None`.

    Args:
        error: an exception of any client, the body of an answer as text or JSON values, or a whole answer.
    """
    found: Overflow | None = None
    for each in _chain(error):
        texts, numbers = [], dict[str, int]()
        for key, value in _said(each):
            if isinstance(value, str):
                texts.append(value[:_LONGEST])
            elif isinstance(value, int) and not isinstance(value, bool):
                numbers[key] = value
        code = next((code for text in texts if (code := _code(text))), None)
        if code is None and (numbers.get("status_code") == 429 or any(_RATE.search(text) for text in texts)):
            return None
        match = next((match for phrase in _PHRASES for text in texts if (match := phrase.search(text))), None)
        if code is None and match is None:
            continue
        told = _told(match, numbers, code)
        found = told if found is None or (found.limit is None and told.limit is not None) else found
    return found


def _chain(error: object) -> Iterator[object]:
    """Yield an error and its causes; any other value alone."""
    seen: set[int] = set()
    each: object = error
    while each is not None and id(each) not in seen and len(seen) < _DEEPEST:
        seen.add(id(each))
        yield each
        each = (each.__cause__ or each.__context__) if isinstance(each, BaseException) else None


def _said(value: object, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield the fields of an error with their keys, without text that a model wrote."""
    if depth > _DEEPEST or value is None:
        return
    if isinstance(value, BaseException):
        yield "type", type(value).__name__
        yield "message", str(value)
        for name in ("status_code", "status", "code", "type", "excerpt"):
            yield name if name != "status" else "status_code", getattr(value, name, None)
        yield from _said(getattr(value, "body", None), depth + 1)
    elif isinstance(value, bytes):
        yield from _said(value.decode("utf-8", "replace"), depth)
    elif isinstance(value, str):
        yield from _of_text(value, depth)
    elif isinstance(value, list | tuple):
        for each in value[:8]:
            yield from _said(each, depth + 1)
    elif isinstance(values := plain(value), Mapping):
        yield from _of_mapping(values, depth)


def _of_text(text: str, depth: int) -> Iterator[tuple[str, Any]]:
    """Yield the fields of a text: those of its JSON, or the text itself."""
    body = text.strip().removeprefix("data:").strip()
    if body[:1] in ("{", "["):
        try:
            yield from _said(json.loads(body), depth + 1)
        except (ValueError, RecursionError):
            yield "message", text
        return
    yield "message", text


def _of_mapping(values: Mapping[str, Any], depth: int) -> Iterator[tuple[str, Any]]:
    for key in _STOPS:
        yield key, _stop(values.get(key))
    choices = values.get("choices")
    if isinstance(choices, list | tuple) and choices and isinstance(choice := plain(choices[0]), Mapping):
        for key in _STOPS:
            yield key, _stop(choice.get(key))
        yield from _said(choice.get("error"), depth + 1)
    if any(key in values for key in _ANSWER):
        for key in _OF_ANSWER:
            yield from _said(values.get(key), depth + 1)
        return
    for key in ("n_ctx", "n_prompt_tokens"):
        yield key, values.get(key)
    if isinstance(code := values.get("code"), int):
        yield "status_code", code
    for key in _TOLD:
        if isinstance(values.get(key), str):
            yield key, values[key]
    for key in _BELOW:
        if not isinstance(values.get(key), str):
            yield from _said(values.get(key), depth + 1)
    if isinstance(origin := values.get("metadata"), Mapping) and "message" in values:  # As OpenRouter has it.
        yield from _said(origin.get("raw"), depth + 1)


def _stop(reason: object) -> str | None:
    """Return a stop reason if it reports an overflow; otherwise `None`."""
    return reason if isinstance(reason, str) and _code(reason) else None


def _code(text: str) -> str | None:
    folded = text.casefold()
    return next((code for code in CODES if code in folded), None) if len(text) <= 200 or "_" in text else None


def _told(match: re.Match[str] | None, numbers: Mapping[str, int], code: str | None) -> Overflow:
    parts = match.groupdict() if match is not None else {}
    read = {name: int(re.sub(r"\D", "", digits)) for name, digits in parts.items() if digits}
    total, reply = read.get("total"), read.get("reply")
    sent = read.get("sent") or read.get("sent2") or numbers.get("n_prompt_tokens")
    if total and (reply or 0) < total:
        sent = total - (reply or 0)
    return Overflow(
        reason=match[0][:_REASON] if match is not None else code or "",
        limit=read.get("limit") or read.get("limit2") or numbers.get("n_ctx"),
        sent=sent,
        reply=reply,
        summed=total is not None and reply is None,
    )
