"""Seeds one fault at a time in a copy of the package, and checks that the tests fail.

    python scripts/faults.py                 every fault, two at a time
    python scripts/faults.py --only memo     only faults with this word in their name or file
    python scripts/faults.py --list          the list of faults

A test is worth what it can catch. A fault is a text to find in a file and its replacement. A fault whose text is gone
is an error, so that the list follows the sources. See docs/design/faults.md.
"""

from __future__ import annotations

import argparse
import compileall
import os
import py_compile
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import faults_authors
import faults_flows
import faults_gateway
import faults_histories
import faults_requests

ROOT = Path(__file__).resolve().parent.parent

QUICK = (
    "tests/sections/test_allocation.py",
    "tests/sections/test_fit.py",
    "tests/requirements",
    "tests/receipts/test_receipt.py",
    "tests/sections/test_layout.py",
    "tests/sections/test_budget_section.py",
    "tests/meter/test_window.py",
    "tests/truncate",
    "tests/meter",
    "tests/test_promise.py",
    "tests/wire",
    "tests/history",
)
"""The tests that run if a fault passes its own tests and the generated fits."""

_FITS = 400
_SECONDS = 600
"""A run that takes longer hangs; without a fault, the whole quick set takes a fifth of it."""
_OWN_SECONDS = 150
"""The same for the tests of one file, which take a fifth of that."""

_NO_SHRINKING = """
from hypothesis import Phase
settings.register_profile("faults", settings.get_profile("quick"), phases=(Phase.explicit, Phase.generate))
settings.load_profile("faults")
"""
"""For the copy's conftest: an example that fails need not be shrunk."""

_GENERATED = """
import promise
for seed in range({fits}):
    try:
        promise.check(promise.Case.of(seed))
    except Exception as error:
        raise SystemExit(f"promise.py, seed {{seed}}: {{type(error).__name__}}")
"""


class Area(NamedTuple):
    """A file, its tests, and its faults: each a name, the old text and the new text."""

    file: str
    tests: str
    faults: Sequence[tuple[str, str, str]]


class Fault(NamedTuple):
    """One fault that can be seeded."""

    name: str
    file: str
    """Under src/brim."""
    old: str
    """Must be in the file exactly once."""
    new: str
    tests: tuple[str, ...]
    """The tests most likely to fail."""

    def broken(self, source: str) -> str:
        """Return the source of its file with the fault in it.

        Raises:
            LookupError: the old text is missing, or is there more than once.
        """
        found = source.count(self.old)
        if found != 1:
            raise LookupError(f"{self.file}: the text of {self.name!r} is there {found} times: {self.old!r}")
        return source.replace(self.old, self.new)


class Step(NamedTuple):
    """A run of Python that may find a fault."""

    arguments: Sequence[str]
    seconds: int = _SECONDS


class Verdict(NamedTuple):
    """The result of one fault."""

    fault: Fault | None
    """`None` for the copy without a fault, which must pass."""
    caught: str
    """The first test that failed; empty when all passed."""
    seconds: float


_FITTING = "tests/sections/test_fit.py tests/requirements tests/receipts/test_receipt.py"
_COUNTING = "tests/meter/test_vocabulary.py"
_RULES = "tests/sections/test_allocation.py"
_FIRST = " ".join(
    f"{_COUNTING}::test_{name}"
    for name in (
        "a_line_feed_stays_with_its_carriage_return",
        "a_cluster_longer_than_any_look_back_is_not_split",
        "a_panic_moves_to_the_next_engine_and_the_name_tells",
        "an_interrupt_is_not_swallowed",
        "an_engine_that_miscounts_the_known_vectors_is_not_used",
        "an_engine_that_tells_too_long_a_prefix_is_not_believed",
        "an_estimate_s_bound_is_above_it_and_never_more_than_the_bytes",
        "big_limits_are_kept_and_nearly_used_up",
    )
)
"""Those of the counting tests that are quick come before those that generate hundreds of texts."""

