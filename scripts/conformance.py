"""Write docs/conformance.md from the recorded run of `python -m bench conformance`.

python scripts/conformance.py            write the page
python scripts/conformance.py --check    fail if the page is not what would be written

The page is made of that run and of nothing else, so that it cannot say what was not measured.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scripts import runs
    from scripts.generated import run
else:
    import runs
    from generated import run

PAGE = runs.ROOT / "docs" / "conformance.md"

_HEAD = """\
---
hide: [toc]
search: {exclude: true}
---

# What a context trimmer should do, and which ones do it

<!-- Written by scripts/conformance.py from a run of `python -m bench conformance`; do not edit. -->

The suite in `tests/conformance/` is a list of histories with a budget each, and of what must hold of the prompt that is
made of them. It runs against brim with the tests, and against every peer that is installed with the benchmarks. To put
another trimmer through it takes an adapter of a few lines: the package's docstring shows one.

Every prompt must count at most its budget, be one that OpenAI's chat endpoint accepts, keep the order of what was said
and leave the caller's messages alone. A prompt is measured by an exact count of its own: o200k tokens of every text, of
the names and the arguments of calls, and 3 for each message. A trimmer has ten seconds for a case.

| word | means |
|---|---|
| pass | all that the case expects holds |
| refused | an error of the trimmer's own, where the case allows one or nothing else can be right |
| **fail** | a prompt came back, and something is wrong with it |
| **error** | any other exception, a panic of a tokenizer included |
| **timeout** | no answer in ten seconds |
| not asked | the library, or the adapter for it, has no place for what the case holds |

The peers were set up as their documentation advises, to the budget and with an exact counter where they take one. Some
were not made for this: they have no budget, count messages, or only shorten tool outputs. The notes say so.
"""

_SHORT = {"pass": "pass", "refused": "refused", "fail": "**fail**", "error": "**error**", "timeout": "**timeout**"}


def page(told: dict[str, Any], measured: str = "") -> str:
    """Return the page for the verdicts of one run, with a sentence on where and when it was."""
    cases, trimmers = told["cases"], told["trimmers"]
    parts = [
        _HEAD,
        *([f"{measured}\n"] if measured else []),
        "## Summary\n",
        "\n".join(_summary(cases, trimmers)),
        "",
        *told["notes"],
        "\n## The cases\n",
        "\n".join(_reasons(cases)),
        "\n## Case by case\n",
        "The columns are the numbers of the summary.\n",
        "\n".join(_verdicts(cases, trimmers)),
        "\n## What was wrong\n",
        "\n".join(_details(cases, trimmers)),
    ]
    return "\n".join(parts).rstrip() + "\n"


def _row(cells: Sequence[object]) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"


def _ruled(columns: Sequence[object]) -> Iterator[str]:
    yield _row(columns)
    yield "|" + "---|" * len(columns)


def _summary(cases: Sequence[Any], trimmers: Sequence[Any]) -> Iterator[str]:
    yield from _ruled(
        ("", "trimmer", "library", f"right, of {len(cases)}", "fail", "error", "timeout", "not asked", "set up")
    )
    for i, trimmer in enumerate(trimmers, start=1):
        states = [verdict["state"] for verdict in trimmer["verdicts"]]
        right = states.count("pass") + states.count("refused")
        others = [states.count(state) for state in ("fail", "error", "timeout", "not asked")]
        yield _row((i, trimmer["name"], trimmer["library"], right, *others, trimmer["note"]))


def _reasons(cases: Sequence[Any]) -> Iterator[str]:
    yield from _ruled(("", "case", "what goes wrong in practice"))
    for letter, case in enumerate(cases, start=1):
        yield _row((letter, case["name"], case["why"]))


def _verdicts(cases: Sequence[Any], trimmers: Sequence[Any]) -> Iterator[str]:
    yield from _ruled(("", "case", *range(1, len(trimmers) + 1)))
    for i, case in enumerate(cases):
        states = [trimmer["verdicts"][i]["state"] for trimmer in trimmers]
        yield _row((i + 1, case["name"], *(_SHORT.get(state, "-") for state in states)))


def _details(cases: Sequence[Any], trimmers: Sequence[Any]) -> Iterator[str]:
    for i, trimmer in enumerate(trimmers, start=1):
        wrong = [
            f"- {case['name']}: {_SHORT[verdict['state']]}, {_told(verdict['detail'])}"
            for case, verdict in zip(cases, trimmer["verdicts"], strict=True)
            if verdict["state"] in ("fail", "error", "timeout")
        ]
        if wrong:
            yield from (f"### {i}. {trimmer['name']}\n", *wrong, "")


def _told(detail: str) -> str:
    """Return a sentence of a run as it may stand on a page: on one line, with nothing that Markdown takes for HTML."""
    return " ".join(detail.split()).replace("<", "&lt;").replace("`", "'")


def written() -> str:
    """Return the page for the recorded run.

    Raises:
        LookupError: there is none.
    """
    found = runs.record("conformance")
    if not found:
        raise LookupError("there is no docs/runs/conformance.json: run python -m bench conformance --record docs/runs")
    return page(found["details"], runs.origin(found))


if __name__ == "__main__":
    sys.exit(run(PAGE, written))
