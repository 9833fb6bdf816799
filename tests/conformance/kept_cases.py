"""Cases about what is kept: the words, the failures and the deeds that the next step of an agent depends on.

Any way of keeping them passes, whole or as an excerpt or in a summary: the conditions look for texts in the prompt.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial

from .adapter import Message
from .case import Case
from .script import GOAL, assistant, calling, chat, joined, loop, pair, prose, result, system, user

_ORDER = "Use the blue ledger from now on, and send invoice QX-2291 to the harbour master."
_ERROR = "14:07 ERROR crane 7 lost its brake fluid at berth 93"


def _files(count: int, words: int = 120, *, first: int = 0) -> list[Message]:
    """Return calls that each read another file, with its text."""
    made: list[Message] = []
    for i in range(first, first + count):
        call = calling(f"file_{i}", arguments=json.dumps({"path": f"berths/berth_{i:03}.txt"}), name="read_file")
        made += [call, result(f"file_{i}", prose(words, i))]
    return made


def _paths(count: int) -> tuple[str, ...]:
    return tuple(f"berth_{i:03}.txt" for i in range(count))


def _log(lines: int, trouble: str, at: float = 0.4, form: str = "{h:02}:{m:02} crane {c} moved a crate") -> str:
    """Return the lines of a log, one of which reports trouble."""
    made = [form.format(h=8 + i // 60 % 12, m=i % 60, c=i * 37 % 101) for i in range(lines)]
    made.insert(int(lines * at), trouble)
    return "\n".join(made)


def _tests(count: int) -> str:
    """Return what a test runner prints, with one failure far from both ends."""
    head = ["=" * 20 + " test session starts " + "=" * 20, f"collected {count} items", ""]
    rows = [f"tests/test_crane_{i}.py::test_lifts_{i} PASSED" for i in range(count)]
    rows[count // 2] = "E       AssertionError: the hook holds 400 kg, not 450"
    return "\n".join([*head, *rows, "", f"{count} items ran in 4.02s"])


def _records(count: int) -> str:
    """Return JSON records, one of which failed."""
    made = [{"id": i, "crane": i * 37 % 101, "status": "done"} for i in range(count)]
    made[count // 2] = {"id": count // 2, "status": "failed", "error": "brake fluid lost at berth 93"}
    return json.dumps({"records": made})


def _instructed(pairs: int, words: int = 60, *, order: str = _ORDER) -> list[Message]:
    """Return a run in which the user gives an order after a while, and the agent then works for long."""
    return [*loop(8), assistant("What next?"), user(order), *_files(pairs, words)]


def _outlier(small: int, words: int, huge: list[Message], after: int) -> list[Message]:
    """Return a run of turns of about one size, with a huge one so many turns before its end."""
    made = [system(), user(GOAL), *_files(small - after, words), *huge, *_files(after, words, first=small - after)]
    return [*made, *pair("last", prose(words, 99))]


def _reminded(turns: int, words: int) -> list[Message]:
    """Return a run in which the program repeats a reminder after each turn."""
    made = [system(), user(GOAL)]
    for i in range(turns):
        made += [*pair(f"call_{i}", prose(40, i)), system(f"Reminder {i}: {prose(words, i)}")]
    return [*made, user("What was the last ferry called?")]


def _reread(versions: int) -> list[Message]:
    """Return a run that reads one file again and again while it changes, and other files between."""
    made = [system(), user(GOAL)]
    for i in range(versions):
        call = calling(f"again_{i}", arguments='{"path":"berths/plan.txt"}', name="read_file")
        made += [call, result(f"again_{i}", f"version {i} of the plan\n{prose(300, i)}\nrevision R-{7000 + i}")]
        made += _files(3, 60, first=3 * i)
    return made


def _polled(times: int) -> list[Message]:
    """Return a run that learned a number, and then asked the same question many times with the same answer."""
    answer = "the queue is empty\n" + prose(120, 5)
    made = [*loop(4), *pair("key", f"{prose(40, 3)} The gate code is KD-55012. {prose(40, 4)}")]
    return [*made, *joined(pair(f"poll_{i}", answer, arguments='{"queue":"north"}') for i in range(times))]


def _failed(after: int) -> list[Message]:
    """Return a run in which a call failed, and many that did not came after it."""
    call = calling("locked", arguments='{"path":"berths/locked_berth.txt"}', name="read_file")
    answer = result(
        "locked", f"{prose(60, 8)}\npermission denied: berths/locked_berth.txt belongs to pilot 31\n{prose(60, 9)}"
    )
    return [*loop(3), call, answer, *_files(after)]


def _scripted(count: int) -> list[Message]:
    """Return a coding agent that works by text, with a command of its own in each turn."""
    made = [system(), user(GOAL)]
    for i in range(count):
        said = f"I look further.\n```bash\ncat berths/berth_{i:03}.txt\n```"
        made += [assistant(said), user(f"<output>\n{prose(120, i)}\n</output>")]
    return made


def _ending(text: str) -> list[Message]:
    """Return a run whose newest result is a text."""
    return [*loop(4), *pair("last", text)]


def _shown(
    name: str,
    why: str,
    messages: Callable[[], list[Message]],
    budget: int | float,
    *shows: str,
    share: float = 1.0,
    expects: tuple[str, ...] = ("newest",),
) -> Case:
    """Return a case whose prompt has to show some texts, or a share of them."""
    checks = ("system", *expects, "shows")
    return Case(name=name, why=why, messages=messages, budget=budget, shows=shows, share=share, expects=checks)


INSTRUCTIONS = (
    _shown(
        "the current instruction, 60 tool pairs ago",
        "The user's last words are older than the newest results, and go with the old ones.",
        lambda: _instructed(60),
        0.25,
        _ORDER,
    ),
    _shown(
        "the current instruction in a tenth of the room",
        "The fewer turns fit, the sooner the instruction is among those that go.",
        lambda: _instructed(80),
        0.1,
        _ORDER,
    ),
    _shown(
        "the task and the current instruction",
        "One of the two is pinned, and the other goes.",
        lambda: _instructed(60),
        0.25,
        _ORDER,
        expects=("newest", "task"),
    ),
    _shown(
        "a long instruction stays whole",
        "It is cut like any older text.",
        lambda: _instructed(60, order=f"{prose(150, 77)} {_ORDER}"),
        0.3,
        f"{prose(150, 77)} {_ORDER}",
    ),
    _shown(
        "the instruction before a huge newest result",
        "The result takes the room of what it is for.",
        lambda: [*loop(8), user(_ORDER), *pair("last", prose(9_000, 6))],
        1_500,
        _ORDER,
    ),
    _shown(
        "a correction in the middle of a run",
        "The agent does again what it was told not to do.",
        lambda: [*loop(30), user("No: not crane 12, take crane 13."), *_files(30, 60)],
        0.25,
        "not crane 12, take crane 13",
    ),
)

OUTLIERS = (
    _shown(
        "one turn of 50,000 tokens among ten of 1,000",
        "Filling stops at the turn that does not fit, and most of the room stays empty.",
        lambda: _outlier(10, 750, _files(1, 38_000, first=900), 0),
        20_000,
        *_paths(10),
        share=0.8,
        expects=("newest whole", "full"),
    ),
    _shown(
        "a huge turn right before the newest",
        "What stands before the huge turn is lost, although it would fit.",
        lambda: _outlier(10, 200, _files(1, 9_000, first=900), 0),
        4_000,
        *_paths(10),
        share=0.8,
        expects=("newest whole", "full"),
    ),
    _shown(
        "a huge turn in the middle",
        "Filling from the newest turn stops there.",
        lambda: _outlier(20, 150, _files(1, 9_000, first=900), 8),
        5_000,
        *_paths(20),
        share=0.8,
        expects=("newest whole", "full"),
    ),
    _shown(
        "a huge file that the agent wrote",
        "The arguments of one call keep all older turns out.",
        lambda: _outlier(12, 150, pair("write", "ok", arguments=json.dumps({"text": prose(9_000, 3)})), 4),
        4_000,
        *_paths(12),
        share=0.8,
        expects=("newest whole", "full"),
    ),
    _shown(
        "a huge message of the user in the middle",
        "A pasted document keeps all older turns out.",
        lambda: _outlier(12, 150, [user(f"Here are the rules. {prose(9_000, 3)}"), assistant("I have read them.")], 5),
        4_500,
        *_paths(12)[:7],
        share=0.5,
        expects=("newest whole", "full"),
    ),
)

PASTED = (
    _shown(
        "a pasted log as task, and a newest result that fits",
        "The newest result is cut to make room for the log.",
        lambda: [*loop(4, goal=f"Which crane failed?\n{_log(3_000, _ERROR)}"), *pair("last", prose(300, 7))],
        4_000,
        "Which crane failed?",
        expects=("newest whole", "task"),
    ),
    _shown(
        "a pasted log with the question at its end",
        "Only the start of the task is kept.",
        lambda: [*loop(4, goal=f"{_log(3_000, _ERROR)}\nWhich crane failed?"), *pair("last", prose(300, 7))],
        4_000,
        "Which crane failed?",
        expects=("newest whole", "task"),
    ),
    _shown(
        "the error in a pasted log",
        "The log is cut in its middle, where the only error is.",
        lambda: [system(), user(f"Which crane failed?\n{_log(3_000, _ERROR)}")],
        1_500,
        _ERROR,
    ),
)

REMINDERS = (
    _shown(
        "sixty reminders between the turns",
        "System messages are never dropped: they fill the prompt, or it is over.",
        lambda: _reminded(60, 60),
        0.25,
        "What was the last ferry called?",
        expects=("newest whole",),
    ),
    _shown(
        "the newest reminder",
        "Reminders are dropped, or the oldest is kept in place of the newest.",
        lambda: _reminded(40, 40),
        0.4,
        "Reminder 39:",
        expects=("newest whole",),
    ),
    _shown(
        "a reminder that is longer than the budget",
        "A system message in the middle counts as rules that must stay.",
        lambda: [*loop(10), system(f"Reminder: {prose(4_000, 2)}"), *_files(10, 40), user("Go on.")],
        2_000,
        "Go on.",
        expects=("newest whole",),
    ),
)

PREFILLS = (
    _shown(
        "the question before a prefilled answer",
        "The answer is the newest message, and its question goes.",
        lambda: [*chat(40), assistant("It cost")],
        0.15,
        "And what did the last of these cost?",
        expects=("newest whole",),
    ),
    _shown(
        "the question of a long run before a prefilled answer",
        "Between the question and the newest results of tools, the question goes.",
        lambda: [*loop(60), user("Which ferry was it? Answer with its number."), assistant("Ferry")],
        500,
        "Which ferry was it? Answer with its number.",
        expects=("newest whole",),
    ),
    _shown(
        "a long prefilled answer",
        "The half of an answer is kept, and what it answers is not.",
        lambda: [*chat(30), assistant(prose(250, 4))],
        900,
        "And what did the last of these cost?",
        expects=("newest",),
    ),
)

SUPERSEDED = (
    _shown(
        "a file that was read eight times",
        "An old version takes the room of the newest, or only an old one is left.",
        lambda: _reread(8),
        0.4,
        "revision R-7007",
    ),
    _shown(
        "the newest version in half of the room",
        "All versions are kept, and other files go for it.",
        lambda: _reread(10),
        0.5,
        "revision R-7009",
        *_paths(30),
        share=0.9,
    ),
    _shown(
        "one answer thirty times, and a number before it",
        "The same answer, over and over, keeps out what was said once.",
        lambda: _polled(30),
        0.3,
        "KD-55012",
    ),
    _shown(
        "a file that was written after it was read",
        "The text that was read is kept, and what replaced it is not.",
        lambda: [
            *loop(3),
            *pair("read", prose(400, 1), arguments='{"path":"berths/plan.txt"}'),
            *pair("write", "ok", arguments=json.dumps({"path": "berths/plan.txt", "text": "the new plan is P-8812"})),
            *_files(30, 60),
        ],
        0.6,
        "the new plan is P-8812",
    ),
)

ERRORS = (
    *(
        _shown(
            f"the one error line of {kind}",
            "The middle of a long result is cut out, and the error with it.",
            partial(_ending, text),
            1_500,
            line,
        )
        for kind, text, line in (
            ("a log with hours and minutes", _log(2_000, _ERROR), _ERROR),
            (
                "a log without times",
                _log(2_000, "crane 7: fatal: brake fluid lost", form="crane {c} moved a crate in minute {m}"),
                "crane 7: fatal: brake fluid lost",
            ),
            ("a test run", _tests(900), "AssertionError: the hook holds 400 kg, not 450"),
            (
                "a page of HTML on one line",
                "<p>A crane moved a crate.</p>" * 900 + '<p class="error">brake fluid lost</p>' + "<p>Calm.</p>" * 900,
                "brake fluid lost",
            ),
            ("JSON records", _records(900), "brake fluid lost at berth 93"),
        )
    ),
    _shown(
        "what an old call failed with",
        "The agent tries again what has failed before.",
        lambda: _failed(30),
        0.6,
        "permission denied: berths/locked_berth.txt",
    ),
)

DEEDS = (
    _shown(
        "what was done, in a quarter of the room",
        "The agent forgets which files it has read, and reads them again.",
        lambda: [system(), user(GOAL), *_files(50)],
        0.25,
        *_paths(50),
        share=0.8,
    ),
    _shown(
        "what was done, in half of the room",
        "Whole results take the room of a line for each call.",
        lambda: [system(), user(GOAL), *_files(50)],
        0.5,
        *_paths(50),
        share=0.9,
    ),
    _shown(
        "what was done by text",
        "Commands in the words of the assistant are deeds too.",
        lambda: _scripted(40),
        0.4,
        *_paths(40),
        share=0.8,
    ),
)

BUDGETS = (
    Case(
        name="a larger budget does not keep less: a loop",
        why="With more room another way is taken, and less is left.",
        messages=lambda: loop(60),
        budget=0.2,
        expects=("system", "newest whole", "grows"),
    ),
    Case(
        name="a larger budget does not keep less: an outlier",
        why="What just fits takes the room of much that fitted before.",
        messages=lambda: _outlier(12, 150, _files(1, 3_000, first=900), 4),
        budget=1_500,
        expects=("system", "newest whole", "grows"),
    ),
    Case(
        name="a budget that is lowered and raised again",
        why="What was cut for a small window is lost when the window is large again.",
        messages=lambda: [system(), user(GOAL), *_files(40)],
        budget=0.5,
        expects=("system", "newest whole", "returns"),
    ),
)

_REMINDED = "Remember to keep the ledger of quay 31 up to date at every step, and tell nobody the price. " * 3
_RULE = "Never touch prod_db, whatever happens."


def _module(name: str, lines: int) -> list[Message]:
    """Return a call that writes a file, and its result."""
    body = "\n".join(f"def crane_{i}(x): return x + {i}  # {name}" for i in range(lines))
    return pair(name, "ok", arguments=json.dumps({"path": name, "content": body}))


def _screens(count: int) -> list[Message]:
    """Return a task with a rule and screenshots, and rounds of calls."""
    image = {
        "type": "image_url",
        "image_url": {"url": "data:image/png;base64," + "iVBORw0K" * 12_000, "detail": "high"},
    }
    asked = {"role": "user", "content": [{"type": "text", "text": f"{GOAL} {_RULE}"}, *[image] * count]}
    return [system(), asked, *joined(pair(f"call_{i}", prose(40, i)) for i in range(20))]


def _wrapped(blocks: int) -> str:
    """Return a result as tools behind MCP return it: JSON in a text in JSON, without line ends."""
    rows = [{"id": f"block-{i:04}-a1", "text": prose(12, i)} for i in range(blocks)]
    return json.dumps([{"type": "text", "text": json.dumps({"object": "page", "results": rows})}])


def _reserved() -> list[Message]:
    """Return older results, and a reservation that the agent has just asked for."""
    flights = json.dumps(
        {"reservation": "Q7KX2L", "flights": [{"number": f"HAT{i}", "price": 97 + i} for i in range(9)]}
    )
    older = joined(pair(f"call_{i}", prose(60, i)) for i in range(12))
    return [system(), user(GOAL), *older, *pair("call_r", flights)]


ITEMS = (
    _shown(
        "the file just written, beside an older one",
        "The newest call is emptied while an older one stays whole.",
        lambda: [system(), user(GOAL), *_module("older.py", 120), *_module("newer.py", 120)],
        3_500,
        *(f"def crane_{i}(x): return x + {i}  # newer.py" for i in range(120)),
    ),
    _shown(
        "a task with five screenshots",
        "What does not fit is the images, and the words beside them go.",
        lambda: _screens(5),
        2_000,
        _RULE,
        GOAL,
    ),
    _shown(
        "the result that was just asked for, a little too much",
        "What the agent has not read yet is cut first, and it asks again.",
        _reserved,
        0.95,
        *(f"HAT{i}" for i in range(9)),
        expects=("newest whole",),
    ),
    Case(
        name="JSON in a text in JSON",
        why="It is one long line, and is cut in the middle of a word.",
        messages=lambda: [system(), user(GOAL), *joined(pair(f"call_{i}", _wrapped(30)) for i in range(4))],
        budget=0.4,
        expects=("system", "newest", "wrapped"),
    ),
    Case(
        name="a reminder in every third place",
        why="It stays each time, and all results become marks.",
        messages=lambda: [
            system(),
            user(GOAL),
            *joined([*pair(f"call_{i}", prose(40, i)), system(_REMINDED)] for i in range(40)),
            user("Go on."),
        ],
        budget=2_000,
        expects=("system", "newest whole", "once", "mostly full"),
        shows=(_REMINDED,),
    ),
)

KEPT: tuple[Case, ...] = (
    *ITEMS,
    *INSTRUCTIONS,
    *OUTLIERS,
    *PASTED,
    *REMINDERS,
    *PREFILLS,
    *SUPERSEDED,
    *ERRORS,
    *DEEDS,
    *BUDGETS,
)
"""The cases about what is kept, in the order of the table."""
