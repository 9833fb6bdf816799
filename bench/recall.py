"""What is still in the prompt when it is asked for: long conversations, and questions whose evidence is known.

The conversations are read from the `locomo*.jsonl` files in the folder of traces, plain or gzipped, one a line:
`{"turns": [{"dia_id", "speaker", "text"}], "qa": [{"question", "category", "evidence": [dia_id]}]}`. Nothing of what
is read is stored.
"""

from __future__ import annotations

import gzip
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import brim
from bench import clock
from bench.outcome import Cell, Gate, Outcome, Setting, Table
from brim.errors import UnknownName
from brim.relevance.meaning import wordllama

BUDGETS = (2_000, 4_000, 8_000)
_METER = "o200k_base"
_FRAMING = 4
"""Tokens of a message in addition to its content, for the other libraries."""
_LIMITS = {2_000: 0.80, 4_000: 0.86}
"""The share of the evidence that must be kept within a budget."""
_KINDS = {"1": "multi-hop", "2": "temporal", "3": "open-domain", "4": "single-hop", "5": "adversarial"}
"""What LoCoMo's categories of questions are."""
_TURN_ID = re.compile(r"D:?(\d+):(\d+)")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """A question and the turns that answer it."""

    text: str
    kind: str
    gold: frozenset[int]


@dataclass(frozen=True, kw_only=True, slots=True)
class Talk:
    """A conversation as chat messages, and questions about it."""

    messages: Sequence[dict[str, str]]
    questions: Sequence[Question]


Keep = Callable[[Question, int], set[int]]
"""Told a question and a budget, returns the messages that stay in the prompt."""


@dataclass(kw_only=True, slots=True)
class Kept:
    """What one way of choosing kept: for each budget the share of every question's evidence, by kind."""

    shares: dict[int, list[tuple[str, float]]] = field(default_factory=lambda: {budget: [] for budget in BUDGETS})
    seconds: float = 0.0
    fits: int = 0

    def mean(self, budget: int, kind: str | None = None) -> float:
        """Return the mean share over the questions of a kind, or over all."""
        chosen = [share for each, share in self.shares[budget] if kind in (None, each)]
        return sum(chosen) / len(chosen) if chosen else math.nan


def run(setting: Setting) -> Outcome:
    talks = list(_read(setting.traces)) if setting.traces else []
    if not talks:
        note = "There is no file locomo*.jsonl in the folder of --traces, so nothing was measured."
        return Outcome(name="recall", tables=[Table(title="Recall", columns=["what"], rows=[], notes=[note])])
    ways, notes = _ways()
    found = {name: _kept(talks, way, 10 if setting.quick else 1) for name, way in ways.items()}
    gates = [
        Gate(
            name=f"recall: evidence kept in {budget:,} units",
            value=found["brim, relevance"].mean(budget),
            limit=limit,
            unit="of the gold turns",
            at_least=True,
        )
        for budget, limit in _LIMITS.items()
    ]
    return Outcome(name="recall", tables=[_by_way(found, notes), _by_kind(found)], gates=gates)


def _ways() -> tuple[dict[str, Callable[[Talk], Keep]], list[str]]:
    """Return the ways of selecting, and a line for each that is not installed."""
    ways: dict[str, Callable[[Talk], Keep]] = {
        "recency": lambda talk: _fitted(talk, select="recency"),
        "BM25, plain": _plain,
        "brim, relevance": lambda talk: _fitted(talk, select="relevance"),
    }
    notes = []
    try:
        embed = wordllama()
    except UnknownName as error:
        notes.append(f"brim with embeddings is left out: {error}")
    else:
        ways["brim, relevance and wordllama"] = lambda talk: _fitted(talk, select="relevance", embed=embed)
    return ways, notes


def _kept(talks: Iterable[Talk], way: Callable[[Talk], Keep], step: int) -> Kept:
    """Return what a way keeps of every `step`th question's evidence."""
    kept = Kept()
    for talk in talks:
        keep = way(talk)
        for question in talk.questions[::step]:
            for budget in BUDGETS:
                seconds, stays = clock.once(partial(keep, question), budget)
                kept.seconds += seconds
                kept.fits += 1
                kept.shares[budget].append((question.kind, len(question.gold & stays) / len(question.gold)))
    return kept


