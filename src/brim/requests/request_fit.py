"""One fit of a request: sections, a history and tools share one budget.

The system prompt and the user's message are two pages of sections; turns and tools bid with them. The request is built
and counted as a whole, in the way the provider counts it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, get_args

from brim.errors import BrimError, InvalidValue, check_choice
from brim.history.history import History
from brim.history.options import Options
from brim.history.result import Fitted
from brim.meter.chat import RequestCounter, request_counts
from brim.meter.schemas import ToolCounts
from brim.receipts.capture import Capture
from brim.receipts.receipt import Receipt, losses
from brim.receipts.section import PriorityName, Section
from brim.requests.bids import Bids
from brim.requests.request import KeepTools, Request
from brim.requests.tool_relevance import OfferedTools, functions_of, relevant_order
from brim.sections.bidding import Bidder, Bidding, Fit, Proposals
from brim.sections.draft import Draft, Summaries
from brim.sections.prompt_fit import far_over, kept_texts, stable_units
from brim.wire import definitions
from brim.wire.base import value_at
from brim.wire.remainder import shown_fields
from brim.wire.values import json_of

_TOOLS = 5
"""A fifth of the budget is reserved for tools that are chosen by relevance."""


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
    counts_of_tools: ToolCounts | None = field(init=False, default=None)
    """Tokens of the tools; unless a system message certainly stays, the higher count without a system message."""
    count_of_fields: tuple[int, bool] = field(init=False)
    """Tokens of the other fields, and whether they are exact."""
    bids: Bids = field(init=False)
    _rank: int = field(init=False)
    """The priority of the turns that do not always stay."""

    def __post_init__(self) -> None:
        check_choice("keep_tools", self.keep_tools, get_args(KeepTools))
        try:
            self._rank = Section("history", "", priority=self.history_priority).rank
        except InvalidValue as error:
            raise type(error)("history_priority", error.value, error.expected) from error
        chat, separator = self.history.turns.chat, self.options["separator"]
        self.pages = {
            page: [Draft.of(section, self.meter, self.budget, self.summaries, higher=False) for section in sections]
            for page, sections in (("system", self.system), ("user", self.user))
        }
        self.toll = self.meter.load(separator) if separator else 0
        self.count_of_fields = chat.fields(self.fields)
        if self.tools is not None:
            # Without a system message, some providers add one for the tools.
            sure = any(draft.required for draft in self._live("system")) or bool(self.history.turns.leading)
            counts = chat.tools(self.tools, system=sure, loaded=self.history.turns.loaded)
            self.counts_of_tools = _by_tool(self.tools, counts)

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
        self.bids = self._bids(relevant=False)
        whole = self._all_whole()
        if whole is not None:
            return whole, self.count(whole)
        if self.keep_tools == "relevant" and self.tools:
            self.bids = self._bids(relevant=True)
        bidding = Bidding(whole=self, bidders=self._bidders(), toll=self.toll)
        must = sum([draft.wanted + self.toll for draft in self._live() if draft.required])
        self.bids.pinned.tight = must + self.bids.pinned.size > self.room()
        used = bidding.run()
        return bidding.proposals, used

    def _live(self, *pages: str) -> list[Draft]:
        """Return the sections that have content, of some pages or of all."""
        return [draft for page in pages or ("system", "user") for draft in self.pages[page] if draft.size]

    def _bidders(self) -> list[Bidder]:
        """Return the bidders, in the order of the request."""
        bids = self.bids
        turns: list[Bidder] = [bids.offered] if self._offers_tools else []
        turns += [bids.pinned] if bids.essential else []
        turns += [bids.others] if bids.total > bids.essential else []
        return [*self._live("system"), *turns, *self._live("user")]

    @property
    def _offers_tools(self) -> bool:
        """Whether tools are chosen by relevance, and there are any to choose."""
        return self.bids.tools is not None and self.bids.offered.claim(0).wanted > 0

    @property
    def _is_prompt(self) -> bool:
        """Whether there are only sections, so that the result is the same as that of `fit`."""
        return not self.bids.total and not self._offers_tools

    def room(self) -> int:
        """Return the tokens that the bidders share, including the separator of each section."""
        room = self.budget - self.bids.fixed
        if self.bids.tools is not None:
            room -= self.bids.tools.counts.once
        for page in self.pages:
            if live := self._live(page):
                frame = self.history.turns.chat.frame(page)
                sure = any(draft.required for draft in live) or (self._is_prompt and len(live) == len(self._live()))
                # If a page stays empty, no separator is saved, but its framing is.
                room += (self.toll if sure else min(self.toll, frame)) - frame
        return room

    def _bids(self, *, relevant: bool) -> Bids:
        """Return the history and the tools as bidders; `relevant` says whether tools are chosen by relevance."""
        counts = self.counts_of_tools
        other = {"fields": self.count_of_fields[0]} if self.count_of_fields[0] else {}
        return Bids(
            history=self.history,
            options=self.turn_options,
            extra={
                "tools": 0 if relevant or counts is None else counts.total,
                "system": 0,
                **other,
                "reply": self.history.turns.chat.framing.reply,
            },
            rank=self._rank,
            tools=self._offered() if relevant else None,
        )

    def _offered(self) -> OfferedTools:
        tools, counts = self.tools or (), self.counts_of_tools
        assert counts is not None
        instructions = "\n".join([draft.text for draft in self._live("system")])
        return OfferedTools(
            functions=functions_of(tools),
            counts=counts,
            order=relevant_order(
                tools, self.history, self._question(), self.turn_options.embed, instructions=instructions
            ),
            floor=self.budget // _TOOLS,
        )

    def _question(self) -> str | None:
        """Return the question by which tools are chosen; `None` if it comes from the history."""
        if self.turn_options.query is not None:
            return self.turn_options.query
        drafts = self._live("user")
        return "\n".join([draft.text for draft in drafts if draft.required] or [drafts[-1].text]) if drafts else None

    def _all_whole(self) -> Proposals | None:
        """Return all parts whole, or `None` if one exceeds its ceiling or together they exceed the budget."""
        bids, live = self.bids, self._live()
        if any(draft.wanted < draft.size for draft in live):
            return None
        rest = bids.fixed + bids.total
        if far_over(live, rest, self.budget):
            return None
        whole: dict[Any, Any] = {draft: replace(draft.whole(), grant=draft.size) for draft in live}
        sections = self._pages_count(whole)
        if sections + rest > self.budget:
            return None
        whole[bids.others] = bids.whole(self.budget - sections)
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
        bids = self.bids
        tools = 0 if bids.tools is None else bids.tools.used(bids.tools_of_pinned)
        required = {draft: draft.whole() for draft in self._live() if draft.required}
        return bids.fixed + bids.essential + tools + self._pages_count(required)

    def extras(self) -> dict[str, int]:
        """Return the tokens in addition to the required parts, by name."""
        bids, counts = self.bids, self.counts_of_tools
        spaces = {draft: replace(draft.whole(), text=" ") for draft in self._live() if draft.required}
        named = {
            "tools": bids.extra["tools"] or (counts.once if counts is not None and bids.tools is not None else 0),
            "system messages": self.history.turns.fixed,
            "fields": self.count_of_fields[0],
            "framing": bids.extra["reply"] + self._pages_count(spaces),
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
        turns, bids = self.history.turns, self.bids
        fit, pages = bids.kept(proposals).fit, self._pages(proposals)
        assert fit is not None
        messages = list(fit.sent_messages().messages)
        if text := pages["user"]:
            if self._joins(messages):
                messages[-1] = turns.wire.append(messages[-1], text)
            else:
                messages.append(turns.wire.say(text))
        tools = self.tools
        if bids.tools is not None:
            kept = bids.kept_tools(proposals)
            tools = [tool for index, tool in enumerate(self.tools or ()) if index in kept]
        return turns.wire.body(messages, system=pages["system"], tools=tools, model=self.model)

    def _joins(self, messages: Sequence[Any]) -> bool:
        """Return whether the user's text is appended to the last message: in some formats roles must alternate."""
        turns = self.history.turns
        if not turns.wire.pairs or not messages or not turns.messages or turns.messages[-1].role != "user":
            return False
        return turns.wire.read(messages[-1], 0).role == "user"

    def _result(self, proposals: Proposals, used: int) -> Request:
        bids, turns = self.bids, self.history.turns
        fit = bids.kept(proposals).fit
        if used > self.budget or fit is None:
            raise BrimError(f"a bug in brim: {used:,} tokens for a budget of {self.budget:,}; please report it")
        exact = self.count_of_fields[1] and (self.counts_of_tools is None or self.counts_of_tools.exact)
        fields = None if self.fields is None else shown_fields(self.fields) or None
        before = {"tools": self.tools if bids.tools is None else None, "system": None, "fields": fields}
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
            receipt=self._receipt(fitted, proposals, used),
            texts=kept_texts(proposals),
        )

    def _receipt(self, fitted: Fitted, proposals: Proposals, used: int) -> Receipt:
        """Return the receipt: the parts in the order of the page."""
        bids, messages = self.bids, fitted.receipt
        turns = [part if part.required else part._replace(priority=self._rank) for part in messages.parts]
        if self.keep_tools == "relevant" and bids.tools is None:
            names = tuple([", ".join(own) for own in functions_of(self.tools or ())])
            kept = ("whole",) * len(names)
            turns = [part._replace(entry_states=kept, ids=names) if part.name == "tools" else part for part in turns]
        tools = []
        if bids.tools is not None:
            written, offer = json_of(list(self.tools or ()), "tools"), proposals.get(bids.offered)
            dropped = offer.reason if offer is not None and not bids.chosen(proposals) else ""
            tools = [bids.tools.part(bids.kept_tools(proposals), bids.offered.rank, written, dropped)]
        system, user = ([draft.part(proposals.get(draft)) for draft in drafts] for drafts in self.pages.values())
        parts = (*system, *tools, *turns, *user)
        upper = used
        if not (self.meter.exact or self.meter.overhead):  # With an overhead, counts are upper bounds already.
            bound = partial(self.meter.counter, count=self.meter.upper_load)
            upper = max(used, self._counted(proposals, bound) + self.meter.slack)
        history = {**messages.history, "granted": bids.granted(proposals)} if len(self.history.turns.source) else {}
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


def _by_tool(tools: Sequence[Any], counts: ToolCounts) -> ToolCounts:
    """Return the counts with one number per tool; in some formats a tool has several functions, or none."""
    each, at = [], 0
    for tool in tools:
        stop = at + len(definitions([tool]))
        each.append(sum(counts.each[at:stop]))
        at = stop
    return counts._replace(each=each)
