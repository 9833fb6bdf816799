"""Exact counting: engines, their failures, and cuts."""

import os
import subprocess
import sys
import threading

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

import strategies
from brim.errors import BrimError, InvalidValue
from brim.meter.grapheme import boundary_after, boundary_before
from brim.meter.vocabularies import Vocabulary, vocabulary
from hostile.bombs import ALLOCATOR
from properties import examples

NAMES = ("o200k_base", "cl100k_base", "o200k_harmony", "qwen3.5")
names = st.sampled_from(NAMES)


class Panic(BaseException):
    """Stands for a tokenizer's panic, which is no Exception."""


class Fake:
    """An engine that counts words, and fails when told to."""

    def __init__(self, name, *, exact=True, fails_on=None, error=Panic):
        self.name, self.exact, self._fails_on, self._error = name, exact, fails_on, error

    def count(self, text):
        if self._fails_on is not None and self._fails_on in text:
            raise self._error("no")
        return len(text.split())


def whole(name, text):
    """Count a text in one call to the library, past everything that brim does."""
    import toktok

    return toktok.batch_count([regex.sub("[\ud800-\udfff]", "\ufffd", text)], name, 1)[0]


@pytest.mark.parametrize("name", NAMES)
def test_it_counts_exactly_and_says_so(name):
    meter = vocabulary(name)
    assert (meter.name, meter.exact, meter.unit) == (name.replace("harmony", "base"), True, "tokens")
    assert meter.count("Hello, world!") == 4
    assert meter.count("") == 0


@pytest.mark.slow
@examples(70)
@given(name=names, text=strategies.texts)
def test_all_text_is_ordinary_text_and_counts_what_the_library_counts(name, text):
    assert vocabulary(name).count(text) == whole(name, text)


def clusters(text):
    return [match.end() for match in regex.finditer(r"\X", text)]


@examples(70)
@given(name=names, text=strategies.long_texts, limit=st.integers(0, 80))
def test_head_and_tail_are_never_over_and_split_no_grapheme(name, text, limit):
    meter = vocabulary(name)
    head, tail = meter.head(text, limit), meter.tail(text, limit)
    ends = {0, *clusters(text)}
    assert text.startswith(head)
    assert text.endswith(tail)
    assert meter.count(head) <= limit
    assert meter.count(tail) <= limit
    assert len(head) in ends
    assert len(text) - len(tail) in ends


@examples(100)
@given(text=strategies.long_texts, limit=st.integers(1, 80))
def test_head_and_tail_leave_little_unused(text, limit):
    """One more grapheme either way counts over the limit, or nearly: counts are not monotone."""
    meter = vocabulary("o200k_base")
    for cut, rest in ((meter.head(text, limit), "after"), (meter.tail(text, limit), "before")):
        if len(cut) < len(text):
            longest = max((size for size in map(len, regex.findall(r"\X", text))), default=0)
            assert meter.count(cut) >= limit - 4 * longest - 4, rest


@examples(70)
@given(text=strategies.texts, index=st.integers(-2, 400))
def test_boundaries_are_those_of_the_whole_text(text, index):
    ends = [0, *clusters(text)]
    inside = min(max(index, 0), len(text))
    assert boundary_before(text, index) == max(end for end in ends if end <= inside)
    assert boundary_after(text, index) == min(end for end in ends if end >= inside)


def test_a_cluster_longer_than_any_look_back_is_not_split():
    text = "x" + "e" + "\u0301" * 5000 + "y"
    assert boundary_before(text, 3000) == 1
    assert boundary_after(text, 3000) == len(text) - 1
    assert vocabulary("o200k_base").head(text, 50) == "x"


def test_a_line_feed_stays_with_its_carriage_return():
    assert (boundary_before("a\r\nb", 2), boundary_after("a\r\nb", 2)) == (1, 3)
    assert (boundary_before("a\n\rb", 2), boundary_after("a\n\rb", 2)) == (2, 2)
    assert vocabulary("o200k_base").head("\r\n" * 40, 1) in ("", *("\r\n" * n for n in range(40)))


def test_a_row_of_flags_of_any_length_is_cut_between_two():
    text = "x" + "🇩🇪" * 200
    for index in range(150, 250):
        assert boundary_before(text, index) == index - (index - 1) % 2


_PROSE = "The quick brown fox, it's 42; jumps\n\n    over(the) lazy dog. naïve 漢字。 "
_LONG = "".join(f"{i} {_PROSE[i % 7 :]}{'  ' * (i % 3)}" for i in range(6000))
"""Half a million characters with every kind of gap between words."""


@pytest.mark.parametrize("name", NAMES)
def test_a_long_text_counts_what_the_library_counts(name):
    assert vocabulary(name).measure(_LONG) == whole(name, _LONG)


