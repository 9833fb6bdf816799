"""Recorded agent runs to replay: read from files, or made here from word lists and a seed.

The files are JSON lines, plain or gzipped, a run a line: `{"id": ..., "messages": [...]}` in OpenAI's chat shape. Other
lines are passed over. Nothing of what is read is stored.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from bench import corpus
from bench.outcome import Half, Setting
from bench.suite import Message


@dataclass(frozen=True, kw_only=True, slots=True)
class Trajectory:
    """One recorded run, from the system message to the last answer."""

    name: str
    messages: tuple[Message, ...]

    def calls(self) -> Iterator[int]:
        """Yield where the model was called: the index of each of its answers, which is the length of its prompt."""
        for i, message in enumerate(self.messages):
            if i and message["role"] == "assistant":
                yield i


def sample(setting: Setting, count: int) -> dict[str, list[Trajectory]]:
    """Return up to `count` runs of each file, spread evenly over the half that the setting names, by file.

    Without a folder there is one group of runs of our own.

    Raises:
        ValueError: there is no run in the files of the folder.
    """
    if setting.traces is None:
        return {"made up": spread(synthetic(2 * 6 * count), setting.half, 6 * count)}
    found = {path.name.split(".")[0]: spread(lines(path), setting.half, count) for path in files(setting.traces)}
    if not any(found.values()):
        raise ValueError(f"there is no trajectory in the .jsonl and .jsonl.gz files of {setting.traces}")
    return {name: runs for name, runs in found.items() if runs}


def spread(runs: Sequence[Trajectory], half: Half, count: int) -> list[Trajectory]:
    """Return up to `count` runs of one half: the first of them, and others at equal distances."""
    taken = {"even": runs[0::2], "odd": runs[1::2], "both": runs}[half]
    return list(taken[:: max(1, len(taken) // count)][:count])


def files(folder: Path) -> list[Path]:
    """Return the files of a folder that may hold runs, in the order of their names."""
    return sorted([*folder.glob("*.jsonl"), *folder.glob("*.jsonl.gz")])


def lines(path: Path) -> list[Trajectory]:
    """Return the runs of one file."""
    found = []
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as rows:
        for number, line in enumerate(rows):
            row = json.loads(line)
            if row.get("messages"):
                name = str(row.get("id", f"{path.name}:{number}"))
                found.append(Trajectory(name=name, messages=tuple(row["messages"])))
    return found


def synthetic(count: int = 48, seed: int = 1) -> list[Trajectory]:
    """Return runs of our own of six kinds in turn, the same on every machine."""
    made = []
    for i in range(count):
        name, make = _MAKERS[i % len(_MAKERS)]
        random = Random(seed * 1_000 + i)
        made.append(Trajectory(name=f"{name} {i // len(_MAKERS)}", messages=tuple(make(random))))
    return made


def _renamed(message: Message, run: int) -> Message:
    if message.get("tool_calls"):
        calls = [{**call, "id": f"{call['id']}-{run}"} for call in message["tool_calls"]]
        return {**message, "tool_calls": calls}
    if message.get("tool_call_id"):
        return {**message, "tool_call_id": f"{message['tool_call_id']}-{run}"}
    return message


def _text(random: Random, kind: str, size: int) -> str:
    return corpus.filled(lambda: corpus.KINDS[kind](random), max(1, size))


def _said(random: Random, size: int) -> str:
    return _text(random, "prose", size).strip()


def _any(random: Random, size: int) -> str:
    kind = random.choices(("JSON", "log", "Python", "script", "prose", "base64"), (30, 20, 25, 10, 10, 5))[0]
    return _text(random, kind, size)


def _size(random: Random, median: int) -> int:
    """Return a size of the kind that texts have: most near the median, a few many times as long."""
    return int(median * random.lognormvariate(0, 0.9)) + 1


def _round(random: Random, number: int, results: Sequence[str], said: str | None) -> list[Message]:
    """Return a message that makes a call for each result, and the results."""
    names = random.choices(("read_file", "search", "run", "get_order", "list_rows"), k=len(results))
    ids = [f"call_{number}_{i}" for i in range(len(results))]
    calls = [
        {
            "id": each,
            "type": "function",
            "function": {"name": name, "arguments": json.dumps({"query": _said(random, 30), "limit": number})},
        }
        for each, name in zip(ids, names, strict=True)
    ]
    answers = [{"role": "tool", "tool_call_id": each, "content": text} for each, text in zip(ids, results, strict=True)]
    return [{"role": "assistant", "content": said, "tool_calls": calls}, *answers]


def _opening(random: Random, rules: int, task: int) -> list[Message]:
    return [{"role": "system", "content": _said(random, rules)}, {"role": "user", "content": _said(random, task)}]


def _loop(random: Random) -> Iterator[Message]:
    yield from _opening(random, 2_000, 1_200)
    for i in range(random.randrange(25, 70)):
        said = _said(random, 150) if random.random() < 0.6 else None
        yield from _round(random, i, [_any(random, _size(random, 1_500))], said)
    yield {"role": "assistant", "content": _said(random, 400)}


def _parallel(random: Random) -> Iterator[Message]:
    yield from _opening(random, 3_000, 600)
    for i in range(random.randrange(12, 30)):
        number = random.randrange(2, 7)
        yield from _round(random, i, [_any(random, _size(random, 800)) for _ in range(number)], None)
    yield {"role": "assistant", "content": _said(random, 400)}


def _huge(random: Random) -> Iterator[Message]:
    yield from _opening(random, 1_500, 500)
    for i in range(random.randrange(10, 25)):
        size = 60_000 if random.random() < 0.15 else _size(random, 900)
        yield from _round(random, i, [_any(random, size)], _said(random, 120))
    yield {"role": "assistant", "content": _said(random, 300)}


def _service(random: Random) -> Iterator[Message]:
    yield {"role": "system", "content": _said(random, 5_000)}
    for i in range(random.randrange(8, 16)):
        yield {"role": "user", "content": _said(random, _size(random, 120))}
        for j in range(random.choices((0, 1, 2, 3), (30, 40, 20, 10))[0]):
            yield from _round(random, 10 * i + j, [_text(random, "JSON", _size(random, 900))], None)
        yield {"role": "assistant", "content": _said(random, _size(random, 350))}


def _coder(random: Random) -> Iterator[Message]:
    yield from _opening(random, 2_500, 2_500)
    for _ in range(random.randrange(20, 50)):
        command = f"sed -n '1,{random.randrange(20, 300)}p' {'/'.join(_said(random, 20).split()[:2])}"
        yield {"role": "assistant", "content": f"{_said(random, 250)}\n\n```bash\n{command}\n```"}
        yield {"role": "user", "content": f"<output>\n{_any(random, _size(random, 1_200))}\n</output>"}
    yield {"role": "assistant", "content": _said(random, 300)}


def _eastern(random: Random) -> Iterator[Message]:
    kind = "Chinese, Japanese, Korean"
    yield {"role": "system", "content": _text(random, kind, 600)}
    for i in range(random.randrange(15, 40)):
        yield {"role": "user", "content": _text(random, kind, _size(random, 80))}
        if random.random() < 0.4:
            yield from _round(random, i, [_text(random, random.choices((kind, "emoji", "JSON"))[0], 700)], None)
        yield {"role": "assistant", "content": _text(random, kind, _size(random, 200))}


_MAKERS: tuple[tuple[str, Callable[[Random], Iterator[Message]]], ...] = (
    ("tool loop", _loop),
    ("service talk", _service),
    ("text protocol", _coder),
    ("parallel calls", _parallel),
    ("huge outputs", _huge),
    ("eastern scripts", _eastern),
)
