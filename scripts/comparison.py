"""Write docs/evidence.md, its plots and the table of figures in README.md from the recorded runs.

python scripts/comparison.py            write them
python scripts/comparison.py --check    fail if one of them is not what would be written
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from math import log
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scripts import drawing, growth_page, runs
    from scripts.runs import Cell, Record
else:
    import drawing
    import growth_page
    import runs
    from runs import Cell, Record

PAGE = runs.ROOT / "docs" / "evidence.md"
README = runs.ROOT / "README.md"
BENCHMARKS = runs.ROOT / "docs" / "runs" / "README.md"
PICTURES = runs.ROOT / "docs" / "pictures"

_HEAD = """\
---
hide: [toc]
---

# Evidence

<!-- Written by scripts/comparison.py from the records in docs/runs; do not edit. -->

Every figure on this page comes from a recorded run, and a test compares the two. [The records](runs/README.md) have the
date, the machine, the versions and how each benchmark measures. The libraries all get the same inputs; each is
configured as its documentation advises and runs in its own process. A library that was not run has no figures. Compare
ratios, not times: times differ between machines, and on one machine from hour to hour.

[The promise](promise.md) lists what is guaranteed for every input, and the tests that check it.
"""
_KINDS = (
    ("over the budget", r"units for a budget of"),
    (
        "refused by the provider",
        r"answers the call|has no answer|has the role|makes two calls|neither content nor calls",
    ),
    ("newest lost", r"does not end with the newest|is empty|there is no message"),
    ("task or rules lost", r"the task, the first user|is not there whole"),
    ("changed what fits", r"the history fits"),
    ("most room empty", r"^only "),
)
"""The kinds of faults of a prompt, each with the words of its verdicts."""
Figure = tuple[str, str, str]
"""A row of the README: what was measured, brim's figure, and those of others."""
_GREEN, _GREY, _RED = "#009e73", "#c0c0c0", "#d55e00"


def page() -> str:
    """Return the whole page."""
    parts = [_HEAD]
    for make in (_conformance, _need, _histories, _growth, _recall, _fitting, _engines):
        parts += make()
    parts += _others()
    return "\n".join(parts).rstrip() + "\n"


def _section(title: str, told: str, found: Record) -> Iterator[str]:
    yield f"## {title}\n"
    yield f"{told}\n"
    yield f"{runs.origin(found)}\n"


def _conformance() -> Iterator[str]:
    found = runs.record("conformance")
    if not found:
        return
    cases = len(found["details"]["cases"])
    told = (
        f"{cases} histories, each with a budget and conditions for the fitted prompt: it counts at most the budget, the"
        " provider accepts it, it contains the system prompt and the newest message."
        " [Case by case](runs/conformance.md) has every verdict."
    )
    yield from _section("Trimming a history: is the prompt right?", told, found)
    yield f"![Cases that are right, of {cases}](pictures/conformance.svg)\n"
    rows: list[list[Cell]] = []
    for trimmer in found["details"]["trimmers"]:
        verdicts = trimmer["verdicts"]
        right = sum(each["state"] in ("pass", "refused") for each in verdicts)
        kinds = Counter(_kind(each["state"], each["detail"]) for each in verdicts)
        names = [name for name, _ in _KINDS]
        rows.append(
            [trimmer["name"], trimmer["library"], right, *(kinds[name] for name in (*names, "raised", "too slow"))]
        )
    columns = ["trimmer", "library", f"right, of {cases}", *(name for name, _ in _KINDS), "raised", "too slow"]
    yield from runs.markdown(columns, rows)
    yield ""
    yield from (f"{note}\n" for note in found["details"]["notes"])


def _kind(state: str, detail: str) -> str:
    """Return the kind of fault of a verdict."""
    if state in ("pass", "refused", "not asked"):
        return ""
    if state in ("error", "timeout"):
        return "raised" if state == "error" else "too slow"
    return next((name for name, words in _KINDS if re.search(words, detail)), "other")


