"""Cases about whether the agent can read its past: words whole, calls as they were made, lines not torn.

A trimmer may drop whatever it likes as long as the words that count are there; what it shows must be what was said.
"""

from __future__ import annotations

import json

from .adapter import Message
from .case import Case
from .script import GOAL, calling, joined, loop, pair, prose, result, system, user

_RULE = "One more thing: never write to berth 12, the pilots sleep there."
_DECISIONS = (
    "I decided to bill by weight, because the ledger of quay 31 has no lengths.",
    "The valve list of the meadow is a dead end: it ends in March.",
    "Parcel 4471 was signed for by two masters, Ona and Reuel.",
    "Rounding happens in the export, not in the ledger.",
    "The second invoice came from the ferry office, on paper.",
    "I leave the lantern tariff as it is: nobody pays it.",
    "Beacon 8 is the only one with its own cash box.",
    "The archive of 2019 is in the wrong order, so I sort it first.",
)
_REMINDER = (
    "<system-reminder>Answer briefly, and mind the tide table that hangs beside the north gate.</system-reminder>"
)


def _deciding(words: int) -> list[Message]:
    """Return a run whose agent says what it found between long results; the user sets a rule in the middle."""
    made = [system(), user(GOAL)]
    for i in range(40):
        saying = _DECISIONS[i // 5] if i % 5 == 0 else None
        made += pair(f"step_{i}", prose(words, i), saying=saying, arguments=json.dumps({"page": i}))
        if i == 17:
            made.append(user(_RULE))
    return made


def _writing(count: int) -> list[Message]:
    """Return a run that writes long files, and reads what came of it."""
    made = [system(), user(GOAL)]
    for i in range(count):
        arguments = json.dumps({"path": f"berths/berth_{i:03}.txt", "content": prose(250, i), "mode": "replace"})
        made += [
            calling(f"w_{i}", arguments=arguments, name="write_file"),
            result(f"w_{i}", f"wrote 250 words, run {i}"),
        ]
    return made


def _listing(count: int, lines: int) -> list[Message]:
    """Return a run that prints long files, line by line."""
    made = [system(), user(GOAL)]
    for i in range(count):
        rows = [f"{n:4} {prose(9, 1_000 * i + n)}" for n in range(lines)]
        made += pair(
            f"call_{i}", "\n".join([*rows, f"exit code {i % 2}"]), arguments=json.dumps({"file": f"f_{i}.txt"})
        )
    return made


def _records(count: int, rows: int) -> list[Message]:
    """Return a run whose results are JSON."""
    made = [system(), user(GOAL)]
    for i in range(count):
        found = [{"id": 100 * i + n, "berth": prose(4, n), "open": n % 2 == 0, "fee": n * 1.5} for n in range(rows)]
        made += pair(f"call_{i}", json.dumps({"page": i, "records": found}), arguments=json.dumps({"page": i}))
    return made


def _case(name: str, why: str, messages: list[Message], budget: float, *expects: str, **more: object) -> Case:
    return Case(
        name=name, why=why, messages=lambda: json.loads(json.dumps(messages)), budget=budget,
        expects=("system", "newest", *expects), **more,  # type: ignore[arg-type]
    )  # fmt: skip


READABLE: tuple[Case, ...] = (
    _case(
        "what the agent decided, in its own words",
        "Its decisions are two sentences each, and go with the results beside them.",
        _deciding(150),
        0.25,
        "shows",
        shows=_DECISIONS,
    ),
    _case(
        "a rule that the user set in the middle",
        "It is neither the task nor the last instruction.",
        [*_deciding(150), user("Go on with the invoice.")],
        0.25,
        "shows",
        shows=(_RULE,),
    ),
    _case(
        "calls are shown as they were made",
        "A call with a shortened argument is one that the agent never made, and it repeats it.",
        _writing(20),
        0.3,
        "calls as made",
    ),
    _case(
        "what was written where, of long files",
        "A long argument takes the whole call with it.",
        _writing(20),
        0.3,
        "shows",
        shows=tuple(f"berths/berth_{i:03}.txt" for i in range(20)),
        share=0.8,
    ),
    _case(
        "no line is torn",
        "Half a line of code or of a table is read as a whole one.",
        _listing(24, 60),
        0.2,
        "lines whole",
    ),
    _case(
        "how each run ended",
        "The exit code is the last line, and the last line goes first.",
        _listing(24, 60),
        0.2,
        "shows",
        shows=("exit code 0", "exit code 1"),
    ),
    _case(
        "JSON stays JSON",
        "A cut inside a string or a number makes another value, or none.",
        _records(20, 25),
        0.25,
        "json whole",
    ),
    _case(
        "the same reminder at every step",
        "Seventy copies of one reminder stay, and the results go.",
        joined([loop(2), *([*pair(f"r_{i}", prose(80, i)), user(_REMINDER)] for i in range(40))]),
        0.3,
        "once",
        shows=(_REMINDER,),
    ),
    _case(
        "a huge newest result beside forty steps",
        "It takes all of the room, and the agent forgets what it was about to do with it.",
        [*_deciding(60), *pair("huge", "\n".join(prose(12, i) for i in range(900)), saying="Now the whole ledger.")],
        0.25,
        "shows",
        shows=_DECISIONS,
        share=0.75,
    ),
    _case(
        "the room is used after a cut",
        "A cut that is too deep forgets what there was room for.",
        loop(300, 40),
        0.9,
        "mostly full",
    ),
)
"""The cases about reading, in the order of the table."""
