"""The course of one fit of a request: sections, a history and tools share one budget.

It is a fit of sections with two pages, the system prompt and the message of the user, and with more bidders. What a
bidder does not use goes to the next one; the whole is counted in the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from brim.errors import BrimError
from brim.history.history import History
from brim.history.result import Fitted
from brim.meter.schemas import ToolCounts
from brim.receipts.capture import Capture
from brim.receipts.history_input import HistoryInput
from brim.receipts.receipt import Part, Receipt, losses
from brim.receipts.request_capture import RequestCapture
from brim.requests.history_share import HistoryShare, OtherTurns
from brim.requests.request import Request
from brim.requests.terms import PAGES, RequestTerms
from brim.requests.tool_relevance import functions_of, relevant_order
from brim.requests.tool_share import ToolShare
from brim.sections.draft import SMOOTH, Draft
from brim.sections.layout import Layout, layout
from brim.sections.section_fit import Bidder, SectionFit
from brim.wire import definitions
from brim.wire.base import value_at
from brim.wire.remainder import shown_fields
from brim.wire.values import json_of

_PAGES = PAGES[::-1]
"""In the order of a request."""
_WORTH = 4
"""The fewest tokens that are offered again, beyond those of the first offer."""


@dataclass(slots=True, kw_only=True)
class RequestFit(SectionFit):
    """One fit of a request to a budget."""

    history: History
    leading: int
    """How many of the sections are the system prompt's; the others are the user's."""
    tools: Sequence[Any] | None
    fields: Mapping[str, Any] | None
    """The other fields of the body."""
    terms: RequestTerms
    turn_options: Mapping[str, Any]
    """The options of the history, by name."""
    model: str | None
    """The model that the body names."""
    pages: dict[str, Layout] = field(init=False)
    lives: dict[str, list[Any]] = field(init=False)
    """The drafts of each page that have any content."""
    frames: dict[str, int] = field(init=False)
    """Tokens of the framing of each page."""
    counts_of_tools: ToolCounts | None = field(init=False, default=None)
    """Tokens of the tools, of a request that may have no system message if that is not sure."""
    count_of_fields: tuple[int, bool] = field(init=False)
    """Tokens of the other fields, and whether they are exact."""
    share: HistoryShare = field(init=False)
    whole: bool = field(init=False, default=False)
    """Whether nothing had to be shared."""

    def __post_init__(self) -> None:
        SectionFit.__post_init__(self)
        chat = self.history.turns.chat
        self.frames = {page: chat.frame(page) for page in _PAGES}
        names = [section.name for section in self.sections]
        separator = self.options["separator"]
        rows = {"system": names[: self.leading], "user": names[self.leading :]}
        self.pages = {page: layout(row, separator=separator, template=None) for page, row in rows.items()}
        halves = {"system": self.drafts[: self.leading], "user": self.drafts[self.leading :]}
        self.lives = {page: [draft for draft in half if draft.size] for page, half in halves.items()}
        self.count_of_fields = chat.fields(self.fields)
        sure = any(draft.required for draft in self.lives["system"])
        self.counts_of_tools = self._tool_counts(system=sure or bool(self.history.turns.system))

    def _tool_counts(self, *, system: bool) -> ToolCounts | None:
        """Return the tokens of the tools; without a system message, some providers make one for them."""
        if self.tools is None:
            return None
        return _by_tool(self.tools, self.history.turns.chat.each_tool(self.tools, system=system))

    def request(self) -> Request:
        """Return the request with its receipt.

        Raises:
            DoesNotFit: what is required is bigger than the budget.
        """
        return self._result(*self.planned())

    def planned(self) -> tuple[dict[str, str], int]:
        """Return the texts of the sections and the tokens of the whole request; the history learns nothing of it.

        Raises:
            DoesNotFit: what is required is bigger than the budget.
        """
        self.whole = self._all_whole()
        if not self.whole:
            if self.terms.keep_tools == "relevant" and self.tools:
                self.share = self._share(relevant=True)
            self.share.fit = None
            self._serve()
            if self.share.fit is None:
                self.share.within(self.share.pinned.load - self.share.pinned_tools)
        texts, used = self._settle()
        if not self.whole and self.live and not self._alone and self._top_up(self.budget - used):
            texts, used = self._settle()
        return texts, used

    def _top_up(self, left: int) -> bool:
        """Offer what is left over to what was cut, and return whether anything took some of it.

        Entries, turns and tools come in steps, and leave tokens that the next in line may not need. They go to the
        first class that comes in steps and to those behind it: what is more essential has all that it may have.
        """
        if left < _WORTH or self.options["policy"] != "truncate_then_continue":
            return False
        others = [bidder for bidder in self.bidders() if not bidder.required]
        cut = [bidder for bidder in others if bidder.load < bidder.size or self.share.tools is not None]
        able = [bidder for bidder in cut if self._offer(bidder, left) >= self._least_offer(bidder)]
        first = min([bidder.rank for bidder in others if self._in_steps(bidder)], default=None) if able else None
        taken = False
        for bidder in sorted(able, key=lambda bidder: bidder.rank):
            if left < _WORTH or first is None or bidder.rank < first:
                continue
            had, grant, claim = bidder.load, bidder.grant, bidder.claim(self.toll)
            offer = min(claim.wanted, self._offer(bidder, left))
            if had >= claim.wanted or offer < max(self._least_offer(bidder), claim.least):
                continue
            before = self._state(bidder)
            if bidder.take(offer) <= had:
                for owner, name, value in before:
                    setattr(owner, name, value)
                continue
            left -= bidder.load - had + (0 if had else self.toll)
            bidder.grant, taken = max(grant, bidder.load), True
        return taken

    def _state(self, bidder: Bidder) -> list[tuple[Any, str, Any]]:
        """Return what an offer may change, to put it back."""
        owners: list[Any] = [bidder, *((self.share, self.share.tools) if isinstance(bidder, OtherTurns) else ())]
        return [(owner, name, getattr(owner, name)) for owner in owners if owner for name in owner.__slots__]

    def _offer(self, bidder: Bidder, left: int) -> int:
        """Return what a bidder could have with what is left over."""
        return bidder.load + left - (0 if bidder.load else self.toll)

    def _least_offer(self, bidder: Bidder) -> int:
        """Return the fewest tokens that are worth an offer: the bidder did not use more of the last one."""
        return max(bidder.grant, self.offered.get(id(bidder), 0)) + _WORTH

    def _in_steps(self, bidder: Bidder) -> bool:
        """Return whether a bidder may have left some of its offer unused."""
        if not isinstance(bidder, Draft):
            return True
        smooth = bidder.section.keep in SMOOTH and isinstance(bidder.section.content, str)
        return bidder.state in ("form", "summarised") or (bidder.state == "cut" and not smooth)

    def bidders(self) -> Sequence[Bidder]:
        """Return what shares the budget, in the order of the page."""
        share = self.share
        turns = [share.pinned] if share.essential else []
        others = [share.others] if share.total > share.essential else []
        tools = [share.tools] if share.tools is not None and self._offers_tools else []
        return [*self.lives["system"], *tools, *turns, *others, *self.lives["user"]]

    @property
    def _alone(self) -> bool:
        """Whether sections are all that there is: then the result is that of `fit`."""
        share = self.share
        return not share.essential and share.total <= share.essential and not self._offers_tools

    @property
    def _offers_tools(self) -> bool:
        """Whether tools are chosen and any of them is wanted."""
        return self.share.tools is not None and self.share.tools.claim(0).wanted > 0

    def room(self) -> int:
        """Return the tokens that the bidders share, the separator of each section included."""
        room = self.budget - self.share.fixed
        if self.share.tools is not None:
            room -= self.share.tools.counts.once
        for page in _PAGES:
            if lives := self.lives[page]:
                frame = self.frames[page]
                sure = any(draft.section.required for draft in lives) or (self._alone and len(lives) == len(self.live))
                # A page that may stay empty has no separator to save, but its framing is saved then.
                room += (self.toll if sure else min(self.toll, frame)) - frame
        return room

    def _share(self, *, relevant: bool) -> HistoryShare:
        """Return the history as bidders; `relevant` says whether tools are chosen."""
        counts = self.counts_of_tools
        reply = self.history.turns.chat.framing.reply
        other = {"fields": self.count_of_fields[0]} if self.count_of_fields[0] else {}
        extra = {"tools": 0 if relevant or counts is None else counts.total, "system": 0, **other, "reply": reply}
        tools = self._tool_share() if relevant else None
        share = HistoryShare(
            history=self.history,
            options=self.turn_options,
            extra=extra,
            terms=self.terms,
            budget=self.budget,
            tools=tools,
            alone=not self.live and tools is None,
        )
        self.share = share
        must = sum([draft.wanted + self.toll for draft in self.live if draft.section.required])
        share.tight = must + share.essential + share.pinned_tools > self.room()
        return share

    def _tool_share(self) -> ToolShare:
        tools, counts = self.tools or (), self.counts_of_tools
        assert counts is not None
        return ToolShare(
            functions=functions_of(tools),
            counts=counts,
            order=relevant_order(
                tools, self.history, self._question(), self.turn_options["embed"], instructions=self._instructions()
            ),
            terms=self.terms,
            budget=self.budget,
            written=json_of(list(tools), "tools"),
        )

    def _instructions(self) -> str:
        """Return the text of the system prompt, by which tools are chosen too."""
        return "\n".join([draft.text for draft in self.lives["system"]])

    def _question(self) -> str | None:
        """Return the question by which tools are chosen; `None` if only the history has one."""
        query: str | None = self.turn_options["query"]
        if query is not None:
            return query
        asked = self.lives["user"]
        texts = [draft.text for draft in asked if draft.required] or [draft.text for draft in asked[-1:]]
        return "\n".join(texts) or None

    def _all_whole(self) -> bool:
        """Keep everything whole if no ceiling is exceeded and the whole counts at most the budget."""
        self.share = share = self._share(relevant=False)
        if share.wanted < share.total or any(draft.wanted < draft.size for draft in self.live):
            return False
        if self._above_ceiling(self.terms.tools_ceiling) or self._is_far_over(share.fixed + share.total):
            return False
        texts = {draft.name: draft.text for draft in self.live}
        apart = self._pages_count(texts)
        if apart + share.fixed + share.total > self.budget:
            return False
        share.fit = self.history.plan(self.budget - apart, share.extra, self.turn_options)
        if self._count(texts) > self.budget:
            return False
        for draft in self.live:
            draft.grant = draft.size
            draft.take(draft.size)
        return True

    def _count(self, texts: Mapping[str, str], budget_text: str | None = None) -> int:  # noqa: ARG002
        """Return the tokens of the request that would be sent with these texts: the request itself is counted."""
        if self.share.fit is None:
            planned = 0 if self.share.tools is None else self.share.tools.used
            return self.share.used + planned + self._pages_count(texts)
        body = self._body(texts)
        wire = self.history.turns.wire
        return self.meter.count_messages(
            body[wire.list_key],
            value_at(body, wire.tools_at),
            system=body.get(wire.system_key) if wire.system_key else None,
            fields=self.fields,
            format=wire.name,
        )

    def _body(self, texts: Mapping[str, str]) -> dict[str, Any]:
        """Return the request with these texts, without its other fields."""
        turns, fit, tools = self.history.turns, self.share.fit, self.share.tools
        assert fit is not None
        system, asked = (self.pages[page].text(texts) for page in _PAGES)
        messages = list(fit.sent_messages().messages)
        if asked and (last := self._joined_message()) is not None:
            messages[-1] = turns.wire.append(last, asked)
        elif asked:
            messages.append(turns.wire.say(asked))
        offered = self.tools
        if tools is not None:
            offered = [tool for index, tool in enumerate(self.tools or ()) if index in tools.kept]
        return turns.wire.body(messages, system=system, tools=offered, model=self.model)

    def _pages_count(self, texts: Mapping[str, str]) -> int:
        """Return the tokens of the system prompt and the message of the user."""
        written = {page: self.pages[page].text(texts) for page in _PAGES}
        return sum(self._page_count(page, text) for page, text in written.items() if text)

    def _page_count(self, page: str, text: str) -> int:
        turns = self.history.turns
        if page == "user" and (last := self._joined_message()) is not None:
            joined = turns.wire.append(last, text)
            return turns.chat.units(turns.wire.read(joined, 0)) - turns.chat.units(turns.wire.read(last, 0))
        return self.frames[page] + turns.chat.text(text)

    def _joined_message(self) -> Any | None:
        """Return the last message of the history if the user's text belongs into it: roles have to alternate."""
        turns, fit = self.history.turns, self.share.fit
        if not turns.wire.pairs or fit is None or not turns.messages or turns.messages[-1].role != "user":
            return None
        sent = fit.sent_messages().messages
        return sent[-1] if sent and turns.wire.read(sent[-1], 0).role == "user" else None

    def _above_ceiling(self, ceiling: Any) -> bool:
        return self.terms.keep_tools == "relevant" and ceiling is not None and bool(self.tools)

    def _beside(self, texts: Mapping[str, str]) -> dict[str, int]:
        share, counts = self.share, self.counts_of_tools
        named = {
            "tools": share.extra["tools"] or (counts.once if counts is not None and share.tools is not None else 0),
            "system messages": self.history.turns.fixed,
            "fields": self.count_of_fields[0],
            "framing": share.extra["reply"] + self._pages_count(dict.fromkeys(texts, " ")),
        }
        return {name: units for name, units in named.items() if units}

    def _result(self, texts: Mapping[str, str], used: int) -> Request:
        share, turns, fit = self.share, self.history.turns, self.share.fit
        if used > self.budget or fit is None:
            raise BrimError(f"a bug in brim: {used:,} tokens for a budget of {self.budget:,}; please report it")
        exact = self.count_of_fields[1] and (self.counts_of_tools is None or self.counts_of_tools.exact)
        before = {"tools": self.tools if share.tools is None else None, "system": None, "fields": self._shown()}
        fitted = self.history.fitted(fit, before, exact=exact, capture=False)
        body = self._body(texts)
        offered = value_at(body, turns.wire.tools_at)
        for name, value in (self.fields or {}).items():
            body[name] = {**value, **body[name]} if name in body and isinstance(value, Mapping) else value
        return Request(
            body=body,
            messages=body[turns.wire.list_key],
            system=self.pages["system"].text(texts),
            tools=None if self.tools is None else list(offered or ()),
            used=used,
            budget=self.budget,
            texts=dict(texts),
            _write=lambda: self._written(fitted, texts, used),
        )

    def _shown(self) -> dict[str, Any] | None:
        return None if self.fields is None else shown_fields(self.fields) or None

    def _written(self, fitted: Fitted, texts: Mapping[str, str], used: int) -> Receipt:
        """Return the receipt: the parts in the order of the page."""
        share, told = self.share, fitted.receipt
        rank = self.terms.history_rank
        turns = [part if part.required else part._replace(priority=rank) for part in told.parts]
        tools = [] if share.tools is None else [share.tools.part()]
        drafts = [draft.part() for draft in self.drafts]
        parts = (*drafts[: self.leading], *tools, *turns, *drafts[self.leading :])
        more = 0
        if not self.meter.exact:
            more = sum(self.meter.upper_load(text) - self.meter.load(text) for text in texts.values())
            more += self.meter.slack - self.meter.overhead
        history: dict[str, Any] = {}
        if len(self.history.turns.source):
            history = {**told.history, "granted": share.total if self.whole else share.granted}
        return replace(
            told,
            budget=self.budget,
            used=used,
            upper=used + more,
            joins=used - sum(part.used for part in parts),
            parts=parts,
            losses=losses(parts),
            policy=self.options["policy"],
            fill=self.options["fill"],
            stable_prefix=self._stable_prefix(drafts[: self.leading]),
            history=history,
            capture=self._input(told),
            captured=self.captured,
        )

    def _stable_prefix(self, parts: Sequence[Part]) -> int:
        """Return the tokens of the leading sections of the system prompt that are stable and whole."""
        prefix = 0
        for section, part in zip(self.sections, parts, strict=False):
            if part.present and not (section.stable and part.state == "whole"):
                break
            prefix += part.used
        return prefix

    def _input(self, told: Receipt) -> RequestCapture:
        """Return the input of the fit; it refers to the messages and does not copy them."""
        summaries = {draft.text: draft.summary for draft in self.drafts if draft.summary is not None}
        own = Capture(
            sections=self.sections,
            budget=self.budget,
            **self.named,
            measure=self.meter,
            options=self.options,
            summaries=summaries,
        )
        given = told.capture
        assert isinstance(given, HistoryInput)
        history = replace(given, budget=self.budget, tools=self.tools, fields=self.fields)
        return RequestCapture(
            sections=own, history=history, leading=self.leading, terms=self.terms.to_dict(), model=self.model
        )


def _by_tool(tools: Sequence[Any], counts: ToolCounts) -> ToolCounts:
    """Return the tokens of each tool; in some formats one holds several functions, or none."""
    each, at = [], 0
    for tool in tools:
        stop = at + len(definitions([tool]))
        each.append(sum(counts.each[at:stop]))
        at = stop
    return counts._replace(each=each)