def _histories() -> Iterator[str]:
    found = runs.record("histories")
    if not found:
        return
    told = (
        "Agent runs are replayed call by call, with a budget of a quarter and of half of their final size. The columns"
        " are percentages of the fits that have to cut: prompts with a fault, prompts that keep the task, how full the"
        " prompt is, the prefix that it shares with the last one, and its cost with a prompt cache compared to no"
        " trimming."
    )
    yield from _section("Trimming a history: on agent runs", told, found)
    yield "![Cost of prompts with a cache](pictures/cached-cost.svg)\n"
    wrong, worth = runs.table(found, "Tight fits: right"), runs.table(found, "Tight fits: what")
    taken = ("bad", "over", "400", "newest lost", "task kept")
    more = ("fill %", "shared prefix %", "cached cost", "CPU p50", "CPU p95")
    valued = {row[0]: row for row in worth["rows"]}
    rows = [
        [row[0], *(row[wrong["columns"].index(name)] for name in taken)]
        + [valued[row[0]][worth["columns"].index(name)] for name in more]
        for row in wrong["rows"]
    ]
    yield from runs.markdown(["trimmer", *taken, *more], rows)
    yield ""
    yield from (f"{note}\n" for note in (*wrong["notes"], *worth["notes"]))


def _need() -> Iterator[str]:
    found = runs.record("need")
    if not found:
        return
    told = (
        "Recorded agent runs that no constant of brim was tuned on, with a budget of a quarter and of half of each run."
        " Recall is the share of the things that the agent's next message names and that were said earlier which the"
        " prompt still has, with what stood around them; deeds are the earlier calls that it shows. A trimmer that"
        " sends too much keeps it all: see the last column. The cost with a prompt cache is compared to no trimming."
    )
    yield from _section("Trimming a history: is what the next step needs there?", told, found)
    yield "![Recall against cost with a cache](pictures/need.svg)\n"
    for measured in found["tables"]:
        yield f"{measured['title']}:\n"
        yield from runs.markdown(measured["columns"], measured["rows"])
        yield ""
        yield from (f"{note}\n" for note in measured["notes"])


def _growth() -> Iterator[str]:
    found = runs.record("histories")
    if not found:
        return
    told = runs.table(found, "One fit of a long history")
    yield "### As a history grows\n"
    yield f"{told['title']}.\n"
    yield from runs.markdown(told["columns"], told["rows"])
    yield ""
    yield from (f"{note}\n" for note in told["notes"])


def _recall() -> Iterator[str]:
    found = runs.record("recall")
    if not found:
        return
    told = "Long conversations and questions whose evidence is known: the share of the evidence that is in the prompt."
    yield from _section("Recall: is the evidence still in the prompt?", told, found)
    kept = runs.table(found, "Share of the evidence")
    yield from runs.markdown(kept["columns"], kept["rows"])
    yield ""
    yield from (f"{note}\n" for note in kept["notes"])


def _fitting() -> Iterator[str]:
    found = runs.record("fitting")
    if not found:
        return
    told = (
        "Sections with priorities are fitted into half of their tokens. The second table has small prompts whose parts"
        " have another count joined than apart. The times of brim include the receipt."
    )
    yield from _section("Putting a prompt together", told, found)
    yield "![CPU milliseconds of a fit of 1,000 sections](pictures/fitting.svg)\n"
    fitted = runs.table(found, "Fitting sections")
    yield from runs.markdown(fitted["columns"][1:2] + fitted["columns"][:1] + fitted["columns"][2:], _swapped(fitted))
    yield ""
    yield from (f"{note}\n" for note in fitted["notes"])
    joins = runs.table(found, "Small prompts")
    yield from runs.markdown(joins["columns"], joins["rows"])
    yield ""
    yield from (f"{note}\n" for note in joins["notes"])


def _swapped(told: Record) -> list[list[Cell]]:
    return [[row[1], row[0], *row[2:]] for row in told["rows"]]


def _engines() -> Iterator[str]:
    found = runs.record("engines")
    if not found:
        return
    told = (
        "Exact counts with one vocabulary; tiktoken is the reference. brim counts with toktok, in pieces, so that other"
        " threads keep running, and caches its counts; here every text is new."
    )
    yield from _section("Counting", told, found)
    yield "![Speed of counting against tiktoken](pictures/counting.svg)\n"
    counted = found["tables"][0]
    yield from runs.markdown(counted["columns"], counted["rows"])
    yield ""
    yield from (f"{note}\n" for note in counted["notes"])