AREAS = (
    Area(
        "sections/allocation.py",
        f"{_RULES}::test_the_rules_one_by_one {_RULES}::test_what_a_claim_does_not_take_goes_to_the_others {_RULES}",
        (
            (
                "one unit over the budget is given out",
                "room: int | Fraction = budget",
                "room: int | Fraction = budget + 1",
            ),
            (
                "floors are not held against the more essential",
                "= sum([claim.need for claim in members if claim.reserved])",
                "= 0",
            ),
            ("floors are held although the policy stops", "claim._replace(reserved=0, least=", "claim._replace(least="),
            ("one floor forgets the floors before it", "gate = need + kept", "gate = need"),
            ("a share of the budget is rounded up", "money = floor(cap) - spent", "money = -floor(-cap) - spent"),
            (
                "separators are not paid for",
                "spent += grants[i] + claim.toll if grants[i] else 0",
                "spent += grants[i]",
            ),
            (
                "fair shares do not pay for separators",
                "sum(grants[i] + claims[i].toll for i in members if grants[i])",
                "sum(grants[i] for i in members)",
            ),
            (
                "the essential sum has no separators",
                "sum([claim.least + claim.toll for claim in claims if",
                "sum([claim.least for claim in claims if",
            ),
            (
                "required is not served first",
                "setdefault((not claim.required, claim.rank), [])",
                "setdefault((False, claim.rank), [])",
            ),
            (
                "the least essential is served first",
                "for key in sorted(classes)]",
                "for key in sorted(classes, reverse=True)]",
            ),
            ("the policy stop goes on with the next class", "if stopping and short:", "if False:"),
            ("the policy stop goes on inside a class", "if stops and short:", "if False:"),
            (
                "the policy skip cuts",
                "least=claim.least if cuts else claim.wanted",
                "least=claim.least",
            ),
            (
                "what is not used does not flow on",
                "spent += grants[i] + claim.toll if grants[i] else 0",
                "spent += offer + claim.toll if grants[i] else 0",
            ),
            (
                "a seat is kept by who cannot use it",
                "useless = [i for i in seats if not grants[i]]",
                "useless: list[int] = []",
            ),
            ("a share is kept by who cannot use it", "if not partly or len(active) == 1:", "if True:"),
            (
                "what a share leaves is lost",
                "partly = [i for i in active if grants[i] < offers[i]]",
                "partly = useless",
            ),
            (
                "floors of a class are not seated first",
                "seats = _seats(claims, members, money)\n    while",
                "seats: dict[int, int] = {}\n    while",
            ),
            ("less than the least is granted", "if 0 < claim.least <= offer else 0", "if 0 < offer else 0"),
            ("more than is wanted is granted", "offer = min(claim.wanted, money - spent", "offer = (money - spent"),
            ("weights are ignored", "Fraction(claim.weight) for claim in claims", "Fraction(1) for claim in claims"),
            ("the last units of fair shares are lost", "taken[i] += 1", "taken[i] += 0"),
        ),
    ),
    Area(
        "sections/draft.py",
        _FITTING,
        (
            ("a ceiling is ignored", "if self.size > self.ceiling:", "if False:"),
            (
                "a ceiling in percent is one too high",
                "self.ceiling = int(of_budget(",
                "self.ceiling = 1 + int(of_budget(",
            ),
            ("the smallest form is used", "_, form = max(fitting,", "_, form = min(fitting,"),
            (
                "a form is used that does not fit",
                "if 0 < (size := self._load(form)) <= grant]",
                "if 0 < (size := self._load(form))]",
            ),
            ("less than the floor is taken", "least = max(least, int(floor), 1)", "least = max(least, 1)"),
            ("a floor is not held", "or (floor and not cuttable) else floor", "or (floor and not cuttable) else 0"),
            ("a stable section is cut", '!= "drop" and not self.section.stable', '!= "drop"'),
            ("a section to be dropped is cut", 'self.section.overflow != "drop" and not', "not"),
            ("a summary is not held to the limit", "if not 0 < size <= grant or size >= self.size:", "if not size:"),
            (
                "a cut is thought to need no marker",
                'return self.meter.count(filled(marker or "", _DROPPED)) + 1',
                "return 1",
            ),
            (
                "a cut gives back what it misses",
                "return replace(proposal, taken=grant)",
                "return proposal",
            ),
            ("a cut's load is not checked", "self.meter, cut, self._load)", "self.meter, cut)"),
            ("a text of the grant's size is cut", "if grant >= self.size:", "if grant > self.size:"),
            (
                "entries are kept from the wrong side",
                '"newest" if newest else "best"',
                '"newest" if section.keep == "newest" else "best"',
            ),
            ("the handle names the cut text", "handle(text or self.section.text)", "handle(proposal.text)"),
            ("the grant is told for the use", "else self.meter.count(proposal.text) if", "else proposal.grant if"),
            (
                "a disabled section is used",
                'text = section.text if section.enabled else ""',
                "text = section.text",
            ),
            (
                "named priorities are turned round too",
                "if higher and not isinstance(section.priority, str) else",
                "if higher else",
            ),
        ),
    ),
    Area(
        "sections/stages.py",
        "tests/sections/test_stages.py tests/requirements/test_broker.py",
        (
            (
                "a stage touches what is not over its line",
                "len(text) <= self.over_chars",
                "len(text) < self.over_chars",
            ),
            ("a stage forgets how many entries it is for", "or len(entries) <= self.over_entries", ""),
            (
                "the first lines are left for the last",
                "range(len(entries))[-self.last :]",
                "range(len(entries))[: self.last]",
            ),
            ("a stage goes down all the way", "meter.count(text) - over - _JOINS", "0"),
            ("entries that should stay go", "n = min(self.leave, len(entries))", "n = 1"),
            ("the oldest entries are left", "if section.keeps_end else range(n)", "if False else range(n)"),
            ("a stage for any section takes required ones", "and not section.required ", ""),
            ("a stage for any section takes stable ones", " and not section.stable", ""),
            ("a stage for any section takes named ones", "section.name not in named and ", ""),
        ),
    ),
    Area(
        "sections/course.py",
        f"tests/sections/test_course.py {_FITTING}",
        (
            ("the whole is not verified", "(self.proposals)) > self.budget:", "(self.proposals)) < 0:"),
            (
                "the most essential is taken back first",
                "(not bidder.required, bidder.rank))[::-1]:",
                "(not bidder.required, bidder.rank)):",
            ),
            ("nothing is taken back", "if not self._take_back(used - self.budget):", "if True:"),
            (
                "a required section is taken back",
                "            elif not bidder.required:\n",
                "            elif True:\n",
            ),
            (
                "the advised budget is a guess",
                "        while high - step > low and self.refused_at(high - step) is None:\n",
                "        while False:\n",
            ),
            ("what is left over is not offered again", "if left < _WORTH or first is None", "if True or first is None"),
            ("an offer that helps nobody is taken", "if more.taken > proposal.load:", "if True:"),
        ),
    ),
    Area(
        "sections/prompt_fit.py",
        _FITTING,
        (
            (
                "separators are not planned for",
                "return self.meter.load(self.page.separator) if self.page.separator else 0",
                "return 0",
            ),
            (
                "the template's text is not planned for",
                "fixed = self.meter.load(self.page.fixed) if self.page.fixed else 0",
                "fixed = 0",
            ),
            (
                "the budget section is not planned for",
                "shown = self._toll if self.longest is None else -self.meter.load(self.longest)",
                "shown = self._toll",
            ),
            (
                "sections are served in the order of a set",
                "return [draft for draft in self.drafts if draft.size]",
                "return list({draft for draft in self.drafts if draft.size})",
            ),
            (
                "ceilings do not count where all fits",
                "if any(draft.wanted < draft.size for draft in self.live) or",
                "if",
            ),
            (
                "a prompt of the budget's size is cut",
                "if self._longest_count(kept_texts(proposals)) <= self.budget else None",
                "if self._longest_count(kept_texts(proposals)) < self.budget else None",
            ),
            ("joins are thought to save nothing", "_JOIN_SAVES = 16", "_JOIN_SAVES = 0"),
            (
                "the page is sorted the wrong way round",
                "sorted(self.drafts, key=lambda draft: draft.rank) if",
                "sorted(self.drafts, key=lambda draft: -draft.rank) if",
            ),
            ("the receipt's use is one less", "used=used,\n            unit=", "used=used - 1,\n            unit="),
            ("joins are not told", "joins=used - sum(part.used for part in parts)", "joins=0"),
            (
                "an estimate has no upper bound",
                "upper=used if self.meter.exact else self.meter.upper(text)",
                "upper=used",
            ),
            (
                "the stable prefix goes on past what may change",
                '(section.stable and part.state == "whole")',
                '(part.state == "whole")',
            ),
            ("summaries are not captured", "summaries=dict(self.summaries.texts)", "summaries={}"),
        ),
    ),
    Area(
        "sections/layout.py",
        "tests/sections/test_fit.py tests/sections/test_layout.py tests/requirements",
        (
            ("two braces stay two", "literals[-1] += match[0][0]", "literals[-1] += match[0]"),
            (
                "a separator stands before the first",
                "return self.separator.join([texts",
                "return self.separator + self.separator.join([texts",
            ),
            ("a template's end is lost", "literals[-1] += template[at:]", 'literals[-1] += ""'),
            ("only a template's start is counted", 'return "".join(self.literals)', "return self.literals[0]"),
            ("a place may stand twice", "if name in names:", "if False:"),
            ("a section may have no place", "if missing:", "if False:"),
        ),
    ),
    Area(
        "sections/budget_section.py",
        "tests/sections/test_fit.py tests/sections/test_budget_section.py tests/requirements",
        (
            ("90 % is near the limit", "line.used * 100 > _NEAR * line.limit", "line.used * 100 >= _NEAR * line.limit"),
            ("the stated total is not settled", "if total == stated:", "if True:"),
            ("the stated share is rounded up", "share = used * 100 // budget", "share = -(-used * 100 // budget)"),
            ("too little is planned for it", "Line(n, limit, limit)", "Line(n, 0, limit)"),
            (
                "less than the count may be stated",
                "if total < stated and (best is None",
                "if total > stated and (best is None",
            ),
        ),
    ),
    Area(
        "receipts/receipt.py",
        "tests/receipts/test_receipt.py tests/sections/test_fit.py tests/requirements",
        (
            (
                "a dropped section is no loss",
                '_LESSENED = ("form", "cut", "summarised", "dropped")',
                '_LESSENED = ("form", "cut", "summarised")',
            ),
            ("a loss is what was kept", "part.name, part.size - part.used,", "part.name, part.used,"),
            (
                "a diff ignores the use",
                "(before.state, before.used, before.handle) != (after.state, after.used, after.handle)",
                "(before.state, before.handle) != (after.state, after.handle)",
            ),
            (
                "a diff ignores the content",
                "(before.state, before.used, before.handle) != (after.state, after.used, after.handle)",
                "(before.state, before.used) != (after.state, after.used)",
            ),
            ("a handle is of the start of a text", "text_digest(text)", "text_digest(text[:256])"),
            ("an event forgets disabled sections", 'part.state in ("dropped", "disabled")', 'part.state == "dropped"'),
            (
                "texts are written though nobody asked",
                "if self.captured and self.capture else None",
                "if self.capture else None",
            ),
            ("any version is read", 'if values["version"] != VERSION:', "if False:"),
            ("what stayed free is the use", "return self.budget - self.used", "return self.used"),
        ),
    ),
    Area(
        "requests/replay.py",
        "tests/sections/test_fit.py tests/receipts/test_receipt.py",
        (
            (
                "the default meter is taken for the captured one",
                "    if recorded.meter is not None:\n",
                "    if recorded.meter is None:\n",
            ),
            (
                "another budget is ignored",
                "tokens = found.budget if budget is None else budget_of(budget)",
                "tokens = found.budget",
            ),
            ("a plan ignores the joins", "room = budget - joins", "room = budget"),
            (
                "a plan refuses nothing",
                "if (needed := essential(claims)) > room:",
                "if (needed := essential(claims)) < 0:",
            ),
        ),
    ),
    Area(
        "meter/window.py",
        "tests/meter/test_window.py tests/sections/test_fit.py tests/requirements",
        (
            ("the reserve is ignored", "bounds = [self.size - self.reserve]", "bounds = [self.size]"),
            ("the limit is ignored", "bounds.append(self.limit)", "pass"),
            (
                "a cap is a float",
                'part_of(fraction("Window cap", self.cap), self.size)',
                'int(float(fraction("Window cap", self.cap)) * self.size)',
            ),
            ("the model's maximum input is ignored", "for bound in (limit, known.max_input)", "for bound in (limit,)"),
            (
                "the warning is for the window, not the budget",
                "part_of(_WARN_OF_BUDGET, self.budget)",
                "part_of(_WARN_OF_BUDGET, self.size)",
            ),
        ),
    ),
    Area(
        "amounts.py",
        "tests/requirements",
        (
            (
                "what rounding leaves is lost",
                "return self.total - sum(self._rounded(other) for other in self.shares if other != self.rest)",
                "return self._rounded(self.rest)",
            ),
            ("shares need not be one in all", "if abs(whole - 1) > _TOLERANCE:", "if False:"),
            (
                "shares are rounded up",
                "return int(fraction(name, self.shares[name]) * self.total)",
                "return -int(-fraction(name, self.shares[name]) * self.total // 1)",
            ),
        ),
    ),
    Area(
        "amounts.py",
        "tests/requirements tests/meter/test_window.py tests/sections/test_fit.py",
        (
            ("more than 100 % is taken", "None if share is None or share > 1 else share", "share"),
            (
                "true is taken for one",
                "if isinstance(value, int) and not isinstance(value, bool) and value >= least:",
                "if isinstance(value, int) and value >= least:",
            ),
            ("0.29 is the float nearest to it", "return Fraction(str(value))", "return Fraction(value)"),
            ("less than the least is taken", " and value >= least:", ":"),
        ),
    ),
    Area(
        "receipts/section.py",
        "tests/sections/test_fit.py tests/requirements",
        (
            (
                "the last none of a list are all of it",
                "entries[len(entries) - self.most :]",
                "entries[-self.most :]",
            ),
            (
                "the first are chosen for the last",
                "if self.keeps_end else entries[: self.most]",
                "if False else entries[: self.most]",
            ),
            (
                "the priority required does not require",
                'if self.priority == "required" or self.priority is Priority.REQUIRED:',
                "if False:",
            ),
        ),
    ),
    Area(
        "meter/schemas.py",
        "tests/meter/test_schemas.py",
        (
            (
                "a definition counts once, however often it is used",
                "sum(add(other, level + 1) for other in _references(defined[name]))",
                "0",
            ),
            ("a nested schema is measured", 'each["type"] in _FLAT_TYPES', "True"),
            ("what is nested is not counted", " + _by_rule(each, count)\n", "\n"),
            ("a long mark of the cache is free", " or len(str(each)) > LABEL}", "}"),
        ),
    ),
    Area(
        "meter/memo.py",
        "tests/meter/test_meter.py",
        (
            ("nothing is ever forgotten", "while self._chars + len(text) > _MOST_CHARS or", "while"),
            ("many small texts are never forgotten", " or len(self._values) >= _MOST_ENTRIES", ""),
            ("texts are told apart by their start", "self._values[text] = value", "self._values[text[:40]] = value"),
            ("the newest texts are forgotten", "(len(self._values) + 1) // 2, None", "(len(self._values) + 1) // 2"),
        ),
    ),
    Area(
        "meter/base.py",
        "tests/truncate/test_ends.py tests/meter/test_vocabulary.py",
        (
            (
                "a cut is one over",
                "if at_end else text[:at])\n            if size <= limit:",
                "if at_end else text[:at])\n            if size <= limit + 1:",
            ),
            ("a head splits a grapheme", "if at_end else boundary_before(text, length)", "if at_end else length"),
            (
                "a tail splits a grapheme",
                "return len(text) - boundary_after(text, len(text) - length) if at_end",
                "return min(length, len(text)) if at_end",
            ),
            ("a tail of nothing is everything", "text[max(0, len(text) - length) :]", "text[-length:]"),
            ("a cut ends with the first look", "if length == len(text) or len(cut) < length:", "if True:"),
        ),
    ),
    Area(
        "meter/vocabularies.py",
        f"{_FIRST} {_COUNTING}",
        (
            (
                "an engine's failure counts nothing",
                "with self._lock:\n                    if self._engine is engine:",
                "with self._lock:\n                    return 0\n                    if self._engine is engine:",
            ),
            (
                "an interrupt is taken for a failure",
                "_STOPS = (KeyboardInterrupt, SystemExit, GeneratorExit)",
                "_STOPS = (GeneratorExit,)",
            ),
            (
                "an engine that miscounts is used",
                "        if miscounts:",
                "        if False:",
            ),
            (
                "a head is not counted again",
                "if self.measure(text[:end]) <= limit:\n                return text[:end]",
                "if True:\n                return text[:end]",
            ),
            ("half a pair counts as none", 'lambda run: "\\ufffd" * len(run[0])', 'lambda run: ""'),
            (
                "an estimate is its own upper bound",
                'return min(len(text.encode("utf-8", "surrogatepass")), count * _WORST // 4 + 4)',
                "return count",
            ),
        ),
    ),
    Area(
        "meter/engines.py",
        "tests/meter/test_splintr.py",
        (
            (
                "a long text is split inside a run of spaces",
                '_BEFORE_WORD = re.compile(r"(?<=\\S)(?= )")',
                '_BEFORE_WORD = re.compile(r"(?= )")',
            ),
            ("a long text is one call", "_BLOCK = 8_192", "_BLOCK = 10**9"),
        ),
    ),
    Area(
        "meter/grapheme.py",
        f"{_FIRST} {_COUNTING}",
        (
            ("a line feed is parted from its return", ' and not (left == "\\r" and right == "\\n")', ""),
            ("marks on a letter are plain", '_LAST_PLAIN = "\\u02ff"', '_LAST_PLAIN = "\\u036f"'),
            (
                "a long cluster ends where the look does",
                "        if start == 0:\n            return 0\n",
                "        if True:\n            return start\n",
            ),
        ),
    ),
    Area(
        "meter/units.py",
        "tests/requirements tests/meter/test_meter.py",
        (
            ("nothing counts one", "+ self._plus if size else 0", "+ self._plus"),
            ("loads are rounded down", "return (self._size(text) + 3) // 4 if", "return self._size(text) // 4 if"),
            ("bytes are characters", "if not self._of_bytes or text.isascii():", "if True:"),
        ),
    ),
    Area(
        "meter/catalogue.py",
        "tests/meter/test_catalogue.py",
        (
            (
                "a longer name is the model that it starts with",
                "row = _shipped().get(key)",
                "row = next((row for name, row in _shipped().items() if key.startswith(name)), None)",
            ),
            (
                "whatever follows a date is dropped",
                '|-latest|-maas|@(?:default|latest|\\d{3}))\\Z"',
                '|-latest|-maas|@(?:default|latest|\\d{3}))"',
            ),
            ("anyone may serve a model", "if mark and _HOST.fullmatch(fold(head)):", "if mark:"),
            ("a declaration is ignored", "        if declaration:\n", "        if False:\n"),
        ),
    ),
    Area(
        "truncate/base.py",
        "tests/truncate/test_base.py tests/truncate/test_ends.py tests/sections/test_fit.py",
        (
            ("a cut is not counted with its marker", "if after <= limit:", "if True:"),
            ("a text of the limit's size is cut", "if size <= limit else", "if size < limit else"),
            (
                "a cut that cannot be is the whole text",
                "    raise refusal(text, smallest, limit, meter)",
                "    return Cut(text=text, before=before, after=before)",
            ),
        ),
    ),
    Area(
        "truncate/ends.py",
        "tests/truncate/test_ends.py",
        (
            (
                "the marker stands before the start",
                "return head + filled(self.marker, len(rest) - len(tail)) + tail",
                "return filled(self.marker, len(rest) - len(tail)) + head + tail",
            ),
            ("a marker alone is a cut", 'if head or tail else ""', 'if self.marker else ""'),
            ("the start is kept for the end", "head_share: float = 0\n", "head_share: float = 1\n"),
            ("a marker stands where nothing went", "tail = rest[boundary_after(rest, 1) :]", "pass"),
            ("the two ends overlap", "rest = text[len(head) :]", "rest = text"),
            (
                "the marker counts the end as gone",
                "filled(self.marker, len(rest) - len(tail))",
                "filled(self.marker, len(rest))",
            ),
            ("the share of the start is ignored", "int(room * self.head_share)", "room // 2"),
        ),
    ),
    Area(
        "truncate/records.py",
        "tests/truncate/test_records.py tests/sections/test_fit.py",
        (
            (
                "the marker stands on the wrong side",
                "return [marker, *rows] if self.keep",
                "return [*rows, marker] if self.keep",
            ),
            (
                "the marker counts what was kept",
                "(-1, self._marker(len(entries) - len(kept)))",
                "(-1, self._marker(len(kept)))",
            ),
            ("an entry that is too big ends the run", "if size * _BIG <= room:", "if True:"),
            (
                "an entry that is too big takes all that is left",
                "share, least = (left // 2, _USEFUL) if kept",
                "share, least = (left, _USEFUL) if kept",
            ),
            ("what is left in the end is not used", "if first is not None and left > 0:", "if False:"),
            ("a shortened entry has no marker", "rows.insert(next(cut, len(kept) - 1) + 1, marker)", "pass"),
            ("the newest are the first", 'if self.keep == "newest" else range(count)', "if False else range(count)"),
            ("the joined text is not counted", "if made.after <= limit and", "if"),
            (
                "blank entries are a result",
                "if chosen is None or not any(entries[index].strip() for index in chosen.kept):",
                "if chosen is None:",
            ),
        ),
    ),
    Area(
        "truncate/lines.py",
        "tests/truncate/test_lines.py tests/sections/test_fit.py",
        (
            ("half a line stays at the end", 'return start[: start.rfind("\\n") + 1]', "return start"),
            ("a line feed behind the cut is not seen", 'if following == "\\r\\n":', "if False:"),
        ),
    ),
    Area(
        "truncate/json_shape.py",
        "tests/truncate/test_json_shape.py",
        (
            (
                "what is no JSON comes back whole",
                'or truncator("log", self.marker).truncate(text, limit, meter)',
                "or Cut(text=text, before=meter.count(text), after=meter.count(text))",
            ),
            ("a document is never shortened as one", "if not isinstance(parts, JsonParts):", "if True:"),
        ),
    ),
    Area(
        "truncate/json_parts.py",
        "tests/truncate/test_json_shape.py tests/truncate/test_failure.py tests/history/test_excerpts.py"
        " tests/sections/test_fit.py",
        (
            ("what stands behind a document is overlooked", "end <= stop <= _past(text, end, _BLANKS)", "end <= stop"),
            ("the omitted items are not counted", "gap += each.before - at", "gap += each.before > at"),
            (
                "items go without a word",
                "        if gap:\n            yield _member",
                "        if False:\n            yield _member",
            ),
            ("lines of JSON have a marker that is none", 'else f"{{{text}: null}}"', "else text[1:-1]"),
            ("a key goes with its value", "elif node.value > node.start:", "elif False:"),
        ),
    ),
    Area(
        "truncate/markdown.py",
        "tests/truncate/test_markdown.py tests/truncate/test_failure.py tests/sections/test_fit.py",
        (
            (
                "a fence is left open",
                "sorted({block.start, line, *range(block.close, block.stop)})",
                "sorted({block.start, line})",
            ),
            (
                "a block goes without its headings",
                "yield from ([*paths[at], *_around(block, line)] for line in lines)",
                "yield from (_around(block, line) for line in lines)",
            ),
            ("fences stay in a text that is cut anywhere", "if not holds_fence(line))", "if True)"),
            (
                "a cut may open a fence",
                'if not cut.text.strip() or any(map(holds_fence, cut.text.split("\\n"))):',
                "if not cut.text.strip():",
            ),
            ("a shorter fence closes a longer one", "{{{len(fence)},}}", "{{3,}}"),
        ),
    ),
    Area(
        "truncate/diff.py",
        "tests/truncate/test_diff.py",
        (
            ("headers go like any line", "order = [*headers, *sorted(", "order = [*sorted("),
            ("an added line counts as an old one", 'old -= sign not in ("+", "\\\\")', "old -= 1"),
            ("the middle of a hunk stays", "key=depths.__getitem__)", "key=depths.__getitem__, reverse=True)"),
        ),
    ),
    Area(
        "truncate/code.py",
        "tests/truncate/test_code.py",
        (
            ("signatures go like any line", "(0, margins[each.head] or 0)", "(5, 0)"),
            ("a large body goes before a small one", "margins), key=", "margins), reverse=True, key="),
            (
                "the parameters of a function are its body",
                "            return end + 1\n",
                "            return at + 1\n",
            ),
        ),
    ),
    Area(
        "truncate/log.py",
        "tests/truncate/test_log.py tests/truncate/test_failure.py tests/sections/test_fit.py",
        (
            ("warnings are overlooked", "from_both_ends(_warnings(parts))", "from_both_ends([])"),
            ("a warning is written in small letters", '.replace("İ", "I").lower()', ""),
            (
                "the last warning hides the rest",
                "in _WARNING.finditer(lower))]",
                "in [*_WARNING.finditer(lower)][-1:])]",
            ),
            (
                "a failure waits for its turn",
                "fixed = [*map(parts.line_of, failures[-1:]), failures[-1:], failures[:1], ()]",
                "fixed = [()]",
            ),
            ("what stands around a failure goes", "_warnings(parts)), near)", "_warnings(parts)))"),
        ),
    ),
    Area(
        "truncate/failure.py",
        "tests/truncate/test_failure.py",
        (
            ("a longer word is no failure", "word -= 1", "break"),
            ("the name of a file is a failure", "(?!\\w|[./]\\w|", "(?!\\w|"),
            ("a count of zero is a failure", "(?<!\\b0 )", ""),
            ("a place is off by one", "else at - 1", "else at"),
        ),
    ),
    Area(
        "truncate/parts.py",
        "tests/truncate/test_parts.py tests/truncate/test_log.py tests/truncate/test_failure.py"
        " tests/history/test_excerpts.py",
        (
            ("a gap has no mark", "            if part > at:\n", "            if False:\n"),
            (
                "a gap counts one line less",
                "lines = below - above + (ends",
                "lines = below - above - 1 + (ends",
            ),
            (
                "a mark is longer than what it stands for",
                "return self.text[start:stop] if stop - start <= max(len(note), short) else note",
                "return note",
            ),
            ("a grapheme is divided", "at = boundary_after(self.text, ", "at = max(0, "),
            ("a failure is not told", "found += [] if failure is None else [self.part_at(failure)]", "pass"),
            ("code reports failures", "if not (code and is_code", "if not (False and is_code"),
        ),
    ),
    Area(
        "truncate/picker.py",
        "tests/truncate/test_picker.py tests/truncate/test_records.py",
        (
            ("a search goes one over", "        if cut.after <= limit:\n", "        if cut.after <= limit + 1:\n"),
            ("a search ends with the first that fits", "low, best = n, cut", "low, best, high = n, cut, n"),
            ("a part that fills the room comes in its turn", "if size > room // 2:", "if False:"),
            ("what is behind a gap is not tried", "_TRIES if gaps else 0", "0"),
            ("parts that are fixed go", "{*must, *(part", "{*(part"),
        ),
    ),
    Area(
        "truncate/marker.py",
        "tests/truncate/test_marker.py tests/truncate/test_ends.py",
        (
            (
                "any braces in a marker are read",
                'marker.replace("{dropped:,}", f"{dropped:,}").replace("{dropped}", str(dropped))',
                "marker.format(dropped=dropped)",
            ),
        ),
    ),
    Area(
        "truncate/shape.py",
        "tests/truncate/test_shape.py",
        (
            (
                "what cannot keep its kind is refused",
                "with suppress(DoesNotFit):",
                "with suppress(ZeroDivisionError):",
            ),
            (
                "the marker is not handed on",
                "truncator(kind, self.marker)",
                "truncator(kind, None)",
            ),
        ),
    ),
    Area(
        "sessions/learning/windows.py",
        "tests/sessions/test_windows.py",
        (
            (
                "an answer of unknown length has no room",
                "spare = answer_room(size) if limits.spare else 0",
                "spare = 0",
            ),
            (
                "the answer that is asked for has no room",
                "return answer, answer, answer if counts else 0",
                "return 0, 0, 0",
            ),
            ("the limits of the program are ignored", "if limits.limit is not None:", "if limits.limit == 0:"),
            ("a margin is kept for exact counts too", "if not exact and limits.margin:", "if limits.margin:"),
            (
                "a refusal lowers a window that is set without end",
                "max(refused or limits.size, limits.size // _LOWERED)",
                "(refused or limits.size)",
            ),
            (
                "a limit below an accepted prompt is believed",
                "overflow.limit >= max(taken.reported, least)",
                "overflow.limit >= least",
            ),
            ("a refusal counts for ever", "and now - found.at < _LASTS else None", "else None"),
            (
                "other processes learn nothing",
                "self._store.save(KIND, scope.id, asdict(learned)",
                "(KIND, scope.id, asdict(learned)",
            ),
            ("a provider that counts more gets as much", "share /= ratio", "share /= 1"),
            ("a server is never asked again", "-_SERVER_INTERVAL) < _SERVER_INTERVAL", "-_SERVER_INTERVAL) < 1e9"),
            ("a window that one client is told holds for all", "for owner in (scope.owner, ())", "for owner in ((),)"),
        ),
    ),
    Area(
        "sessions/conversations/conversation.py",
        "tests/sessions/test_engine.py tests/sessions/test_conversations.py tests/sessions/test_found_again.py"
        " tests/gateway/test_conversations.py tests/gateway/test_receipts.py",
        (
            (
                "a shorter history continues a longer one",
                "if self.shared(messages) == len(self.known) else None",
                "if self.shared(messages) == min(len(messages), len(self.known)) else None",
            ),
            (
                "a history that was changed is continued",
                "if had is None:\n            step.restart",
                "if had is None and not messages:\n            step.restart",
            ),
            ("what fits is cut all the same", "target = room.fits if fits else", "target = room.fits if False else"),
            ("extra tokens are not counted", "state.estimate(parts) + request.extra + start", "state.estimate(parts)"),
            ("a message that was replaced is not seen", "if known[at:stop] == given[at:stop]:", "if True:"),
            ("a longer system prompt is not counted", "return sum(new - old for new, old in sizes)", "return 0"),
            (
                "a clock in the system prompt makes another conversation",
                "first, end = leading(known),",
                "first, end = 0,",
            ),
            ("any usage is that of the newest prompt", "self.logged and self._newest is request.fitted", "self.logged"),
            ("what the studio restored makes the history another one", "and RESTORED not in entry.body", ""),
            ("a held cut counts as a new one", "if state.counts.compactions > cuts else 0", ""),
            (
                "dropped texts cannot be recalled",
                "step.recalls = self.logged or request.recall",
                "step.recalls = False",
            ),
            ("pins are not kept", "budget, pin=pin,", "budget, pin=(),"),
            ("another process's cut is not taken", "self.session.refresh()", "pass"),
            ("a system prompt alone is every conversation", "messages[first:] or messages", "messages[first:]"),
            ("a cold cache holds its cut", "step.let_go(", "_ = ("),
        ),
    ),
    Area(
        "sessions/session.py",
        "tests/sessions/test_logged_state.py tests/sessions/test_strangers.py tests/sessions/test_engine.py",
        (
            ("what failed counts as added", "            self._undo()\n            raise", "            raise"),
            ("pins of another writer are lost", "self._state.pins = pinned[-1]", "pass"),
            (
                "messages of another writer are lost",
                "            self.reload()\n        except (Conflict",
                "            journal.number = entries[-1].number\n        except (Conflict",
            ),
            (
                "a purge is undone",
                "            raise journal.purged()\n        sent",
                "            journal.number = 0\n        sent",
            ),
            (
                "two threads change a session at once",
                "        with self._lock:\n            store = None if",
                "        if True:\n            store = None if",
            ),
            ("the count of cuts is lost at a restart", 'Counts.from_dict(row.meta.get("counts", {}))', "Counts()"),
        ),
    ),
    Area(
        "sessions/saved_session.py",
        "tests/sessions/test_resume.py",
        (("a changed window is forgotten", 'self.settings = SessionSettings.from_dict(body["settings"])', "pass"),),
    ),
    Area(
        "sessions/session_step.py",
        "tests/sessions/test_prompt.py tests/sessions/test_cold_cache.py tests/sessions/test_resume.py"
        " tests/sessions/test_strangers.py",
        (
            (
                "a cut is let go while it is cached",
                "(gap := self.now - last.at) > lifetime",
                "(gap := self.now - last.at) > 0",
            ),
            ("nobody is told that a cut was made anew", "held=None), anew=why)", "held=None))"),
            ("a short prompt that is refused ends a session", "if last >= _REFUSED:", "if last:"),
            ("the cut is not logged", "self.lines.append((cut_record.KIND, changes))", "pass"),
        ),
    ),
    Area(
        "sessions/loop/loop.py",
        "tests/sessions/test_loop.py",
        (
            (
                "a step that could not be written is made again",
                "self._settle()\n        if not",
                "self._made = None\n        if not",
            ),
            (
                "a clock that jumps ends a loop",
                "time.monotonic if session.clock is time.time else session.clock",
                "session.clock",
            ),
        ),
    ),
    Area(
        "meter/calibration.py",
        "tests/meter/test_calibration.py",
        (
            (
                "the structure of a short prompt is learned as text",
                "rest = max(0, _SHORTEST - sent.estimate)",
                "rest = 0",
            ),
        ),
    ),
    Area(
        "sessions/conversations/reported_size.py",
        "tests/sessions/test_reported_size.py",
        (
            (
                "what a cut takes away is as all texts are",
                "return found if self.taken is None else max(found, self._less(more, *self.taken))",
                "return found",
            ),
            (
                "shortened messages lose what is counted for each",
                "return by_text if by_message is None else max(by_text, by_message)",
                "return by_text",
            ),
            (
                "the budget forgets what is counted for each message",
                "return text if by_message is None else min(text, tokens - by_message)",
                "return text",
            ),
            (
                "a meter that is right is corrected",
                "return self.scale.exact and self.counted == self.reported",
                "return False",
            ),
            (
                "one size says that all differences are by message",
                "if 0 < more <= self.counted // _STRUCTURE",
                "if 0 < more",
            ),
        ),
    ),
    Area(
        "sessions/log/journal.py",
        "tests/sessions/test_logged_state.py tests/sessions/test_conversations.py",
        (
            (
                "a write that arrived is written again",
                "if len(found) < len(unsure) or not all(map(_same, found, unsure)):",
                "if True:",
            ),
            ("nobody asks whether a write arrived", "            self._unsure = lines\n", ""),
            ("what could not be written is forgotten", "self.owed, [*self.owed, *more]", "self.owed, self.owed"),
            (
                "texts that are not written yet cannot be recalled",
                "MemoryLog(self.owed) if store",
                "MemoryLog() if store",
            ),
            ("a write that failed waits for the next one", "for _ in range(_TRIES):", "for _ in range(0):"),
        ),
    ),
    Area(
        "sessions/conversations/conversations.py",
        "tests/sessions/test_engine.py tests/sessions/test_conversations.py",
        (
            (
                "owners share their conversations",
                "ConversationKey(request.model, request.format, request.owner)",
                "ConversationKey(request.model, request.format)",
            ),
            (
                "a refusal teaches the program nothing",
                "self.windows.refused(plan.scope, overflow",
                "(lambda *_, **__: None)(plan.scope, overflow",
            ),
            ("what a session learned stays there", "self.meters.adopt(plan.scope", "(request.input.model"),
            (
                "a refused request is sent again as it was",
                "most=plan.ceiling(request, overflow)",
                "most=None",
            ),
            ("a request is retried for ever", "made.retried = True", "made.retried = False"),
        ),
    ),
    Area(
        "sessions/conversations/remembered.py",
        "tests/sessions/test_engine.py tests/sessions/test_conversations.py tests/sessions/test_remembered.py",
        (
            ("the shortest beginning wins", "best = max(lengths.values()", "best = min(lengths.values()"),
            ("nothing is ever forgotten", "gone.append(self.drop(name))", "pass"),
            ("one that is too large stays", "if size > most * share and not logged and own:", "if False:"),
        ),
    ),
    Area(
        "sessions/conversations/beginning.py",
        "tests/sessions/test_engine.py tests/gateway/test_workers.py",
        (
            (
                "a text as a block is another message",
                "return fingerprints([one], format) == fingerprints([other], format)",
                "return False",
            ),
        ),
    ),
    Area(
        "gateway/report/activity.py",
        "tests/gateway/test_lines.py tests/gateway/test_status.py tests/gateway/test_metrics.py",
        (
            ("a held cut is printed as a new one", "fitted.request.cut:", "fitted.edits:"),
            (
                "a window of the settings counts as learned",
                "if room.window == planned.engine.limits.size:",
                "if False:",
            ),
            ("a client sees the conversations of all keys", 'if row["key"] == key]', "]"),
            ("requests of a conversation are counted as new ones", "self._seen += before is None", "self._seen += 1"),
        ),
    ),
    Area(
        "gateway/report/metrics.py",
        "tests/gateway/test_metrics.py tests/gateway/test_lines.py",
        (
            ("labels without bound", "len(self._names) < _MOST_NAMES", "True"),
            ("what a retry drops is not counted", "(last.after or 0) - (again.after or 0)", "0"),
        ),
    ),
    Area(
        "gateway/check.py",
        "tests/gateway/test_check.py",
        (
            ("a missing list is a fault", "if status in _NO_LIST or status == 200:", "if False:"),
            ("a refused key passes", "if status in _DENIED and key is None:", "if status in _DENIED:"),
            ("a closed port is any other fault", "isinstance(cause, ConnectionRefusedError)", "False"),
        ),
    ),
    Area(
        "sessions/log/overview.py",
        "tests/cli/test_status.py tests/gateway/test_status.py",
        (
            (
                "conversations of a gateway hide the sessions",
                "store.sessions(limit=_MOST)",
                "store.sessions(limit=recent)",
            ),
            ("the conversation that is asked for is one of many", "if use.id == session]", "]"),
        ),
    ),
    Area(
        "sessions/learning/meters.py",
        "tests/sessions/test_engine.py tests/gateway/test_exchange.py",
        (
            ("the system prompt is not counted", 'if request.system and format.name != "openai":', "if False:"),
            ("tools are not counted", "RequestSize(tokens + offered + other,", "RequestSize(tokens + other,"),
            (
                "what is learned is not used",
                "                found.calibration = calibration\n                found.recount()",
                "                pass",
            ),
        ),
    ),
)

