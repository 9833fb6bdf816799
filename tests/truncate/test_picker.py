"""The choice among parts: as many as fit, counted as a whole, found with few counts."""

from hypothesis import given
from hypothesis import strategies as st

from brim.truncate.parts import TextParts
from brim.truncate.picker import pick
from properties import examples
from truncate.cutting import CHAR, every_meter


@examples(120)
@given(sizes=st.lists(st.integers(0, 50), min_size=1, max_size=60), limit=st.integers(0, 400), fixed=st.integers(0, 1))
def test_no_fewer_parts_are_shown_than_fit_in_order_where_counts_only_grow(sizes, limit, fixed):
    text = "".join("a" * size + "\n" for size in sizes)
    parts = TextParts(text, longest=999, marker="")
    groups = [[at] for at in range(fixed, len(parts)) if parts.size(at) * 2 <= limit]
    cut = pick(parts, groups, limit, CHAR, fixed=[range(fixed)])
    sums = [len(parts.show({*range(fixed), *(at for (at,) in groups[:n])})) for n in range(len(groups) + 1)]
    fitting = [size for size in sums[1 - fixed :] if size <= limit]
    assert cut is None or max(fitting) <= cut.after <= limit or len(text) <= limit


def test_smaller_parts_are_shown_behind_one_that_does_not_fit():
    parts = TextParts("one\n" + "x" * 60 + "\n" + "y" * 60 + "\n" + "z" * 60 + "\ntwo\n", longest=999, marker="#")
    groups = [[0], [1], [2], [4]]
    assert pick(parts, groups, 125, CHAR).text == "one\n" + "x" * 60 + "\n#\ntwo\n"


def test_the_first_choice_of_fixed_parts_that_fits_is_shown():
    parts = TextParts("first\n" + "x" * 90 + "\nlast\n", longest=999, marker="#")
    assert pick(parts, [[0]], 20, CHAR, fixed=[[1], [2]]).text == "first\n#\nlast\n"
    assert pick(parts, [[0]], 20, CHAR, fixed=[[1]]) is None


@every_meter
@examples(60)
@given(lines=st.lists(st.text("ab \r\u2028", max_size=30), min_size=2, max_size=30), data=st.data())
def test_what_is_picked_was_counted_and_has_all_fixed_parts(meter, lines, data):
    parts = TextParts("\n".join(lines), marker="#")
    order = data.draw(st.permutations(range(len(parts))))
    limit = data.draw(st.integers(0, max(0, meter.count(parts.text) - 1)))
    cut = pick(parts, [[at] for at in order], limit, meter, fixed=[order[:1]])
    if cut is not None:
        assert cut.after == meter.measure(cut.text) <= limit
        assert all(parts.part(at) in cut.text for at in order[:1])
