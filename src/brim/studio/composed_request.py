"""A request and sections that a user of the page puts together, as the texts that `brim fit --sections` reads.

The page sends texts and no files: a description that names a file is refused, since its texts belong into it.
"""

from __future__ import annotations

from dataclasses import replace
from hashlib import blake2b
from typing import Any

from brim.errors import InvalidValue
from brim.files.json_body import body_of
from brim.files.source import parse, place
from brim.history.request_body import request_of
from brim.meter.window import budget_of
from brim.receipts.capture import Capture
from brim.settings.spec import Spec, read_spec
from brim.wire.base import MESSAGE_KEYS

KIND = "request"
_REQUEST, _SECTIONS = "the request", "the sections"
_ANY = 10**9
"""A budget that holds everything: what was put together is opened even if it does not fit."""


def composed(request: str, sections: str, *, budget: int | None, model: str | None) -> tuple[str, Capture]:
    """Return the input of a fit, and an id that is the same for the same texts.

    Args:
        request: the body of a request as JSON, or its messages; empty for sections alone.
        sections: the sections as YAML; empty for a request alone.
        budget: tokens; `None` for the budget of the sections, or the window of the model.
        model: the model; `None` for that of the sections or of the request.

    Raises:
        InvalidValue: both texts are empty, or a message is invalid.
        SourceError: a text is not a request, or does not describe sections; it says where.
        UnknownName: there is no such model.
    """
    if not request.strip() and not sections.strip():
        raise InvalidValue("the request and the sections", "", "at least one of them")
    body = request_of(body_of(request if request.strip() else "[]", _REQUEST, MESSAGE_KEYS, json_lines=True))
    spec = _spec(sections if sections.strip() else "sections: []")
    named: dict[str, Any] = {} if model is None else {"model": model}
    given = spec.fit_request(body, budget=_ANY, **named).receipt.capture
    assert given is not None
    tokens = budget_of(spec.arguments.get("budget") if budget is None else budget, given.model)
    texts = "\x1e".join((request, sections, model or "", str(tokens))).encode("utf-8", "surrogatepass")
    return f"{KIND}:{blake2b(texts, digest_size=5).hexdigest()}", replace(given, budget=tokens)


def _spec(text: str) -> Spec:
    """Return the sections that a text describes.

    Raises:
        SourceError: it describes none, or names a file.
    """
    source = parse(text, _SECTIONS)
    values = source.values if isinstance(source.values, dict) else {}
    rows = values.get("sections")
    places = [("sections", i) for i in range(len(rows))] if isinstance(rows, list) else []
    for keys in (*places, ("messages",)):
        row = values.get(keys[0]) if len(keys) == 1 else source.at(*keys)
        for key in ("file", "files"):
            if isinstance(row, dict) and key in row:
                raise source.error(f"{place(keys)}: {key} is read by brim fit; write the content itself here", *keys)
    return read_spec(_SECTIONS, text)