FAULTS = tuple(
    Fault(name, area.file, old, new, tuple(area.tests.split()))
    for area in (
        *AREAS,
        *(
            Area(*area)
            for each in (faults_histories, faults_requests, faults_gateway, faults_authors, faults_flows)
            for area in each.AREAS
        ),
    )
    for name, old, new in area.faults
)


def listed(faults: Sequence[Fault] = FAULTS) -> str:
    """Return the faults by file, as Markdown."""
    files = dict.fromkeys(fault.file for fault in faults)
    return "\n".join(f"- `{file}`: " + "; ".join(f.name for f in faults if f.file == file) for file in files) + "\n"


class Copy:
    """A copy of the package and its tests, in which faults are seeded and removed."""

    def __init__(self, folder: Path, original: Path = ROOT) -> None:
        self.folder = folder
        self.package = folder / "src" / "brim"
        ignored = shutil.ignore_patterns("__pycache__", "node_modules") if original == ROOT else None
        for name in ("src", "tests", "scripts", "docs", "examples"):
            shutil.copytree(original / name, folder / name, ignore=ignored)
        shutil.copy(original / "pyproject.toml", folder)
        if original == ROOT:
            _compile(self.package)

    def judge(self, fault: Fault | None, steps: Sequence[Step]) -> Verdict:
        """Return the result of the tests with a fault, or of the copy without one."""
        began = time.perf_counter()
        path = self.package / fault.file if fault else self.package / "__init__.py"
        source = path.read_text(encoding="utf-8")
        try:
            path.write_text(fault.broken(source) if fault else source, encoding="utf-8")
            caught = next(filter(None, map(self._ask, steps)), "")
        finally:
            path.write_text(source, encoding="utf-8")
        return Verdict(fault, caught, time.perf_counter() - began)

    def check(self) -> None:
        """Check that the tests import the copy.

        Raises:
            RuntimeError: they import another package, and every fault would seem to survive.
        """
        told = self._run(Step(["-c", "import brim; print(brim.__file__)"])).stdout.strip()
        if Path(told) != self.package / "__init__.py":
            raise RuntimeError(f"the tests of {self.folder} import {told!r}")

    def _ask(self, step: Step) -> str:
        """Return the first failure of a run of Python, or an empty text."""
        try:
            ran = self._run(step)
        except subprocess.TimeoutExpired:
            return f"hangs: not finished in {step.seconds} s"
        if ran.returncode == 0:
            return ""
        failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", ran.stdout, re.MULTILINE)
        if failed:
            return failed[1]
        return (ran.stderr or ran.stdout).strip().rpartition("\n")[2] or f"ended with {ran.returncode}"

    def _run(self, step: Step) -> subprocess.CompletedProcess[str]:
        # Sources change within a second and keep their size: a run must not leave what it compiled to the next.
        paths = os.pathsep.join((str(self.folder / "src"), str(self.folder / "tests")))
        env = {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, *step.arguments]
        return subprocess.run(
            command, cwd=self.folder, env=env, capture_output=True, text=True, timeout=step.seconds, check=False
        )


