"""S4: an agent simulation with shares in percent, which must not crash."""

import pytest

import brim
from brim import Section, Shares

SHARES = {"prompt": 0.40, "memory": 0.25, "social": 0.15, "institutional": 0.10, "reserve": 0.10}
MARKER = "\n... (truncated)"


@pytest.mark.requirement("S4.1", "S4.2")
def test_the_total_is_divided_to_the_last_unit():
    shares = Shares(16_384, SHARES)
    assert [shares.of(name) for name in SHARES] == [6553, 4096, 2457, 1638, 1640]
    assert sum(shares.of(name) for name in SHARES) == 16_384


@pytest.mark.requirement("S4.3")
def test_an_unknown_section_is_given_what_the_reserve_has():
    shares = Shares(10_000, SHARES)
    assert shares.of("memory") == 2500
    assert shares.of("unknown") == shares.of("reserve") == 1000


@pytest.mark.requirement("S4.4")
@pytest.mark.parametrize("memory", [0.50, 0.2, 0.2511])
def test_shares_that_are_not_one_in_all_are_refused(memory):
    """The document's own test allocated 10,238 of 8,192."""
    with pytest.raises(brim.InvalidValue, match=r"1.0 in all"):
        Shares(8192, {**SHARES, "memory": memory})


@pytest.mark.requirement("S4.4")
def test_29_percent_of_100_is_29():
    assert Shares(100, {"a": 0.29, "reserve": 0.71}).of("a") == 29


@pytest.mark.requirement("S4.5")
@pytest.mark.parametrize(("text", "count"), [("", 0), ("a" * 100, 25), ("Hello world, this is a test", 6)])
def test_the_fallback_is_a_quarter_of_the_characters(text, count):
    assert brim.meter("chars/4").count(text) == count


@pytest.mark.requirement("S4.5")
@pytest.mark.parametrize("model", ["gpt-4", "gpt-3.5-turbo", "o1", "o3", "gpt-5"])
def test_a_known_model_is_counted_exactly(model):
    assert brim.meter(model).exact
    assert brim.meter(model).count("<|endoftext|> is text") > 5


@pytest.mark.requirement("S4.6")
def test_exact_counting_needs_no_tiktoken(monkeypatch):
    import sys

    from brim.meter.vocabularies import vocabulary

    monkeypatch.setitem(sys.modules, "tiktoken", None)
    meter = vocabulary.__wrapped__("o200k_base")
    assert (meter.count("hello world"), meter.exact, meter.name) == (2, True, "o200k_base")


@pytest.mark.requirement("S4.7")
def test_a_fitting_text_is_identical_and_an_empty_one_stays_empty():
    assert brim.cut("Short text", 100, "chars/4", keep="lines", marker=MARKER).text == "Short text"
    assert brim.cut("", 10, "chars/4", keep="lines", marker=MARKER).text == ""


@pytest.mark.requirement("S4.7")
def test_whole_lines_are_kept_from_the_head_and_the_suffix_is_inside_the_limit():
    """The document's own input came back as 14 for a maximum of 10."""
    text = "\n".join(f"Line {i}" for i in range(100))
    cut = brim.cut(text, 10, "chars/4", keep="lines", marker=MARKER)
    assert cut.after <= 10
    assert cut.text.endswith(MARKER)
    assert text.startswith(cut.text.removesuffix(MARKER) + "\n")


@pytest.mark.requirement("S4.7")
def test_a_single_long_line_is_cut_inside():
    cut = brim.cut("x" * 5000, 50, "chars/4", keep="lines", marker=MARKER)
    assert 45 <= cut.after <= 50


@pytest.mark.requirement("S4.8")
@pytest.mark.parametrize("limit", [0, 1, 2, 3, 10, 100])
def test_overflow_degrades_and_does_not_raise(limit):
    """One agent's overflow must not stop the simulation; the result is asserted to fit, not only to be a str."""
    sections = [Section("memory", ["Very long memory " * 100]), Section("skills", "a, b, c", priority="high")]
    prompt = brim.fit(sections, limit, meter="chars/4")
    assert len(prompt.text) // 4 <= limit


@pytest.mark.requirement("S4.8")
def test_a_thousand_small_texts_do_not_pass_for_nothing():
    """1,000 times "abc" was counted as 0 tokens."""
    sections = [Section(f"s{i}", "abc") for i in range(1000)]
    prompt = brim.fit(sections, 100, meter="chars/4")
    assert len(prompt.text) // 4 <= 100
    assert prompt.receipt.used > 50


@pytest.mark.requirement("S4.12")
@pytest.mark.parametrize("meter", ["chars", "chars/4", "chars/4+1", "bytes/4", "o200k_base", "cl100k_base"])
def test_prompts_that_fit_are_byte_identical(meter):
    sections = [
        Section("a", "-\n"),
        Section("b", "//\r\n\x00 \ud800"),
        Section("c", "  漢字\n\n"),
        Section("d", "x" * 99),
    ]
    text = "".join(section.text for section in sections)
    budget = brim.meter(meter).count(text)
    assert brim.fit(sections, budget, meter=meter, separator="").text == text
