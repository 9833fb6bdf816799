"""The HTTP interface: the function for each view, and how a request is turned into its arguments.

A view takes a workspace and returns JSON values. To refuse a request, it raises an error of brim, whose message becomes
the answer. To add a view, add a row here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any

from brim.errors import BrimError, Conflict, DoesNotFit, InvalidType, UnknownName
from brim.studio.views import (
    cache,
    flows,
    keep,
    lab,
    ledger,
    prompt,
    search,
    sessions,
    timeline,
)
from brim.studio.workspace import Workspace

View = Callable[..., dict[str, Any]]

READS: dict[str, View] = {
    "sessions": sessions.sessions,
    "files": sessions.files,
    "fit": lab.fit,
    "returns": lab.returns,
    "result": lab.result,
    "piece": lab.piece,
    "prompt": prompt.prompt,
    "prompt_body": prompt.prompt_body,
    "keep": keep.keep,
    "timeline": timeline.timeline,
    "cache": cache.cache,
    "ledger": ledger.ledger,
    "text": ledger.text,
    "search": search.search,
    "flows": flows.flows,
    "settings": flows.settings,
}
"""Views for GET requests; the query contains their arguments."""

WRITES: dict[str, View] = {
    "plan": flows.plan,
    "save": flows.save,
    "undo": flows.undo,
}
"""Views for POST requests with a JSON body; save and undo change something."""

MASKED = ("about", "flows", "settings", "plan", "save", "undo")
"""Views that show settings; text in them that looks like a key is masked. Other views show texts from the store."""


def call(view: View, workspace: Workspace, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Call a view with the fields of a request that its parameters name.

    A parameter annotated `str` must be a non-empty string; `str | None` may be missing or empty. Any other value is
    passed on, and checked by the view.

    Raises:
        InvalidType: a string is missing, or has another type.
        BrimError: the view refuses the request.
    """
    arguments = {}
    for parameter in list(signature(view).parameters.values())[1:]:
        value = fields.get(parameter.name)
        if parameter.annotation in ("str", "str | None"):
            value = value or None
            if not isinstance(value, str) and (value is not None or parameter.annotation == "str"):
                raise InvalidType(parameter.name, value, "a non-empty string")
        arguments[parameter.name] = value
    return view(workspace, **arguments)


def status_of(error: BrimError) -> int:
    """Return the HTTP status for an error."""
    if isinstance(error, UnknownName):
        return 404
    if isinstance(error, Conflict):
        return 409
    return 422 if isinstance(error, DoesNotFit) else 400