def _others() -> Iterator[str]:
    if runs.record("growth"):
        yield "## Long runs\n"
        yield "The CPU time of one turn, by the length of the run. [Every case](runs/growth.md) has its limit.\n"
        yield "![CPU of one turn, by the length of the run](pictures/growth.svg)\n"
    yield "## Run the benchmarks\n"
    yield '```\nmake bench BENCH="conformance fitting engines --record docs/runs"\nmake pages\n```\n'
    missing = [name for name in ("histories", "recall", "footprint", "counting") if not runs.record(name)]
    if missing:
        yield f"Not recorded yet, so not on this page: {', '.join(f'`{name}`' for name in missing)}.\n"
    yield "[The records](runs/README.md) describe how each benchmark measures, and which limits are not kept."


def plots() -> dict[Path, Callable[[], str]]:
    """Return the functions that draw the plots, by file."""
    made: dict[Path, Callable[[], str]] = {}
    if runs.record("conformance"):
        made[PICTURES / "conformance.svg"] = _conformance_plot
    if runs.record("fitting"):
        made[PICTURES / "fitting.svg"] = _fitting_plot
    if runs.record("engines"):
        made[PICTURES / "counting.svg"] = _engines_plot
    if runs.record("need"):
        made[PICTURES / "need.svg"] = _need_plot
    if runs.record("histories"):
        made[PICTURES / "cached-cost.svg"] = _cost_plot
    if runs.record("growth"):
        made[growth_page.PICTURE] = growth_page.plot
    return made


def _conformance_plot() -> str:
    found = runs.record("conformance")
    assert found
    rows = []
    for trimmer in found["details"]["trimmers"]:
        states = [each["state"] for each in trimmer["verdicts"]]
        right, asked = states.count("pass") + states.count("refused"), len(states) - states.count("not asked")
        rows.append((trimmer["name"], (right, len(states) - asked, asked - right), f"{right} right"))
    rows.sort(key=lambda row: -row[1][0])
    cases = len(found["details"]["cases"])
    return drawing.bars(f"Right prompts, of {cases} cases (grey: not applicable)", rows, (_GREEN, _GREY, _RED), cases)


_PANEL = (60, 96, 400, 330)
"""The left edge of the first plot of needs, its top, its width and its height."""
_COSTS, _RECALLS = (0.5, 5.0), (0.5, 1.0)
"""The ends of the axes; that of the costs is logarithmic."""


def _need_plot() -> str:
    found = runs.record("need")
    assert found
    ways, held = ({row[0]: row for row in table["rows"]} for table in found["tables"])
    title = "Recall of what the next step needs, against the cost with a prompt cache (1 is no trimming)"
    parts = [drawing.text(22, 32, title, "ink bold")]
    parts += [drawing.dot(28, 53, _GREEN), drawing.text(38, 57, "brim, by the share that a held cut leaves", "soft")]
    parts += [drawing.dot(328, 53, _GREY), drawing.text(338, 57, "others, if no prompt was too long", "soft")]
    for panel, share in enumerate(("a quarter of the run", "half of the run")):
        line = [(name, _point(row, panel)) for name, row in held.items()]
        line.append(("nothing held", _point(ways["brim History"], panel)))
        dots = [(name, _point(row, panel)) for name, row in ways.items() if _fits(name, row)]
        parts += [*_axes(panel, f"budget: {share}"), *_dots(dots, _GREY), *_dots(line, _GREEN)]
        parts.append(drawing.path("M" + "L".join(f"{x:.0f} {y:.0f}" for _, (x, y) in line), "water", 1.5))
    left, top, width, height = _PANEL
    return drawing.picture(2 * left + 2 * width + 60, top + height + 54, title, parts)


def _fits(name: str, row: Sequence[Cell]) -> bool:
    return not name.startswith("brim") and str(row[-1]) == "0 / 0"


def _point(row: Sequence[Cell], panel: int) -> tuple[float, float]:
    """Return where a way stands in a plot: its cost to the right, its recall upwards."""
    cost, recall = (float(str(row[at]).split(" / ")[panel]) for at in (4, 1))
    return _across(panel, cost), _upwards(recall)


def _across(panel: int, cost: float) -> float:
    left, _, width, _ = _PANEL
    low, high = map(log, _COSTS)
    return left + panel * (width + 60) + width * (log(cost) - low) / (high - low)


def _upwards(recall: float) -> float:
    _, top, _, height = _PANEL
    low, high = _RECALLS
    return top + height * (high - recall) / (high - low)


