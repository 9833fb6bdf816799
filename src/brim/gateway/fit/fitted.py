"""What is sent for a request: the same bytes if it fits, or the body with what fits in place of its messages."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

from brim.errors import DoesNotFit
from brim.gateway.client.parsed import Parsed, with_answer
from brim.gateway.fit import added_sections
from brim.gateway.fit.added_sections import AddedSections, HeldChoice, HeldSections
from brim.gateway.fit.planned import CUTS, REFUSE, WARN, Planned
from brim.gateway.http.problem import HttpProblem, overflow
from brim.gateway.recall.calls import offered
from brim.history.stable import Stable
from brim.sessions.conversations import Conversations
from brim.sessions.conversations.request import FittedRequest
from brim.settings.spec import Spec

_FAR = 2
"""A request whose count is exact, and that takes at most one part in so many of its budget, is sent as it came. Its
conversation is not looked up: that costs ten times the count, and would not change it."""
_TRIES = 3
"""How often sections are chosen for less, if the messages do not fit beside them."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class FittedBody:
    """What is sent, and what was done to it."""

    parsed: Parsed
    planned: Planned | None = None
    """`None` if it is passed on without a look."""
    body: bytes = field(repr=False)
    policy: str
    before: int | None = None
    """Tokens of the request as it came; `None` if nobody counted."""
    after: int | None = None
    """Tokens of what is sent."""
    method: str | None = None
    edits: int = 0
    """Messages that are not sent as they came."""
    answer: int | None = None
    """The tokens that are asked for the answer, if they were lowered."""
    over: int = 0
    """Tokens by which it is over its budget; not 0 only if nothing may be changed."""
    passed: str = ""
    """Why it is passed on without a look, if it is."""
    recalls: bool = False
    """Whether the model was offered to recall what was dropped."""
    budget: int | None = None
    compacts_at: int | None = None
    """Tokens at which the provider was asked to compact; `None` if it was not asked."""
    request: FittedRequest | None = field(default=None, repr=False)
    """The request as the engine knows it, to learn from its answer."""

    @property
    def shrinks(self) -> bool:
        """Whether a smaller request may be sent if this one is refused as too long."""
        return self.planned is not None and self.after is not None and self.planned.policy in CUTS


def passed(parsed: Parsed, policy: str, why: str) -> FittedBody:
    """Return a request that is passed on without a look."""
    return FittedBody(parsed=parsed, body=parsed.body, policy=policy, passed=why)


@dataclass(frozen=True, kw_only=True, slots=True)
class Fitter:
    """What a fit needs of the gateway. Safe for threads."""

    engine: Conversations
    sections: HeldSections
    keeps: bool
    """Whether a store keeps the conversations, so that each request is a part of one."""

    def fit(self, planned: Planned, most: int | None = None) -> FittedBody:
        """Return what is sent; with `most`, in at most so many tokens, after a refusal.

        Raises:
            HttpProblem: what has to stay is too long, or the policy is to refuse a long request.
        """
        added = None
        if planned.sections is not None:
            added = added_sections.whole(planned.sections, planned.given, self._counter(planned))
            planned = _with(planned, added)
        room = planned.room
        try:
            if most is None:
                made = self._whole(planned)
                if made is not None:
                    return _with_sections(made, added)
            if added is not None and room is not None:
                made_request, added = self._shared(planned, added, most)
            else:
                made_request = planned.continued(self.engine, room=room, most=most)
        except DoesNotFit as error:
            raise too_long(planned, error.needed, error.available) from error
        return _with_sections(written(planned, made_request), added)

    def count(self, planned: Planned) -> tuple[int, bool]:
        """Return the tokens of a request without its conversation, and whether that is an exact count."""
        size = self.engine.count(planned.given, planned.engine)
        return size.tokens + planned.given.extra, size.exact

    def _counter(self, planned: Planned) -> added_sections.Count:
        return lambda given: self.engine.count(given, planned.engine).tokens

    def _whole(self, planned: Planned) -> FittedBody | None:
        """Return what is sent if the request stays as it is; `None` if it has to be cut, or may have to be.

        Raises:
            HttpProblem: it is too long, and the policy is to refuse it.
        """
        room, made = planned.room, None
        tokens, exact = self.count(planned)
        alone = exact and not self.keeps and (room is None or tokens * _FAR <= room.fits)
        if planned.policy in CUTS and room is not None and (not alone or planned.lowers(tokens)):
            return None
        if not alone:
            made = planned.continued(self.engine, room=None)
            tokens, exact = (tokens, exact) if made.before is None else (made.before, made.exact)
        return whole(planned, tokens, exact=exact, made=made)

    def _shared(
        self, planned: Planned, added: AddedSections, most: int | None
    ) -> tuple[FittedRequest, AddedSections | None]:
        """Return the request with the sections that share its budget.

        Raises:
            DoesNotFit: what has to stay is too long.
        """
        room, spec = planned.room, planned.sections
        assert room is not None
        assert spec is not None
        last = planned.continued(self.engine, room=None)
        size = last.before if last.before is not None else self.count(planned)[0]
        if most is None and size <= room.fits:
            return planned.continued(self.engine, room=room), added
        target = room.target if most is None else min(room.target, most)
        name, size, count = last.conversation, size - planned.given.extra, self._counter(planned)
        stable = planned.settings.stable
        held = self.sections.get(name, size, target, room.fits) if stable and most is None else None
        chosen = None if held is None else added_sections.recounted(held, planned.given, count)
        for tries in range(_TRIES, -1, -1):
            chosen = chosen or self._chosen(planned, spec, target, stable=stable)
            try:
                made = _with(planned, chosen).continued(self.engine, room=room, most=most)
            except DoesNotFit as error:  # What was reported for the last prompt may leave less than was counted.
                if not tries:
                    raise
                chosen, target = None, target - max(1, error.needed - error.available)
            else:
                self.sections.put(name, HeldChoice(chosen, size, made.used or 0, target))
                return made, chosen
        raise AssertionError

    def _chosen(self, planned: Planned, spec: Spec, target: int, *, stable: bool) -> AddedSections:
        """Return the sections for a budget: in stable mode for less of it, so that the next prompts only append.

        Raises:
            DoesNotFit: what has to stay is too long.
        """
        choose = partial(added_sections.shared, spec, planned.given, scale=planned.scale, count=self._counter(planned))
        if stable:
            with suppress(DoesNotFit):
                return choose(budget=int(target * Stable().low))
        return choose(budget=target)


