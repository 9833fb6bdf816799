"""Write docs/runs/conformance.md from the recorded run of `python -m bench conformance`.

python scripts/conformance.py            write the page
python scripts/conformance.py --check    fail if the page is not what would be written

The page is made of that run alone, so that it cannot state what was not measured.
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

PAGE = runs.ROOT / "docs" / "runs" / "conformance.md"

_HEAD = """\
---
hide: [toc]
search: {exclude: true}
---

# Conformance of context trimmers

<!-- Written by scripts/conformance.py from a run of `python -m bench conformance`; do not edit. -->

The suite in `tests/conformance/` is a list of cases. Each is a history, a budget, and conditions for the fitted
prompt. The tests run it on brim; the benchmarks run it on every other library that is installed. Another trimmer
needs an adapter of a few lines; the docstring of the package shows one.

Every prompt must count at most its budget, be valid for OpenAI's chat endpoint, keep the order of the messages and
leave the caller's messages unchanged. The suite counts a prompt itself: the exact o200k tokens of every text and of
the names and arguments of calls, and 3 for each message. A trimmer has ten seconds for a case.

| verdict | meaning |
|---|---|
| pass | all conditions of the case hold |
| refused | the trimmer raised its own error, and the case allows one or no prompt can be right |
| **fail** | a prompt was returned, and a condition does not hold |
| **error** | any other exception, or a panic of a tokenizer |
| **timeout** | no result in ten seconds |
| not applicable | the library, or its adapter, cannot represent the history of the case |

The libraries are configured as their documentation advises, for the budget and with an exact counter if they take one.
Some were not made for this: they have no budget, count messages, or only shorten tool outputs. The notes say so.
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
        "The columns are numbered as in the summary.\n",
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
        ("", "trimmer", "library", f"right, of {len(cases)}", "fail", "error", "timeout", "not applicable", "setup")
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
    """Return a detail of a run for a page: on one line, with nothing that Markdown reads as HTML."""
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
