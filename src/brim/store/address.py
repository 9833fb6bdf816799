"""The address of a store: checked, and shown without its password."""

from __future__ import annotations

from urllib.parse import parse_qsl, unquote, urlsplit

from brim.errors import InvalidType, InvalidValue

FILE = "sqlite:///"
SERVER = ("postgresql://", "postgres://")
_HIDDEN = "***"


def check_url(url: object) -> None:
    """Check the address of a store.

    Raises:
        InvalidValue: it is invalid.
    """
    if not isinstance(url, str):
        raise InvalidType("the address of a store", url, "a string such as 'sqlite:///brim.db'")
    if not url.startswith(SERVER) and (not url.startswith(FILE) or url == FILE):
        known = "'sqlite:///brim.db', 'sqlite:///:memory:' or 'postgresql://user@host/db'"
        raise InvalidValue("the address of a store", shown_url(url), f"like {known}")


def shown_url(url: str) -> str:
    """Return an address without the password, and without the options, which may contain one."""
    if url.startswith(FILE):
        return url
    try:
        parts = urlsplit(url)
        user, host = parts.username, parts.netloc.rpartition("@")[2]
    except ValueError:
        return SERVER[0]
    scheme = "postgresql" if url.startswith(SERVER) else parts.scheme
    return f"{scheme}://{user + '@' if user else ''}{host}{parts.path}" if parts.scheme else host or parts.path


def without_secrets(text: str, url: str) -> str:
    """Return what a server or its library says, without the password and the options of an address."""
    try:
        parts = urlsplit(url)
        options = [value for _, value in parse_qsl(parts.query)]
        found = [parts.password or "", unquote(parts.password or ""), parts.query, *options]
    except ValueError:
        found = [url, url.partition("://")[2]]
    for secret in sorted(found, key=len, reverse=True):
        if secret:
            text = text.replace(secret, _HIDDEN)
    return text
