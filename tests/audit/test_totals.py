from hypothesis import given
from hypothesis import strategies as st

from brim.audit.totals import AuditTotals, ConversationTotals
from brim.audit.trace import Place
from properties import examples

PLACES = st.builds(Place, st.integers(0, 3), st.integers(0, 9))
KEYS = st.lists(st.sampled_from("abc"), min_size=1, max_size=2).map(tuple)


@st.composite
def tallies(draw):
    made = AuditTotals()
    for key in draw(st.lists(KEYS, max_size=6)):
        made.add(*key, by=draw(st.integers(-5, 10**20)))
        made.peak(key[0], draw(st.integers(0, 99)))
    for place in draw(st.lists(PLACES, max_size=25)):
        made.name(place, draw(st.sampled_from(("x", "y"))))
        made.rank(ConversationTotals(-draw(st.integers(0, 3)), -draw(st.integers(0, 3)), 0, place, 1, "m"))
    return made


def merged(*parts):
    whole = AuditTotals()
    for part in parts:
        whole.merge(part)
    return whole


@examples(40)
@given(tallies(), tallies(), tallies())
def test_sums_merge_the_same_in_any_order_and_grouping(a, b, c):
    assert merged(merged(a, b), c) == merged(a, merged(b, c)) == merged(c, b, a)
