"""Fits sections, a history and tools into one request: the function `fit_request`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Unpack

from brim.errors import InvalidType, InvalidValue
from brim.history.history import History, Tools
from brim.history.options import Options, TurnOptions
from brim.meter import Meter, catalogue
from brim.meter.window import Window, budget_of
from brim.receipts.receipt import Fill, Policy
from brim.receipts.section import PriorityName, Section
from brim.requests.request import KeepTools, Request
from brim.requests.request_fit import RequestFit
from brim.sections.draft import Summaries
from brim.sections.fit import check
from brim.wire import Format, Wire

_BEDROCK = re.compile(r"(?:[a-z]{2,6}\.)?(?:ai21|amazon|anthropic|cohere|deepseek|meta|mistral|openai|qwen|writer)\.")
"""The names of models in Bedrock: an optional region and the maker."""

SectionsOrText = Sequence[Section] | str | None


def fit_request(
    *,
    system: SectionsOrText = None,
    messages: Sequence[Any] | History = (),
    user: SectionsOrText = None,
    tools: Tools | None = None,
    fields: Mapping[str, Any] | None = None,
    keep_tools: KeepTools = "all",
    budget: int | Window | None = None,
    meter: Meter | str | Callable[[str], int] | None = None,
    model: str | None = None,
    format: Format | None = None,
    history_priority: PriorityName | int = "high",
    separator: str = "\n\n",
    fill: Fill = "order",
    policy: Policy = "truncate_then_continue",
    capture: bool = False,
    **turns: Unpack[TurnOptions],
) -> Request:
    """Return a request of sections, a history and tools, within the budget, with one receipt.

    With only sections, it does the same as `fit`; with only messages, the same as `fit_messages`, whose options are
    accepted too.

    Args:
        system: the system prompt: a text that is required, or sections.
        messages: the conversation so far, in one provider's format, or a `History` of it.
        user: the user's message that ends the request: a text that is required, or sections.
        tools: the tool definitions.
        fields: the other fields of the body, such as `response_format`; those that the model sees are counted.
        keep_tools: `all`, or `relevant`: those that the messages call, and the most relevant to the question, chosen in
            the same pass as the messages. Less essential sections leave them a fifth of the budget.
        budget: tokens, or a window; by default the window of `model`.
        meter: a meter, the name of one, or a function from text to a number.
        model: the model whose meter is used, and which is set in the body.
        format: the provider's format; by default that of the messages or of the model.
        history_priority: the priority of turns that do not always stay.
        separator: the text between two sections.
        fill: whether parts of one priority are served in `order` or in `fair` shares.
        policy: what happens if a part does not fit, as in `fit`.
        capture: whether the receipt's JSON contains texts and messages, so that the fit can be replayed from it.
        turns: the options of `fit_messages`. A `summarise` function is also used for sections with
            `overflow="summarise"`.

    Raises:
        DoesNotFit: the required parts exceed the budget.
        InvalidValue: an argument or a message is invalid, or a name is unknown.
    """
    leading, ending = _sections("system", system), _sections("user", user)
    options = {"separator": separator, "fill": fill, "policy": policy}
    check([*leading, *ending], options)
    history = _history(messages, meter, model, format)
    _check_fields(fields, history.turns.wire)
    summaries = Summaries(turns.get("summarise"))
    if not len(history):
        turns["summarise"] = None
    return RequestFit(
        system=leading,
        user=ending,
        budget=budget_of(budget, model),
        meter=history.turns.meter,
        options=options,
        summaries=summaries,
        captured=capture,
        history=history,
        tools=tools,
        fields=fields,
        keep_tools=keep_tools,
        history_priority=history_priority,
        turn_options=Options.of("fit_request", turns),
        model=model or history.model,
    ).request()


def _sections(name: str, given: SectionsOrText) -> Sequence[Section]:
    """Return the sections of a page; a text becomes a required section with the name of the page."""
    if given is None:
        return ()
    if isinstance(given, str):
        return (Section(name, given, priority="required"),)
    sections = [each for each in given if isinstance(each, Section)] if isinstance(given, Sequence) else None
    if sections is None or len(sections) < len(given):
        raise InvalidType(name, given, "a string or a list of Section")
    return sections


def _history(
    messages: Sequence[Any] | History,
    meter: Meter | str | Callable[[str], int] | None,
    model: str | None,
    format: Format | None,
) -> History:
    """Return the history of the messages; a `History` is used as it is."""
    if isinstance(messages, History):
        if meter is not None or format is not None:
            name, value = ("meter", meter) if meter is not None else ("format", format)
            raise InvalidValue(name, value, "omitted: the history has its own")
        if model is not None and model != messages.model:
            other = "omitted, or passed to the History" if messages.model is None else f"{messages.model!r}, or omitted"
            raise InvalidValue("model", model, f"{other}: the history was counted for it")
        messages.refresh()
        return messages
    if format is None and not len(messages):
        format = _format_of(model)
    history = History(meter, model=model, format=format)
    history.extend(messages)
    return history


def _format_of(model: str | None) -> Format | None:
    """Return the format of a model that accepts only one format; `None` if it is unknown."""
    if model is None:
        return None
    if _BEDROCK.match(model):
        return "bedrock"
    known = catalogue.lookup(model)
    return "gemini" if known is not None and known.provider == "google" else None


def _check_fields(fields: Any, wire: Wire) -> None:
    """Check that no field has the name of an argument of `fit_request`."""
    taken = [wire.model_key, wire.list_key, wire.system_key, *(wire.tools_at if len(wire.tools_at) == 1 else ())]
    for name in fields if fields and isinstance(fields, Mapping) else ():
        if name in taken:
            raise InvalidValue(f"fields {name}", fields[name], "omitted: use the argument of that name")
