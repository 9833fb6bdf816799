"""The allocator against its slow reference, and the rules that it must keep."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim.receipts.receipt import FILLS, POLICIES
from brim.sections import allocation as solver
from brim.sections.allocation import Claim
from properties import examples
from sections import allocation_reference as reference

fills = st.sampled_from(FILLS)
policies = st.sampled_from(POLICIES)


def claim(wanted, floor=0, *, rank=1, required=False, weight=1, toll=0, whole=False, budget=0):
    """Build a claim as a draft does: a floor in percent is a share of the budget."""
    exact = min(Fraction(floor[:-1]) * budget / 100 if isinstance(floor, str) else floor, wanted)
    least = wanted if whole or (required and not int(exact)) else max(1, int(exact))
    reserved = max(exact, least) if required or (exact and whole) else exact
    return Claim(wanted=wanted, least=least, reserved=reserved, rank=rank, required=required, weight=weight, toll=toll)


@st.composite
def asks(draw):
    """What sections ask for, small enough that floors, tolls and limits of the budget often meet."""
    return draw(
        st.lists(
            st.fixed_dictionaries(
                {
                    "wanted": st.integers(0, 60),
                    "floor": st.one_of(st.just(0), st.integers(0, 50), st.integers(0, 60).map(lambda n: f"{n}%")),
                    "rank": st.integers(0, 3),
                    "required": st.sampled_from([False, False, False, True]),
                    "weight": st.sampled_from([1, 1, 2, 3, Fraction(1, 2)]),
                    "toll": st.integers(0, 3),
                    "whole": st.sampled_from([False, False, False, True]),
                }
            ),
            max_size=8,
        )
    )


def built(rows, budget):
    return [claim(**row, budget=budget) for row in rows]


def spent(claims, grants):
    return sum(grant + c.toll for c, grant in zip(claims, grants, strict=True) if grant)


def read_in_order(claims, grants):
    """Return what each class took, tolls included, the most essential first."""
    taken = {}
    for c, grant in zip(claims, grants, strict=True):
        key = (not c.required, c.rank)
        taken[key] = taken.get(key, 0) + (grant + c.toll if grant else 0)
    return [taken[key] for key in sorted(taken)]


@examples(200)
@given(rows=asks(), budget=st.integers(0, 200), fill=fills, policy=policies)
def test_it_grants_what_the_reference_grants(rows, budget, fill, policy):
    claims = built(rows, budget)
    if solver.essential(claims) <= budget:
        expected = reference.allocate(claims, budget, fill=fill, policy=policy)
        assert solver.allocate(claims, budget, fill=fill, policy=policy) == expected


@examples(200)
@given(rows=asks(), budget=st.integers(0, 200), fill=fills, policy=policies)
def test_grants_and_tolls_stay_within_the_budget_and_each_grant_within_its_claim(rows, budget, fill, policy):
    claims = built(rows, budget)
    if solver.essential(claims) > budget:
        return
    grants = solver.allocate(claims, budget, fill=fill, policy=policy)
    assert spent(claims, grants) <= budget
    for c, grant in zip(claims, grants, strict=True):
        assert grant == 0 or c.least <= grant <= c.wanted
        assert not c.required or grant or not c.wanted


@examples(250)
@given(rows=asks(), budget=st.integers(0, 200), more=st.integers(1, 60), fill=fills, policy=policies)
def test_where_two_budgets_first_differ_the_bigger_gives_more(rows, budget, more, fill, policy):
    readings = []
    for size in (budget, budget + more):
        claims = built(rows, size)
        if solver.essential(claims) > size:
            return
        readings.append(read_in_order(claims, solver.allocate(claims, size, fill=fill, policy=policy)))
    for small, big in zip(*readings, strict=True):
        if small != big:
            assert big > small
            break


@examples(100)
@given(rows=asks(), budget=st.integers(0, 200), fill=fills, data=st.data())
def test_what_is_not_used_flows_on_and_never_over(rows, budget, fill, data):
    claims = built(rows, budget)
    if solver.essential(claims) > budget:
        return
    last = {}

    def spend(index, offer):
        last[index] = data.draw(st.integers(0, offer))
        return last[index]

    grants = solver.allocate(claims, budget, fill=fill, spend=spend)
    assert spent(claims, grants) <= budget
    assert all(grant in (0, last.get(i, 0)) for i, grant in enumerate(grants))


@pytest.mark.parametrize(
    ("budget", "claims", "options", "expected"),
    [
        pytest.param(
            100, [claim(100, rank=1), claim(50, 30, rank=3)], {}, [70, 30], id="a low floor is held against a high want"
        ),
        pytest.param(
            20,
            [claim(100, rank=1), claim(50, 30, rank=3)],
            {},
            [20, 0],
            id="a floor that cannot be met gets nothing, and it flows on",
        ),
        pytest.param(
            45,
            [claim(100, rank=1), claim(50, 30, rank=3)],
            {},
            [30, 0],
            id="what is saved up for a floor costs the essential nothing later",
        ),
        pytest.param(
            100, [claim(100), claim(50, 30)], {}, [70, 30], id="a floor is held against the first of its class"
        ),
        pytest.param(100, [claim(80), claim(80)], {}, [80, 20], id="inside a priority the first is served first"),
        pytest.param(100, [claim(80), claim(80)], {"fill": "fair"}, [50, 50], id="fair shares are equal"),
        pytest.param(
            100,
            [claim(10), claim(80), claim(80)],
            {"fill": "fair"},
            [10, 45, 45],
            id="what one does not want the others share",
        ),
        pytest.param(90, [claim(80), claim(80, weight=2)], {"fill": "fair"}, [30, 60], id="shares go by weight"),
        pytest.param(100, [claim(60, toll=5), claim(60, toll=5)], {}, [60, 30], id="tolls are paid"),
        pytest.param(
            100, [claim(120), claim(30)], {"policy": "skip"}, [0, 30], id="skip goes on past what does not fit"
        ),
        pytest.param(100, [claim(120), claim(30)], {"policy": "stop"}, [0, 0], id="stop ends there"),
        pytest.param(
            100,
            [claim(70), claim(120), claim(5)],
            {"policy": "truncate_then_stop"},
            [70, 30, 0],
            id="cut once, then stop",
        ),
        pytest.param(100, [claim(70), claim(120), claim(5)], {}, [70, 30, 0], id="cut and go on with nothing left"),
        pytest.param(
            50,
            [claim(40, rank=0), claim(30, rank=9, required=True)],
            {},
            [20, 30],
            id="required comes before any priority",
        ),
    ],
)
def test_the_rules_one_by_one(budget, claims, options, expected):
    assert solver.allocate(claims, budget, **options) == expected


@pytest.mark.parametrize("fill", FILLS)
def test_ten_thousand_claims_are_served_in_one_pass(fill):
    claims = [claim(7, 3 if i % 3 == 0 else 0, rank=i % 5, toll=1) for i in range(10_000)]
    grants = solver.allocate(claims, 40_000, fill=fill)
    assert spent(claims, grants) <= 40_000
    assert sum(grants) > 30_000


def test_fair_shares_leave_no_token_over():
    claims = [Claim(wanted=7, weight=2, toll=1), Claim(wanted=5, least=2, reserved=2, weight=3, toll=1)]
    assert solver.allocate(claims, 8, fill="fair") == [3, 3]
    assert solver.allocate([Claim(wanted=10)] * 3, 10, fill="fair") == [4, 3, 3]