def _compile(package: Path) -> None:
    """Compile a package once for all runs; a source with a fault is told apart by its hash, and compiled anew."""
    compileall.compile_dir(package, quiet=2, invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH)


_copy: Copy | None = None


def _start(original: Path, folder: Path) -> None:
    """Give a worker a copy of its own."""
    global _copy
    _copy = Copy(folder / str(os.getpid()), original)
    _copy.check()


def _judge(fault: Fault | None, steps: Sequence[Step]) -> Verdict:
    if _copy is None:
        raise RuntimeError("the worker has no copy")
    return _copy.judge(fault, steps)


def verdicts(faults: Sequence[Fault]) -> Iterator[Verdict]:
    """Yield the results: first without a fault, then of each fault."""
    own = sorted({path for fault in faults for path in fault.tests})
    generated = Step(["-c", _GENERATED.format(fits=_FITS)])
    with tempfile.TemporaryDirectory() as folder:
        # Both workers copy this one, so that an edit meanwhile does not come between them.
        original = Copy(Path(folder) / "original")
        with (original.folder / "tests" / "conftest.py").open("a", encoding="utf-8") as conftest:
            conftest.write(_NO_SHRINKING)
        with ProcessPoolExecutor(2, initializer=_start, initargs=(original.folder, Path(folder))) as pool:
            untouched = [generated, *(_tests(half) for half in (own[::2], own[1::2]) if half)]
            jobs = [pool.submit(_judge, None, [step]) for step in untouched]
            jobs += [
                pool.submit(_judge, fault, [_tests(fault.tests, _OWN_SECONDS), generated, _tests(QUICK)])
                for fault in faults
            ]
            for job in jobs:
                yield job.result()


