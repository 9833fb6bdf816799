"""For requests that carry their whole history: finds the conversation of each, and decides what to send."""

from __future__ import annotations

from brim.sessions.conversations.conversations import Conversations

__all__ = ["Conversations"]
