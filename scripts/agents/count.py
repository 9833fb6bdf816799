"""Tokens of a request as the upstreams count them.

An oracle of its own: a vocabulary's library is called directly, and the structure of a request is priced here. Nothing
of brim's meters, templates or corrections takes part. The upstream for Claude counts by another vocabulary than the one
that brim estimates Claude with, so brim has to learn from the usage that is reported.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal

Vocabulary = Literal["o200k_base", "cl100k_base"]
CLAUDE: Vocabulary = "cl100k_base"
OPENAI: Vocabulary = "o200k_base"
_UNREAD = ("cache_control", "signature", "encrypted_content", "id", "status")
"""Fields that no model reads as text."""
_IMAGE = 1_500
_CHARS_OF_A_HIDDEN_TOKEN = 5
"""Encrypted reasoning counts, since the model reads it in plain."""


@lru_cache(maxsize=20_000)
def text_tokens(text: str, vocabulary: Vocabulary) -> int:
    """Return the tokens of a text."""
    import toktok

    counted: list[int] = toktok.batch_count([text], vocabulary, 1)
    return counted[0]


def content_tokens(value: Any, vocabulary: Vocabulary) -> int:
    """Return the tokens of messages: their strings, and a little for each field and each message."""
    if isinstance(value, str):
        return text_tokens(value, vocabulary)
    if isinstance(value, Mapping):
        if value.get("type") in ("image", "image_url", "input_image"):
            return _IMAGE
        hidden = len(value.get("encrypted_content") or "") // _CHARS_OF_A_HIDDEN_TOKEN
        return (
            2 + hidden + sum(1 + content_tokens(each, vocabulary) for key, each in value.items() if key not in _UNREAD)
        )
    if isinstance(value, list):
        return 1 + sum(content_tokens(each, vocabulary) for each in value)
    return 0 if value is None else 1


def tool_tokens(tool: Mapping[str, Any], vocabulary: Vocabulary) -> int:
    """Return the tokens of a tool: its definition as JSON, keys included."""
    shown = {key: value for key, value in tool.items() if key != "cache_control"}
    return 4 + text_tokens(json.dumps(shown, ensure_ascii=False, separators=(",", ":")), vocabulary)
