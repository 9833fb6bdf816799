"""A request and sections that are put together on the page, and the result of a fit of the lab."""

from __future__ import annotations

import json
from typing import Any

from brim.errors import InvalidType
from brim.history.result import Fitted
from brim.requests.replay import replay
from brim.requests.request import Request
from brim.studio import lab_source
from brim.studio.composed_request import composed
from brim.studio.views.lab import checked
from brim.studio.workspace import Workspace


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
