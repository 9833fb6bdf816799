import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim.errors import DoesNotFit, InvalidValue
from brim.truncate.records import Records
from properties import examples
from strategies import pieces
from truncate.cutting import BAR, CHAR, attempt, every_meter, limits, shares

keeps = st.sampled_from(["newest", "best"])
ENTRIES = ["one", "two", "three", "four", "five"]


@pytest.mark.parametrize(
    ("options", "limit", "text", "kept"),
    [
        pytest.param({}, 23, "one\ntwo\nthree\nfour\nfive", (0, 1, 2, 3, 4), id="all that fit come without a marker"),
        pytest.param({"marker": "-{dropped}"}, 12, "-3\nfour\nfive", (3, 4), id="the newest, the marker first"),
        pytest.param({"marker": "-{dropped}"}, 11, "-4\nfive", (4,), id="one character less is one entry less"),
        pytest.param(
            {"marker": "-{dropped}", "keep": "best"}, 10, "one\ntwo\n-3", (0, 1), id="the best, the marker last"
        ),
        pytest.param({"marker": "", "separator": ""}, 9, "fourfive", (3, 4), id="neither marker nor separator"),
        pytest.param(
            {"marker": "x", "separator": " / "}, 15, "x / four / five", (3, 4), id="the separator joins the marker"
        ),
    ],
)
def test_entries_are_kept_whole_from_one_side(options, limit, text, kept):
    chosen = Records(**options).select(ENTRIES, limit, CHAR)
    assert (chosen.text, chosen.kept) == (text, kept)
    whole = options.get("separator", "\n").join(ENTRIES)
    assert (chosen.before, chosen.after) == (len(whole), len(text))


def test_not_even_a_piece_of_one_entry_is_refused_with_what_it_needs():
    with pytest.raises(DoesNotFit) as caught:
        Records(marker="-").select(ENTRIES, 3, CHAR)
    assert (caught.value.needed, caught.value.available) == (6, 3)


SHORT = [f"Attempt {n}: edited the file" for n in range(9)]
LONG = "Attempt 9: " + "read the whole log again and " * 90


@pytest.mark.parametrize(("keep", "at"), [("newest", 0), ("newest", 4), ("newest", 9), ("best", 9)])
def test_an_entry_that_is_too_big_is_shortened_and_its_short_siblings_stay(keep, at):
    """History was gone with over 400 tokens free, because its newest entry was bigger than its grant."""
    entries = [*SHORT[:at], LONG, *SHORT[at:]]
    chosen = Records(keep=keep).select(entries, 700, CHAR)
    assert chosen.kept == tuple(range(10))
    assert (*chosen.entries[:at], *chosen.entries[at + 1 :]) == tuple(SHORT)
    assert chosen.text == "\n".join(chosen.entries)
    assert chosen.entries[at].startswith("Attempt 9: read the whole log again")
    assert chosen.entries[at].endswith("…")
    assert 660 <= chosen.after <= 700, "as much as is left, but for a marker that is not needed"


def test_an_unknown_side_is_refused():
    with pytest.raises(InvalidValue, match="keep must be 'newest' or 'best'"):
        Records(keep="oldest")


def test_ten_thousand_entries_take_no_longer_than_a_few_counts_of_the_whole():
    class Counting(type(CHAR)):
        seen = 0

        def measure(self, text):
            type(self).seen += len(text)
            return super().measure(text)

    entries = [f"entry number {number} of many" for number in range(10_000)]
    meter = Counting()
    chosen = Records().select(entries, 100_000, meter)
    assert len(chosen.kept) > 3_000
    # Each entry once, the whole once, and a handful of candidates.
    assert Counting.seen < 12 * len("\n".join(entries))


@every_meter
@examples(60)
@given(
    keep=keeps,
    entries=st.lists(pieces, min_size=1, max_size=40),
    share=shares,
    separator=st.sampled_from(["\n", "", " - "]),
)
def test_what_is_kept_is_a_run_from_one_side_and_fits(meter, keep, entries, share, separator):
    records = Records(keep=keep, separator=separator, marker=BAR + "{dropped}")
    whole = separator.join(entries)
    limit = limits(whole, meter, share)
    chosen = attempt(lambda: records.select(entries, limit, meter))
    if isinstance(chosen, DoesNotFit):
        assert chosen.needed > limit
        return
    assert chosen.after == meter.measure(chosen.text) <= limit
    assert chosen.before == meter.measure(whole)
    whole = [text == entries[index] for index, text in zip(chosen.kept, chosen.entries, strict=True)]
    assert all(
        entries[index].startswith(text.removesuffix("…"))
        for index, text in zip(chosen.kept, chosen.entries, strict=True)
    )
    dropped = len(entries) - len(chosen.kept)
    marker = f"{BAR}{dropped}"
    if dropped:
        kept = [marker, *chosen.entries] if keep == "newest" else [*chosen.entries, marker]
        assert chosen.text == separator.join(kept)
    elif all(whole):
        assert chosen.text == separator.join(entries)
    else:
        at = whole.index(False) + 1
        assert chosen.text == separator.join([*chosen.entries[:at], marker, *chosen.entries[at:]])
    run = range(dropped, len(entries)) if keep == "newest" else range(len(chosen.kept))
    big = [index for index in range(len(entries)) if 2 * meter.measure(entries[index]) > limit]
    assert big or (all(whole) and chosen.kept == tuple(run))


@pytest.mark.parametrize(
    ("keep", "text", "limit", "expected"),
    [
        pytest.param("newest", "a\nbb\nccc\n", 6, "#\nccc\n", id="the last line keeps its line break"),
        pytest.param("best", "a\nbb\nccc\n", 6, "a\nbb\n#", id="the first lines"),
        pytest.param("newest", "a\nbbbbbbbb", 5, "#\nbb…", id="an over-long last line is cut inside"),
        pytest.param("best", "bbbbbbbb\na", 5, "bb…\n#", id="an over-long first line is cut inside"),
        pytest.param("newest", "abc", 3, "abc", id="a text that fits comes back as it is"),
    ],
)
def test_the_lines_of_a_text_are_its_entries(keep, text, limit, expected):
    assert Records(keep=keep, marker="#").truncate(text, limit, CHAR).text == expected
