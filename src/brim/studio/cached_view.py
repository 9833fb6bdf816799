"""The answer of a view that is kept in memory, with its JSON: a long one takes longer to write than to send."""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any


class CachedView(dict[str, Any]):
    """The values of a view, which nobody changes."""

    @cached_property
    def text(self) -> str:
        """The values as JSON, written once."""
        return json.dumps(self, default=str)
