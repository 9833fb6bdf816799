"""What settings make: a window, a meter, sections, a prompt, a history.

Where a budget is in characters and the model's window in tokens is known too, both hold. Here is where: a result that
fits its characters and not the window is fitted again to fewer characters, until it does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

from brim.amounts import fraction
from brim.errors import BrimError, InvalidValue, SourceError, UnknownName
from brim.history.fitted import Fitted
from brim.history.history import fit_messages
from brim.history.priority import DEFAULT
from brim.meter import BaseMeter, meter_for
from brim.meter import meter as meter_named
from brim.meter.window import Window, budget_of
from brim.receipts.section import Section
from brim.sections.fit import fit
from brim.sections.fitting import Prompt
from brim.sessions.memory.working import Override, Working
from brim.settings.beside import PromptExtras, shrinking
from brim.settings.guard import OLDER, RECENT, TOTAL
from brim.settings.keys import SETTINGS
from brim.settings.presets import CHARS_A_TOKEN
from brim.wire import format_of, wire

if TYPE_CHECKING:
    from brim.settings.resolved import Resolved

Contents = Mapping[str, "str | Sequence[str] | Section"]
Made = TypeVar("Made", Prompt, Fitted)

_PROMPT = ("policy", "fill", "order", "separator", "template", "show_budget", "direction", "stages", "hard_marker")
_WINDOW = ("reserve", "cap", "warn", "limit")
_UNBOUND = 10**12
"""Units that no prompt has."""
_WIDE = Fraction(1, 2)
"""More of the window than this leaves no room for instructions and the answer."""
_FIELD = tuple(key.removeprefix("sections.*.") for key in SETTINGS if key.startswith("sections.*."))
_CLASSES = ("critical", "high", "medium", "low")


def window(settings: Resolved) -> Window | None:
    """Return the window that the settings make, or nothing where they name neither a size nor a model."""
    size, model = settings.value("window.size"), settings.value("model")
    given = {name: settings.value(f"window.{name}") for name in _WINDOW}
    try:
        if size is not None:
            return Window(size, **given)
        return None if model is None else Window.of(model, **given)
    except UnknownName as error:
        raise blamed(settings, "model", error) from error
    except InvalidValue as error:
        if error.place != "model":
            raise blamed(settings, error.place.lower().replace(" ", "."), error) from error
        if any(settings.is_set(f"window.{name}") for name in _WINDOW):
            raise blamed(settings, "model", error) from error
        return None


def meter(settings: Resolved) -> BaseMeter:
    """Return what measures a prompt."""
    named = settings.value("meter")
    key = "meter" if named is not None else "model"
    try:
        return meter_named(named) if named is not None else meter_for(None, settings.value("model"))
    except (UnknownName, SourceError) as error:
        raise blamed(settings, key, error) from error


def window_warnings(settings: Resolved) -> tuple[str, ...]:
    """Return what looks wrong about the budgets beside the window."""
    room, total = window(settings), settings[TOTAL]
    if room is None or not counts_history(settings, room):
        return ()
    tokens = total.value // CHARS_A_TOKEN
    if tokens <= _WIDE * room.size:
        return ()
    where = total.where or total.origin
    return (
        f"{where}: context_budget_chars of {total.value:,} is about {tokens:,} tokens, {100 * tokens // room.size} % of"
        f" the window of {room.size:,}: little is left for instructions and the answer. A quarter of the window"
        f" ({room.size * CHARS_A_TOKEN // 4:,} chars) is usual",
    )


def counts_history(settings: Resolved, room: Window | None) -> bool:
    """Return whether the budgets limit a history: where one is set, or where there is nothing else."""
    return room is None or any(settings.is_set(key) for key in (TOTAL, RECENT, OLDER))


def sections(settings: Resolved, contents: Contents) -> list[Section]:
    """Return the sections that the settings make of contents by name."""
    listed = settings.names()
    strict = settings.value("prompt.unknown_section") == "error"
    made = []
    for name, content in contents.items():
        if isinstance(content, Section):
            made.append(content)
            continue
        if name not in listed and strict:
            raise UnknownName(
                "section", name, listed, "List it under sections, or set prompt.unknown_section: default."
            )
        if name not in listed and listed:
            settings.log((f"the section {name!r} is not listed under sections, and has the usual settings",))
        made.append(_section(settings, name, content))
    return made


def _section(settings: Resolved, name: str, content: str | Sequence[str]) -> Section:
    keys = {each: f"sections.{name}.{each}" for each in _FIELD}
    given = {each: settings.value(key) for each, key in keys.items() if settings.is_set(key)}
    required = given.get("required") or str(given.get("priority")).lower() == "required"
    low = str(settings.value(keys["priority"])).lower() in ("medium", "low")
    if low and not required and not settings.is_set(keys["overflow"]):
        given["overflow"] = settings.value("prompt.overflow")
    if required and not given.get("floor") and settings.value("prompt.required_overflow") == "shrink":
        given["floor"] = 1
    try:
        return Section(name, content, **given)
    except InvalidValue as error:
        key = keys.get(error.place.rpartition(": ")[2])
        if key is None:
            raise
        raise blamed(settings, key, error) from error


def prompt(settings: Resolved, contents: Contents, asked: Mapping[str, Any]) -> Prompt:
    """Return the prompt that the settings make."""
    beside, asked = PromptExtras.parted(asked)
    parts = sections(settings, contents)
    options = {name: settings.value(f"prompt.{name}") for name in _PROMPT}
    if not settings.value("prompt.enabled"):
        plain = [Section(part.name, part.content, joiner=part.joiner, enabled=part.enabled) for part in parts]
        bare = {"show_budget": False, "stages": (), "hard_marker": None}
        free = fit(plain, _UNBOUND, meter=meter(settings), **{**options, **bare, **asked})
        beside.tell(settings, plain, free, options)
        return free
    room, total = window(settings), settings.value("prompt.total")
    scale = meter(settings)
    if total is None and scale.unit == "chars":
        total = settings.value(TOTAL)
    elif total is None and room is None:
        total, scale = settings.value(TOTAL), meter_named("chars")
    told = {**options, **_measured(settings, scale, total, room, asked)}
    if "budget" not in asked:
        told["budget"] = max(told["budget"] - settings.value("prompt.reserve"), 0)
    own = _own(settings, parts)
    parts, told["budget"] = own.applied(parts), own.budget(told["budget"])
    told["budget"] = beside.left(told["budget"], meter_for(told.get("meter"), told.get("model")))
    limit = _second(settings, room, told)
    limit = None if limit is None else beside.left(max(limit - settings.value("prompt.reserve"), 0), _tokens(settings))
    fitted = shrinking if settings.value("prompt.required_overflow") == "shrink" else fit

    def made(budget: int) -> Prompt:
        return fitted(parts, **{**told, "budget": budget})

    def tokens(result: Prompt) -> int:
        return _tokens(settings).count(result.text)

    result = _both(made, told["budget"], lambda result: result.receipt.used, limit, tokens)
    beside.tell(settings, parts, result, told)
    return result


def _own(settings: Resolved, parts: Sequence[Section]) -> Override:
    """Return the budget that the agent put on its own page, if the settings say which section that is."""
    name = settings.value("prompt.own_budget")
    page = next((part for part in parts if part.name == name), None)
    if page is None:
        return Override()
    own = Working(page.text).override
    if own.warning:
        settings.log((own.warning,))
    return own


def history(settings: Resolved, messages: Sequence[Any], asked: Mapping[str, Any]) -> Fitted:
    """Return the history that the settings make."""
    room = window(settings)
    counted = counts_history(settings, room)
    scale = meter_named("chars") if counted and not settings.is_set("meter") else meter(settings)
    told: dict[str, Any] = {
        "select": settings.value("history.selection"),
        "within": settings.value("history.within"),
        "pin_first_user": settings.value("history.pin_first_user"),
        "note": settings.value("history.note"),
        "stable": settings.value("history.stable") or None,
        **_measured(settings, scale, settings.value(TOTAL) if counted else None, room, asked),
    }
    if counted and not told["stable"]:
        told = {"recent": settings.value(RECENT), "older": settings.value(OLDER), **told}
    if any(settings.is_set(f"history.classes.{name}") for name in _CLASSES):
        told = {"classify": _classify(settings, messages), **told}

    def made(budget: int) -> Fitted:
        return fit_messages(messages, **{**told, "budget": budget})

    def tokens(result: Fitted) -> int:
        system = told.get("system")
        apart = [{"role": "system", "content": system}] if isinstance(system, str) and system else []
        return _tokens(settings).count_messages([*apart, *result.messages], told.get("tools"))

    try:
        return _both(made, told["budget"], lambda result: result.used, _second(settings, room, told), tokens)
    except InvalidValue as error:
        if error.place == "select" and "select" not in asked:
            raise blamed(settings, "history.selection", error) from error
        raise


def _measured(
    settings: Resolved, scale: BaseMeter, total: int | None, room: Window | None, asked: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments of a fit that say what measures and how much there is, those asked for put in."""
    own: dict[str, Any] = {} if asked.keys() & {"meter", "model"} else {"meter": scale}
    told = {**own, **asked}
    if told.get("budget") is not None or "model" in asked:
        told["budget"] = budget_of(told.get("budget"), told.get("model"))
        return told
    bounds = [total] if total is not None else []
    if room is not None and (scale.unit == "tokens" or not bounds):
        bounds.append(room.budget)
    budget = min(bounds)
    margin = fraction("safety_margin", settings.value("safety_margin") or "0%")
    told["budget"] = budget if scale.exact else int(budget * (1 - margin))
    return told


