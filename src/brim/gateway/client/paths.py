"""The routes of paths, the models in them, and which paths are passed on unchanged.

An upstream key gives access to more than models: also to the account's keys and files, and to the stored answers of
other clients. So with such a key, only paths that depend on nothing but the request itself are passed on, unless the
settings list others.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import lru_cache

from brim.gateway.http.problem import BEDROCK, CHAT, GEMINI, MESSAGES, OTHER, RESPONSES

FITTED = {"/chat/completions": CHAT, "/responses": RESPONSES, "/messages": MESSAGES}
"""Paths whose requests are fitted, without the `/v1` before them."""
PATHS = {route: f"/v1{path}" for path, route in FITTED.items()}
"""The path upstream of each route; paths that contain the model stay as they are."""
STATUS = "/brim/status"
"""Where the gateway lists its conversations."""
OWN = ("/healthz", "/readyz", "/metrics", STATUS)
"""Paths of the gateway itself."""

_MODEL_PATHS = (
    (GEMINI, re.compile(r"/v1(?:alpha|beta)?\d*/(?:[\w.-]+/){1,7}(?P<model>[^/:]+):(?:streamG|g)enerateContent")),
    (BEDROCK, re.compile(r"/model/(?P<model>.{1,512})/converse(?:-stream)?")),
    (CHAT, re.compile(r"/(?:[\w.-]+/){0,7}(?:engines|deployments)/(?P<model>[^/]+)/chat/completions", re.I)),
)
"""Paths that contain the model: `/v1beta/models/NAME:generateContent`, `/model/NAME/converse`, and
`/openai/deployments/NAME/chat/completions`."""
_VERSION = re.compile("^(?:/openai)?/v1(?=/)")
_STREAMS = (":streamGenerateContent", "/converse-stream")
"""The ends of such paths if the answer is a stream."""
METHODS = ("GET", "POST", "DELETE", "PUT", "PATCH", "HEAD")
"""Methods that are passed on."""
SAFE = (
    "GET /v1/models",
    "GET /v1/models/*",
    *(
        f"POST /v1/{path}"
        for path in (
            "completions",
            "embeddings",
            "moderations",
            "rerank",
            "messages/count_tokens",
            "responses/input_tokens",
            "responses/compact",
            "images/generations",
            "images/edits",
            "images/variations",
            "audio/speech",
            "audio/transcriptions",
            "audio/translations",
            "tokenize",
            "detokenize",
        )
    ),
)
"""Paths that are allowed with the gateway's own key, unless the settings list others."""
EXPECTED = 'paths such as "/v1/files/*" or "GET /v1/batches", or "*" for all'
_LISTED = re.compile(rf"\*|(?:(?:{'|'.join(METHODS)}) )?/[\x21-\x7e]*")


@lru_cache(maxsize=256)
def model_path(path: str) -> tuple[str, str] | None:
    """Return the route and the model of a path that contains a model; `None` for any other path."""
    found = ((route, pattern.fullmatch(path)) for route, pattern in _MODEL_PATHS)
    return next(((route, match["model"]) for route, match in found if match), None)


@lru_cache(maxsize=256)
def route_of(path: str) -> str:
    """Return the route of a path, or the one that it begins with; `OTHER` if there is none."""
    short, found = shortened(path), model_path("/" + path.strip("/"))
    return found[0] if found else next((route for start, route in FITTED.items() if short.startswith(start)), OTHER)


def is_stream_path(path: str) -> bool:
    """Return whether a path that contains a model requests a stream."""
    return path.endswith(_STREAMS)


def is_pattern(text: str) -> bool:
    """Return whether a text is valid in `gateway.paths`."""
    return bool(_LISTED.fullmatch(text))


def shortened(path: str) -> str:
    """Return a path without `/v1` or Azure's `/openai/v1`, in lower case, to look up its route."""
    return _VERSION.sub("", path.lower())


def may_reach(method: str, path: str, listed: tuple[str, ...]) -> bool:
    """Return whether a path is listed; `*` matches any characters, and HEAD counts as GET."""
    short = shortened(path)
    for each in listed:
        only, _, pattern = each.rpartition(" ")
        if only in ("", "GET" if method == "HEAD" else method) and fnmatchcase(short, shortened(pattern)):
            return True
    return False
