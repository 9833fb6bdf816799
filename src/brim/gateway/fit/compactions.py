"""The policy `native`: the provider compacts, and brim keeps its blocks for clients that drop them.

A request is sent with the provider's own field, which states the tokens at which it compacts. The block in an answer is
kept under the fingerprint of the messages that were sent. In a later request that begins with these messages, it is
inserted after them; the messages before a block are not counted. A request that is still too long, for example because
the provider does not compact or its blocks save nothing, is cut as with `fit`.
"""

from __future__ import annotations

import json
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
from brim.sessions.learning.scope import LearnedValues, LearningScope
from brim.sessions.log.tolerant_store import TolerantStore
from brim.wire.base import MESSAGE_KEYS
from brim.wire.responses import COMPACTIONS

KIND = "gateway-compactions"
"""The kind of the documents with blocks: one for all conversations that begin with the same message."""
_FIELD = "context_management"
_BETA = "anthropic-beta", "compact-2026-01-12"
_LEAST = {MESSAGES: 50_000, RESPONSES: 1_000}
"""The lowest threshold in tokens that each provider accepts."""
_SHARE = 3 / 4
"""The share of the budget at which the provider compacts."""
_SEALED = 3
"""Minimum characters per token of a block."""
_MOST_BLOCKS = 8
"""Blocks in one document."""


class KeptCompactions:
    """Keeps the compactions in answers, and decides when to request one. Threads may share it."""

    def __init__(self, store: TolerantStore) -> None:
        self._store = store
        self._known = LearnedValues[dict[str, Any]]()
        """By the fingerprint of a first message: the blocks, by the fingerprint of the messages before them. A block
        that saved nothing is empty.
        """
        self._refused = LearnedValues[bool]()
        """Models that reject the field."""

    def fit(
        self, parsed: Parsed, scope: LearningScope, settings: GatewaySettings, fit: Callable[[Parsed], FittedBody]
    ) -> FittedBody:
        """Return what to send: the request with its blocks, and with the field unless it was cut.

        Raises:
            HttpProblem: the parts that must stay are too long.
            InvalidValue: a message is invalid.
        """
        least, given, own = _LEAST.get(parsed.route), parsed.input(), _own_edits(parsed.values.get(_FIELD))
        if least is None or own is None or self._refused.get(scope) or not given.messages:
            return fit(parsed)
        parsed, asks = self._restored(parsed, scope, settings)
        fitted = fit(parsed)
        line = 0 if fitted.budget is None else int(fitted.budget * _SHARE)
        if not asks or fitted.edits or line < least:
            return fitted
        edit = {"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": line}}
        entry = {"type": "compaction", "compact_threshold": line}
        value = {"edits": [*own, edit]} if parsed.route == MESSAGES else [entry]
        text = _with_field(fitted.body.decode(), value, has_one=_FIELD in parsed.values)
        return replace(fitted, body=text.encode(), compacts_at=line)

    def keep(self, fitted: FittedBody, block: Mapping[str, Any]) -> bool:
        """Keep the block of an answer, and return whether it saves tokens; if not, brim requests no more."""
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
        """Record whether a model rejects the field; if so, its requests are fitted without it."""
        self._refused.put(scope, yes)

    def _load(self, scope: LearningScope, id_: str) -> tuple[int, dict[str, Any]]:
        saved = self._store.load(KIND, id_)
        return (0, self._known.get(scope, id_) or {}) if saved is None else (saved.version, dict(saved.body))

    def _restored(self, parsed: Parsed, scope: LearningScope, settings: GatewaySettings) -> tuple[Parsed, bool]:
        """Return a request with the blocks that its client dropped, and whether to request another."""
        messages, known, last = parsed.input().messages, dict[str, Any](), scope.id
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
                known = self._load(scope, last)[1] if at == first else known
        if None in places:
            parsed = with_body(parsed, parsed.strict().placed(sent, places).encode(), settings)
        return _with_beta(parsed) if parsed.route == MESSAGES else parsed, asks


def _own_edits(field: Any) -> list[Any] | None:
    """Return the edits that the client itself requests, or `None` if they free space and brim must not interfere.

    Edits that only clear thinking do not count as freeing space.
    """
    edits = field.get("edits") if isinstance(field, Mapping) else None if field else []
    listed = edits if isinstance(edits, list) and all(isinstance(edit, Mapping) for edit in edits) else None
    if listed is None or not all(str(edit.get("type")).startswith("clear_thinking") for edit in listed):
        return None
    return listed


def _with_field(text: str, value: Any, *, has_one: bool) -> str:
    """Return the body of a request with the field set; unchanged if the body repeats a key."""
    if not has_one:
        return f'{text.rstrip().removesuffix("}")},"{_FIELD}":{json.dumps(value)}}}'
    try:
        at = body_of(text, "the request", MESSAGE_KEYS).starts[_FIELD]
    except SourceError:
        return text
    return text[:at] + json.dumps(value) + text[json.JSONDecoder().raw_decode(text, at)[1] :]


def _first(messages: Sequence[Any]) -> int:
    """Return the index of the first message that is not a system prompt; 0 if all are."""
    return leading(messages) % len(messages)


def _is_compacted(raw: Any) -> bool:
    """Return whether a message is or contains a compaction."""
    content = raw.get("content") if isinstance(raw, Mapping) else None
    parts = [raw, *(content if isinstance(content, list) else ())]
    return any(_is_compaction(part) and _text(part) for part in parts)


def _is_compaction(part: Any) -> bool:
    return isinstance(part, Mapping) and part.get("type") in COMPACTIONS


def _text(block: Mapping[str, Any]) -> str:
    """Return the content of a compaction; empty if it failed, or if the client removed it, as Claude Code does."""
    return str(block.get("content") or block.get("encrypted_content") or "")


def _with_block(raw: Any, block: Any, format: str) -> list[Any]:
    """Return a message with a block before or in it; unchanged if it cannot be the answer with the block."""
    if format == "responses":
        return [block, raw]
    content = raw.get("content") if isinstance(raw, Mapping) and raw.get("role") == "assistant" else None
    if not content:
        return [raw]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return [{**raw, "content": [block, *(each for each in blocks if not _is_compaction(each))]}]


def _with_beta(parsed: Parsed) -> Parsed:
    """Return a request with the header that Anthropic requires for the field and for a block."""
    name, beta = _BETA
    betas = [value for key, value in parsed.admitted.headers if key == name]
    merged = ",".join(dict.fromkeys(each.strip() for value in [*betas, beta] for each in value.split(",")))
    return replace(parsed, admitted=parsed.admitted.without(name, (name, merged)))
