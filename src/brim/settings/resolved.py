"""The settings of a profile, a flow and a step: their values, and the prompts, sessions and loops built with them.

A value is looked up in the layers when it is read. If the window is known, a budget in characters applies in addition
to it: a result that fits the characters but not the window is fitted again with fewer characters.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from brim.amounts import fraction
from brim.errors import BrimError, DoesNotFit, InvalidValue, ModelError, SourceError, UnknownName
from brim.history.history import fit_messages
from brim.history.priority import AgentClasses
from brim.history.result import Fitted
from brim.meter import DEFAULT, BaseMeter, meter_for
from brim.meter import meter as meter_named
from brim.meter.catalogue import lookup
from brim.meter.units import UNITS
from brim.meter.window import Window, answer_room, budget_of
from brim.receipts.section import Section
from brim.redaction import redact
from brim.sections.fit import fit
from brim.sections.prompt_fit import Prompt
from brim.sessions.settings import OPTIONS as SESSION_OPTIONS
from brim.sessions.settings import SessionSettings
from brim.settings.authors import CLASSES
from brim.settings.budgets import CHARS_A_TOKEN, LEAST, OLDER, RECENT, TOTAL, Budgets, bounded, detected
from brim.settings.keys import ANY, BARE, SETTINGS, name_of, setting_of
from brim.settings.prompt import (
    HISTORIES,
    OPTIONS,
    ModelAnswer,
    Sent,
    fit_shrinking,
    is_readable,
    left_out,
    log_overflow,
    noticed,
    own_budgets,
    remaining,
    summary_of,
    text_content,
    with_template,
)
from brim.settings.values import MOST, Value, Values, error_at
from brim.wire import format_of, wire

if TYPE_CHECKING:
    from brim.llm import LanguageModel
    from brim.sessions import Session
    from brim.sessions.conversations import Conversations
    from brim.sessions.loop import Loop
    from brim.sessions.loop.loop import Act
    from brim.store import Store

Contents = Mapping[str, str | Sequence[str] | Section]
"""The contents of sections by name."""
Result = TypeVar("Result", Prompt, Fitted)

_OUTSIDE = ("env", "flags", "defaults")
"""Layers that `override_mode: replace` does not replace: environment, flags and defaults."""
_WINDOW = ("reserve", "cap", "warn", "limit")
"""The settings of a window except its size."""
_ERROR = "error"
"""The value of `unknown_model` that makes an unknown model an error."""
_UNKNOWN_MARGIN = Fraction(1, 10)
"""The share of a budget to leave free when counting with the vocabulary of another model."""
_WIDE = Fraction(1, 2)
"""A budget above this share of the window leaves too little for instructions and the answer."""

_HISTORY = {"select": "selection", **{name: name for name in ("within", "pin_first_user", "pin", "excerpts", "note")}}
_FIELDS = tuple(key.removeprefix("sections.*.") for key in SETTINGS if key.startswith("sections.*."))
_CLASSES = ("critical", "high", "medium", "low")
_SESSION = {"summarise": "compaction.summarise", **{name: option.key for name, option in SESSION_OPTIONS.items()}}
"""The settings of a session by argument."""
_LIMITS = ("max_iterations", "max_sub_ticks", "max_steps", "max_cost", "max_seconds")
_LOOP = {name: f"loop.{name}" for name in ("tick_cap", "handoff_share", "handoff_tokens", *_LIMITS, "boundary")}
_LOOP["tool_limit"] = "session.tool_limit"
"""The settings of a loop by argument."""


class Resolved:
    """The settings of a profile, a flow and a step."""

    __slots__ = ("_layers", "_logged", "flow", "profile", "step")

    def __init__(
        self,
        layers: tuple[Values, ...],
        place: tuple[str | None, str | None, str | int | None],
        logged: set[str],
    ) -> None:
        self._layers = layers
        self._logged = logged
        self.profile, self.flow, self.step = place

    def under(self, values: Values) -> Resolved:
        """Return the settings with others above them."""
        layers = (values, *self._layers) if values else self._layers
        return Resolved(layers, (self.profile, self.flow, self.step), self._logged)

    def __getitem__(self, key: str) -> Value:
        found = self._at(key)
        if found.refusal:
            raise error_at(found.where, found.refusal)
        return found

    def _at(self, key: str) -> Value:
        full = BARE.get(key, key)
        return self._budgets()[0][full] if full in LEAST else self._found(full)

    def __iter__(self) -> Iterator[str]:
        """Yield the names of all settings, and of the settings of sections that are set."""
        for key in SETTINGS:
            if "*" not in key:
                yield name_of(key)
        yield from self._section_keys()

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and setting_of(key) is not None

    def items(self) -> Iterator[tuple[str, Value]]:
        """Yield all settings with their values."""
        for key in self:
            yield key, self._at(key)

    def value(self, key: str) -> Any:
        """Return the value of a setting.

        Raises:
            UnknownName: no setting has that key.
            SourceError: an untrusted project sets it, and it does more than change prompts.
        """
        return self[key].value

    def below(self, key: str) -> Value | None:
        """Return the value that a setting overrides, or `None`."""
        full, first = BARE.get(key, key), self._at(key)
        star = getattr(setting_of(full), "key", full)
        found = [value for each in dict.fromkeys((full, star)) for layer in self._layers if (value := layer.get(each))]
        return next((value for value in found if value.origin != first.origin or value.where != first.where), None)

    def is_set(self, key: str) -> bool:
        """Return whether a setting is set anywhere, and not just a default."""
        return self._at(key).origin != "defaults"

    @property
    def preset(self) -> str | None:
        """The preset with the same values as the three budgets, or `None`."""
        values = self._budgets()[0]
        return detected(Budgets(values[TOTAL].value, values[RECENT].value, values[OLDER].value))

    def names(self) -> tuple[str, ...]:
        """Return the names of the sections with settings."""
        names = (key.removeprefix("sections.").rpartition(".")[0] for key in self._section_keys())
        return tuple(name for name in dict.fromkeys(names) if name != ANY)

    def log(self, *warnings: str) -> None:
        """Log warnings that were not logged before."""
        for warning in warnings:
            if warning not in self._logged:
                self._logged.add(warning)
                logging.getLogger("brim.settings").warning("%s", redact(warning))

    def blame(self, key: str, error: BrimError) -> BrimError:
        """Return an error with the file and line of the setting that caused it."""
        if key not in self or not self._at(key).where:
            return error
        return error_at(self._at(key).where, f"{key}: {error}")

    def _section_keys(self) -> dict[str, None]:
        return dict.fromkeys(key for layer in self._layers[:-1] for key in layer if key.startswith("sections."))

    def _found(self, key: str) -> Value:
        for layer in self._replacing() if key.startswith("budgets.") else self._layers:
            if (found := layer.get(key)) is not None:
                return found
        setting = setting_of(key)
        if setting is None:
            raise UnknownName("setting", key, [name_of(each) for each in SETTINGS])
        return self._found(setting.key)

    def _replacing(self) -> tuple[Values, ...]:
        """Return the layers for budgets; with `override_mode: replace`, only the strongest file layer that sets one."""
        if self.value("override_mode") == "merge":
            return self._layers
        files = [layer for layer in self._layers if next(iter(layer.values())).origin not in _OUTSIDE]
        weaker = [id(layer) for layer in files if any(key.startswith("budgets.") for key in layer)][1:]
        return tuple(layer for layer in self._layers if id(layer) not in weaker)

    def _budgets(self) -> tuple[dict[str, Value], tuple[tuple[str, str], ...]]:
        """Return the three budgets within their bounds, and the warnings by key."""
        found = bounded(self._found(TOTAL), self._found(RECENT), self._found(OLDER), self._found("bounds").value)
        self.log(*(warning for _, warning in found[1]))
        return found

    def window(self) -> Window | None:
        """Return the window, or `None` if neither its size nor a model is set.

        A size in a profile is limited to the model's window. A size from a project, a flow, a flag or a variable is
        used unchanged, because someone chose it for this server.

        Raises:
            SourceError: the settings of the window are invalid.
        """
        size, model = self["window.size"], self.value("model")
        options = {name: self.value(f"window.{name}") for name in _WINDOW}
        try:
            bound = _known_window(model)
            if size.value is not None:
                if bound is None or bound >= size.value or size.origin != "profile":
                    return Window(size.value, **options)
                self.log(_over_model(size, str(model), bound))
            return None if model is None else Window.of(model, **options)
        except UnknownName as error:
            if self.value("unknown_model") != _ERROR or self.value("meter") is not None:
                return None
            raise self.blame("model", error) from error
        except InvalidValue as error:
            if error.place != "model":
                raise self.blame(error.place.lower().replace(" ", "."), error) from error
            if any(self.is_set(f"window.{name}") for name in _WINDOW):
                raise self.blame("model", error) from error
            return None

    def _answered_window(self) -> Window | None:
        """Return the window, with the default reserve for the answer if none is set."""
        window = self.window()
        if window is None or self.is_set("window.reserve"):
            return window
        return replace(window, reserve=answer_room(window.size))

    def meter(self) -> BaseMeter:
        """Return the meter of the settings, that of the model, or the default.

        Raises:
            SourceError: no meter or model has that name.
        """
        named = self.value("meter")
        try:
            return meter_named(named) if named is not None else self.token_meter()
        except (UnknownName, SourceError) as error:
            raise self.blame("meter" if named is not None else "model", error) from error

    def token_meter(self) -> BaseMeter:
        """Return the meter of the model, or that of `unknown_model` if the model is unknown.

        An estimating meter counts upper bounds.
        """
        model, other = self.value("model"), self.value("unknown_model")
        if model is None and self.value("meter") is not None:  # Its estimate is wanted.
            return meter_named(DEFAULT)
        if not self._is_unknown(model):
            return meter_for(None, model)
        self.log(f"the model {model!r} is not in the catalogue, so brim counts with the meter {other!r}")
        # A rule of thumb is used as is: whoever names it wants its figure.
        return meter_named(other) if other in UNITS else meter_for(None, other)

    def _is_unknown(self, model: str | None) -> bool:
        """Return whether a model is unknown and `unknown_model` names its meter."""
        if model is None or self.value("unknown_model") == _ERROR:
            return False
        try:
            meter_for(None, model)
        except UnknownName:
            return True
        return False

    @property
    def moved(self) -> tuple[tuple[str, str], ...]:
        """The warnings about budgets that were changed to a bound, each after the key of its budget."""
        return self._budgets()[1]

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about budgets that were changed to a bound, or that look wrong."""
        found = (*(warning for _, warning in self.moved), *self._window_warnings())
        self.log(*found)
        return found

    def too_wide(self) -> str:
        """Return a warning if the budget of a history takes more than half of the window, or an empty string."""
        window, total = self.window(), self[TOTAL]
        tokens = total.value // CHARS_A_TOKEN
        if window is None or tokens <= _WIDE * window.size:
            return ""
        return (
            f"{total.where or total.origin}: context_budget_chars of {total.value:,} is about {tokens:,} tokens,"
            f" {100 * tokens // window.size} % of the window of {window.size:,}"
        )

    def limits_history(self) -> bool:
        """Return whether the character budgets limit a history, because one is set or no window is known."""
        return self.window() is None or any(self.is_set(key) for key in (TOTAL, RECENT, OLDER))

    def within_margin(self, budget: int, meter: BaseMeter) -> int:
        """Return a budget less the safety margin if the meter estimates.

        For an unknown model there is always a margin, because another model's vocabulary only gives an estimate.
        """
        margin = fraction("safety_margin", self.value("safety_margin") or "0%")
        if meter.exact and meter.unit == "tokens" and self._is_unknown(self.value("model")):
            return int(budget * (1 - max(margin, _UNKNOWN_MARGIN)))
        return budget if meter.exact else int(budget * (1 - margin))

    def _window_warnings(self) -> Iterator[str]:
        size, model = self["window.size"], self.value("model")
        bound = _known_window(model)
        if bound is not None and size.value is not None and bound < size.value:
            yield _over_model(size, model, bound)
        if self.limits_history() and (warning := self.too_wide()):
            yield f"{warning}. That leaves little for instructions and the answer; a quarter of the window is usual"

    def _measured(
        self, scale: BaseMeter, total: int | None, window: Window | None, options: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the options of a fit, with a meter and a budget."""
        made: dict[str, Any] = {} if options.keys() & {"meter", "model"} else {"meter": scale}
        made |= options
        if made.get("budget") is not None or "model" in options:
            budget = budget_of(made.get("budget"), made.get("model"))
            if made.get("budget") is None:
                budget = self.within_margin(budget, meter_for(made.get("meter"), made.get("model")))
            elif window is not None and "model" not in options and meter_for(made.get("meter"), None).unit == "tokens":
                budget = min(budget, window.budget)
            return {**made, "budget": budget}
        bounds = [total] if total is not None else []
        if window is not None and (scale.unit == "tokens" or not bounds):
            bounds.append(window.budget)
        return {**made, "budget": self.within_margin(min(bounds), scale)}

    def _token_limit(self, window: Window | None, options: Mapping[str, Any]) -> int | None:
        """Return the limit in tokens, if a window is known and the meter does not count its tokens."""
        scale = options.get("meter")
        if window is None or scale is None:
            return None
        named = meter_named(scale)
        rough = named.unit == "chars" or (self.value("meter") is not None and not named.exact)
        return window.budget if rough else None

    @staticmethod
    def _within_both(
        fit: Callable[..., Result], made: Mapping[str, Any], limit: int | None, tokens: Callable[[Result], int]
    ) -> Result:
        """Return a result for the budget, or for a smaller one that keeps within the limit of tokens."""
        result, budget = fit(**made), made["budget"]
        while limit is not None and (count := tokens(result)) > limit:
            budget = min(budget - 1, result.receipt.used * limit // count)
            result = fit(**{**made, "budget": max(budget, 0)})
        return result

    def sections(self, contents: Contents) -> list[Section]:
        """Return the sections of contents by name; a `Section` is used as is.

        Raises:
            UnknownName: a section is not listed, and `prompt.unknown_section` is `error`.
        """
        listed = self.names()
        strict = self.value("prompt.unknown_section") == "error"
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
                self.log(f"the section {name!r} is not listed under sections, so it gets the defaults")
            made.append(self.section(name, content))
        return made

    def section(self, name: str, content: str | Sequence[str], **own: Any) -> Section:
        """Return the section of a name with its settings; options override them.

        Raises:
            SourceError: a setting is invalid.
        """
        keys = {each: f"sections.{name}.{each}" for each in _FIELDS}
        options = {**{each: self.value(key) for each, key in keys.items() if self.is_set(key)}, **own}
        required = options.get("required") or str(options.get("priority")).lower() == "required"
        low = str(own.get("priority", self.value(keys["priority"]))).lower() in ("medium", "low")
        if low and not required and "overflow" not in options:
            options["overflow"] = self.value("prompt.overflow")
        if required and not options.get("floor") and self.value("prompt.required_overflow") == "shrink":
            options["floor"] = 1
        try:
            return Section(name, content, **options)
        except InvalidValue as error:
            field = error.place.rpartition(": ")[2]
            key = keys.get(field)
            if key is None or field in own:
                raise
            raise self.blame(key, error) from error

    def fit(
        self,
        contents: Contents,
        *,
        system: str | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
        agent: str | None = None,
        emit: Callable[[dict[str, Any]], object] | None = None,
        about: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Prompt:
        """Return the fitted prompt.

        Args:
            contents: the sections by name.
            system: a system prompt to send with it, which counts against the budget.
            tools: tool definitions to send with it, which count against the budget.
            agent: the agent of the prompt, for the log and the event.
            emit: called with the `prompt_assembled` event.
            about: more fields of that event, such as a `rule_id`.
            options: arguments of `brim.fit`, which override the settings.

        Raises:
            DoesNotFit: the required sections are bigger than the budget.
        """
        missing = self.value("prompt.missing")
        if missing is None:
            sections = self.sections(contents)
        else:
            sections = self.sections({name: text_content(value, missing) for name, value in contents.items()})
            template = options.get("template", self.value("prompt.template"))
            if template is not None:
                shows = options.get("show_budget", self.value("prompt.show_budget"))
                sections, options["template"] = with_template(sections, template, contents, missing, shows_budget=shows)
        sections, made, prompt = self._fit_sections(sections, options, (system, tools))
        if self.value("prompt.log") and prompt.receipt.truncated:
            log_overflow(sections, prompt, agent, made)
        if emit is not None:
            emit(prompt.receipt.event(agent, **(about or {})))
        return prompt

    def _fit_sections(
        self, sections: list[Section], options: dict[str, Any], sent: Sent
    ) -> tuple[list[Section], dict[str, Any], Prompt]:
        """Return the sections and options of a fit, and the prompt."""
        made: dict[str, Any] = {name: self.value(f"prompt.{name}") for name in OPTIONS}
        if not self.value("prompt.enabled"):
            sections = [Section(each.name, each.content, joiner=each.joiner, enabled=each.enabled) for each in sections]
            made |= {"show_budget": False, "stages": (), "hard_marker": None}
            made |= {"meter": self.meter(), **options, "budget": MOST}
            return sections, made, fit(sections, **made)
        window = self.window()
        made |= self._budgeted(window, options)
        limit = self._token_limit(window, made)
        if limit is not None:
            limit = remaining(max(limit - self.value("prompt.reserve"), 0), self.token_meter(), sent)
        meter = meter_for(made.get("meter"), made.get("model"))
        page = self.value("prompt.own_budget")
        attempts, names = own_budgets(sections, page), self.names()
        fit_all = fit_shrinking if self.value("prompt.required_overflow") == "shrink" else fit
        for override, message in attempts:
            is_last = override is attempts[-1][0]
            notice = "; ".join(filter(None, (message, override.refused(sections, made["budget"], names))))
            if notice:
                self.log(notice)
            chosen = override.applied(noticed(sections, page, notice))
            changed = made if override.show is None else {**made, "show_budget": override.show}
            try:
                changed = {**changed, "budget": remaining(override.budget(made["budget"]), meter, sent)}
                prompt = self._within_both(
                    partial(fit_all, chosen), changed, limit, lambda fitted: self.token_meter().count(fitted.text)
                )
            except DoesNotFit:
                if is_last:
                    raise
                continue
            if is_last or is_readable(prompt, page):
                break
        return chosen, changed, prompt

    def _budgeted(self, window: Window | None, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of a fit, with the meter and the budget of the settings if they have none.

        Without `prompt.total` and a window, or with a meter for characters, the budget is the one for a step's history.

        Raises:
            SourceError: `prompt.reserve` leaves no tokens for the prompt.
        """
        total, reserve = self.value("prompt.total"), self.value("prompt.reserve")
        named = options.get("meter") is None and options.get("model") is not None
        scale = meter_for(None, options["model"]) if named else self.meter()
        if total is None and window is None and (below := self.below("prompt.total")) is not None:
            total = below.value
        if "budget" in options:
            return self._measured(scale, total, window, options)
        if total is None and (window is None or scale.unit == "chars"):
            total, scale = self.value(TOTAL), scale if scale.unit == "chars" else meter_named("chars")
        made = self._measured(scale, total, window, options)
        if reserve and reserve >= made["budget"]:
            expected = f"less than the {made['budget']:,} tokens of the prompt and its answer"
            raise self.blame("prompt.reserve", InvalidValue("prompt.reserve", reserve, expected))
        return {**made, "budget": made["budget"] - reserve}

    def fit_messages(
        self,
        messages: Sequence[Any],
        *,
        agent: str | None = None,
        emit: Callable[[dict[str, Any]], object] | None = None,
        about: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Fitted:
        """Return the fitted history.

        Without a budget and `window.reserve`, part of the window is left for the answer.

        Args:
            messages: the history.
            agent: the agent of the history, for the event.
            emit: called with the `prompt_assembled` event, in which the turns are the sections.
            about: more fields of that event, such as a `rule_id`.
            options: arguments of `brim.fit_messages`, which override the settings.

        Raises:
            DoesNotFit: the messages that must stay are bigger than the budget.
        """
        window, limited = self._answered_window(), self.limits_history()
        scale = meter_named("chars") if limited and not self.is_set("meter") else self.meter()
        made: dict[str, Any] = {name: self.value(f"history.{key}") for name, key in _HISTORY.items()}
        made["stable"] = self.value("history.stable") or None
        made |= self._measured(scale, self.value(TOTAL) if limited else None, window, options)
        if limited and not self.is_set("history.excerpts"):
            made["excerpts"] = False  # The steps of a flow stay whole or are dropped.
        if limited and not made["stable"]:
            made = {"recent": self.value(RECENT), "older": self.value(OLDER), **made}
        if self.value("history.agents") != "none" or any(self.is_set(f"history.classes.{name}") for name in _CLASSES):
            made = {"classify": self._classify(messages), **made}
        extra = {name: made.get(name) for name in ("tools", "system", "fields")}
        try:
            fitted = self._within_both(
                partial(fit_messages, messages),
                made,
                self._token_limit(window, made),
                lambda result: self.token_meter().count_messages(result.messages, **extra),
            )
        except InvalidValue as error:
            if error.place == "select" and "select" not in options:
                raise self.blame("history.selection", error) from error
            raise
        if emit is not None:
            emit(fitted.receipt.event(agent, **(about or {})))
        return fitted

    def classes(self) -> AgentClasses:
        """Return the classes of steps, with the agents in the settings.

        Raises:
            SourceError: an agent is listed in two classes.
        """
        agents = {name.upper(): tuple(self.value(f"history.classes.{name}")) for name in _CLASSES}
        try:
            known = CLASSES[self.value("history.agents")]
            return known.amended(agents={name: listed for name, listed in agents.items() if listed})
        except InvalidValue as error:
            name = re.sub(r"\W.*", "", error.place.removeprefix("agents.")).lower()
            raise self.blame(f"history.classes.{name}", error) from error

    def _classify(self, messages: Sequence[Any]) -> Callable[[Any], Any]:
        classes, chosen = self.classes(), wire(format_of(messages) or "openai")

        def classify(raw: Any) -> Any:
            message = chosen.read(raw, 0)
            return classes.of(message.name or None, None, message.text())

        return classify

    def exchange(
        self, contents: Contents, model: LanguageModel, *, history: str | None = None, **options: Any
    ) -> ModelAnswer:
        """Return a model's answer to the prompt of these settings.

        With `history.strategy: A`, a history that is too long is truncated. With `B`, it is first summarised by another
        call, including entries that `most` leaves out; the summary precedes the entries that remain.

        Args:
            contents: the sections by name.
            model: the model.
            history: the section to summarise; by default `history`, or else `lessons`.
            options: arguments of `fit`.

        Raises:
            DoesNotFit: the required sections are bigger than the budget.
            ModelError: the call failed; a failed summary is not an error.
            UnknownName: strategy B is set, and no section has the name of the history.
        """
        summary, reason, calls = None, "", 1
        if self.value("history.strategy") == "B":
            name = history or next((each for each in HISTORIES if each in contents), HISTORIES[0])
            if name not in contents:
                raise UnknownName("section", name, contents)
            section = self.sections({name: contents[name]})[0]
            part = self.fit(contents, **{**options, "emit": None}).receipt.part(name)
            is_cut = part.state not in ("whole", "empty", "disabled")
            if is_cut or len(section.chosen) < len(section.content):
                calls += 1
                # Entries that are shown whole are not summarised.
                newest = () if is_cut or isinstance(section.chosen, str) else section.chosen
                older = replace(section, content=left_out(section) if newest else section.content)
                try:
                    granted = part.granted if is_cut else 0
                    summary = summary_of(older, granted, model, self.window(), self.token_meter())
                    shown = [summary, *newest] if newest else summary
                    contents = {**contents, name: replace(section, content=shown, most=None)}
                except ModelError as error:
                    reason = f"the history was truncated, since its summary failed: {error}"
        prompt = self.fit(contents, **options)
        reply = model.complete(prompt.text, options.get("system"))
        return ModelAnswer(prompt=prompt, reply=reply, calls=calls, summary=summary, reason=reason)

    def session(self, **options: Any) -> Session:
        """Return a session; the options of `brim.Session` override the settings.

        It is stored in `store.url`, if that is set.

        Raises:
            SourceError: a setting is invalid.
            InvalidValue: neither a window nor a model is set.
        """
        from brim.sessions.session import Session

        return Session(**self._arguments(_SESSION, options))

    def conversations(self, **options: Any) -> Conversations:
        """Return the conversations of a program; the options of `brim.Conversations` override the settings.

        Each is stored in `store.url`, if that is set. Other options have the defaults of the class.

        Raises:
            SourceError: a setting is invalid.
        """
        from brim.sessions.conversations import Conversations
        from brim.sessions.learning.windows import WindowLimits

        made = {name: self.value(key) for name, key in _SESSION.items() if self.is_set(key)}
        made["margin"] = self.value("safety_margin")
        size = self["window.size"]
        if "window" not in options and size.value is not None and size.origin != "profile":
            made["window"] = self.window()
        elif "window" not in options:  # A program may call other models than the one in the settings.
            limits = {name: self.value(f"window.{name}") for name in _WINDOW}
            made["limits"] = WindowLimits(size=size.value, yields=True, **limits)
        return Conversations(**self._shared(options), **{**made, **options})

    def loop(self, goal: str, act: Act, **options: Any) -> Loop:
        """Return a loop; the options of `brim.Loop` override the settings.

        Raises:
            SourceError: a setting is invalid.
            InvalidValue: neither a window nor a model is set.
        """
        from brim.sessions.loop.loop import Loop

        return Loop(goal, act, **self._arguments(_LOOP, options))

    def store(self) -> Store | None:
        """Open the store of `store.url`, or return `None` if it is not set.

        Raises:
            SourceError: the URL is invalid.
            StoreError: the store cannot be opened.
        """
        from brim.store import open_store

        url = self._store_url()
        return None if url is None else open_store(url)

    def _arguments(self, table: Mapping[str, str], options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of a session or a loop: options of the settings are a layer above the others."""
        own = {name: options[name] for name in ("model", "meter") if options.get(name) is not None}
        if "model" in own:  # Another model has its own meter, and its own window if that is known.
            own = {"meter": None, **own}
            if (size := _known_window(own["model"])) is not None:
                own |= {"window.size": None}
                own |= {} if self.is_set("window.reserve") else {"window.reserve": answer_room(size)}
        settings = self.under({key: Value(value, "flags") for key, value in own.items()})
        made = {name: settings.value(key) for name, key in table.items()}
        made |= {**settings._shared(options), **options, "window": settings._session_window(options.get("window"))}
        if made["meter"] is None and settings._is_unknown(made["model"]):
            made["meter"] = self.value("unknown_model")
        return made

    def _shared(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments that sessions, conversations and loops share."""
        made = {name: self.value(name) for name in ("model", "meter") if name not in options}
        return made if "store" in options else {**made, "store": self._store_url()}

    def _store_url(self) -> str | None:
        """Return `store.url`, checked."""
        from brim.store import check_url

        url: str | None = self.value("store.url")
        try:
            if url is not None:
                check_url(url)
        except InvalidValue as error:
            raise self.blame("store.url", error) from error
        return url

    def _session_window(self, window: Window | int | None) -> Window:
        """Return a window, by default that of the settings, less the safety margin."""
        window = window or self.window()
        if window is None:
            raise InvalidValue("window.size", None, "set, or model must have a known window: a session needs one")
        window = SessionSettings.of(window).window
        budget = self.within_margin(window.budget, self.meter())
        return window if budget == window.budget else replace(window, limit=budget)


def _known_window(model: str | None) -> int | None:
    """Return the window of a model in the catalogue; `None` if it is unknown, or if there is no model."""
    row = lookup(model)
    return None if row is None else row.window or row.max_input


def _over_model(size: Value, model: str, bound: int) -> str:
    """Return a warning that `window.size` is larger than the window of the model."""
    where = size.where or size.origin
    counts = (
        f"so brim uses {bound:,}"
        if size.origin == "profile"
        else "but it is used, so the provider may reject a long prompt"
    )
    return f"{where}: window.size of {size.value:,} is more than the {bound:,} tokens of {model}, {counts}"
