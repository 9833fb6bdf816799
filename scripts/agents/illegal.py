"""A request that a provider refuses because of its form, and the signatures by which forged content is found."""

from __future__ import annotations

import hashlib
import hmac


class IllegalRequest(Exception):
    """A request that the provider answers with `invalid_request_error`; the message is the provider's text."""

    def __init__(self, message: str, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.param, self.code = param, code


def signature(text: str) -> str:
    """Return what the upstream signs its thinking with."""
    return hmac.new(b"rig", text.encode(), hashlib.sha256).hexdigest()


def sealed(text: str) -> str:
    """Return a text as encrypted reasoning content."""
    return f"gAAAA{text}{signature(text)}"


def is_sealed(content: str) -> bool:
    """Return whether encrypted content is unchanged."""
    return content.startswith("gAAAA") and content == sealed(content[5:-64])