def _fitted(talk: Talk, **options: Any) -> Keep:
    """Return what brim keeps; a message that was cut is not counted as kept."""
    history = brim.History(meter=_METER)
    history.extend(talk.messages)
    position = {id(message): i for i, message in enumerate(talk.messages)}

    def keep(question: Question, budget: int) -> set[int]:
        fitted = history.fit(budget, query=question.text, **options)
        return {position[id(message)] for message in fitted.messages if id(message) in position}

    return keep


def _plain(talk: Talk) -> Keep:
    """Return what plain BM25 keeps: lower-case words, no stems, no neighbours."""
    found = [Counter(_WORD.findall(message["content"].lower())) for message in talk.messages]
    lengths = [sum(words.values()) for words in found]
    usual = sum(lengths) / len(lengths)
    having = Counter(word for words in found for word in words)

    def score(words: Mapping[str, int], length: int, asked: Iterable[str]) -> float:
        total = 0.0
        for word in asked:
            times = words.get(word, 0)
            rarity = math.log(1 + (len(found) - having[word] + 0.5) / (having[word] + 0.5))
            total += rarity * times * 2.2 / (times + 1.2 * (0.25 + 0.75 * length / usual))
        return total

    def order(question: Question) -> Iterable[int]:
        asked = sorted(set(_WORD.findall(question.text.lower())))
        scores = [score(words, length, asked) for words, length in zip(found, lengths, strict=True)]
        return sorted(range(len(scores)), key=lambda i: (-scores[i], -i))

    return _filled(talk, order)


def _filled(talk: Talk, order: Callable[[Question], Iterable[int]]) -> Keep:
    """Return what is kept if the first and the newest message stay and others are added in order, while they fit."""
    meter = brim.meter(_METER)
    sizes = [meter.count(message["content"]) + _FRAMING for message in talk.messages]

    def keep(question: Question, budget: int) -> set[int]:
        stays = {0, len(sizes) - 1}
        room = budget - sum(sizes[i] for i in stays)
        for i in order(question):
            if i not in stays and sizes[i] <= room:
                stays.add(i)
                room -= sizes[i]
        return stays

    return keep


def _by_way(found: Mapping[str, Kept], notes: Sequence[str]) -> Table:
    rows: list[list[Cell]] = [
        [name, *(kept.mean(budget) for budget in BUDGETS), 1e3 * kept.seconds / kept.fits]
        for name, kept in found.items()
    ]
    questions = len(next(iter(found.values())).shares[BUDGETS[0]])
    return Table(
        title=f"Share of the evidence in the prompt, {questions:,} questions, by history budget",
        columns=["what", *(f"{budget:,}" for budget in BUDGETS), "CPU ms a fit"],
        rows=rows,
        notes=notes,
    )


def _by_kind(found: Mapping[str, Kept]) -> Table:
    kinds = Counter(kind for kind, _ in next(iter(found.values())).shares[BUDGETS[0]])
    rows: list[list[Cell]] = [
        [kind, kinds[kind], budget, *(kept.mean(budget, kind) for kept in found.values())]
        for kind in sorted(kinds)
        for budget in BUDGETS
    ]
    return Table(title="By kind of question", columns=["kind", "questions", "budget", *found], rows=rows)


def _read(traces: Path) -> Iterator[Talk]:
    """Yield the conversations in files; questions without evidence in them are passed over."""
    for path in sorted([*traces.glob("locomo*.jsonl"), *traces.glob("locomo*.jsonl.gz")]):
        opened = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                turns = row["turns"]
                numbers = {_ids(turn["dia_id"])[0]: i for i, turn in enumerate(turns)}
                questions = []
                for asked in row["qa"]:
                    gold = frozenset(numbers[each] for each in _ids(*asked["evidence"]) if each in numbers)
                    if gold:
                        kind = _KINDS.get(str(asked["category"]), str(asked["category"]))
                        questions.append(Question(text=asked["question"], kind=kind, gold=gold))
                yield Talk(messages=_messages(turns), questions=questions)


def _ids(*texts: str) -> list[tuple[int, int]]:
    """Return the turn ids in texts; one text may hold several, and not all are written the same."""
    return [(int(session), int(turn)) for text in texts for session, turn in _TURN_ID.findall(text)]


def _messages(turns: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    first = turns[0]["speaker"]
    return [
        {"role": "user" if turn["speaker"] == first else "assistant", "content": f"{turn['speaker']}: {turn['text']}"}
        for turn in turns
    ]
