"""Divides a budget among claims: required claims first, then floors, then the rest, never more than the budget.

The claims are served in order of importance. The floors of less important claims are reserved before the wants of more
important ones, as long as the more important ones keep at least as much as they give up; tokens saved for the next
floor go only to later claims. So a bigger budget never takes tokens from more important claims: see
docs/design/allocation.md, and tests/sections/allocation_reference.py for the same rules in simple code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import floor, lcm
from typing import NamedTuple

from brim.receipts.receipt import Fill, Policy

Spend = Callable[[int, int], int]
"""Takes a claim's index and the tokens that it may use, and returns how many it uses; the others get the rest."""


class Claim(NamedTuple):
    """One section as the allocator sees it: numbers, no text."""

    wanted: int
    """Tokens that it could use."""
    least: int = 1
    """The smallest grant that it can use."""
    reserved: int | Fraction = 0
    """Tokens reserved for it before more important claims are served; a share of the budget is an exact fraction."""
    rank: int = 0
    """Its priority: lower is more essential."""
    required: bool = False
    """Whether it must be present."""
    weight: int | Fraction = 1
    """Its weight in fair shares, relative to the others of its rank."""
    toll: int = 0
    """Extra tokens that its presence costs, such as a separator."""
    elastic: bool = False
    """Whether it can use a smaller grant under any policy, as turns and tools are left out one by one."""

    @property
    def need(self) -> int | Fraction:
        """Tokens reserved for it, toll included."""
        return self.reserved + self.toll if self.reserved and self.wanted else 0

    @property
    def full(self) -> int:
        """The maximum that it can take, toll included."""
        return self.wanted + self.toll if self.wanted else 0


def _all(_index: int, grant: int) -> int:
    return grant


def allocate(
    claims: Sequence[Claim],
    budget: int,
    *,
    fill: Fill = "order",
    policy: Policy = "truncate_then_continue",
    spend: Spend = _all,
) -> list[int]:
    """Return the grant of each claim, in the order of the claims.

    The grants, and the tolls of all grants above zero, add up to at most `budget` if `essential` is at most `budget`.
    Tokens that `spend` does not use go to the claims after it.
    """
    if policy != "truncate_then_continue":
        claims = [claim if claim.required else _under(policy, claim) for claim in claims]
    stops = policy.endswith("stop")
    grants = [0] * len(claims)
    classes = _classes(claims)
    caps = _caps([[claims[i] for i in members] for members in classes], budget)
    spent = 0
    for members, cap in zip(classes, caps, strict=True):
        stopping = stops and not claims[members[0]].required
        room = floor(cap) - spent
        if fill == "order":
            taken, short = _in_order(claims, members, room, grants, spend, stops=stopping)
        else:
            taken, short = _in_shares(claims, members, room, grants, spend)
        spent += taken
        if stopping and short:
            break
    return grants


def essential(claims: Sequence[Claim]) -> int:
    """Return the minimum tokens of the required claims."""
    return sum([claim.least + claim.toll for claim in claims if claim.required and claim.wanted])


def _under(policy: Policy, claim: Claim) -> Claim:
    """Return the claim under another policy than the default: no floor is reserved; `skip` and `stop` cut nothing."""
    cuts = policy.startswith("truncate") or claim.elastic
    return claim._replace(reserved=0, least=claim.least if cuts else claim.wanted)


def _classes(claims: Sequence[Claim]) -> list[list[int]]:
    """Return the indexes of the claims grouped by rank, the most essential first."""
    classes: dict[tuple[bool, int], list[int]] = {}
    for i, claim in enumerate(claims):
        classes.setdefault((not claim.required, claim.rank), []).append(i)
    return [classes[key] for key in sorted(classes)]


def _caps(classes: Sequence[Sequence[Claim]], budget: int) -> list[int | Fraction]:
    """Return, for each class, how many tokens it and the classes before it may spend together."""
    gates: list[tuple[int | Fraction, int | Fraction]] = []
    gate: int | Fraction = 0
    before = 0
    for members in classes:
        need: int | Fraction = sum([claim.need for claim in members if claim.reserved])
        kept = gate if members[0].required else min(before, need + gate)
        if need:
            gate = need + kept
        gates.append((need, kept))
        before += sum([claim.full for claim in members])
    caps: list[int | Fraction] = []
    room: int | Fraction = budget
    for need, kept in reversed(gates):
        caps.append(room)
        if need:
            room = room - need if room >= need + kept else min(room, kept)
    return caps[::-1]


