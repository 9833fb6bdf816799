"""Builds prompts, histories and requests from settings."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from brim.errors import DoesNotFit, InvalidValue, UnknownName
from brim.history.history import History, fit_messages
from brim.history.priority import AgentClasses
from brim.history.result import Fitted
from brim.meter import meter as meter_named
from brim.meter import meter_for
from brim.receipts.section import Section
from brim.requests.fit import fit_request
from brim.requests.request import Request
from brim.requests.terms import PAGES
from brim.sections.fit import fit
from brim.sections.prompt_fit import Prompt
from brim.settings.authors import CLASSES
from brim.settings.budgets import OLDER, RECENT, TOTAL
from brim.settings.extras import fit_shrinking, log_overflow, remaining, with_template
from brim.settings.keys import SETTINGS
from brim.settings.kinds import MOST
from brim.settings.limits import PromptLimits
from brim.settings.own_budget import OwnBudget
from brim.wire import format_of, wire

Contents = Mapping[str, str | Sequence[str] | Section]
"""The contents of sections by name."""

_PROMPT = ("policy", "fill", "order", "separator", "template", "show_budget", "direction", "stages", "hard_marker")
_HISTORY = {
    "select": "selection",
    **{name: name for name in ("within", "pin_first_user", "excerpts", "note")},
}
_FIELDS = tuple(
    key.removeprefix("sections.*.") for key in SETTINGS if key.startswith("sections.*.") and key != "sections.*.page"
)
_TERMS = {
    f"{argument}_{term}": f"prompt.{part}.{term}"
    for argument, part in (("history", "messages"), ("tools", "tools"))
    for term in ("priority", "floor", "ceiling")
}
"""The arguments of a request by which messages and tools share its budget, each with its setting."""
_CLASSES = ("critical", "high", "medium", "low")


class Builder(PromptLimits):
    """Settings that fit prompts and histories."""

    __slots__ = ()

    def sections(self, contents: Contents) -> list[Section]:
        """Return the sections of contents by name; a `Section` is used as it is.

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
                self.log(f"the section {name!r} is not listed under sections, and gets the defaults")
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
            system: a system prompt that is sent with it; its tokens are taken from the budget.
            tools: tool definitions that are sent with it; their tokens are taken from the budget.
            agent: the agent whose prompt it is, for the log and the event.
            emit: called with the `prompt_assembled` event.
            about: more fields of that event, such as a `rule_id`.
            options: arguments of `brim.fit`, which override the settings.

        Raises:
            DoesNotFit: the required sections are bigger than the budget.
        """
        sections = self.sections(contents)
        made = {name: self.value(f"prompt.{name}") for name in _PROMPT}
        template, missing = options.get("template", made["template"]), self.value("prompt.missing")
        if template is not None and missing is not None:
            shown = options.get("show_budget", made["show_budget"])
            sections, options["template"] = with_template(sections, template, missing, shows_budget=shown)
        if self.value("prompt.enabled"):
            sections, made, prompt = self._fitted(sections, {**made, **options}, options, system, tools)
        else:
            sections = [Section(each.name, each.content, joiner=each.joiner, enabled=each.enabled) for each in sections]
            made |= {"show_budget": False, "stages": (), "hard_marker": None}
            made |= {"meter": self.meter(), **options, "budget": MOST}
            prompt = fit(sections, **made)
        if self.value("prompt.log") and prompt.receipt.truncated:
            log_overflow(sections, prompt, agent, made)
        if emit is not None:
            emit(prompt.receipt.event(agent, **(about or {})))
        return prompt

    def _fitted(
        self,
        sections: list[Section],
        made: dict[str, Any],
        options: Mapping[str, Any],
        system: str | None,
        tools: Sequence[Mapping[str, Any]] | None,
    ) -> tuple[list[Section], dict[str, Any], Prompt]:
        """Return the sections and options of a fit, and the prompt that fits the budget and the window."""
        window, total, scale = self.window(), self.value("prompt.total"), self.meter()
        if total is None and window is None and (below := self.below("prompt.total")) is not None:
            total = below.value
        if total is None and scale.unit == "chars":
            total = self.value(TOTAL)
        elif total is None and window is None:
            total, scale = self.value(TOTAL), meter_named("chars")
        made |= self._measured(scale, total, window, options)
        reserve = self.value("prompt.reserve")
        if "budget" not in options:
            made["budget"] = max(made["budget"] - reserve, 0)
        limit = self._token_limit(window, made)
        if limit is not None:
            limit = remaining(max(limit - reserve, 0), self.token_meter(), system, tools)
        own = OwnBudget.of(sections, self.value("prompt.own_budget"))
        meter = meter_for(made.get("meter"), made.get("model"))
        for override, notice in own.attempts():
            if notice:
                self.log(notice)
            chosen = override.applied(own.noticed(sections, notice))
            changed = made if override.show is None else {**made, "show_budget": override.show}
            try:
                budget = remaining(override.budget(made["budget"]), meter, system, tools)
                prompt = self._fit_both(chosen, {**changed, "budget": budget}, limit)
            except DoesNotFit:
                if override not in own.overrides:
                    raise
                continue
            if override not in own.overrides or own.is_readable(prompt):
                break
        return chosen, {**changed, "budget": budget}, prompt

    def _fit_both(self, sections: Sequence[Section], made: Mapping[str, Any], limit: int | None) -> Prompt:
        """Return the prompt within its budget, and within a limit of tokens if there is one."""
        fit_all = fit_shrinking if self.value("prompt.required_overflow") == "shrink" else fit
        return self._within_both(
            lambda budget: fit_all(sections, **{**made, "budget": budget}),
            made["budget"],
            lambda prompt: prompt.receipt.used,
            limit,
            lambda prompt: self.token_meter().count(prompt.text),
        )

    def fit_request(self, contents: Contents, messages: Sequence[Any] | History = (), **options: Any) -> Request:
        """Return a request of sections and messages under one budget.

        Args:
            contents: the sections by name; `sections.*.page` says which are the system prompt's.
            messages: the conversation.
            options: arguments of `brim.fit_request`, which override the settings.

        Raises:
            DoesNotFit: what is required is bigger than the budget.
        """
        pages: dict[str, list[Section]] = {page: [] for page in PAGES}
        for section in self.sections(contents):
            pages[self.value(f"sections.{section.name}.page")].append(section)
        return fit_request(
            system=pages["system"], user=pages["user"], messages=messages, **self.request_options(options)
        )

    def request_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of `brim.fit_request` besides content: the settings, overridden by options."""
        window, total, scale = self._answered_window(), self.value("prompt.total"), self.meter()
        if total is None and window is None:
            total, scale = self.value(TOTAL), scale if scale.unit == "chars" else meter_named("chars")
        made: dict[str, Any] = {name: self.value(f"prompt.{name}") for name in ("policy", "fill", "separator")}
        made |= {name: self.value(f"history.{key}") for name, key in _HISTORY.items()}
        made |= {name: self.value(key) for name, key in _TERMS.items()}
        made["keep_tools"] = self.value("prompt.tools.keep")
        made |= self._measured(scale, total, window, options)
        if "budget" not in options:
            made["budget"] = max(made["budget"] - self.value("prompt.reserve"), 0)
        return made

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

        Without a budget and without `window.reserve`, a part of the window is left for the answer.

        Args:
            messages: the history.
            agent: the agent whose history it is, for the event.
            emit: called with the `prompt_assembled` event, in which the turns are the sections.
            about: more fields of that event, such as a `rule_id`.
            options: arguments of `brim.fit_messages`, which override the settings.

        Raises:
            DoesNotFit: the messages that must stay are bigger than the budget.
        """
        fitted = self._fit_messages(messages, options)
        if emit is not None:
            emit(fitted.receipt.event(agent, **(about or {})))
        return fitted

    def _fit_messages(self, messages: Sequence[Any], options: Mapping[str, Any]) -> Fitted:
        window, limited = self._answered_window(), self.limits_history()
        scale = meter_named("chars") if limited and not self.is_set("meter") else self.meter()
        made: dict[str, Any] = {name: self.value(f"history.{key}") for name, key in _HISTORY.items()}
        made["stable"] = self.value("history.stable") or None
        made |= self._measured(scale, self.value(TOTAL) if limited else None, window, options)
        if limited and not self.is_set("history.excerpts"):
            made["excerpts"] = False  # A budget of characters is that of a flow, whose steps stay whole or go.
        if limited and not made["stable"]:
            made = {"recent": self.value(RECENT), "older": self.value(OLDER), **made}
        if self.value("history.agents") != "none" or any(self.is_set(f"history.classes.{name}") for name in _CLASSES):
            made = {"classify": self._classify(messages), **made}

        def tokens(result: Fitted) -> int:
            apart = {name: made.get(name) for name in ("tools", "system", "fields")}
            return self.token_meter().count_messages(result.messages, **apart)

        try:
            return self._within_both(
                lambda budget: fit_messages(messages, **{**made, "budget": budget}),
                made["budget"],
                lambda result: result.used,
                self._token_limit(window, made),
                tokens,
            )
        except InvalidValue as error:
            if error.place == "select" and "select" not in options:
                raise self.blame("history.selection", error) from error
            raise

    def classes(self) -> AgentClasses:
        """Return the classes of steps, with the agents that the settings list.

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
