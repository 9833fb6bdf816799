"""Generated fits, and the promise checked on each: shared by the test suite and `make prove`.

A case comes from one seed, so that whatever fails can be run again by its number. The checks count with the
library itself, past brim's memo, pieces and joins.
"""

from __future__ import annotations

import base64
import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

import brim
from brim.receipts.receipt import FILLS, POLICIES
from brim.receipts.section import KEEPS
from brim.testing import PieceMeter

METERS = ("o200k_base", "cl100k_base", "qwen3.5", "chars", "chars/4", "chars/4+1", "chars/4", "piece")
_SENTENCE = "the quick brown fox it's don't 42 ERROR x=1; naïve Über file.py a I of to"
_WORDS = _SENTENCE.split()
_ODD = (
    "",
    "\x00",
    "<|endoftext|>",
    "\ud800",
    "\r\n",
    "\u202e",
    "\ufeff",
    "­",
    "-\n//",
    "'s",
    "}\n\n//",
    "  ",
    "\t\n ",
    "1234",
    "...",
)
_EMOJI = ("😀", "👩‍👩‍👧‍👦", "🏳️‍🌈", "👍🏽", "🇩🇪🇫🇷", "1️⃣", "e\u0301", "क्षि", "각", "a\u0308\u0323")
_NAMES = tuple(f"s{i}" for i in range(60))


def text_of(r: random.Random) -> str:
    """Return a text of one of the awkward kinds, from nothing to a few hundred tokens."""
    kind = r.randrange(13)
    if kind == 0:
        return r.choice(_ODD)
    if kind == 1:
        return "".join(chr(r.randrange(0x4E00, 0x9FFF)) for _ in range(r.randrange(80)))
    if kind == 2:
        return "".join(r.choice(_EMOJI) for _ in range(r.randrange(30)))
    if kind == 3:
        return "".join(chr(r.randrange(0x0590, 0x06FF)) for _ in range(r.randrange(50)))
    if kind == 4:
        return base64.b64encode(r.randbytes(r.randrange(150))).decode()
    if kind == 5:
        rows = [{"id": i, "name": r.choice(_WORDS), "v": [r.random(), None]} for i in range(r.randrange(8))]
        return json.dumps(rows, ensure_ascii=False, indent=r.choice((None, 2)))
    if kind == 6:
        return "".join(f"def f{i}(x):\n    if x > {i}:\n        return [{i}]\n\n" for i in range(r.randrange(8)))
    if kind == 7:
        return r.choice("a !\n0漢\u0301\u200d") * r.randrange(400)
    if kind == 8:
        return "".join(f"# Part {i}\n\n{' '.join(r.choices(_WORDS, k=12))}\n\n" for i in range(r.randrange(5)))
    if kind == 9:
        return "".join(
            f"12:0{i}:00 {r.choice(('INFO', 'ERROR'))} {' '.join(r.choices(_WORDS, k=6))}\n" for i in range(9)
        )
    if kind == 10:
        return "".join(r.choice(_ODD) for _ in range(r.randrange(20)))
    return " ".join(r.choices(_WORDS, k=r.randrange(1, 90)))


