"""Tools that are offered with `defer_loading`: their provider shows them to the model once it has searched for them.

Anthropic loads the definition of a tool where a `tool_reference` names it, in the result of a search or in the changes
of tools that a compaction lists. OpenAI puts the definitions into an item of the input, where they count by themselves.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from brim.wire.message import Message
from brim.wire.values import plain

NAMESPACE = "namespace"
"""The type of a tool of OpenAI that holds others."""
_DEFERRED = "defer_loading"
_MARK = '"type":"tool_reference"'
_OBJECT = re.compile(r"\{[^{}]{0,300}\}")
_NAME = re.compile(r'"(?:tool_)?name":"([^"\\]{1,200})"')


def is_deferred(tool: Mapping[str, Any]) -> bool:
    """Return whether a tool is shown only once it was searched for."""
    inner = plain(tool.get("function"))
    return tool.get(_DEFERRED) is True or (isinstance(inner, Mapping) and inner.get(_DEFERRED) is True)


def loaded_tools(message: Message) -> set[str]:
    """Return the names of the tools whose definitions a message loads."""
    found: set[str] = set()
    for piece in message.pieces:
        if piece.kind in ("opaque", "compaction") and _MARK in piece.text:
            loads = [each for each in _OBJECT.findall(piece.text) if _MARK in each]
            found.update(name[1] for each in loads if (name := _NAME.search(each)))
    return found
