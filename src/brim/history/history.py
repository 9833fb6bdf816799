"""Fit a history: once with `fit_messages`, or repeatedly with a growing `History`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

from brim.errors import BrimError, InvalidType, InvalidValue
from brim.history.cut import Fitting
from brim.history.history_fit import HistoryFit
from brim.history.options import Options, TurnOptions
from brim.history.prompt import shared_messages
from brim.history.reading import Reading
from brim.history.receipt import HistoryRecord
from brim.history.result import Fitted
from brim.history.shared import shared_units
from brim.history.stable import LastFit, Stable, stable_mode
from brim.history.tools import OfferedTools
from brim.history.turns import Turns
from brim.meter import DEFAULT, Meter, meter_for, name_of
from brim.meter.window import Window, budget_of
from brim.wire import Format, Wire, instructions
from brim.wire.message import Message
from brim.wire.remainder import shown_fields

Tools = Sequence[Mapping[str, Any]]


def fit_messages(
    messages: Sequence[Any],
    budget: int | Window | None = None,
    *,
    meter: Meter | str | Callable[[str], int] | None = None,
    model: str | None = None,
    tools: Tools | None = None,
    system: Any = None,
    fields: Mapping[str, Any] | None = None,
    stable: bool | Stable | None = None,
    format: Format | None = None,
    capture: bool = False,
    **options: Unpack[TurnOptions],
) -> Fitted:
    """Return as much of a history as fits the budget and a provider accepts, with a receipt.

    Leading system messages, the first and the last message of the user, and the newest turn always stay, shortened if
    necessary.

    Args:
        messages: a history of OpenAI chat, OpenAI Responses items, Anthropic Messages, Gemini or Bedrock Converse.
        budget: tokens, or a window whose budget to use; without it, the window of `model`.
        meter: a meter, the name of one, or a function from a text to a number.
        model: the model whose meter to use. If its count is an estimate, the upper bound stays within the budget.
        tools: the tool definitions of the request; they are counted.
        system: a system prompt that is sent separately from the messages; it is counted.
        fields: the other fields of the request, such as `response_format`; what the model is shown is counted.
        stable: `True` or the `stable` of the last fit, to keep the start of the prompt the same for the cache.
        format: the format of the messages; recognised if omitted.
        capture: whether the receipt's JSON holds the messages, so that the fit can be replayed from it.
        select: which turns stay: the newest, those of the highest class, or those most relevant to the query.
        within: which turns of one class of priority are selected first.
        recent: the most tokens of the newest turn.
        older: the most tokens of each older turn.
        query: the text that relevance is measured by; without it, the last message of the user.
        pin_first_user: whether the first message of the user must stay whole.
        pin: messages whose turns stay whole: a function from a message to a bool, or their indexes. A text among them
            pins the messages that contain it, in any case, within half of the room for messages.
        excerpts: whether older turns may be shortened; without it they stay whole or are dropped.
        note: whether the prompt says that turns were left out.
        summarise: a function that summarises the turns that are left out, in at most a tenth of the budget.
        classify: a function from a message to its class of priority; by default, words of its name and text decide.
        embed: a function from texts to vectors, or `True` for the default one, to measure relevance by meaning too.

    Raises:
        DoesNotFit: the messages that always stay are bigger than the budget.
        InvalidValue: an argument or a message is invalid, or a name is unknown; the error names it.
    """
    history = History(meter, model=model, stable=stable, format=format)
    history.extend(messages)
    return history.fit(budget, tools=tools, system=system, fields=fields, capture=capture, **options)


class History:
    """A growing conversation: each message is read and counted once, and in stable mode the cut is kept."""

    def __init__(
        self,
        meter: Meter | str | Callable[[str], int] | None = None,
        *,
        model: str | None = None,
        stable: bool | Stable | None = None,
        format: Format | None = None,
    ) -> None:
        """Begin an empty history; the arguments are those of `fit_messages`.

        Raises:
            InvalidValue: an argument is invalid.
            UnknownName: there is no such model or meter.
        """
        self._model = model
        self._meter = DEFAULT if meter is None and model is None else name_of(meter)
        self.last = LastFit(stable_mode(stable))
        """What the last fit passes to the next."""
        self.turns = Turns(meter_for(meter, model), format=format)
        """The messages, their tokens and their turns."""
        self._reading = Reading(self.turns)

    def __len__(self) -> int:
        return len(self.turns)

    def __repr__(self) -> str:
        return f"<History: {len(self):,} messages, {self._model or self._meter}>"

    def __dir__(self) -> Iterable[str]:
        return ["add", "extend", "fit", "model", "stable"]

    @property
    def stable(self) -> Stable | None:
        """The lines and the kept cut, in stable mode."""
        return self.last.stable

    @property
    def model(self) -> str | None:
        """The model whose meter counts; `None` if a meter was passed, or neither."""
        return self._model

    @property
    def has_surplus_media(self) -> bool:
        """Whether it has more images or more bytes of media than a request may have."""
        return bool(self._reading.media.surplus())

    def extra_units(
        self, tools: Tools | None = None, system: Any = None, fields: Mapping[str, Any] | None = None
    ) -> tuple[dict[str, int], bool]:
        """Return the tokens of a request besides its messages, by name, and whether they are exact.

        Raises:
            InvalidType: the tools, the system prompt or the other fields are invalid.
        """
        turns, message = self.turns, system_message(system, self.turns.wire)
        apart = 0 if message is None else turns.chat.units(message)
        offered = turns.chat.tools(tools, system=bool(apart or turns.leading), loaded=turns.loaded)
        other, known = turns.chat.fields(fields)
        shown = {"fields": other} if other else {}
        units = {"tools": offered.total, "system": apart, **shown, "reply": turns.chat.framing.reply}
        return units, offered.exact and known

    def add(self, messages: Any) -> None:
        """Add a message or a list of messages, as `Session.add` does.

        Raises:
            InvalidValue: a message is invalid; the error names it, and nothing is added.
        """
        self.extend(messages if isinstance(messages, list | tuple) else [messages])

    def extend(self, messages: Sequence[Any]) -> None:
        """Add messages at the end.

        They stay the caller's own objects. One that is changed afterwards is read and counted again when it is sent.

        Raises:
            InvalidValue: a message is invalid; none is added then.
        """
        self.turns.extend(messages)

    def fit(
        self,
        budget: int | Window | None = None,
        *,
        tools: Tools | None = None,
        system: Any = None,
        fields: Mapping[str, Any] | None = None,
        capture: bool = False,
        **options: Unpack[TurnOptions],
    ) -> Fitted:
        """Return as much of the history as fits the budget; the arguments are those of `fit_messages`.

        Raises:
            DoesNotFit: the messages that always stay are bigger than the budget.
            InvalidValue: an argument is invalid.
        """
        chosen = Options.of("fit_messages", options)
        before = {"tools": tools, "system": system, "fields": shown_fields(fields) or None}
        extra, exact = self.extra_units(**before)
        plan = self.plan(budget_of(budget, self._model), extra, chosen, self.last.stable)
        fitted = self.fitted(plan, before, self.last, exact=exact, capture=capture)
        self.last = fitted.last
        return fitted

    def plan(
        self,
        budget: int,
        extra: Mapping[str, int],
        options: Options,
        stable: Stable | None = None,
        tools: OfferedTools | None = None,
    ) -> HistoryFit:
        """Return what would be sent within a budget.

        Args:
            budget: tokens for everything.
            extra: tokens besides the messages, as `extra_units` returns them.
            options: the options of the turns.
            stable: the lines and the cut of the last fit, in stable mode.
            tools: the tools that may be left out; they are not part of `extra`.

        Raises:
            DoesNotFit: the messages that always stay are bigger than the budget.
        """
        fitting = Fitting(
            reading=self._reading,
            budget=budget,
            extra=extra,
            options=options,
            stable=stable,
            tools=tools or OfferedTools(),
        )
        fit = HistoryFit.of(fitting)
        # What is sent is what was counted; a new value forgets what the fit has read.
        return HistoryFit.of(replace(fitting)) if self.turns.refresh(fit.kept) else fit

    def refresh(self) -> None:
        """Read the messages again if one of them was changed since it was added."""
        self.turns.refresh()

    def demand(self, options: Options) -> tuple[int, int, list[int]]:
        """Return the tokens of all turns, those of the turns that always stay, and these turns."""
        fitting = Fitting(reading=self._reading, budget=0, extra={}, options=options)
        essential, caps, cut = fitting.essential, fitting.caps, fitting.whole()
        saved = sum(max(0, fitting.cost(cut, [turn]) - cap) for turn, cap in caps.items())
        stays = sum(min(fitting.cost(cut, [turn]), caps.get(turn, sys.maxsize)) for turn in essential)
        return fitting.size(cut) - saved, stays, essential

    def fitted(
        self, fit: HistoryFit, before: Mapping[str, Any], last: LastFit, *, exact: bool, capture: bool
    ) -> Fitted:
        """Return the result of a fit.

        Args:
            fit: the finished fit.
            before: what comes before the messages: tools, system prompt and other fields.
            last: what the last fit passed on.
            exact: whether these were counted exactly.
            capture: whether the receipt's JSON holds the messages.
        """
        sent, used, turns, stable = fit.sent_messages(), fit.used, self.turns, fit.fitting.stable
        if used > fit.budget:
            raise BrimError(f"a bug in brim: {used:,} tokens for a budget of {fit.budget:,}; please report it")
        shown: Sequence[Any] = ()
        shared = last.same_parts(before, fit.fitting.extra)
        if last.before is not None:
            shown = last.sent.messages if last.before == before else ()
        elif stable is not None:
            shown = fit.last_prompt().messages
            shared = sum(fit.fitting.extra.values()) if shown else 0
        messages, extra = [*sent.messages], fit.fitting.extra
        same = shared_messages(shown, messages)
        prefix = sum(extra.values()) - extra["reply"] + sum(sent.units[:same]) if shown else 0
        record = HistoryRecord(
            fit=fit,
            messages=messages,
            used=used,
            prefix=prefix,
            meter=self._meter,
            stable=last.stable,
            correction=last.correction,
            regret=last.regret,
            before=before,
            exact=exact and not turns.chat.estimated,
            captured=capture,
        )
        settled = same if fit.fitting.last is None else min(fit.fitting.last.settled, same)
        if stable is not None:
            stable = replace(stable, held=fit.held(same if fit.cut.seen == len(turns) else settled))
        shared += shared_units(last.sent.messages or shown, sent, fit.sent, turns)
        return Fitted(
            messages=sent.messages,
            used=used,
            budget=fit.budget,
            last=LastFit(stable, before, sent._replace(messages=messages), extra),
            _write=record.receipt,
            stable_prefix=prefix,
            settled=settled,
            shared=shared,
        )


def system_message(system: Any, wire: Wire) -> Message | None:
    """Return a separate system prompt as a message; `None` if there is none.

    Raises:
        InvalidType: it is neither a text nor a list of blocks.
        InvalidValue: a block is invalid.
    """
    if system is None or system == "":
        return None
    if isinstance(system, bytes | int | float):
        raise InvalidType("system", system, "a string or a list of blocks")
    try:
        return instructions(wire, system)
    except InvalidValue as error:
        place = error.place.replace("messages[0] content", "system")
        raise type(error)(place, error.value, error.expected) from error