def whole(planned: Planned, tokens: int, *, exact: bool, made: FittedRequest | None = None) -> FittedBody:
    """Return what is sent if the request stays as it is.

    `made` is the request as the next one of its conversation, if it was counted so.

    Raises:
        HttpProblem: it is too long, and the policy is to refuse it.
    """
    room, given = planned.room, planned.given
    over = max(0, tokens - room.fits) if room is not None else 0
    if over and planned.policy == REFUSE and room is not None:
        raise too_long(planned, tokens, room.fits)
    if made is None:
        made = FittedRequest(messages=list(given.messages), places=[], input=given, before=tokens)
    made.room = room
    return FittedBody(
        parsed=planned.parsed,
        planned=planned,
        body=planned.parsed.body,
        policy=planned.policy,
        before=tokens,
        after=tokens,
        method=planned.method(exact=exact),
        over=over,
        passed="" if room is not None else "window-unknown",
        budget=room.fits if room is not None else None,
        request=made,
    )


def written(planned: Planned, made: FittedRequest) -> FittedBody:
    """Return what is sent for a fitted request.

    Raises:
        HttpProblem: the body can be read in two ways, so it cannot be shortened.
    """
    parsed, room = planned.parsed, made.room
    same = not made.changed and made.answer is None
    told = FittedBody(
        parsed=parsed,
        planned=planned,
        body=parsed.body,
        policy=planned.policy,
        before=made.before,
        after=made.before if same else made.used,
        method=None if same and made.before is None else planned.method(exact=made.exact),
        passed="window-unknown" if same and room is None else "",
        budget=None if room is None else room.fits if same else room.target,
        request=made,
    )
    if same:
        return told
    strict = parsed.strict()
    text = strict.placed(made.messages, made.places) if made.changed else parsed.text
    if made.recalls:
        text = offered(text, parsed.format)
    if made.answer is not None:
        text = with_answer(text, made.answer)
    kept = sum(place is not None for place in made.places)
    edits = max(1, len(strict.messages) - kept) if made.changed else 0
    return replace(told, body=text.encode(), edits=edits, answer=made.answer, recalls=made.recalls)


def too_long(planned: Planned, needed: int, most: int) -> HttpProblem:
    """Return the refusal of a request: over the window, over it with the answer, or over what the settings allow."""
    room, route = planned.room, planned.parsed.route
    if room is None or needed <= most:
        return overflow(route, needed, most)
    if needed > room.window:
        return overflow(route, needed, room.window)
    if room.answer is not None and needed + room.answer > room.window:
        return overflow(route, needed, room.window, room.answer)
    return overflow(route, needed, most)


def doubt(parsed: Parsed, planned: Planned, *, answer_counts: bool) -> str | None:
    """Return why it is not certain that a body fits as it came; `None` if it is, or if nothing is promised."""
    room = planned.room
    if room is None or planned.policy == WARN:
        return None
    most = parsed.most_tokens(planned.scale)
    if most is None:
        return "; the tokens of its images and files are unknown"
    fits = room.fits
    if parsed.answer is not None and answer_counts:
        fits = min(fits, room.window - parsed.answer)
    return f"; its body may take {most:,} tokens, and {fits:,} fit" if most > fits else None


def _with(planned: Planned, added: AddedSections) -> Planned:
    """Return a request of which some sections are counted as a part."""
    return replace(planned, given=replace(planned.given, extra=added.tokens, parts=added.parts))


def _with_sections(found: FittedBody, added: AddedSections | None) -> FittedBody:
    """Return what is sent with sections in its system prompt.

    Raises:
        HttpProblem: the body can be read in two ways.
    """
    if added is None or not added.text:
        return found
    text = added_sections.inserted(found.body.decode(), found.parsed.format, added.text)
    return replace(found, body=text.encode())
