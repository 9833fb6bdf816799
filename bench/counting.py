"""Counting: new texts and known ones, long and short, and the strings that tokenizers die of."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from functools import partial
from random import Random

from bench import clock, corpus, peers
from bench.outcome import Cell, Gate, Outcome, Plot, Setting, Table
from brim.meter.vocabularies import vocabulary

_MEGA = 1_000_000


def run(setting: Setting) -> Outcome:
    long, long_gates, bars = _long(setting)
    hard, hard_gates, slow = _adversarial(setting)
    return Outcome(
        name="counting",
        tables=[long, _kinds(setting), _short(setting), hard],
        gates=[*long_gates, *hard_gates],
        plots=[bars, slow],
    )


def _long(setting: Setting) -> tuple[Table, list[Gate], Plot]:
    size = setting.size(10 * _MEGA)
    meter, reference = vocabulary("o200k_base"), peers.tiktoken_count()
    meter.count("loaded")
    cold, theirs, same = [], [], True
    for seed in (1, 2, 3):
        text = corpus.mixed(size, seed)
        seconds, count = clock.once(meter.count, text)
        cold.append(seconds)
        seconds, expected = clock.once(reference, text)
        theirs.append(seconds)
        same = same and count == expected
    base = statistics.median(theirs)
    known = clock.best(meter.count, text)
    equals = [_copy(text) for _ in range(5)]
    equal = clock.median(meter.count, equals)
    rows: list[list[Cell]] = [
        ["tiktoken", "o200k_base", size, base * 1e3, size / base / 1e6, 1.0, "reference"],
        ["brim, cold: the first of three new texts", "o200k_base", size, *_told(cold[0], size, theirs[0]), _yes(same)],
        ["brim, cold: median of three", "o200k_base", size, *_told(statistics.median(cold), size, base), _yes(same)],
        ["brim, warm: the same object", "o200k_base", size, *_told(known, size, base), "yes"],
        ["brim, warm: an equal text, a new object", "o200k_base", size, *_told(equal, size, base), "yes"],
    ]
    rows += _cl100k(text)
    others, notes = _others(text[: size // 10], base * 1e6 / size)
    cold_ratio = base / statistics.median(cold)
    table = Table(
        title="Counting one long mixed text",
        columns=["what", "vocabulary", "characters", "CPU ms", "M chars/s", "x tiktoken", "counts equal"],
        rows=[*rows, *others],
        notes=notes,
    )
    gates = [
        Gate(name="counting, cold", value=cold_ratio, limit=3.5, unit="x tiktoken", at_least=True),
        Gate(name="counting, warm: same object", value=base / known, limit=5, unit="x tiktoken", at_least=True),
        Gate(name="counting, warm: equal text", value=base / equal, limit=5, unit="x tiktoken", at_least=True),
    ]
    speeds = {str(row[0]): float(row[4] or 0) for row in table.rows if row[1] == "o200k_base"}
    plot = Plot(
        name="counting", title="Counting a long mixed text", y_label="million characters a CPU second", bars=speeds
    )
    return table, gates, plot


def _cl100k(text: str) -> list[list[Cell]]:
    """Return the same for the older vocabulary, new to brim."""
    meter, reference = vocabulary("cl100k_base"), peers.tiktoken_count("cl100k_base")
    meter.count("loaded")
    seconds, count = clock.once(meter.count, text)
    base, expected = clock.once(reference, text)
    size = len(text)
    return [
        ["tiktoken", "cl100k_base", size, *_told(base, size, base), "reference"],
        ["brim, cold", "cl100k_base", size, *_told(seconds, size, base), _yes(count == expected)],
    ]


def _others(text: str, base: float) -> tuple[list[list[Cell]], list[str]]:
    """Return the peers that are too slow for the whole text on a tenth of it; `base` is tiktoken's us a character."""
    rows: list[list[Cell]] = []
    notes = []
    size, expected = len(text), peers.tiktoken_count()(text)
    try:
        count = peers.tokenizers_count()
        seconds = clock.best(count, text, repeats=1)
        rows.append(
            ["tokenizers", "o200k_base", size, *_told(seconds, size, base * size / 1e6), _yes(count(text) == expected)]
        )
    except ImportError as error:
        notes.append(f"tokenizers is left out: {error}")
    try:
        told = peers.litellm_counts({"text": [text]})
    except ImportError as error:
        notes.append(f"litellm is left out: {error}")
    else:
        seconds, found = told["text"]
        rows.append(
            [
                "litellm.token_counter (in a process of its own)",
                "o200k_base",
                size,
                *_told(seconds, size, base * size / 1e6),
                _yes(found == expected) + ("" if found == expected else f": {found:,} for {expected:,}"),
            ]
        )
        notes.append(
            f"litellm counts by tiktoken with vocabulary files of its own, in blocks; its import took"
            f" {told['import']:.1f} s of CPU and its first count {told['load']:.1f} s."
        )
    return rows, notes


