"""Builds what is sent for a request: the same bytes if it fits, otherwise the body with fitted messages."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

from brim.errors import DoesNotFit
from brim.gateway.client.parsed import Parsed, with_answer
from brim.gateway.fit import added_sections
from brim.gateway.fit.added_sections import AddedSections, HeldChoice
from brim.gateway.fit.planned import CUTS, REFUSE, WARN, Planned
from brim.gateway.http.problem import HttpProblem, overflow
from brim.gateway.recall.calls import offered
from brim.history.stable import Stable
from brim.sessions.conversations import Conversations
from brim.sessions.conversations.request import FittedRequest
from brim.sessions.learning.scope import LearnedValues
from brim.settings.spec import Spec

_FAR = 2
"""If a request takes at most a half of its budget, by an exact count, its conversation is not looked up: that would
take ten times as long as counting, and change nothing.
"""

_NAMES = {
    "system": "system prompt",
    "system messages": "system prompt",
    "newest turn and task, cut": "newest messages and task",
    "reply": "start of the reply",
}
"""Names of parts in a rejection, where they differ from those of `DoesNotFit`."""
_SHORTER = "Shorten the system prompt"
_ADVICE = {
    "system": _SHORTER,
    "system messages": _SHORTER,
    "tools": "Offer fewer or smaller tools",
    "pinned": "Pin fewer messages",
    "newest turn and task, cut": "Shorten the newest message",
}
"""What to do about the largest part."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class FittedBody:
    """What is sent, and what was done to it."""

    parsed: Parsed
    planned: Planned | None = None
    """`None` if the request is passed on without being counted."""
    body: bytes = field(repr=False)
    policy: str
    before: int | None = None
    """Tokens of the request as it was received; `None` if it was not counted."""
    after: int | None = None
    """Tokens of what is sent."""
    method: str | None = None
    edits: int = 0
    """Messages that were dropped or changed."""
    answer: int | None = None
    """The new limit on the answer in tokens, if it was lowered."""
    over: int = 0
    """Tokens by which it exceeds its budget, with the policy `warn`."""
    passed: str = ""
    """Why it is passed on without being fitted, if it is."""
    recalls: bool = False
    """Whether the model was offered the recall tool."""
    budget: int | None = None
    compacts_at: int | None = None
    """Tokens at which the provider was asked to compact; `None` if it was not asked."""
    request: FittedRequest | None = field(default=None, repr=False)
    """The engine's request, which learns from the answer."""

    @property
    def shrinks(self) -> bool:
        """Whether a smaller request may be sent if this one is rejected as too long."""
        return self.planned is not None and self.after is not None and self.planned.policy in CUTS


def passed(parsed: Parsed, policy: str, why: str) -> FittedBody:
    """Return a request that is passed on without being fitted."""
    return FittedBody(parsed=parsed, body=parsed.body, policy=policy, passed=why)


@dataclass(frozen=True, kw_only=True, slots=True)
class Fitter:
    """Fits the requests of a gateway. Threads may share it."""

    engine: Conversations
    sections: LearnedValues[HeldChoice]
    """The newest sections of each conversation."""
    keeps: bool
    """Whether a store keeps the conversations, so that every request is looked up."""

    def fit(self, planned: Planned, most: int | None = None) -> FittedBody:
        """Return what to send; after a rejection, `most` is the maximum number of tokens.

        Raises:
            HttpProblem: the parts that must stay are too long, or the policy refuses long requests.
        """
        added = None
        if planned.sections is not None:
            added = added_sections.whole(planned.sections, planned.given, self._counter(planned))
            planned = _with(planned, added)
        try:
            made = self._whole(planned) if most is None else None
            if made is None and added is not None and planned.room is not None:
                made, added = self._shared(planned, added, most)
            if made is None:
                made = planned.continued(self.engine, room=planned.room, most=most)
        except DoesNotFit as error:
            raise too_long(planned, error.needed, error.available, error.parts) from error
        found = written(planned, made)
        if added is None or not added.text:
            return found
        return replace(
            found, body=added_sections.inserted(found.body.decode(), found.parsed.format, added.text).encode()
        )

    def count(self, planned: Planned) -> tuple[int, bool]:
        """Return the tokens of a request without its conversation, and whether the count is exact."""
        size = self.engine.count(planned.given, planned.engine)
        return size.tokens + planned.given.extra, size.exact

    def _counter(self, planned: Planned) -> added_sections.Count:
        return lambda given: self.engine.count(given, planned.engine).tokens

    def _whole(self, planned: Planned) -> FittedRequest | None:
        """Return the request if it can be sent unchanged; `None` if it may have to be cut.

        Raises:
            HttpProblem: it is too long, and the policy refuses it.
        """
        room = planned.room
        tokens, exact = self.count(planned)
        alone = exact and not self.keeps and (room is None or tokens * _FAR <= room.fits)
        if planned.policy in CUTS and room is not None and (not alone or planned.lowers(tokens)):
            return None
        made = unchanged(planned, tokens, exact=exact)
        if not alone:
            made = planned.continued(self.engine, room=None)
            if made.before is None:
                made.before, made.exact = tokens, exact
            made.room = room
        if planned.policy == REFUSE and room is not None and (made.before or 0) > room.fits:
            raise too_long(planned, made.before or 0, room.fits)
        return made

    def _shared(self, planned: Planned, added: AddedSections, most: int | None) -> tuple[FittedRequest, AddedSections]:
        """Return the request with the sections that share its budget.

        Raises:
            DoesNotFit: the parts that must stay are too long.
        """
        room, spec = planned.room, planned.sections
        assert room is not None
        assert spec is not None
        last = planned.continued(self.engine, room=None)
        size = last.before if last.before is not None else self.count(planned)[0]
        if most is None and size <= room.fits:
            return planned.continued(self.engine, room=room), added
        target = room.target if most is None else min(room.target, most)
        scope, name, size = planned.engine.scope, last.conversation, size - planned.given.extra
        stable = planned.settings.stable
        held = self.sections.get(scope, name) if stable and most is None else None
        if held is not None and held.holds(size, target, room.fits):
            chosen = added_sections.recounted(held.added, planned.given, self._counter(planned))
        else:
            chosen = self._chosen(planned, spec, target, stable=stable)
        try:
            made = _with(planned, chosen).continued(self.engine, room=room, most=most)
        except DoesNotFit as error:  # The provider's report for the last prompt may exceed our own count.
            chosen = self._chosen(planned, spec, target - max(1, error.needed - error.available), stable=stable)
            made = _with(planned, chosen).continued(self.engine, room=room, most=most)
        self.sections.put(scope, HeldChoice(chosen, size, made.used or 0, target), name)
        return made, chosen

    def _chosen(self, planned: Planned, spec: Spec, target: int, *, stable: bool) -> AddedSections:
        """Return the sections for a budget; stable mode leaves some of it free, so that the next prompts only append.

        Raises:
            DoesNotFit: the parts that must stay are too long.
        """
        choose = partial(added_sections.shared, spec, planned.given, scale=planned.scale, count=self._counter(planned))
        if stable:
            with suppress(DoesNotFit):
                return choose(budget=int(target * Stable().low))
        return choose(budget=target)


