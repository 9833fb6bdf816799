"""The allocator's rules again, slow and obvious: the tests hold the solver against it.

Money is handed out one unit at a time, and the line is cut at its last floor again and again, as
docs/design/allocation.md tells it.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import floor

from brim.sections.allocation import Claim


def allocate(
    claims: Sequence[Claim], budget: int, *, fill: str = "order", policy: str = "truncate_then_continue"
) -> list[int]:
    """Return the grant of each claim, in the order of the claims."""
    if policy != "truncate_then_continue":
        claims = [claim if claim.required else claim._replace(reserved=0) for claim in claims]
    if policy in ("skip", "stop"):
        claims = [claim if claim.required else claim._replace(least=claim.wanted) for claim in claims]
    classes = [
        [i for i, claim in enumerate(claims) if (not claim.required, claim.rank) == key]
        for key in sorted({(not claim.required, claim.rank) for claim in claims})
    ]
    stops = policy in ("stop", "truncate_then_stop")
    granted = _serve([[claims[i] for i in members] for members in classes], budget, fill=fill)
    grants = [0] * len(claims)
    for members, row in zip(classes, granted, strict=True):
        for i, grant in zip(members, row, strict=True):
            grants[i] = grant
    if stops:
        _stop(claims, classes, grants, fill=fill)
    return grants


def _serve(levels: list[list[Claim]], money: int | Fraction, *, fill: str) -> list[list[int]]:
    """Serve all levels but the last with what the last leaves them, then the last with what they left."""
    if not levels:
        return []
    *front, last = levels
    need = _need(last)
    if not need:
        for_front = money
    else:
        kept = _kept(front, last)
        for_front = money - need if money >= need + kept else min(money, kept)
    rows = _serve(front, for_front, fill=fill)
    spent = sum(
        grant + claim.toll
        for level, row in zip(front, rows, strict=True)
        for claim, grant in zip(level, row, strict=True)
        if grant
    )
    left = floor(money) - spent
    served = _share(last, left) if fill == "fair" else _line(last, left)
    return [*rows, served]


def _need(level: list[Claim]) -> int | Fraction:
    return sum(claim.need for claim in level)


def _kept(front: list[list[Claim]], last: list[Claim]) -> int | Fraction:
    """Return what the levels in front keep before the last one's floor is held against them."""
    settled = _gate(front)
    if last[0].required:
        return settled
    everything = sum(claim.full for level in front for claim in level)
    return min(everything, _need(last) + settled)


def _gate(levels: list[list[Claim]]) -> int | Fraction:
    """Return the money at which every floor in the line is held."""
    if not levels:
        return 0
    *front, last = levels
    need = _need(last)
    return need + _kept(front, last) if need else _gate(front)


def _line(claims: list[Claim], money: int) -> list[int]:
    """Seat the floors that can be met, in order; then raise each claim in turn, one unit at a time."""
    grants = [0] * len(claims)
    for i, claim in enumerate(claims):
        if claim.reserved and claim.wanted and money >= claim.least + claim.toll:
            grants[i] = claim.least
            money -= claim.least + claim.toll
    for i, claim in enumerate(claims):
        if not grants[i] and claim.wanted and money >= claim.least + claim.toll:
            grants[i] = claim.least
            money -= claim.least + claim.toll
        while 0 < grants[i] < claim.wanted and money > 0:
            grants[i] += 1
            money -= 1
    return grants


def _share(claims: list[Claim], money: int) -> list[int]:
    """Seat those with floors, then the others, in order; then hand out single units to whoever has least."""
    grants = [0] * len(claims)
    for with_floor in (True, False):
        for i, claim in enumerate(claims):
            if bool(claim.reserved) is with_floor and claim.wanted and money >= claim.least + claim.toll:
                grants[i] = claim.least
                money -= claim.least + claim.toll
    while money > 0:
        hungry = [i for i, claim in enumerate(claims) if grants[i] and grants[i] < claim.wanted]
        if not hungry:
            break
        poorest = min(hungry, key=lambda i: (Fraction(grants[i]) / Fraction(claims[i].weight), i))
        grants[poorest] += 1
        money -= 1
    return grants


def _stop(claims: Sequence[Claim], classes: list[list[int]], grants: list[int], *, fill: str) -> None:
    """Take back everything behind the first claim, or the first class of shares, that is short."""
    stopped = False
    for members in classes:
        short = not claims[members[0]].required and any(grants[i] < claims[i].wanted for i in members)
        for i in members:
            if stopped:
                grants[i] = 0
            elif fill == "order" and short and grants[i] < claims[i].wanted:
                stopped = True
        stopped = stopped or short