def _axes(panel: int, title: str) -> Iterator[str]:
    _, top, width, height = _PANEL
    left = _across(panel, _COSTS[0])
    yield drawing.text(left, top - 12, title, "ink")
    for cost in (0.5, 1, 2, 4):
        x = _across(panel, cost)
        yield drawing.path(f"M{x:.0f} {top}V{top + height}", "line", 1)
        yield drawing.text(x, top + height + 20, f"{cost:g}", "soft middle small")
    for tenth in range(5, 11):
        y = _upwards(tenth / 10)
        yield drawing.path(f"M{left:.0f} {y:.0f}H{left + width:.0f}", "line", 1)
        yield drawing.text(left - 8, y + 4, f"{tenth / 10:.1f}", "soft end small")
    yield drawing.text(left + width, top + height + 38, "cost", "soft end small")


def _dots(points: Sequence[tuple[str, tuple[float, float]]], fill: str) -> Iterator[str]:
    for name, (x, y) in points:
        label = name.removeprefix("reference: ").partition(" (")[0]
        yield drawing.dot(x, y, fill)
        yield drawing.text(x + 7, y + 4, label if fill == _GREEN else "", "ink small")


def _fitting_plot() -> str:
    found = runs.record("fitting")
    assert found
    rows = [row for row in runs.table(found, "Fitting sections")["rows"] if row[0] == 1_000]
    told = [(row[1], (row[2],), f"{runs.shown(row[2])} ms") for row in sorted(rows, key=lambda row: float(row[2]))]
    return drawing.bars("CPU ms of one fit of 1,000 sections", told, ("#56b4e9",), max(float(row[2]) for row in rows))


def _engines_plot() -> str:
    found = runs.record("engines")
    assert found
    title = found["tables"][0]["title"]
    equal = runs.column(found, title, "counts equal")
    ratios = _numbers(runs.column(found, title, "x tiktoken, long text"))[::-1]
    rows = [
        (name, (value, 0.0) if equal[name] == "yes" else (0.0, value), f"{runs.shown(value)} x")
        for value, name in ratios
    ]
    told = "Counting a long new text, times tiktoken's speed (orange: counts are wrong)"
    return drawing.bars(told, rows, ("#56b4e9", _RED), ratios[0][0])


def _cost_plot() -> str:
    found = runs.record("histories")
    assert found
    cost = runs.column(found, "Tight fits: what", "cached cost")
    rows = _numbers(cost)
    told = [(name, (value,), runs.shown(value)) for value, name in rows]
    return drawing.bars("Cost of prompts with a cache, compared to no trimming", told, ("#e69f00",), rows[-1][0])


def figures() -> str:
    """Return the table of figures for the README."""
    rows: list[Figure] = []
    for make in (_of_conformance, _of_need, _of_histories, _of_recall, _of_fitting, _of_engines, _of_footprint):
        rows += make()
    lines = ["| | brim | others |", "|---|---|---|"]
    lines += [f"| {what} | **{own}** | {others} |" for what, own, others in rows]
    days = sorted({found["date"] for path in runs.RUNS.glob("*.json") if (found := runs.record(path.stem))})
    place = "[docs/runs](docs/runs); [the evidence](docs/evidence.md) has all of them"
    told = f"Recorded on {' and '.join(days)} in {place}."
    return "\n".join([*lines, "", told])


def _of_need() -> Iterator[Figure]:
    found = runs.record("need")
    if found:
        recall = {str(row[0]): float(str(row[1]).split(" / ")[0]) for row in found["tables"][0]["rows"]}
        oldest, trimmed = recall["pop oldest until it fits"], recall["LangChain trim_messages (tiktoken)"]
        told = f"{oldest:.0%} if the oldest go first, {trimmed:.0%} with LangChain's trim_messages"
        what = "earlier facts that the agent's next step uses and the prompt still has, at a quarter of the run's size"
        yield what, f"{recall['brim.wrap']:.0%}", told


def _of_conformance() -> Iterator[Figure]:
    found = runs.record("conformance")
    if found:
        cases = len(found["details"]["cases"])
        right = {
            trimmer["name"]: sum(each["state"] in ("pass", "refused") for each in trimmer["verdicts"])
            for trimmer in found["details"]["trimmers"]
        }
        others = sorted((number, name) for name, number in right.items() if not name.startswith("brim"))
        told = f"{others[0][0]} to {others[-1][0]} ({len(others)} trimmers; the best is {others[-1][1]})"
        what = f"prompts that fit, that the provider accepts and that keep the task, of {cases} hard histories"
        yield what, f"{right['brim']}", told


