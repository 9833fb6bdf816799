"""Divides a budget among claims: essentials first, floors before wants, nothing over.

The claims stand in a line, the most essential first. Floors further down the line are held against the wants
before them as long as those keep at least as much as they yield; what is being saved up for the next floor
flows only to claims behind it. That is what makes a bigger budget never take from the essential: see
docs/design/allocation.md, and `reference.py` for the same rules written slowly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import floor, lcm

from brim.sections.claim import Claim

FILLS = ("order", "fair")
POLICIES = ("truncate_then_continue", "truncate_then_stop", "skip", "stop")

Spend = Callable[[int, int], int]
"""Told a claim's index and the units that it may have, returns how many it takes of them; the rest flows on."""


def allocate(
    claims: Sequence[Claim],
    budget: int,
    *,
    fill: str = "order",
    policy: str = "truncate_then_continue",
    spend: Spend | None = None,
) -> list[int]:
    """Return the grant of each claim, in the order of the claims.

    The grants and the tolls of those that are not zero add up to at most `budget`, provided that `essential`
    does not say more. What `spend` does not take flows to the claims behind.
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
        money = floor(cap) - spent
        if fill == "order":
            taken, short = _in_order(claims, members, money, grants, spend or _all, stops=stopping)
        else:
            taken, short = _in_shares(claims, members, money, grants, spend or _all)
        spent += taken
        if stopping and short:
            break
    return grants


def essential(claims: Sequence[Claim]) -> int:
    """Return how many units the required claims take at the least."""
    return sum(claim.least + claim.toll for claim in claims if claim.required and claim.wanted)


def _all(_index: int, grant: int) -> int:
    return grant


def _under(policy: str, claim: Claim) -> Claim:
    """Return the claim as another policy than the usual reads it: no floor is held, `skip` and `stop` cut nothing."""
    return claim._replace(held=0, least=claim.least if policy.startswith("truncate") else claim.wanted)


def _classes(claims: Sequence[Claim]) -> list[list[int]]:
    """Return the claims' indices by class, the most essential class first, in the order given inside each."""
    classes: dict[tuple[bool, int], list[int]] = {}
    for i, claim in enumerate(claims):
        classes.setdefault((not claim.required, claim.rank), []).append(i)
    return [classes[key] for key in sorted(classes)]


def _caps(classes: Sequence[Sequence[Claim]], budget: int) -> list[int | Fraction]:
    """Return, for each class, how many units it and all the classes before it may spend."""
    gates: list[tuple[int | Fraction, int | Fraction]] = []
    gate: int | Fraction = 0
    before = 0
    for members in classes:
        need: int | Fraction = sum(claim.need for claim in members)
        kept = gate if members[0].required else min(before, need + gate)
        if need:
            gate = need + kept
        gates.append((need, kept))
        before += sum(claim.full for claim in members)
    caps: list[int | Fraction] = []
    room: int | Fraction = budget
    for need, kept in reversed(gates):
        caps.append(room)
        if need:
            room = room - need if room >= need + kept else min(room, kept)
    return caps[::-1]


def _in_order(
    claims: Sequence[Claim], members: Sequence[int], money: int, grants: list[int], spend: Spend, *, stops: bool
) -> tuple[int, bool]:
    """Serve a class one by one, its floors seated first; return what was spent, and whether one fell short.

    A seat that its claim cannot use is given up, and the class served again without it.
    """
    seats = _seats(claims, members, money)
    while True:
        spent, short = _in_line(claims, members, money, grants, spend, seats=seats, stops=stops)
        useless = [i for i in seats if not grants[i]]
        if not useless:
            return spent, short
        for i in useless:
            del seats[i]


def _in_line(
    claims: Sequence[Claim],
    members: Sequence[int],
    money: int,
    grants: list[int],
    spend: Spend,
    *,
    seats: Mapping[int, int],
    stops: bool,
) -> tuple[int, bool]:
    held = sum(seats.values())
    spent, short = 0, False
    for i in members:
        claim = claims[i]
        held -= seats.get(i, 0)
        offer = min(claim.wanted, money - spent - held - claim.toll)
        grants[i] = min(spend(i, offer), offer) if 0 < claim.least <= offer else 0
        spent += grants[i] + claim.toll if grants[i] else 0
        short = short or offer < claim.wanted
        if stops and short:
            break
    return spent, short


def _in_shares(
    claims: Sequence[Claim], members: Sequence[int], money: int, grants: list[int], spend: Spend
) -> tuple[int, bool]:
    """Serve a class together, in fair shares; return what was spent, and whether one fell short.

    Who cannot use its share leaves it to the others, the later half of them first. Who uses a part keeps that, and
    the others share the rest.
    """
    active = list(members)
    offers: dict[int, int] = {}
    spent = 0
    while active:
        offers |= dict(zip(active, _shares([claims[i] for i in active], money - spent), strict=True))
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


def _seats(claims: Sequence[Claim], members: Sequence[int], money: int) -> dict[int, int]:
    """Return the members of a class whose floors can be met, in order, each with what that takes."""
    seats = {}
    for i in members:
        cost = claims[i].least + claims[i].toll
        if claims[i].held and claims[i].wanted and cost <= money:
            seats[i] = cost
            money -= cost
    return seats


def _shares(claims: Sequence[Claim], money: int) -> list[int]:
    """Return the grants of claims that are served together: seats in order, floors first, then fair shares."""
    seated = _seats(claims, range(len(claims)), money)
    money -= sum(seated.values())
    for i, claim in enumerate(claims):
        if i not in seated and claim.wanted and money >= claim.least + claim.toll:
            seated[i] = claim.least + claim.toll
            money -= seated[i]
    grants = [0] * len(claims)
    for i, grant in zip(sorted(seated), _pour([claims[i] for i in sorted(seated)], money), strict=True):
        grants[i] = grant
    return grants


def _pour(claims: Sequence[Claim], money: int) -> list[int]:
    """Return each claim's least raised by `money` in all, unit by unit to whoever has the least for its weight."""
    starts = [claim.least for claim in claims]
    gaps = [claim.wanted - claim.least for claim in claims]
    if sum(gaps) <= money:
        return [claim.wanted for claim in claims]
    weights = [Fraction(claim.weight) for claim in claims]
    scale = lcm(*(weight.numerator for weight in weights))
    steps = [scale // weight.numerator * weight.denominator for weight in weights]

    def below(level: int) -> list[int]:
        """Return how many units each takes whose price, units held times step, is under `level`."""
        return [
            min(gap, max(0, -(-level // step) - start)) for gap, step, start in zip(gaps, steps, starts, strict=True)
        ]

    low, high = 0, max(claim.wanted * step for claim, step in zip(claims, steps, strict=True)) + 1
    while high - low > 1:
        middle = (low + high) // 2
        if sum(below(middle)) <= money:
            low = middle
        else:
            high = middle
    taken = below(low)
    left = money - sum(taken)
    for i, (had, upto) in enumerate(zip(below(low), below(low + 1), strict=True)):
        if left and upto > had:
            taken[i] += 1
            left -= 1
    return [start + units for start, units in zip(starts, taken, strict=True)]