def _tests(paths: Sequence[str], seconds: int = _SECONDS) -> Step:
    # A test that is named before its file runs first only if it may run twice.
    return Step(["-m", "pytest", "-x", "-q", "-p", "no:xdist", "--keep-duplicates", *paths], seconds)


def main() -> int:
    """Seed and test each fault; return 1 if a fault passes the tests, or if they fail without one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print the faults and run nothing")
    parser.add_argument("--only", default="", metavar="WORD", help="only faults with this text in their name or file")
    given = parser.parse_args()
    chosen = [fault for fault in FAULTS if given.only in fault.name or given.only in fault.file]
    if given.list:
        print(listed(chosen), end="")
        return 0
    began = time.perf_counter()
    survived = []
    for verdict in verdicts(chosen):
        name = f"{verdict.fault.file}: {verdict.fault.name}" if verdict.fault else "no fault"
        if (verdict.fault is None) == bool(verdict.caught):
            survived.append(name)
        print(f"{name:<84} {verdict.caught or 'all pass':<110} {verdict.seconds:5.1f} s", flush=True)
    print(f"{len(chosen)} faults in {time.perf_counter() - began:.0f} s; {len(survived)} unexpected")
    print("\n".join(survived), file=sys.stderr)
    return 1 if survived or not chosen else 0


if __name__ == "__main__":
    raise SystemExit(main())
