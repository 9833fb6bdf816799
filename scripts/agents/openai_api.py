"""The routes of OpenAI: Chat Completions, Responses, and the list of models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scripts.agents.chat_api import ChatApi, error
from scripts.agents.responses_api import ResponsesApi
from scripts.agents.server import ApiReply
from scripts.agents.upstream import Upstream

_MODELS = ("gpt-5.1-codex", "rig-model")


class OpenAiApi:
    """Answers the paths of OpenAI; a WebSocket is refused, so that a client falls back to HTTP."""

    def __init__(self, upstream: Upstream) -> None:
        self._routes: dict[str, ChatApi | ResponsesApi] = {
            "/v1/chat/completions": ChatApi(upstream),
            "/v1/responses": ResponsesApi(upstream),
        }

    def get(self, path: str, headers: Mapping[str, str]) -> ApiReply:
        """List the models."""
        if "upgrade" in headers:
            return error(426, "This server has no WebSockets.", None, None)
        if path.partition("?")[0] != "/v1/models":
            return error(404, f"Invalid URL (GET {path})", None, None)
        listed = [{"id": name, "object": "model", "created": 1, "owned_by": "rig"} for name in _MODELS]
        return ApiReply(value={"object": "list", "data": listed})

    def post(self, path: str, request: dict[str, Any], headers: Mapping[str, str]) -> ApiReply:
        """Answer or refuse a request."""
        route = self._routes.get(path.partition("?")[0])
        if route is None:
            return error(404, f"Invalid URL (POST {path})", None, None)
        return route.post(path.partition("?")[0], request, headers)
