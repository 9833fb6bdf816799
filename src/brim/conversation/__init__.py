"""The sessions behind requests that each bring their whole history along, as the clients of providers send them."""

from brim.conversation.conversations import Conversations
from brim.conversation.request import Request

__all__ = ["Conversations", "Request"]
