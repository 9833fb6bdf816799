"""A request and sections that are put together on the page, and the result of a fit of the lab.

The texts are those that `brim fit --sections` reads. The page sends no files: a description that names one is refused,
since its text belongs into it.
"""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import blake2b
from typing import Any

from brim.errors import InvalidType, InvalidValue
from brim.files.json_body import body_of
from brim.files.source import parse, place
from brim.history.request_body import request_of
from brim.history.result import Fitted
from brim.meter.window import budget_of
from brim.receipts.capture import Capture
from brim.requests.replay import replay
from brim.requests.request import Request
from brim.settings.spec import Spec, read_spec
from brim.studio import lab_source
from brim.studio.views.lab import checked
from brim.studio.workspace import Workspace
from brim.wire.base import MESSAGE_KEYS

KIND = "request"
_REQUEST, _SECTIONS = "the request", "the sections"
_ANY = 10**9
"""A budget that holds everything: what was put together is opened even if it does not fit."""


def compose(
    workspace: Workspace, request: object, sections: object, budget: object, model: str | None
) -> dict[str, Any]:
    """Open a request and sections in the budget lab, and return the id of the source.

    Args:
        workspace: where they are opened.
        request: the body of a request as JSON, or its messages.
        sections: the sections as YAML, as `brim fit --sections` reads them.
        budget: tokens; `None` for the budget of the sections, or the window of the model.
        model: the model; `None` for that of the sections or of the request.

    Raises:
        InvalidValue: an argument is invalid, or both texts are empty.
        SourceError: a text cannot be understood; it says where.
    """
    texts = {"request": request or "", "sections": sections or ""}
    for name, text in texts.items():
        if not isinstance(text, str):
            raise InvalidType(name, text, "a string")
    if budget is not None and (isinstance(budget, bool) or not isinstance(budget, int)):
        raise InvalidType("budget", budget, "a whole number")
    source, capture = composed(str(texts["request"]), str(texts["sections"]), budget=budget, model=model)
    workspace.cache(source, lab_source.of_capture(source, "Your request", capture))
    return {"source": source, "budget": capture.budget}


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


def result(workspace: Workspace, source: str, budget: object, choices: object) -> dict[str, Any]:
    """Return what a fit of the lab would send, and its receipt as a table.

    Raises:
        DoesNotFit: the required pieces are larger than the budget.
        UnknownName: there is no such source.
        InvalidValue: the budget or a choice is invalid.
    """
    opened, units, chosen = checked(workspace, source, budget, choices)
    receipt = opened.fit(units, chosen)
    assert receipt.capture is not None
    made = replay(receipt.capture, budget=units)
    if isinstance(made, Request):
        text = _json(made.body)
    else:
        text = _json(made.messages) if isinstance(made, Fitted) else made.text
    return {"text": text, "receipt": receipt.table(), "used": receipt.used, "budget": receipt.budget}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, default=str)
