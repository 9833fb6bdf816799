"""The debugging task: a small project, what the model does with it, and what a prompt still shows of it.

Early on the model meets a port, an error line and a path, and makes four edits; then it reads long logs. A person says
something while the agent works, and a subagent reports, where the program has that.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from pathlib import Path

MARK = "DEBUGTASK"
"""The word by which a request that belongs to the task is recognized."""
HELPER = "HELPERTASK"
"""The same for the conversation of a subagent."""
END = "END-OF-REPORT"
TURN = re.compile(r"TURN (\d+) of (\d+):")
ERROR = "FATAL E4417: lease lost before quorum (shard=heron-31, epoch=8025)"
PATH = "/srv/heron/segments/manifest-5be07d.idx"
SAID = "the new port must stay below 50000 and cfg/secret.env is off limits"
REPORT = "the replica on heron-12 answers after 4.71 s"
FACTS = {"P": "38461", "E": ERROR, "F": PATH, "U": SAID, "S": REPORT}
"""What the last request should show, by letter: port, error, file, the user's later words, the subagent's answer."""
EDITS = {
    "src/loader.py": "s/retry=3/retry=5/",
    "src/lease.py": "s/retry=3/retry=6/",
    "cfg/limits.ini": "s/^socket_index = .*/socket_index = 9/",
    "src/quorum.py": "s/retry=3/retry=7/",
}
PROMPT = (
    f"{MARK}: the billing worker of this project does not start since the last deploy. Read its config, its source and "
    "all its logs with the shell, one file at a time, and fix it. Never touch anything under vendor/; do not ask me "
    "anything. At the end report the port that the worker listens on, the full text of the first fatal error, the path "
    "of the broken manifest, and every file that you changed."
)
_WORDS = ("socket", "index", "commit", "lease", "shard", "vacuum", "replica", "quorum", "latency", "parse", "flush")
_LOGS = 60
_FILES = ("cfg/worker.toml", "logs/boot.log", "src/loader.py")


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the model: a command, and what it says before it."""

    command: str
    said: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """How many steps there are, and how long a log is."""

    steps: int = 40
    chars: int = 12_000

    def step(self, number: int) -> Step:
        """Return a step, counted from 1."""
        if number in (early := _early()):
            return early[number]
        log = number - sum(each < number for each in early)
        return Step(f"cat {_log(log)}", f"Log {log} is next." if log % 4 == 0 else "")

    def create(self, folder: Path) -> None:
        """Write the files of the project: the same every time."""
        dice = random.Random(5)
        _write(folder / "cfg/worker.toml", _config(dice))
        limits = [f"{a}_{b} = {dice.randint(1, 500)}\n" for a in _WORDS for b in _WORDS]
        _write(folder / "cfg/limits.ini", "".join(limits))
        _write(folder / "logs/boot.log", _lines(dice, self.chars, f"2026-03-09 04:11:52 {ERROR}"))
        for name in ("loader", "lease", "quorum"):
            middle = f'MANIFEST = "{PATH}"\n\n' if name == "loader" else ""
            _write(folder / f"src/{name}.py", _source(dice, name, middle))
        for number in range(1, _LOGS + 1):
            _write(folder / _log(number), _lines(random.Random(100 + number), self.chars))

    def turns(self, folder: Path) -> list[str]:
        """Return the messages for a program without tools: each a file of the project, on a single line."""
        names = [*_FILES, *(_log(number) for number in range(1, self.steps - len(_FILES) + 1))]
        asked = "read this file and answer in one sentence."
        texts = [(folder / name).read_text().replace("\n", " | ") for name in names]
        return [f"TURN {number} of {self.steps}: {asked} {text}" for number, text in enumerate(texts, 1)]


def shown(text: str) -> tuple[str, int]:
    """Return which facts a text holds, by their letters, and how many of the edits."""
    flat = " ".join(text.split())
    return "".join(letter for letter, fact in FACTS.items() if fact in flat), len(_edited(flat))


def summary(text: str, furthest: int) -> str:
    """Return the best summary of a conversation: all that it shows of what the task needs."""
    flat = " ".join(text.split())
    known = [fact for fact in FACTS.values() if fact in flat] + [f"changed: {name}" for name in _edited(flat)]
    goal = "find out why the billing worker does not start"
    done = f"Steps up to {furthest} are done"
    return f"<summary>{MARK} goes on: {goal}. Known: {'; '.join(known)}. {done}.</summary>"


def _edited(flat: str) -> list[str]:
    return [name for name, change in EDITS.items() if f"{change}' {name}" in flat or f"changed: {name}" in flat]


def _early() -> dict[int, Step]:
    stated = f"The loader reads the manifest at {PATH}, which is the broken one. I raise the retries in the loader."
    return {
        1: Step("ls -R . | head -40", "I look around first."),
        2: Step("cat cfg/worker.toml"),
        3: Step("cat logs/boot.log", "Now the boot log."),
        4: Step("cat src/loader.py"),
        5: _edit("src/loader.py", stated),
        6: Step("cat src/lease.py"),
        7: _edit("src/lease.py", "The lease module needs the same change."),
        12: _edit("cfg/limits.ini", "The limit of the socket is too low."),
        16: _edit("src/quorum.py"),
    }


def _edit(name: str, said: str = "") -> Step:
    return Step(f"sed -i '{EDITS[name]}' {name} && echo changed && tail -n 2 {name}", said)


def _log(number: int) -> str:
    return f"logs/part-{number:02d}.log"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _lines(dice: random.Random, chars: int, middle: str = "") -> str:
    """Return a log of about so many characters, with one line in its middle."""
    lines: list[str] = []
    size = 0
    while size < chars:
        time = f"2026-03-{dice.randint(1, 28):02d} {dice.randint(0, 23):02d}:{dice.randint(0, 59):02d}"
        said = " ".join(dice.choices(_WORDS, k=7))
        event = f"{dice.choice(_WORDS)}.{dice.choice(_WORDS)} id={dice.getrandbits(40):x}"
        lines.append(f"{time} INFO worker-{dice.randint(1, 64)} {event} {said}")
        size += len(lines[-1]) + 1
    if middle:
        lines.insert(len(lines) // 2, middle)
    return "\n".join(["BEGIN", *lines, "END", ""])


def _config(dice: random.Random) -> str:
    sections = [
        f'[{dice.choice(_WORDS)}_{i}]\nlimit = {dice.randint(1, 9999)}\nmode = "{dice.choice(_WORDS)}"\n'
        f'salt = "{dice.getrandbits(64):x}"\n'
        for i in range(110)
    ]
    sections.insert(55, f'[worker]\nlisten_port = {FACTS["P"]}\nname = "billing"\n')
    return "\n".join(sections)


def _source(dice: random.Random, name: str, middle: str) -> str:
    functions = [
        f'def {name}_{word}_{i}(value, retry=3):\n    """{" ".join(dice.choices(_WORDS, k=9))}."""\n'
        f"    return value * {dice.randint(2, 90)} + retry\n\n"
        for i, word in enumerate(_WORDS * 3)
    ]
    functions.insert(len(functions) // 2, middle)
    return "".join(functions)
