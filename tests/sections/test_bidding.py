"""Bidding for a budget, with scripted bidders."""

from dataclasses import dataclass

import pytest

from brim import DoesNotFit
from brim.sections.allocation import Claim
from brim.sections.bidding import Bidding, Fit, Proposal
from brim.testing import CharMeter


@dataclass(eq=False)
class Scripted:
    """A bidder whose load is that of the largest step within its grant."""

    name: str
    steps: dict[int, int]
    rank: int = 1
    required: bool = False
    ceiling: int | None = None
    cuttable: bool = False

    @property
    def size(self):
        return max(self.steps)

    def claim(self, toll):
        return Claim(self.size, min(self.steps), 0, self.rank, self.required, toll=toll)

    def propose(self, grant, proposals):
        load = self.steps[max(step for step in self.steps if step <= grant)]
        return Proposal(load, load, f"{self.name} within {grant}")


@dataclass(kw_only=True)
class Sum(Fit):
    """Counts the loads, and a fixed number for each join."""

    bidders: list
    join: int

    def planned(self):
        raise NotImplementedError

    def count(self, proposals):
        loads = [each.load for each in proposals.values() if each.load]
        return sum(loads) + self.join * max(0, len(loads) - 1)

    def count_required(self):
        return sum(bidder.size for bidder in self.bidders if bidder.required)

    def extras(self):
        return {}

    def room(self):
        return self.budget


def bidding(bidders, budget, *, join=0):
    options = {"fill": "order", "policy": "truncate_then_continue"}
    given = {"meter": CharMeter(), "model": None, "options": options, "captured": False, "advises": False}
    whole = Sum(bidders=bidders, budget=budget, join=join, **given)
    return Bidding(whole=whole, bidders=bidders, toll=0)


@pytest.mark.parametrize(("join", "used"), [(3, 18), (5, 20)], ids=["more than needed", "exactly"])
def test_joins_that_count_more_are_taken_from_the_least_essential(join, used):
    first, second = Scripted("first", {10: 10}, rank=0), Scripted("second", {5: 5, 10: 10}, rank=1)
    run = bidding([first, second], 20, join=join)
    assert run.run() == used
    assert [each.load for each in run.proposals.values()] == [10, 5]
    assert "the joined prompt counted more" in run.proposals[second].reason


def test_a_required_bidder_that_proposes_nothing_is_refused():
    with pytest.raises(DoesNotFit, match="required parts need"):
        bidding([Scripted("task", {5: 0, 100: 100}, required=True, rank=0)], 50).run()
