"""One fit of a request: sections, a history and tools share one budget.

If everything fits, it is sent. Otherwise the sections of the system prompt and of the user's message share the budget
with the messages, by priority; what stays of the messages and the tools is chosen in one pass. The request is built and
counted as a whole, in the way the provider counts it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, get_args

from brim.errors import BrimError, InvalidValue, check_choice
from brim.history.history import History
from brim.history.history_fit import HistoryFit
from brim.history.options import Options
from brim.history.tools import OfferedTools
from brim.meter.chat import RequestCounter, request_counts
from brim.meter.schemas import ToolCounts
from brim.receipts.capture import Capture
from brim.receipts.receipt import Receipt, losses
from brim.receipts.section import PriorityName, Section
from brim.requests.messages import Messages
from brim.requests.request import KeepTools, Request
from brim.requests.tool_relevance import functions_of, relevant_order, tools_part
from brim.sections.bidding import Bidder, Bidding, Fit, Proposals
from brim.sections.draft import Draft, Summaries
from brim.sections.prompt_fit import far_over, kept_texts, stable_units
from brim.wire.base import value_at
from brim.wire.remainder import shown_fields
from brim.wire.values import json_of

_TOOLS = 5
"""Tools that are chosen by relevance claim a fifth of the budget before less essential sections get anything."""


@dataclass(slots=True, kw_only=True)
class RequestFit(Fit):
    """One fit of a request to a budget."""

    system: Sequence[Section]
    user: Sequence[Section]
    summaries: Summaries
    history: History
    tools: Sequence[Any] | None
    fields: Mapping[str, Any] | None
    """The other fields of the body."""
    keep_tools: KeepTools
    history_priority: PriorityName | int
    turn_options: Options
    pages: dict[str, list[Draft]] = field(init=False)
    """The sections of the system prompt and of the user's message."""
    toll: int = field(init=False)
    """Tokens planned for a separator."""
    counts_of_tools: ToolCounts = field(init=False)
    """Tokens of the tools; unless a system message certainly stays, the higher count without a system message."""
    count_of_fields: tuple[int, bool] = field(init=False)
    """Tokens of the other fields, and whether they are exact."""
    messages: Messages = field(init=False)

    def __post_init__(self) -> None:
        check_choice("keep_tools", self.keep_tools, get_args(KeepTools))
        try:
            rank = Section("history", "", priority=self.history_priority).rank
        except InvalidValue as error:
            raise type(error)("history_priority", error.value, error.expected) from error
        chat, separator = self.history.turns.chat, self.options["separator"]
        self.pages = {
            page: [Draft.of(section, self.meter, self.budget, self.summaries, higher=False) for section in sections]
            for page, sections in (("system", self.system), ("user", self.user))
        }
        self.toll = self.meter.load(separator) if separator else 0
        self.count_of_fields = chat.fields(self.fields)
        # Without a system message, some providers add one for the tools.
        sure = any(draft.required for draft in self._live("system")) or bool(self.history.turns.leading)
        self.counts_of_tools = chat.tools(self.tools, system=sure, loaded=self.history.turns.loaded)
        self.messages = self._with_tools(range(len(self.tools or ())), rank)

    def request(self) -> Request:
        """Return the request with its receipt.

        Raises:
            DoesNotFit: the required parts exceed the budget.
        """
        return self._result(*self.planned())

    def planned(self) -> tuple[Proposals, int]:
        """Return what each part keeps, and the tokens of the whole request; the history is left unchanged.

        Raises:
            DoesNotFit: the required parts exceed the budget.
        """
        whole = self._all_whole()
        if whole is not None:
            return whole, self.count(whole)
        if self._chooses_tools:
            self.messages = self._with_tools(self._relevant_order(), self.messages.rank)
        must = self.messages.must
        required = sum([draft.wanted + self.toll for draft in self._live() if draft.required])
        must.tight = required + must.size > self.room()
        bidding = Bidding(whole=self, bidders=self._bidders(), toll=self.toll)
        used = bidding.run()
        return bidding.proposals, used

    @property
    def _chooses_tools(self) -> bool:
        """Whether tools may be left out."""
        return self.keep_tools == "relevant" and bool(self.tools)

    def _with_tools(self, order: Sequence[int], rank: int) -> Messages:
        """Return the messages and the tools, of which the first in `order` stay first if they may be left out."""
        counts, tools = self.counts_of_tools, OfferedTools()
        if self._chooses_tools:
            names, share = functions_of(self.tools or ()), self.budget // _TOOLS
            tools = OfferedTools(functions=names, counts=counts, order=order, share=share)
        other = {"fields": self.count_of_fields[0]} if self.count_of_fields[0] else {}
        always = {"tools": 0 if self._chooses_tools else counts.total, "system": 0, **other}
        return Messages(
            history=self.history,
            options=self.turn_options,
            extra={**always, "reply": self.history.turns.chat.framing.reply},
            rank=rank,
            tools=tools,
        )

    def _relevant_order(self) -> list[int]:
        """Return the tools, the most relevant first."""
        instructions = "\n".join([draft.text for draft in self._live("system")])
        question, embed = self._question(), self.turn_options.embed
        return relevant_order(self.tools or (), self.history, question, embed, instructions=instructions)

    def _live(self, *pages: str) -> list[Draft]:
        """Return the sections that have content, of some pages or of all."""
        return [draft for page in pages or ("system", "user") for draft in self.pages[page] if draft.size]

    def _bidders(self) -> list[Bidder]:
        """Return the bidders, in the order of the request."""
        return [*self._live("system"), *self.messages.bidders, *self._live("user")]

    def room(self) -> int:
        """Return the tokens that the bidders share, including the separator of each section."""
        room, alone = self.budget - self.messages.fixed, not self.messages.bidders
        for page in self.pages:
            if live := self._live(page):
                frame = self.history.turns.chat.frame(page)
                # With sections of one page alone, the result is the same as that of `fit`.
                sure = any(draft.required for draft in live) or (alone and len(live) == len(self._live()))
                # If a page stays empty, no separator is saved, but its framing is.
                room += (self.toll if sure else min(self.toll, frame)) - frame
        return room

    def _question(self) -> str | None:
        """Return the question by which tools are chosen; `None` if it comes from the history."""
        if self.turn_options.query is not None:
            return self.turn_options.query
        drafts = self._live("user")
        return "\n".join([draft.text for draft in drafts if draft.required] or [drafts[-1].text]) if drafts else None

    def _all_whole(self) -> Proposals | None:
        """Return all parts whole, or `None` if one exceeds its ceiling or together they exceed the budget."""
        messages, live = self.messages, self._live()
        if any(draft.wanted < draft.size for draft in live):
            return None
        rest = messages.fixed + messages.size
        if far_over(live, rest, self.budget):
            return None
        sections = {draft: replace(draft.whole(), grant=draft.size) for draft in live}
        pages = self._pages_count(sections)
        if pages + rest > self.budget:
            return None
        whole = {**sections, **messages.whole(self.budget - pages)}
        return whole if self.count(whole) <= self.budget else None

    def count(self, proposals: Proposals) -> int:
        """Return the tokens of the request in the form in which it would be sent."""
        return self._counted(proposals, self.meter.counter)

    def _counted(self, proposals: Proposals, counter: Callable[[str], RequestCounter]) -> int:
        body, wire = self._body(proposals), self.history.turns.wire
        return request_counts(
            counter,
            body[wire.list_key],
            value_at(body, wire.tools_at),
            system=body.get(wire.system_key) if wire.system_key else None,
            fields=self.fields,
            format=wire.name,
        )

    def count_required(self) -> int:
        """Return the tokens of the required parts alone, uncut."""
        required = {draft: draft.whole() for draft in self._live() if draft.required}
        return self.messages.fixed + self.messages.must.size + self._pages_count(required)

    def extras(self) -> dict[str, int]:
        """Return the tokens in addition to the required parts, by name."""
        extra = self.messages.extra
        spaces = {draft: replace(draft.whole(), text=" ") for draft in self._live() if draft.required}
        named = {
            "tools": extra["tools"],
            "system messages": self.history.turns.fixed,
            "fields": self.count_of_fields[0],
            "framing": extra["reply"] + self._pages_count(spaces),
        }
        return {name: units for name, units in named.items() if units}

    def _pages(self, proposals: Proposals) -> dict[str, str]:
        """Return the texts of both pages."""
        texts = kept_texts(proposals)
        return {
            page: self.options["separator"].join([texts[draft.name] for draft in drafts if draft.name in texts])
            for page, drafts in self.pages.items()
        }

    def _pages_count(self, proposals: Proposals) -> int:
        """Return the tokens of both pages, each as one message."""
        chat, pages = self.history.turns.chat, self._pages(proposals)
        return sum(chat.frame(page) + chat.text(text) for page, text in pages.items() if text)

    def _body(self, proposals: Proposals) -> dict[str, Any]:
        """Return the body as it would be sent, without its other fields."""
        turns, fit, pages = self.history.turns, self.messages.kept(proposals), self._pages(proposals)
        messages = list(fit.sent_messages().messages)
        if text := pages["user"]:
            if self._joins(messages):
                messages[-1] = turns.wire.append(messages[-1], text)
            else:
                messages.append(turns.wire.say(text))
        tools = self.tools
        if self._chooses_tools:
            kept = fit.fitting.tools.indexes(fit.kept_tools)
            tools = [tool for index, tool in enumerate(self.tools or ()) if index in kept]
        return turns.wire.body(messages, system=pages["system"], tools=tools, model=self.model)

    def _joins(self, messages: Sequence[Any]) -> bool:
        """Return whether the user's text is appended to the last message: in some formats roles must alternate."""
        turns = self.history.turns
        if not turns.wire.pairs or not messages or not turns.messages or turns.messages[-1].role != "user":
            return False
        return turns.wire.read(messages[-1], 0).role == "user"

    def _result(self, proposals: Proposals, used: int) -> Request:
        turns, fit = self.history.turns, self.messages.kept(proposals)
        if used > self.budget:
            raise BrimError(f"a bug in brim: {used:,} tokens for a budget of {self.budget:,}; please report it")
        exact = self.count_of_fields[1] and self.counts_of_tools.exact
        fields = None if self.fields is None else shown_fields(self.fields) or None
        before = {"tools": None if self._chooses_tools else self.tools, "system": None, "fields": fields}
        fitted = self.history.fitted(fit, before, self.history.last, exact=exact, capture=False)
        self.history.last = fitted.last
        body = self._body(proposals)
        offered = value_at(body, turns.wire.tools_at)
        for name, value in (self.fields or {}).items():
            body[name] = {**value, **body[name]} if name in body and isinstance(value, Mapping) else value
        return Request(
            body=body,
            messages=body[turns.wire.list_key],
            system=self._pages(proposals)["system"],
            tools=None if self.tools is None else list(offered or ()),
            used=used,
            budget=self.budget,
            receipt=self._receipt(fit, fitted.receipt, proposals, used),
            texts=kept_texts(proposals),
        )

    def _receipt(self, fit: HistoryFit, messages: Receipt, proposals: Proposals, used: int) -> Receipt:
        """Return the receipt: the parts in the order of the page."""
        turns = [part if part.required else part._replace(priority=self.messages.rank) for part in messages.parts]
        tools = []
        if self._chooses_tools:
            tools = [tools_part(fit, self.messages.rank_of_tools, json_of(list(self.tools or ()), "tools"))]
        system, user = ([draft.part(proposals.get(draft)) for draft in drafts] for drafts in self.pages.values())
        parts = (*system, *tools, *turns, *user)
        upper = used
        if not (self.meter.exact or self.meter.overhead):  # With an overhead, counts are upper bounds already.
            bound = partial(self.meter.counter, count=self.meter.upper_load)
            upper = max(used, self._counted(proposals, bound) + self.meter.slack)
        history = (
            {**messages.history, "granted": self.messages.granted(proposals)} if len(self.history.turns.source) else {}
        )
        return replace(
            messages,
            budget=self.budget,
            used=used,
            upper=upper,
            joins=used - sum(part.used for part in parts),
            parts=parts,
            losses=losses(parts),
            policy=self.options["policy"],
            fill=self.options["fill"],
            stable_prefix=stable_units(list(zip(self.system, system, strict=True))),
            history=history,
            capture=self._capture(messages.capture),
            captured=self.captured,
        )

    def _capture(self, messages: Capture | None) -> Capture:
        """Return the input of the fit, based on that of its messages, which are not copied."""
        assert messages is not None
        return replace(
            messages,
            sections=(*self.system, *self.user),
            leading=len(self.system),
            budget=self.budget,
            model=self.model,
            tools=self.tools,
            fields=self.fields,
            options={
                **messages.options,
                **self.options,
                "keep_tools": self.keep_tools,
                "history_priority": self.history_priority,
            },
            summaries=dict(self.summaries.texts),
        )
