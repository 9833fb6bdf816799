from hypothesis import given
from hypothesis import strategies as st

from brim.cli.grid import Vessel, VesselShare, keys

VESSEL = Vessel(budget=100, columns=10, rows=2, plain=True)


def drawn(*units, height=2):
    shares = [VesselShare(letter, "red", size) for letter, size in zip("abcdef", units, strict=False)]
    return [line.plain for line in VESSEL.draw(shares, height)]


def test_a_vessel_fills_from_the_bottom_up_to_the_brim():
    assert drawn(30, 40) == ["+= brim 100 =+", "| bbbb...... |", "| aaaaaabbbb |", "+------------+"]


def test_what_is_too_much_stands_above_the_brim():
    assert drawn(100, 70, height=4) == [
        "  bbbb        ",
        "  bbbbbbbbbb  ",
        "+= brim 100 =+",
        "| aaaaaaaaaa |",
        "| aaaaaaaaaa |",
        "+------------+",
    ]


@given(
    sizes=st.lists(st.integers(0, 400), max_size=6),
    budget=st.integers(0, 1000),
    columns=st.integers(1, 50),
    rows=st.integers(1, 6),
)
def test_what_fits_the_budget_never_crosses_the_brim(sizes, budget, columns, rows):
    vessel = Vessel(budget=budget, columns=columns, rows=rows)
    shares = [VesselShare("x", "red", size) for size in sizes]
    height = vessel.height(shares, 30)
    lines = [line.plain for line in vessel.draw(shares, height)]
    assert len(lines) == height + 2
    brim = next(i for i, line in enumerate(lines) if "brim" in line)
    above = "".join(lines[:brim])
    if sum(sizes) <= budget:
        assert not above.strip()
    assert len(lines) - brim - 2 == rows


@given(names=st.lists(st.text(min_size=1, max_size=8), max_size=60, unique=True))
def test_every_section_has_a_letter_of_its_own(names):
    found = keys(names)
    assert len({letter for letter, _ in found.values()}) == len(names)