def unchanged(planned: Planned, tokens: int, *, exact: bool) -> FittedRequest:
    """Return a request of `tokens` that is sent as it is and belongs to no conversation."""
    given = planned.given
    return FittedRequest(
        messages=list(given.messages), places=[], input=given, before=tokens, room=planned.room, exact=exact
    )


def written(planned: Planned, made: FittedRequest) -> FittedBody:
    """Return what to send for a fitted request.

    Raises:
        HttpProblem: the body can be read in two ways, so it cannot be shortened.
    """
    parsed, room = planned.parsed, made.room
    same = not made.changed and made.answer is None
    found = FittedBody(
        parsed=parsed,
        planned=planned,
        body=parsed.body,
        policy=planned.policy,
        before=made.before,
        after=made.before if same else made.used,
        method=None if same and made.before is None else planned.method(exact=made.exact),
        over=max(0, (made.before or 0) - room.fits) if same and room is not None and planned.policy == WARN else 0,
        passed="window-unknown" if same and room is None else "",
        budget=None if room is None else room.fits if same else room.target,
        request=made,
    )
    if same:
        return found
    strict = parsed.strict()
    text = strict.placed(made.messages, made.places) if made.changed else parsed.text
    if made.recalls:
        text = offered(text, parsed.format)
    if made.answer is not None:
        text = with_answer(text, made.answer)
    kept = sum(place is not None for place in made.places)
    edits = max(1, len(strict.messages) - kept) if made.changed else 0
    return replace(found, body=text.encode(), edits=edits, answer=made.answer, recalls=made.recalls)


def too_long(planned: Planned, needed: int, most: int, parts: Mapping[str, int] | None = None) -> HttpProblem:
    """Return the rejection of a request: over the window, over it with the answer, or over the configured budget.

    Args:
        planned: the request.
        needed: its tokens, after all that can be dropped.
        most: the tokens that fit.
        parts: the tokens of each part that must stay; without them the policy is to refuse the request uncut.
    """
    room, limit, answer = planned.room, most, None
    if room is not None and needed > most:
        most = limit = min(most, room.most)  # An estimate was allowed to take more than the budget.
        if needed > room.window:
            limit = room.window
        elif room.answer is not None and needed + room.answer > room.window:
            limit, answer = room.window, room.answer
    return overflow(planned.parsed.route, needed, limit, answer, _why(needed, most, answer, parts))


def _why(needed: int, most: int, answer: int | None, parts: Mapping[str, int] | None) -> str:
    """Return what brim refused, which parts are too long, and what to do."""
    head, fits = "brim refused this request and did not send it", f"and {most:,} fit"
    fits += "" if answer is None else f" besides the answer of {answer:,}"
    if parts is None:
        advice = "Send fewer messages, or use the policy fit, with which brim shortens the request."
        return f"{head}: it takes {needed:,} tokens, {fits} (policy refuse). {advice}"
    sized = sorted(parts.items(), key=lambda part: part[1], reverse=True)
    listed = ", ".join(f"{_NAMES.get(name, name)} {tokens:,}" for name, tokens in sized if tokens)
    what = (
        f"the parts that must stay take {needed:,} tokens after shortening ({listed})" if listed else "it is too long"
    )
    advice = _ADVICE.get(sized[0][0] if sized else "", "Shorten the largest part")
    advice += ", request a shorter answer" if answer is not None else ""
    return f"{head}: {what}, {fits}. {advice}, or use a model with a larger window."


def doubt(parsed: Parsed, planned: Planned, *, answer_counts: bool) -> str | None:
    """Return why a body may not fit unchanged; `None` if it certainly fits, or need not fit."""
    room = planned.room
    if room is None or planned.policy == WARN:
        return None
    most = parsed.most_tokens(planned.scale)
    if most is None:
        return "; the tokens of its images and files are unknown"
    fits = room.fits
    if parsed.answer is not None and answer_counts:
        fits = min(fits, room.window - parsed.answer)
    return f"; it may have {most:,} tokens, and only {fits:,} fit" if most > fits else None


def _with(planned: Planned, added: AddedSections) -> Planned:
    """Return a request whose count includes the added sections."""
    return replace(planned, given=replace(planned.given, extra=added.tokens, parts=added.parts))
