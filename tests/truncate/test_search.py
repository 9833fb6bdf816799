import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim.truncate.search import Parts, most
from properties import examples
from truncate.cutting import CHAR, PIECE


def parts_of(sizes, least=1, overhead=0):
    return Parts(sizes=sizes, build=lambda n: "#" * overhead + "x" * sum(sizes[:n]), total=sum(sizes), least=least)


@examples(120)
@given(
    sizes=st.lists(st.integers(0, 50), min_size=1, max_size=60),
    overhead=st.integers(0, 100),
    limit=st.integers(0, 400),
    least=st.integers(0, 1),
)
def test_the_most_parts_that_fit_are_found_where_counts_only_grow(sizes, overhead, limit, least):
    text = "y" * 2000
    fitting = [n for n in range(least, len(sizes) + 1) if overhead + sum(sizes[:n]) <= limit]
    n, cut = most(text, limit, CHAR, parts_of(sizes, least, overhead))
    assert (None if cut is None else n) == (max(fitting) if fitting else None)


@examples(120)
@given(sizes=st.lists(st.integers(0, 12), min_size=1, max_size=40), limit=st.integers(0, 60))
def test_what_is_returned_was_counted_where_counts_go_up_and_down(sizes, limit):
    _, cut = most("y" * 2000, limit, PIECE, parts_of(sizes))
    assert cut is None or cut.after == PIECE.measure(cut.text) <= limit


@pytest.mark.parametrize(
    "sizes",
    [[1] * 100_000, list(range(100_000)), [1] * 99_000 + [10**6] * 1000],
    ids=["even", "ever larger", "a cliff"],
)
def test_a_hundred_thousand_parts_take_few_builds(sizes):
    built = []

    def build(n):
        built.append(n)
        return "x" * n

    # What is built is not what the sizes say, so that they mislead.
    found = most("y" * 200_000, 77_777, CHAR, Parts(sizes=sizes, build=build, total=sum(sizes)))
    assert found[0] == 77_777
    assert len(built) < 45


def test_nothing_to_choose_from_is_nothing_found():
    assert most("abc", 1, CHAR, Parts(sizes=[], build=str, total=3))[1] is None
