"""The policy `native`: the provider compacts, and its blocks are kept for clients that drop them.

A request is sent with the provider's own field, which says at how many tokens it compacts. The block of an answer is
kept under the fingerprint of the messages that were sent: a later request that begins with them has it inserted after
them. The block is a boundary then, as any other, so what stands before it does not count. All else is as with `fit`: a
request that is too long is cut, and so is one whose provider does not compact, or whose blocks save nothing.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from brim.errors import SourceError
from brim.files.json_body import body_of
from brim.gateway.client.parsed import Parsed, with_body
from brim.gateway.fit.fitted import FittedBody
from brim.gateway.http.problem import MESSAGES, RESPONSES
from brim.gateway.settings import GatewaySettings
from brim.sessions.conversations.beginning import fingerprints, leading
from brim.sessions.learning.models import lifetime
from brim.sessions.learning.scope import LearnedValues, LearningScope
from brim.sessions.log.tolerant_store import TolerantStore
from brim.wire.base import MESSAGE_KEYS
from brim.wire.responses import COMPACTIONS

KIND = "gateway-compactions"
"""The kind of document with the blocks of the conversations that begin with one message."""
_FIELD = "context_management"
_BETA = "anthropic-beta", "compact-2026-01-12"
_LEAST = {MESSAGES: 50_000, RESPONSES: 1_000}
"""Tokens at which each provider compacts at the earliest; it refuses a request that says fewer."""
_WARM, _COLD = 3 / 4, 1 / 2
"""The share of the budget at which a provider is to compact: what it has cached is lost then. If the cache has expired
nothing is, so it compacts earlier."""
_SEALED = 3
"""Characters of a block for each token, at least."""
_MOST_BLOCKS = 8
"""Blocks that are kept for the conversations that begin with one message."""


class KeptCompactions:
    """The compactions of answers, and when they are asked for. Safe for threads."""

    def __init__(self, store: TolerantStore) -> None:
        self._store = store
        self._known = LearnedValues[dict[str, Any]]()
        """Blocks by the fingerprint of the messages before them, by that of the first message; an empty one saved
        nothing."""
        self._used = LearnedValues[float]()
        """When a conversation was last sent, by the fingerprint of its first message."""
        self._refused = LearnedValues[bool]()
        """Which models do not take the field."""

    def fit(
        self, parsed: Parsed, scope: LearningScope, settings: GatewaySettings, fit: Callable[[Parsed], FittedBody]
    ) -> FittedBody:
        """Return what is sent: the request with its blocks, and with the field if it was not cut.

        Raises:
            HttpProblem: what has to stay is too long.
            InvalidValue: a message is invalid.
        """
        least, given, own = _LEAST.get(parsed.route), parsed.input(), _own_edits(parsed.values.get(_FIELD))
        if least is None or own is None or self._refused.get(scope) or not given.messages:
            return fit(parsed)
        parsed, id_, asks = self._restored(parsed, scope, settings)
        now, cached = time.monotonic(), lifetime(given.model, given.tools, given.system, given.fields, given.messages)
        share = _COLD if cached is not None and now - (self._used.get(scope, id_) or now) > cached else _WARM
        self._used.put(scope, now, id_)
        fitted = fit(parsed)
        line = 0 if fitted.budget is None else int(fitted.budget * share)
        if not asks or fitted.edits or line < least:
            return fitted
        edit = {"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": line}}
        entry = {"type": "compaction", "compact_threshold": line}
        value = {"edits": [*own, edit]} if parsed.route == MESSAGES else [entry]
        text = _with_field(fitted.body.decode(), value, has_one=_FIELD in parsed.values)
        return replace(fitted, body=text.encode(), compacts_at=line)

    def keep(self, fitted: FittedBody, block: Mapping[str, Any]) -> bool:
        """Keep the block of an answer, and return whether it saves anything; if not, no other is asked for."""
        request, planned = fitted.parsed.request, fitted.planned
        assert request is not None
        assert planned is not None
        messages, scope = request.messages[_first(request.messages) :], planned.engine.scope
        marks = fingerprints(messages, fitted.parsed.format, scope.id)
        id_, last = marks[0], marks[-1]
        saves = 0 < len(_text(block)) // _SEALED < (fitted.compacts_at or 0) // 2
        version, known = self._load(scope, id_)
        known = dict([*known.items(), (last, dict(block) if saves else {})][-_MOST_BLOCKS:])
        self._known.put(scope, known, id_)
        self._store.save(KIND, id_, known, version)
        return saves

    def refuses(self, scope: LearningScope, *, yes: bool) -> None:
        """Note whether a model refuses the field; if so, its requests are fitted without it."""
        self._refused.put(scope, yes)

    def _load(self, scope: LearningScope, id_: str) -> tuple[int, dict[str, Any]]:
        saved = self._store.load(KIND, id_)
        return (0, self._known.get(scope, id_) or {}) if saved is None else (saved.version, dict(saved.body))

    def _restored(self, parsed: Parsed, scope: LearningScope, settings: GatewaySettings) -> tuple[Parsed, str, bool]:
        """Return a request with the blocks that its client dropped, its beginning, and whether to ask for another."""
        messages, known, last, id_ = parsed.input().messages, dict[str, Any](), scope.id, ""
        first, asks, sent, places = _first(messages), True, list[Any](), list[int | None]()
        for at, raw in enumerate(messages):
            new, block = [raw], known.get(last)
            asks = asks and block != {}
            if block and not any(map(_is_compacted, messages[at:])):
                new = _with_block(raw, block, parsed.format)
            sent += new
            places += [at if each is raw else None for each in new]
            if at >= first:
                last = fingerprints(new, parsed.format, last)[-1]
                id_, known = (id_, known) if id_ else (last, self._load(scope, last)[1])
        if None in places:
            parsed = with_body(parsed, parsed.strict().placed(sent, places).encode(), settings)
        return _with_beta(parsed) if parsed.route == MESSAGES else parsed, id_, asks


def _own_edits(field: Any) -> list[Any] | None:
    """Return the edits that a client asks for itself; `None` if they make room, so that it is left alone.

    What it keeps of the model's thinking is no matter of room.
    """
    edits = field.get("edits") if isinstance(field, Mapping) else None if field else []
    listed = edits if isinstance(edits, list) and all(isinstance(edit, Mapping) for edit in edits) else None
    if listed is None or not all(str(edit.get("type")).startswith("clear_thinking") for edit in listed):
        return None
    return listed


def _with_field(text: str, value: Any, *, has_one: bool) -> str:
    """Return the body of a request with the field, in place of the one that it has; as it is if it repeats a key."""
    if not has_one:
        return f'{text.rstrip().removesuffix("}")},"{_FIELD}":{json.dumps(value)}}}'
    try:
        at = body_of(text, "the request", MESSAGE_KEYS).starts[_FIELD]
    except SourceError:
        return text
    return text[:at] + json.dumps(value) + text[json.JSONDecoder().raw_decode(text, at)[1] :]


def _first(messages: Sequence[Any]) -> int:
    """Return the index of the first message that fingerprints are made of: no system prompt, unless all are."""
    return leading(messages) % len(messages)


def _is_compacted(raw: Any) -> bool:
    """Return whether a message is a compaction, or has one."""
    content = raw.get("content") if isinstance(raw, Mapping) else None
    parts = [raw, *(content if isinstance(content, list) else ())]
    return any(_is_compaction(part) and _text(part) for part in parts)


def _is_compaction(part: Any) -> bool:
    return isinstance(part, Mapping) and part.get("type") in COMPACTIONS


def _text(block: Mapping[str, Any]) -> str:
    """Return what a compaction says; empty if it has failed, or its client lost it: Claude Code keeps an empty one."""
    return str(block.get("content") or block.get("encrypted_content") or "")


def _with_block(raw: Any, block: Any, format: str) -> list[Any]:
    """Return a message after a block, or with it as its first; as it is if it is not the answer that had the block."""
    if format == "responses":
        return [block, raw]
    content = raw.get("content") if isinstance(raw, Mapping) and raw.get("role") == "assistant" else None
    if not content:
        return [raw]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return [{**raw, "content": [block, *(each for each in blocks if not _is_compaction(each))]}]


def _with_beta(parsed: Parsed) -> Parsed:
    """Return a request with the header without which Anthropic takes neither the field nor a block."""
    name, beta = _BETA
    betas = [value for key, value in parsed.admitted.headers if key == name]
    others = [pair for pair in parsed.admitted.headers if pair[0] != name]
    merged = ",".join(dict.fromkeys(each.strip() for value in [*betas, beta] for each in value.split(",")))
    return replace(parsed, admitted=replace(parsed.admitted, headers=[*others, (name, merged)]))