def _of_histories() -> Iterator[Figure]:
    found = runs.record("histories")
    if not found:
        return
    bad = runs.column(found, "Tight fits: right", "bad")
    yield "agent runs: prompts over, illegal or without what matters, %", *_range(bad, "brim History")
    cost = runs.column(found, "Tight fits: what", "cached cost")
    yield "agent runs: cost with a prompt cache, no trimming is 1", *_range(cost, "brim History stable")
    following = runs.column(found, "One fit of a long history", "next fit at 10,000, CPU ms")
    yield "the next fit of a history of 10,000 messages, ms", *_range(following, "brim History")


def _range(values: dict[str, Cell], own: str) -> tuple[str, str]:
    others = [value for value, name in _numbers(values) if not name.startswith("brim")]
    return runs.shown(values[own]), f"{runs.shown(min(others))} to {runs.shown(max(others))}"


def _numbers(values: dict[str, Cell]) -> list[tuple[float, str]]:
    """Return the values that are numbers, the smallest first, each with its name."""
    return sorted((float(value), name) for name, value in values.items() if isinstance(value, int | float))


def _of_recall() -> Iterator[Figure]:
    found = runs.record("recall")
    if found:
        kept = runs.column(found, "Share of the evidence", "2,000")
        own, newest, plain = (float(kept[name] or 0) for name in ("brim, relevance", "recency", "BM25, plain"))
        told = f"{newest:.0%} with the newest messages, {plain:.0%} with plain BM25"
        yield "answers about a long chat that are in a prompt of 2,000 tokens chosen by relevance", f"{own:.0%}", told


def _of_fitting() -> Iterator[Figure]:
    found = runs.record("fitting")
    if not found:
        return
    milliseconds = {row[1]: row[2] for row in runs.table(found, "Fitting sections")["rows"] if row[0] == 1_000}
    others = ", ".join(f"{name} {runs.shown(value)}" for name, value in milliseconds.items() if "brim" not in name)
    own = f"{runs.shown(milliseconds['brim, cold'])}, again {runs.shown(milliseconds['brim, warm'])}"
    yield "milliseconds of CPU time to fit 1,000 sections", own, others


def _of_engines() -> Iterator[Figure]:
    found = runs.record("engines")
    if found:
        ratio = runs.column(found, found["tables"][0]["title"], "x tiktoken, long text")
        others = f"tokenizers {runs.shown(ratio['tokenizers'])}, fastest {_fastest(ratio)}"
        yield "speed of exact counting, tiktoken is 1", runs.shown(ratio["brim"]), others


def _fastest(ratio: dict[str, Cell]) -> str:
    value, name = [each for each in _numbers(ratio) if each[1] != "brim"][-1]
    return f"{name} {runs.shown(value)}"


def _of_footprint() -> Iterator[Figure]:
    found = runs.record("footprint")
    if found:
        for each in found["gates"]:
            yield each["name"], f"{runs.shown(each['value'])} {each['unit']}".strip(), "-"


def gates() -> str:
    """Return every gate of the recorded runs, with its verdict."""
    rows: list[list[Cell]] = []
    for path in sorted(runs.RUNS.glob("*.json")):
        found = runs.record(path.stem)
        for gate in found["gates"] if found else ():
            limit = f"{'>=' if gate['at_least'] else '<='} {runs.shown(gate['limit'])} {gate['unit']}".strip()
            verdict = "pass" if gate["passed"] else "**fail**"
            rows.append([gate["name"], gate["value"], limit, verdict, found["date"] if found else None])
    return "\n".join(runs.markdown(["gate", "measured", "limit", "verdict", "on"], rows))


def pages() -> dict[Path, Callable[[], str]]:
    """Return the functions that write the files, by path."""
    return {
        PAGE: page,
        **({growth_page.PAGE: growth_page.page} if runs.record("growth") else {}),
        BENCHMARKS: lambda: runs.between(BENCHMARKS.read_text("utf-8"), "gates", gates()),
        README: lambda: runs.between(README.read_text("utf-8"), "figures", figures()),
        **plots(),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the pages, or check whether they are up to date."""
    check = "--check" in (sys.argv[1:] if arguments is None else arguments)
    made = {path: make() for path, make in pages().items()}
    stale = [path for path, text in made.items() if not path.is_file() or path.read_text("utf-8") != text]
    for path in stale:
        print(f"{path.relative_to(runs.ROOT)} {'is out of date: run make pages' if check else 'was written'}")
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(made[path], "utf-8")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
