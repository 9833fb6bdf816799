"""Points that an agent makes while it works, in two languages, and contexts that make them.

They were written before the hand-over was changed, each language by itself: twenty findings, decisions, open points and
dead ends.
"""

from pathlib import Path

from brim.history.compact.continuation import Continuation, continuation

HERE = Path(__file__).parent
LANGUAGES = ("en", "zh")
GOAL = {
    "en": "Find out why refunds are slow, and fix it.",
    "zh": "查清退款为什么慢，并修好它。",
}
ASIDES = {
    "en": [
        "Let me look at the next file.",
        "I'll run the tests again.",
        "Now checking the logs of the proxy.",
        "Okay.",
    ],
    "zh": ["我来看看下一个文件。", "再跑一遍测试。", "好的。"],
}
PRINTED = "src/{0}.py:{1}: def handler_{1}(request):\n    return ledger.rows({1})\n" * 12


def points(language: str) -> dict[str, list[str]]:
    """Return the points of a language by kind."""
    found: dict[str, list[str]] = {}
    for row in (HERE / f"{language}.txt").read_text(encoding="utf-8").splitlines():
        if row.startswith("# "):
            found[row[2:]] = []
        else:
            found[[*found][-1]].append(row)
    return found


def context(language: str, said: list[str], number: int) -> list[dict[str, object]]:
    """Return the messages of a context in which an agent makes some points between its calls."""
    made: list[dict[str, object]] = []
    asides = ASIDES[language]
    for i, point in enumerate(said):
        name = f"c{number}-{i}"
        aside = asides[(number + i) % len(asides)]
        call = {"name": "read_file", "arguments": f'{{"path": "src/part{number}_{i}.py"}}'}
        text = f"{point} {aside}" if i % 2 else f"{aside} {point}"
        made.append(
            {"role": "assistant", "content": text, "tool_calls": [{"id": name, "type": "function", "function": call}]}
        )
        made.append(
            {"role": "tool", "tool_call_id": name, "content": PRINTED.format(f"part{number}_{i}", number * 40 + i)}
        )
    return made


def handed_over(language: str, said: list[str], *, contexts: int = 5) -> Continuation:
    """Return what is known after some contexts, in which the points were made one after the other."""
    made: Continuation | None = None
    each = -(-len(said) // contexts)
    for number in range(contexts):
        messages = context(language, said[number * each : (number + 1) * each], number)
        made = continuation(messages, goal=GOAL[language], previous=made)
    assert made is not None
    return made


def headed(text: str) -> dict[str, list[str]]:
    """Return the rows of a hand-over by the heading that they stand under, without who said them."""
    rows: dict[str, list[str]] = {}
    heading = ""
    for row in text.split("\n"):
        if row.startswith("- "):
            rows[heading].append(row[2:].removeprefix("agent: "))
        else:
            heading = row.removesuffix(":")
            rows.setdefault(heading, [])
    return rows
