"""Messages and a budget in, messages and a receipt out: once, or again and again as a conversation grows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Unpack

from brim.errors import BrimError, InvalidType, InvalidValue
from brim.history.forms import Forms
from brim.history.history_fit import HistoryFit
from brim.history.options import Asked, Options, binds, options_of, stable_of
from brim.history.prompt import shared_units
from brim.history.ranking import Ranking
from brim.history.receipt import Given, recorder
from brim.history.result import Fitted
from brim.history.selection import SelectionFit
from brim.history.stable import Stable
from brim.history.stable_fit import StableFit
from brim.history.thinking import unbind
from brim.history.turns import Turns
from brim.meter import DEFAULT, Meter, meter_for, name_of
from brim.meter.window import Window, budget_of
from brim.wire import wire

Tools = Sequence[Mapping[str, Any]]


def fit_messages(
    messages: Sequence[Any],
    budget: int | Window | None = None,
    *,
    meter: Meter | str | Callable[[str], int] | None = None,
    model: str | None = None,
    tools: Tools | None = None,
    system: Any = None,
    stable: bool | Stable | None = None,
    format: str | None = None,
    repair: str = "drop",
    capture: bool = False,
    **asked: Unpack[Asked],
) -> Fitted:
    """Return as much of a history as counts at most the budget and as a provider accepts, and the receipt of how.

    System messages and the newest turn always stay, and so does the user's first message, the task. Where these alone
    are too big, the longest texts of the newest turn, and then of the task, are cut by their shape.

    Args:
        messages: a history in the shape of OpenAI chat, OpenAI Responses items or Anthropic Messages.
        budget: units, or a window whose budget to take; without it, the window of `model`.
        meter: what measures: a meter, the name of one, or a function from text to units.
        model: the model whose meter to take. Where its count is an estimate, the upper bound is kept to.
        tools: the tool definitions that are sent along; they are counted.
        system: a system prompt that is sent apart from the messages; it is counted.
        stable: `True` or the `stable` of the last fit, to keep the start of the prompt the same for the cache.
        shape: `openai`, `responses` or `anthropic`; without it, what the messages look like.
        repair: whether what no provider would take is repaired by leaving it out (`drop`) or refused (`error`).
        capture: whether the receipt's JSON holds the messages, so that the fit can be replayed from it.
        asked: `select`, `within`, `recent`, `older`, `query`, `pin_first_user`, `pin`, `note`, `summarise`, `classify`,
            `embed`: see `Options`.

    Raises:
        DoesNotFit: what has to stay is bigger than the budget.
        InvalidValue: an argument or a message that cannot be; the error names it, its index and its value.
        UnknownName: no such model or meter.
    """
    history = History(meter=meter, model=model, stable=stable, format=format, repair=repair)
    history.extend(messages)
    return history.fit(budget, tools=tools, system=system, capture=capture, **asked)


class History:
    """A conversation that grows: each message is read and counted once, and in stable mode the cut is held."""

    def __init__(
        self,
        meter: Meter | str | Callable[[str], int] | None = None,
        *,
        model: str | None = None,
        stable: bool | Stable | None = None,
        format: str | None = None,
        repair: str = "drop",
    ) -> None:
        self._model = model
        self._meter = DEFAULT if meter is None and model is None else name_of(meter)
        self._stable = stable_of(stable)
        self._turns = Turns(meter_for(meter, model), format=format, repair=repair)
        self._forms = Forms(self._turns)
        self._ranking = Ranking(self._turns)
        self._last: tuple[Mapping[str, Any], tuple[Any, ...]] | None = None
        self._options, self._asked = Options(), Asked()

    def __len__(self) -> int:
        return len(self._turns)

    @property
    def stable(self) -> Stable | None:
        """The lines and the cut that is held, in stable mode."""
        return self._stable

    @property
    def turns(self) -> Turns:
        """What is known of the messages: their units and their turns."""
        return self._turns

    def beside(self, tools: Tools | None = None, system: Any = None) -> tuple[dict[str, int], bool]:
        """Return the units of a request beside its messages, by what takes them, and whether they are exact.

        Raises:
            InvalidType: the tools or the system prompt cannot be.
        """
        turns, apart = self._turns, self._apart(system)
        offered, exact = turns.chat.tools(tools, system=bool(apart or turns.system))
        return {"tools": offered, "system": apart, "reply": turns.chat.framing.reply}, exact

    def extend(self, messages: Sequence[Any]) -> None:
        """Add messages at the end.

        A message must not be changed afterwards: what it says was read and counted.

        Raises:
            InvalidValue: a message that cannot be; nothing is added then.
        """
        self._turns.extend(messages)

    def fit(
        self,
        budget: int | Window | None = None,
        *,
        tools: Tools | None = None,
        system: Any = None,
        capture: bool = False,
        **asked: Unpack[Asked],
    ) -> Fitted:
        """Return as much of the history as counts at most the budget; the arguments are those of `fit_messages`.

        Raises:
            DoesNotFit: what has to stay is bigger than the budget.
            InvalidValue: an argument that cannot be.
        """
        if asked != self._asked:
            self._options, self._asked = options_of(asked), asked
        turns, options = self._turns, self._options
        extra, exact = self.beside(tools, system)
        given = (turns, self._forms, self._ranking, budget_of(budget, self._model), extra, options)
        fitting = SelectionFit(*given) if self._stable is None else StableFit(*given, stable=self._stable)
        fitting.run()
        if turns.thinks and binds(turns.model):
            unbind(fitting)
        fitting.finish()
        told = Given(turns.source, turns.given, self._meter, turns.wire.name, self._stable, capture)
        exact = exact and not turns.chat.estimated
        return self._fitted(fitting, told, {"tools": tools, "system": system}, exact=exact)

    def _fitted(self, fitting: HistoryFit, given: Given, aside: Mapping[str, Any], *, exact: bool) -> Fitted:
        sent, used = fitting.sent_messages(), fitting.used
        if used > fitting.budget:
            raise BrimError(f"a fault of brim's: {used:,} units for a budget of {fitting.budget:,}; please report it")
        last: Sequence[Any] = ()
        if self._last is not None:
            last = self._last[1] if self._last[0] == aside else ()
        elif isinstance(fitting, StableFit):
            last = fitting.last_prompt().messages
        prefix = shared_units(last, sent, sum(fitting.extra.values()) - fitting.extra["reply"])
        self._last = (aside, tuple(sent.messages))
        if isinstance(fitting, StableFit):
            self._stable = fitting.stable
        record = recorder(fitting, given, aside, prefix, exact=exact and fitting.turns.meter.exact)
        return Fitted(sent.messages, used, fitting.budget, self._stable, record, _prefix=prefix)

    def _apart(self, system: Any) -> int:
        """Return the units of a system prompt that is sent apart from the messages."""
        if system is None or system == "":
            return 0
        if not isinstance(system, str | list | tuple):
            raise InvalidType("system", system, "a text or a list of blocks")
        try:
            message = wire("anthropic").read({"role": "system", "content": system}, 0)
        except InvalidValue as error:
            place = error.place.replace("messages[0] content", "system")
            raise type(error)(place, error.value, error.expected) from error
        return self._turns.chat.units(message)