def _in_order(
    claims: Sequence[Claim], members: Sequence[int], room: int, grants: list[int], spend: Spend, *, stops: bool
) -> tuple[int, bool]:
    """Serve a class claim by claim; return the tokens spent, and whether a claim got less than it wanted.

    Floors of the class are reserved. If a claim cannot use its floor, the class is served again without it.
    """
    floors = _affordable_floors(claims, members, room)
    while True:
        reserved = sum(floors.values())
        spent, short = 0, False
        for i in members:
            claim = claims[i]
            reserved -= floors.get(i, 0)
            offer = min(claim.wanted, room - spent - reserved - claim.toll)
            grants[i] = min(spend(i, offer), offer) if 0 < claim.least <= offer else 0
            spent += grants[i] + claim.toll if grants[i] else 0
            short = short or offer < claim.wanted
            if stops and short:
                break
        useless = [i for i in floors if not grants[i]]
        if not useless:
            return spent, short
        for i in useless:
            del floors[i]


def _in_shares(
    claims: Sequence[Claim], members: Sequence[int], room: int, grants: list[int], spend: Spend
) -> tuple[int, bool]:
    """Serve the claims of a class in fair shares; return the tokens spent, and whether one fell short.

    Claims that cannot use their shares give them up, starting with the later half of these claims. A claim that
    uses part of its share keeps that part, and the others share the rest.
    """
    active = list(members)
    offers: dict[int, int] = {}
    spent = 0
    while active:
        offers |= dict(zip(active, _shares([claims[i] for i in active], room - spent), strict=True))
        for i in active:
            grants[i] = min(spend(i, offers[i]), offers[i]) if offers[i] else 0
        useless = [i for i in active if offers[i] and not grants[i]]
        partly = [i for i in active if grants[i] < offers[i]]
        if not partly or len(active) == 1:
            break
        leaving = set(useless[len(useless) // 2 :] or partly)
        active = [i for i in active if i not in leaving]
        spent += sum(grants[i] + claims[i].toll for i in leaving if grants[i])
    spent = sum(grants[i] + claims[i].toll for i in members if grants[i])
    return spent, any(offers[i] < claims[i].wanted for i in members)


def _affordable_floors(claims: Sequence[Claim], members: Sequence[int], room: int) -> dict[int, int]:
    """Return the cost of each floor of a class in order, up to the first that does not fit."""
    floors = {}
    for i in members:
        cost = claims[i].least + claims[i].toll
        if claims[i].reserved and claims[i].wanted and cost <= room:
            floors[i] = cost
            room -= cost
    return floors


def _shares(claims: Sequence[Claim], room: int) -> list[int]:
    """Return the grants of a class: floors first, in order, then fair shares."""
    minimums = _affordable_floors(claims, range(len(claims)), room)
    room -= sum(minimums.values())
    for i, claim in enumerate(claims):
        if i not in minimums and claim.wanted and room >= claim.least + claim.toll:
            minimums[i] = claim.least + claim.toll
            room -= minimums[i]
    grants = [0] * len(claims)
    for i, grant in zip(sorted(minimums), _fill_evenly([claims[i] for i in sorted(minimums)], room), strict=True):
        grants[i] = grant
    return grants


def _fill_evenly(claims: Sequence[Claim], room: int) -> list[int]:
    """Return each claim's least plus its part of `room`, added token by token to the lowest grant per weight."""
    starts = [claim.least for claim in claims]
    gaps = [claim.wanted - claim.least for claim in claims]
    if sum(gaps) <= room:
        return [claim.wanted for claim in claims]
    weights = [Fraction(claim.weight) for claim in claims]
    scale = lcm(*(weight.numerator for weight in weights))
    steps = [scale // weight.numerator * weight.denominator for weight in weights]

    def below(level: int) -> list[int]:
        """Return the tokens that each claim takes as long as its grant times its step is under `level`."""
        return [
            min(gap, max(0, -(-level // step) - start)) for gap, step, start in zip(gaps, steps, starts, strict=True)
        ]

    low, high = 0, max(claim.wanted * step for claim, step in zip(claims, steps, strict=True)) + 1
    while high - low > 1:
        middle = (low + high) // 2
        if sum(below(middle)) <= room:
            low = middle
        else:
            high = middle
    taken = below(low)
    left = room - sum(taken)
    for i, (had, upto) in enumerate(zip(below(low), below(low + 1), strict=True)):
        if left and upto > had:
            taken[i] += 1
            left -= 1
    return [start + units for start, units in zip(starts, taken, strict=True)]