def _second(settings: Resolved, room: Window | None, told: Mapping[str, Any]) -> int | None:
    """Return the tokens that a result may have, where a window is known and the meter that was set counts none."""
    scale = told.get("meter")
    if room is None or scale is None:
        return None
    named = meter_named(scale)
    rough = named.unit == "chars" or (settings.value("meter") is not None and not named.exact)
    return room.budget if rough else None


def _tokens(settings: Resolved) -> BaseMeter:
    return meter_for(None, settings.value("model"))


def _both(
    made: Callable[[int], Made],
    budget: int,
    used: Callable[[Made], int],
    limit: int | None,
    tokens: Callable[[Made], int],
) -> Made:
    """Return what is made for a budget, and for a smaller one as long as it has more tokens than the limit."""
    result = made(budget)
    while limit is not None and (count := tokens(result)) > limit:
        budget = min(budget - 1, used(result) * limit // count)
        result = made(max(budget, 0))
    return result


def _classify(settings: Resolved, messages: Sequence[Any]) -> Callable[[Any], Any]:
    """Return what classes a message by the table with the agents that the settings name."""
    agents = {name.upper(): settings.value(f"history.classes.{name}") for name in _CLASSES}
    try:
        table = DEFAULT.amended(agents={name: tuple(listed) for name, listed in agents.items() if listed})
    except InvalidValue as error:
        name = re.sub(r"\W.*", "", error.place.removeprefix("agents.")).lower()
        raise blamed(settings, f"history.classes.{name}", error) from error
    chosen = wire(format_of(messages) or "openai")

    def classify(raw: Any) -> Any:
        message = chosen.read(raw, 0)
        return table.of(message.name or None, None, message.text())

    return classify


def blamed(settings: Resolved, key: str, error: BrimError) -> BrimError:
    """Return the error with the file and line of the setting that it is about."""
    if key not in settings or not settings[key].where:
        return error
    known = settings[key]
    path, _, line = known.where.rpartition(":")
    if line.isdigit():
        return SourceError(path, f"{key}: {error}", line=int(line))
    return SourceError(known.where, f"{key}: {error}")
