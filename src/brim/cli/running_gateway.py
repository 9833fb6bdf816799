"""The conversations of a gateway that runs, as it answers them."""

from __future__ import annotations

import os
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from json import loads
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from brim.errors import InvalidValue, SourceError

if TYPE_CHECKING:
    from brim.sessions.log.overview import Overview

_CONNECTIONS = {"http": HTTPConnection, "https": HTTPSConnection}
_PATH = "/brim/status"
_MOST_BYTES = 16 * 1024 * 1024
"""Bytes of the answer that are read."""


def gateway_overview(url: str, key: str | None) -> Overview:
    """Return the conversations of a running gateway.

    No proxy is used and no redirect is followed, since the request may hold a key.

    Args:
        url: the address of the gateway.
        key: the name of the environment variable with a key of the gateway, if it requires one.

    Raises:
        SourceError: it cannot be reached, or does not answer as a gateway does.
        InvalidValue: the URL is invalid, or the variable is not set.
    """
    from brim.sessions.log.overview import GatewayUse, Overview

    headers = {}
    if key is not None:
        if not os.environ.get(key, "").strip():
            raise InvalidValue("--key", key, "the name of an environment variable that is set")
        headers["authorization"] = f"Bearer {os.environ[key].strip()}"
    status, text = _get(url, headers)
    if status == HTTPStatus.UNAUTHORIZED:
        raise SourceError(url, "the gateway requires a key: --key names the variable that holds one")
    try:
        rows = loads(text)["conversations"]
        uses = [GatewayUse.of(row["id"], row["updated"], row) for row in rows]
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise SourceError(url, f"this is not a brim gateway: the answer has status {status}") from error
    return Overview(current=None, recent=(), gateway=tuple(uses))


def _get(url: str, headers: dict[str, str]) -> tuple[int, bytes]:
    try:
        parts = urlsplit(url)
        connection = _CONNECTIONS[parts.scheme](parts.hostname or "", parts.port, timeout=10)
    except (ValueError, KeyError):
        raise InvalidValue("--gateway", url, "a URL such as http://127.0.0.1:8088") from None
    try:
        connection.request("GET", parts.path.rstrip("/").removesuffix("/v1") + _PATH, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read(_MOST_BYTES)
    except (OSError, HTTPException) as error:
        raise SourceError(url, f"the gateway cannot be reached: {error}") from error
    finally:
        connection.close()