@pytest.mark.parametrize("limit", [1500, 5000, 20_000])
@pytest.mark.parametrize("text", [_LONG, "漢字" * 30_000, "a" * 60_000], ids=["prose", "no spaces", "one letter"])
def test_big_limits_are_kept_and_nearly_used_up(text, limit):
    meter = vocabulary("o200k_base")
    for cut in (meter.head(text, limit), meter.tail(text, limit)):
        used = whole("o200k_base", cut)
        assert used <= limit
        assert used >= limit - 8 or len(cut) == len(text)


@pytest.mark.slow
@pytest.mark.parametrize(
    "char", ["a", " ", "!", "\n", "漢", "\u200d", "\u0301", "1", "😀", "-\n//", "\x00", "\ud800", "\u202e"]
)
def test_a_megabyte_of_one_thing_is_counted(char):
    text = char * (1_000_000 // len(char))
    meter = vocabulary("o200k_base")
    assert 0 < meter.count(text) <= 4 * len(text)
    assert meter.count(meter.head(text, 100)) <= 100


def missing():
    raise ModuleNotFoundError("no module")


@pytest.mark.parametrize(
    ("first", "second", "name"),
    [
        pytest.param(missing, Fake("second"), "words (by second; first is not installed)", id="not installed"),
        pytest.param(
            lambda: Fake("first", fails_on="boom"),
            Fake("second"),
            "words (by second; first failed with Panic)",
            id="a panic",
        ),
        pytest.param(
            lambda: Fake("first", fails_on="boom", error=RuntimeError),
            Fake("guess", exact=False),
            "words (estimate: guess; first failed with RuntimeError)",
            id="the last is an estimate",
        ),
    ],
)
def test_an_engine_that_fails_is_followed_by_the_next_and_the_name_tells(first, second, name):
    meter = Vocabulary("words", [("first", first), ("second", lambda: second)])
    assert (meter.count("a b"), meter.exact) == (2, True)
    assert (first is missing) == (meter.name == name)
    assert meter.count("boom c d") == 3
    assert (meter.name, meter.exact) == (name, second.exact)


def test_an_estimate_s_bound_is_above_it_and_never_more_than_the_bytes():
    meter = Vocabulary("words", [("guess", lambda: Fake("guess", exact=False))])
    assert (meter.count("word " * 100), meter.upper("word " * 100)) == (100, 279)
    assert (meter.count("a b c"), meter.upper("a b c")) == (3, 5)


@pytest.mark.parametrize(
    ("fault", "told", "text"),
    [
        (Panic, BrimError, "nothing can count words: only failed with Panic"),
        (KeyboardInterrupt, KeyboardInterrupt, "no"),
    ],
    ids=["a panic", "an interrupt"],
)
def test_when_nothing_works_the_error_lists_what_was_tried_and_an_interrupt_is_not_swallowed(fault, told, text):
    meter = Vocabulary("words", [("only", lambda: Fake("only", fails_on="boom", error=fault))])
    with pytest.raises(told, match=text):
        meter.count("boom")


def test_threads_count_the_same():
    meter = vocabulary("o200k_base")
    texts = [f"thread text {i} " * (i % 50 + 1) for i in range(200)]
    expected = [whole("o200k_base", text) for text in texts]
    seen = []
    threads = [threading.Thread(target=lambda: seen.append([meter.count(text) for text in texts])) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [expected] * 8


@pytest.mark.parametrize("limit", [-1, 1.5, float("nan"), "3", None, True])
def test_a_limit_that_is_no_number_of_units_is_refused(limit):
    with pytest.raises(InvalidValue, match="limit must be a whole number"):
        vocabulary("o200k_base").head("text", limit)


_TAKING_TURNS = """
import brim
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096
meters = [brim.meter(name) for name in ("o200k_base", "cl100k_base", "qwen3.5", "o200k_harmony")]
def turn(i):
    return [meter.measure(f"turn {i} " * 40) for meter in meters]
for i in range(5):
    turn(i)
before = resident()
for i in range(60):
    turn(i)
print((resident() - before) // 2**20)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_vocabularies_that_take_turns_do_not_grow_without_end():
    """toktok allocates anew at every call where three vocabularies take turns in one thread: 50 MB a round."""
    assert int(subprocess.run([sys.executable, "-c", _TAKING_TURNS], capture_output=True, check=True).stdout) < 100


_HELD = """
import resource, time
from pathlib import Path
from brim.meter.vocabularies import vocabulary

def held():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

meter = vocabulary("o200k_base")
meter.count("warm")
before = held()
meter.measure("1," * 12_000_000)
deadline = time.monotonic() + 10  # A thread gives its memory back shortly after it was waited for.
while held() - before > 40_000_000 and time.monotonic() < deadline:
    time.sleep(0.05)
print(held() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_long_text_that_was_counted_leaves_no_working_memory_behind():
    """A server counts in a few threads that never end: 96 MB stayed in each of them."""
    env = {**os.environ, **ALLOCATOR}
    run = subprocess.run([sys.executable, "-c", _HELD], capture_output=True, text=True, check=True, env=env)
    assert int(run.stdout) < 40_000_000