@dataclass
class Case:
    """One generated call of `brim.fit`."""

    seed: int
    sections: list[brim.Section] = field(default_factory=list)
    budget: int = 0
    bigger: int = 0
    meter: str = "chars"
    options: dict = field(default_factory=dict)

    @classmethod
    def of(cls, seed: int) -> Case:
        """Return the case of a seed."""
        r = random.Random(seed)
        tiny = r.random() < 0.02
        names = (
            [f"t{i}" for i in range(r.randrange(200, 600))] if tiny else list(_NAMES[: r.choice((0, 1, 2, 3, 4, 6, 9))])
        )
        sections = [_tiny(r, name) if tiny else _section(r, name) for name in names]
        meter = r.choice(METERS)
        size = sum(len(section.text) for section in sections) // (1 if meter == "chars" else 3)
        budget = r.choice((0, 1, r.randrange(20), r.randrange(size + 30), r.randrange(size + 30), size // 2, size * 2))
        options = {
            "separator": r.choice(("\n\n", "\n\n", "", "\n", "\n---\n", " ", "-\n")),
            "order": r.choice(("given", "priority")),
            "fill": r.choice(FILLS),
            "policy": r.choice((POLICIES[0], *POLICIES)),
            "show_budget": r.random() < 0.1,
            "direction": r.choice(("lower", "lower", "higher")),
        }
        if r.random() < 0.1:
            places = "".join(f"<{name}>\n{{{name}}}\n" for name in names)
            options["template"] = "{{start}} " + places + ("{context_budget}" if options["show_budget"] else "") + "end"
        return cls(seed, sections, budget, budget + r.choice((1, 1, 2, 5, r.randrange(1, 200))), meter, options)

    def fit(self, budget: int | None = None, **extra) -> brim.Prompt:
        """Run the fit."""
        return brim.fit(
            self.sections,
            self.budget if budget is None else budget,
            meter=_METERS.get(self.meter, self.meter),
            **self.options,
            **extra,
        )


_PIECE = PieceMeter()
_METERS = {"piece": _PIECE}


def _tiny(r: random.Random, name: str) -> brim.Section:
    return brim.Section(name, r.choice(("abc", "x", "漢", "- a", "ok\n", "")), priority=r.randrange(3))


def _section(r: random.Random, name: str) -> brim.Section:
    content: str | list[str] = text_of(r) + (text_of(r) if r.random() < 0.4 else "")
    if r.random() < 0.2:
        content = [text_of(r) for _ in range(r.randrange(12))]
    share = r.choice((0, 0, 0, r.randrange(60), f"{r.randrange(60)}%"))
    ceiling = r.choice((None, None, None, r.randrange(120), f"{r.randrange(101)}%"))
    if type(share) is type(ceiling) and float(str(share).strip("%")) > float(str(ceiling).strip("%")):
        share = ceiling
    return brim.Section(
        name,
        content,
        priority=r.choice(("high", "medium", "low", r.randrange(6), "required" if r.random() < 0.15 else "low")),
        required=r.random() < 0.04,
        floor=share,
        ceiling=ceiling,
        keep=r.choice(KEEPS),
        overflow=r.choice(("truncate", "truncate", "truncate", "drop", "summarise")),
        forms=[text_of(r)[: r.randrange(40)] for _ in range(r.randrange(3))] if r.random() < 0.2 else (),
        weight=r.choice((1, 1, 2, 0.5, 3)),
        stable=r.random() < 0.1,
        enabled=r.random() > 0.05,
        marker=r.choice((None, None, "\n... (truncated)", "[...{x}]", "")),
    )


def counted(meter: str, text: str) -> int:
    """Count a text by the plainest means there is."""
    if meter == "piece":
        return PieceMeter().measure(text)
    if meter == "chars":
        return len(text)
    if meter == "chars/4":
        return len(text) // 4
    if meter == "chars/4+1":
        return len(text) // 4 + 1 if text else 0
    import toktok

    return toktok.batch_count([re.sub("[\ud800-\udfff]", "\ufffd", text)], meter, 1)[0]


def check(case: Case) -> str:
    """Check every line of the promise on one case; return what happened: `fitted` or `refused`."""
    try:
        prompt = case.fit()
    except brim.DoesNotFit as error:
        _check_refusal(case, error)
        return "refused"
    _check_fits(case, prompt)
    _check_accounts(case, prompt)
    _check_page(case, prompt)
    _check_policy(case, prompt)
    _check_again(case, prompt)
    _check_monotone(case, prompt)
    return "cut" if prompt.receipt.truncated else "whole"


def _check_refusal(case: Case, error: brim.DoesNotFit) -> None:
    assert error.needed > error.available, error
    check_advice(case.fit, case.budget, error)
    must = [s for s in case.sections if s.required and s.enabled and s.text]
    fixed = case.options.get("template") or case.options["show_budget"]
    assert must or fixed, "refused although nothing is required"
    if must and not fixed and not any(s.floor or s.ceiling is not None or s.forms for s in must):
        order = sorted(must, key=lambda s: _rank(case, s)) if case.options["order"] == "priority" else must
        assert counted(case.meter, case.options["separator"].join(s.text for s in order)) > case.budget


def check_advice(fit: Callable[[int], object], budget: int, refusal: brim.DoesNotFit) -> None:
    """The budget that a refusal names is enough, and one token less is not; a ceiling is told as one."""
    if "ceiling of" in str(refusal) and "or the budget to" not in str(refusal):
        return
    assert refusal.available == budget, refusal
    assert f"{refusal.needed:,}" in str(refusal), refusal
    fit(refusal.needed)
    try:
        fit(refusal.needed - 1)
    except brim.DoesNotFit:
        return
    raise AssertionError(f"one token less than the {refusal.needed} that are advised fits too")


def _check_fits(case: Case, prompt: brim.Prompt) -> None:
    used = counted(case.meter, prompt.text)
    assert used <= case.budget, f"over: {used} > {case.budget}"
    assert prompt.receipt.used == used, f"receipt says {prompt.receipt.used}, the library {used}"


def _check_accounts(case: Case, prompt: brim.Prompt) -> None:
    receipt = prompt.receipt
    assert receipt.used == receipt.joins + sum(part.used for part in receipt.parts)
    if case.meter != "chars/4":  # it plans with more than it counts
        saved = max(0, -receipt.joins)  # what is required may fit joined although it adds up to more
        assert sum(part.granted for part in receipt.parts) - saved <= case.budget or not receipt.truncated
    assert [part.name for part in receipt.parts] == [section.name for section in case.sections]
    assert receipt.truncated == any(part.state in ("cut", "form", "summarised", "dropped") for part in receipt.parts)
    lost = {loss.name: loss.units for loss in receipt.losses}
    for part, section in zip(receipt.parts, case.sections, strict=True):
        text = prompt.texts.get(part.name, "")
        assert part.used == counted(case.meter, text)
        assert part.used <= part.granted or (part.state == "whole" and part.used == part.size)
        assert part.granted <= part.wanted
        assert part.ceiling is None or part.used <= part.ceiling
        assert (part.state in ("whole", "form", "cut", "summarised")) == bool(text)
        assert not section.required or text or not section.text or not section.enabled
        assert part.reason
        if section.enabled and section.text:
            assert part.size == counted(case.meter, section.text)
            assert lost.get(part.name, 0) == (part.size - part.used if part.state != "whole" else 0)
        if part.state == "whole":
            assert text == section.text
        if part.state == "form":
            assert text in section.forms
        if part.state == "cut":
            assert not section.stable
            assert section.overflow != "drop" or part.wanted == part.ceiling <= part.size
        floor = section.floor
        exact = Fraction(floor[:-1]) / 100 * case.budget if isinstance(floor, str) else floor
        if text and exact:
            assert part.granted >= min(int(exact), part.wanted), "granted less than its floor"


def _check_page(case: Case, prompt: brim.Prompt) -> None:
    texts = prompt.texts
    names = [s.name for s in case.sections]
    if case.options.get("template"):
        expected = case.options["template"].replace("{{", "\x01").replace("}}", "\x02")
        for name in [*names, "context_budget"]:
            expected = expected.replace(f"{{{name}}}", texts.get(name, "").replace("{", "\x03"))
        assert prompt.text == expected.replace("\x01", "{").replace("\x02", "}").replace("\x03", "{")
        return
    if case.options["order"] == "priority":
        names = [s.name for s in sorted(case.sections, key=lambda s: _rank(case, s))]
    names += ["context_budget"]
    assert prompt.text == case.options["separator"].join(texts[name] for name in names if name in texts)
    if case.options["show_budget"]:
        stated = int(re.search(r"Using (\d+)/", texts["context_budget"])[1])
        assert prompt.receipt.used <= stated <= prompt.receipt.used + 2
    elif all(s.ceiling is None for s in case.sections):
        everything = case.options["separator"].join(
            s.text for n in names for s in case.sections if s.name == n and s.enabled and s.text
        )
        if counted(case.meter, everything) <= case.budget:
            assert prompt.text == everything, "changed although it fitted"


def _rank(case: Case, section: brim.Section) -> int:
    higher = case.options["direction"] == "higher" and not isinstance(section.priority, str)
    return -section.rank if higher else section.rank


def _in_order(case: Case, receipt: brim.Receipt) -> list[tuple[brim.Section, brim.Part]]:
    pairs = list(zip(case.sections, receipt.parts, strict=True))
    return sorted(pairs, key=lambda pair: (not pair[0].required, _rank(case, pair[0])))


def _check_policy(case: Case, prompt: brim.Prompt) -> None:
    policy = case.options["policy"]
    line = [(s, part) for s, part in _in_order(case, prompt.receipt) if s.enabled and s.text]
    if policy in ("skip", "stop"):
        for section, part in line:
            if not section.required and part.state in ("cut", "form", "summarised"):
                assert "its ceiling is" in part.reason, f"{part.name} was cut under {policy}"
    if policy in ("stop", "truncate_then_stop"):
        stopped = None
        for section, part in line:
            level = (section.required, _rank(case, section)) if case.options["fill"] == "fair" else part.name
            if stopped not in (None, level):
                assert not part.granted, f"{part.name} was served after the stop"
            short = part.wanted and part.state != "whole" and "its ceiling is" not in part.reason
            short = short and "the joined prompt counted more" not in part.reason
            if stopped is None and not section.required and short:
                stopped = level


def _check_again(case: Case, prompt: brim.Prompt) -> None:
    again = case.fit(capture=True)
    assert again.text == prompt.text
    assert again.receipt.parts == prompt.receipt.parts
    meter = _PIECE if case.meter == "piece" else None
    replayed = brim.replay(json.loads(again.receipt.to_json()), meter=meter)
    assert replayed.text == prompt.text
    assert replayed.receipt == again.receipt
    once = brim.fit([brim.Section("all", prompt.text)], case.budget, meter=_METERS.get(case.meter, case.meter))
    assert once.text == prompt.text, "not idempotent"


def _check_monotone(case: Case, prompt: brim.Prompt) -> None:
    try:
        bigger = case.fit(case.bigger)
    except brim.DoesNotFit as error:
        if not case.options["show_budget"] and not any(
            (s.required and isinstance(s.ceiling, str)) or isinstance(s.floor, str) for s in case.sections
        ):
            raise AssertionError(f"a bigger budget is refused: {error}") from error
        return
    toll = counted(case.meter, case.options["separator"]) if not case.options.get("template") else 0
    if case.options["show_budget"]:
        return  # a budget with one more digit costs more to show
    for small, big in zip(prompt.receipt.parts, bigger.receipt.parts, strict=True):
        if bool(small.wanted) != bool(big.wanted):
            return  # a ceiling in percent lets it in for the first time
    readings: list[dict[object, int]] = []
    in_steps = set()
    for receipt in (prompt.receipt, bigger.receipt):
        taken: dict[object, int] = {}
        for section, part in _in_order(case, receipt):
            level = (section.required, _rank(case, section))
            taken[level] = taken.get(level, 0) + (part.granted + toll if part.granted else 0)
            smooth = section.keep in ("head", "tail", "ends") and isinstance(section.content, str)
            if part.state in ("form", "summarised") or (part.state == "cut" and not smooth):
                in_steps.add(level)
        readings.append(taken)
    for level, small in readings[0].items():
        big = readings[1][level]
        if level in in_steps:
            break
        if small != big:
            assert big > small, f"the bigger budget {case.bigger} gives less: {readings}"
            break