def _kinds(setting: Setting) -> Table:
    """Return cold speeds by kind of text: a mix hides what it is made of."""
    meter, reference = vocabulary("o200k_base"), peers.tiktoken_count()
    rows: list[list[Cell]] = []
    for name, make in corpus.KINDS.items():
        text = corpus.filled(partial(make, Random(11)), setting.size(_MEGA))
        seconds, count = clock.once(meter.count, text)
        base, expected = clock.once(reference, text)
        rows.append(
            [name, len(text), len(text) / count, seconds * 1e3, base * 1e3, base / seconds, _yes(count == expected)]
        )
    return Table(
        title="Counting by kind of text, cold",
        columns=["kind", "characters", "characters a token", "brim ms", "tiktoken ms", "x tiktoken", "counts equal"],
        rows=rows,
    )


def _short(setting: Setting) -> Table:
    """Return the speed on many short texts."""
    meter, reference = vocabulary("o200k_base"), peers.tiktoken_count()
    number = setting.size(1_000)
    sets = [corpus.parts(number, 300, seed) for seed in range(20, 23)]
    texts = sets[0]

    def each(texts: Sequence[str]) -> list[int]:
        return [meter.count(text) for text in texts]

    base = clock.median(lambda texts: [reference(text) for text in texts], sets)
    results = {
        "brim, cold": clock.median(each, sets),
        "brim, warm: the same objects": clock.best(each, texts),
        "brim, warm: equal texts, new objects": clock.median(each, [[_copy(text) for text in texts] for _ in range(5)]),
    }
    notes = []
    try:
        count = peers.tokenizers_count()
        results["tokenizers, one by one"] = clock.best(lambda texts: [count(text) for text in texts], texts, 2)
        results["litellm.token_counter, one by one"] = peers.litellm_counts({"texts": texts})["texts"][0]
    except ImportError as error:
        notes.append(f"left out: {error}")
    rows: list[list[Cell]] = [["tiktoken", base * 1e3, base / number * 1e6, 1.0]]
    rows += [[name, seconds * 1e3, seconds / number * 1e6, base / seconds] for name, seconds in results.items()]
    return Table(
        title=f"Counting {number:,} texts of 300 characters",
        columns=["what", "CPU ms", "us a text", "x tiktoken"],
        rows=rows,
        notes=notes,
    )


def _adversarial(setting: Setting) -> tuple[Table, list[Gate], Plot]:
    size = setting.size(10 * _MEGA)
    share = size // 10
    meter, reference = vocabulary("o200k_base"), peers.tiktoken_count()
    rows: list[list[Cell]] = []
    slowest, raised = {}, 0
    for name, text in corpus.adversarial(size):
        width = len(text.encode("utf-8", "surrogatepass")) / len(text)
        most, _, error = _attempt(meter.count, text)
        seconds = most if width == 1 else _attempt(meter.count, text[: int(size / width)])[0]
        raised += error is not None
        slowest[name] = seconds
        count = _attempt(meter.count, text[:share])[1]
        base, expected, their_error = _attempt(reference, text[:share])
        equal = "" if their_error or error else _yes(count == expected)
        rows.append([name, width, seconds, most, error or "none", base, their_error or "none", equal])
    table = Table(
        title=f"24 adversarial strings: brim on {size:,}, tiktoken on {share:,} characters",
        columns=[
            "string",
            "bytes a character",
            f"brim CPU s, {size:,} bytes",
            f"{size:,} characters",
            "raised",
            f"tiktoken CPU s, {share:,}",
            "raised",
            "counts equal",
        ],
        rows=rows,
        notes=[f"brim's meter afterwards: {meter.name}, {'exact' if meter.exact else 'not exact'}."],
    )
    gates = [
        Gate(name="adversarial: slowest of 24", value=max(slowest.values()), limit=2, unit="CPU s"),
        Gate(name="adversarial: exceptions", value=raised + (not meter.exact), limit=0, unit=""),
    ]
    plot = Plot(name="adversarial", title=f"{size:,} bytes of one thing", y_label="CPU s of brim", bars=slowest)
    return table, gates, plot


def _attempt(count: Callable[[str], int], text: str) -> tuple[float, int, str | None]:
    """Return seconds, count and what was raised: panics of Rust libraries are no `Exception`."""
    with peers.quiet():
        try:
            seconds, counted = clock.once(count, text)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            return float("nan"), 0, type(error).__name__
    return seconds, counted, None


def _told(seconds: float, size: int, base: float) -> tuple[float, float, float]:
    return seconds * 1e3, size / seconds / 1e6, base / seconds


def _copy(text: str) -> str:
    """Return an equal text that is another object, its hash not yet known."""
    return (text + "x")[:-1]


def _yes(fact: bool) -> str:
    return "yes" if fact else "NO"
