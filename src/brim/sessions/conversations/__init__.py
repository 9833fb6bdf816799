"""Requests that each bring their whole history: which conversation each continues, and what is sent."""

from __future__ import annotations

from brim.sessions.conversations.conversations import Conversations

__all__ = ["Conversations"]
