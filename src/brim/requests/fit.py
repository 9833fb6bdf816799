"""Sections, a history, tools and a budget in; a request in the provider's own format and its receipt out."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Unpack

from brim.amounts import Amount
from brim.errors import InvalidType, InvalidValue
from brim.history.history import History, Tools
from brim.history.options import Options, TurnOptions
from brim.history.turns import RepairMode
from brim.meter import Meter, catalogue
from brim.meter.window import Window, budget_of
from brim.receipts.receipt import Fill, Policy
from brim.receipts.section import PriorityName, Section
from brim.requests.request import KeepTools, Request, RequestTerms
from brim.requests.request_fit import RequestFit
from brim.sections.draft import Summaries
from brim.sections.fit import check
from brim.wire import Format, Wire

_BEDROCK = re.compile(r"(?:[a-z]{2,6}\.)?(?:ai21|amazon|anthropic|cohere|deepseek|meta|mistral|openai|qwen|writer)\.")
"""How Bedrock writes the names of models: the maker, perhaps after a region."""

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
    history_floor: Amount = 0,
    history_ceiling: Amount | None = None,
    tools_priority: PriorityName | int = "low",
    tools_floor: Amount = "20%",
    tools_ceiling: Amount | None = None,
    separator: str = "\n\n",
    fill: Fill = "order",
    policy: Policy = "truncate_then_continue",
    repair: RepairMode = "drop",
    capture: bool = False,
    **turns: Unpack[TurnOptions],
) -> Request:
    """Return a request of sections, a history and tools that counts at most the budget, with one receipt.

    With sections alone it is `fit`, with messages alone `fit_messages`, whose options are accepted too.

    Args:
        system: the system prompt: a text that is required, or sections.
        messages: the conversation so far, in one provider's format, or a `History` of it.
        user: the message of the user that ends the request: a text that is required, or sections.
        tools: the tool definitions.
        fields: the other fields of the body, such as `response_format`; what the model is shown of them is counted.
        keep_tools: `all`, or `relevant`: those that the messages call, then the best for the question.
        budget: tokens, or a window with a budget; by default the window of `model`.
        meter: what counts: a meter, the name of one, or a function from text to a number.
        model: the model whose meter is used, and that the body names.
        format: the provider's format; without it that of the messages, or the model's.
        history_priority: how essential the turns are that do not always stay.
        history_floor: tokens, or a share of the budget, reserved for the messages.
        history_ceiling: the most that the messages get.
        tools_priority: for `relevant`, how essential the tools are that no message calls.
        tools_floor: for `relevant`, tokens or a share reserved for tools.
        tools_ceiling: for `relevant`, the most that tools get, besides those that are called.
        separator: the text between two sections.
        fill: whether parts of one priority are served in `order` or in `fair` shares.
        policy: what follows a part that did not fit, as in `fit`.
        repair: whether messages that no provider accepts are left out, or refused.
        capture: whether the receipt's JSON holds texts and messages, so that the fit can be replayed from it.
        turns: the options of `fit_messages`. A function `summarise` also shortens sections with that overflow.

    Raises:
        DoesNotFit: what is required is bigger than the budget.
        InvalidValue: an argument or a message is invalid, or a name is unknown.
    """
    leading, ending = _sections("system", system), _sections("user", user)
    options = {"separator": separator, "fill": fill, "policy": policy}
    check([*leading, *ending], options)
    history = _history(messages, meter, model, format, repair)
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
        terms=RequestTerms(
            history_priority=history_priority,
            history_floor=history_floor,
            history_ceiling=history_ceiling,
            keep_tools=keep_tools,
            tools_priority=tools_priority,
            tools_floor=tools_floor,
            tools_ceiling=tools_ceiling,
        ),
        turn_options=Options.of("fit_request", turns),
        model=model or history.model,
    ).request()


def _sections(name: str, given: SectionsOrText) -> Sequence[Section]:
    """Return the sections of a page; a text is a required section with the name of the page."""
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
    repair: RepairMode,
) -> History:
    """Return the history of the messages; one that is given is used as it is."""
    if isinstance(messages, History):
        if meter is not None or format is not None:
            name, value = ("meter", meter) if meter is not None else ("format", format)
            raise InvalidValue(name, value, "left out: the history has its own")
        if model is not None and model != messages.model:
            own = "left out, or given to the History" if messages.model is None else f"{messages.model!r}, or left out"
            raise InvalidValue("model", model, f"{own}: the history was counted for it")
        messages.refresh()
        return messages
    if format is None and not len(messages):
        format = _format_of(model)
    history = History(meter, model=model, format=format, repair=repair)
    history.extend(messages)
    return history


def _format_of(model: str | None) -> Format | None:
    """Return the format in which a model is called that is called in no other; `None` if it is not known."""
    if model is None:
        return None
    if _BEDROCK.match(model):
        return "bedrock"
    known = catalogue.lookup(model)
    return "gemini" if known is not None and known.provider == "google" else None


def _check_fields(fields: Any, wire: Wire) -> None:
    """Pass if no field has an argument of its own."""
    taken = [wire.model_key, wire.list_key, wire.system_key, *(wire.tools_at if len(wire.tools_at) == 1 else ())]
    for name in fields if fields and isinstance(fields, Mapping) else ():
        if name in taken:
            raise InvalidValue(f"fields {name}", fields[name], "left out: use the argument of that name")
