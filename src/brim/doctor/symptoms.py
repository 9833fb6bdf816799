"""What the receipts of a run tell about its budgets: what was cut, what was left out, what was never used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from brim.doctor.finding import ADVICE, WRONG, Finding, command, rounded
from brim.settings.guard import LARGEST, LEAST, OLDER, RECENT, TOTAL
from brim.settings.keys import name_of
from brim.settings.presets import CHARS_A_TOKEN

if TYPE_CHECKING:
    from brim.settings.resolved import Resolved

MARKER = "[CONTEXT_TRUNCATED]"
STEP_MARKER = "... (truncated)"
_EARLY = 10
"""A flow of this many steps is long: from here on it is usual that older ones are left out."""
_TINY = 4
"""A pack is tiny if this many of it would fit the budget."""
_ENOUGH = 3
"""Fewer packs than this say nothing about what is usual."""
_FRAME = 80
"""Characters around a step's output, about."""
_FILES = "curator.files_budget_chars"


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """What a doctor looks at in a receipt; what it does not tell is empty or unknown."""

    flow: str
    step_id: str
    agent: str
    included: int
    total: int
    used: int
    """Characters of the history, or of the pack where that is told."""
    budget: int
    truncated: bool
    steps: Sequence[Mapping[str, Any]]
    """What became of each earlier step."""
    files: Sequence[Mapping[str, Any]]
    window: int | None
    tokens: int | None
    curator: str
    status: int | None
    stop: str

    @property
    def omitted(self) -> int:
        """Steps that were left out."""
        return max(0, self.total - self.included)

    @property
    def name(self) -> str:
        """The step and who did it."""
        return f"{self.step_id}-{self.agent}" if self.agent else self.step_id

    @property
    def by_window(self) -> bool:
        """Whether it was the model's window that was full, and not the budget."""
        full = self.window is not None and self.tokens is not None and self.tokens * 10 >= self.window * 9
        return full and self.used * 10 < self.budget * 9


def seen(receipt: Mapping[str, Any], flow: str = "") -> Seen:
    """Return what a receipt tells; `flow` is where it was found."""
    told = _mapping(receipt.get("context_truncation"))
    curator = _mapping(receipt.get("curator"))
    note = receipt.get("note")
    included, total = _number(told.get("steps_included")), _number(told.get("steps_total"))
    reason = str(curator.get("reason") or "")
    return Seen(
        flow=str(receipt.get("flow") or flow),
        step_id=str(receipt.get("step_id")),
        agent=str(receipt.get("agent") or ""),
        included=included,
        total=total,
        used=_number(receipt.get("used_chars")) or _number(told.get("chars_used")),
        budget=_number(told.get("budget_chars")) or _number(receipt.get("budget_chars")),
        truncated=told.get("truncated") is True or (isinstance(note, str) and MARKER in note) or included < total,
        steps=_rows(receipt.get("steps")),
        files=_rows(receipt.get("files")),
        window=_number(receipt.get("window_tokens")) or None,
        tokens=_number(receipt.get("used_tokens")) or None,
        curator=reason if reason.startswith("the curator failed") else "",
        status=_number(receipt.get("http_status")) or None,
        stop=str(receipt.get("stop") or ""),
    )


def symptoms(settings: Resolved, run: Sequence[Seen]) -> Iterator[Finding]:
    """Yield what the receipts of one flow tell, given the settings that hold for it."""
    for look in (_left_out, _one_large, _notes, _cut, _loader, _tiny, _curator, _ended):
        yield from look(settings, run)


def _left_out(settings: Resolved, run: Sequence[Seen]) -> Iterator[Finding]:
    """Find the marker early in a flow: the total is too small."""
    early = [each for each in run if each.omitted and each.total < _EARLY]
    if not early:
        return
    first = early[0]
    if first.by_window:
        yield Finding(
            check="window is full",
            level=WRONG,
            seen=f"{first.name} left out {first.omitted} of {first.total} steps at {first.tokens:,} of the window's"
            f" {first.window:,} tokens",
            why="The model's window is full before the budget is, so a bigger budget changes nothing.",
            do="Use a model with a bigger window, or lower what stands around the history.",
        )
        return
    now, wanted = settings.value(TOTAL), min(max(map(_needed, early)), LARGEST)
    do = "The budget is as large as it may be: let steps leave artifacts by path and say less."
    if wanted > now:
        do = f"Raise context_budget_chars from {now:,} to {wanted:,}."
    yield Finding(
        check="total budget is hit early",
        level=WRONG,
        seen=f"{MARKER} in {len(early)} of {len(run)} packs of the flow {first.flow or '?'} already before step"
        f" {_EARLY}: {first.name} included {first.included} of {first.total} steps within {first.budget:,} chars",
        why="So early in a flow every step still matters, and those left out are not seen at all.",
        do=do,
        commands=_commands(settings, TOTAL, wanted) if wanted > now else (),
    )


def _needed(one: Seen) -> int:
    """Return the budget with which a pack would have had all steps, about."""
    if not one.steps:
        return rounded(one.budget * one.total // max(one.included, 1), 10_000)
    missing = [_number(step.get("chars")) + _FRAME for step in one.steps if step.get("state") == "omitted"]
    return rounded(one.budget + sum(missing), 10_000)


def _one_large(_: Resolved, run: Sequence[Seen]) -> Iterator[Finding]:
    """Find one step that writes more than all others together."""
    sizes = {str(step.get("step_id")): _number(step.get("chars")) for each in run for step in each.steps}
    if not any(each.truncated for each in run) or len(sizes) < _ENOUGH:
        return
    name, largest = max(sizes.items(), key=lambda item: item[1])
    others = sum(sizes.values()) - largest
    if largest > others:
        yield Finding(
            check="one large step",
            level=WRONG,
            seen=f"step {name} wrote {largest:,} chars, all {len(sizes) - 1} others together {others:,}",
            why="One step that says so much takes the room of the others, or is cut itself.",
            do=f"Look why step {name} writes so much; let it leave a file and name it under artifacts.",
        )


def _notes(_: Resolved, run: Sequence[Seen]) -> Iterator[Finding]:
    """Find notes that somebody should read."""
    noted = [each for each in run if each.omitted]
    if not noted:
        return
    lost = Counter(
        str(step.get("agent"))
        for each in noted
        for step in each.steps
        if step.get("state") == "omitted" and step.get("class") in ("CRITICAL", "HIGH")
    )
    who = ", ".join(f"{name} ({count})" for name, count in lost.most_common(4))
    yield Finding(
        check="truncation notes to review",
        level=WRONG if lost else ADVICE,
        seen=f"{len(noted)} of {len(run)} packs carry {MARKER}, up to {max(e.omitted for e in noted)} steps left out"
        + (f"; of CRITICAL and HIGH agents: {who}" if who else "; late in a long flow that is expected"),
        why="What was left out may have mattered, and nobody sees it who does not look.",
        do=f"Read the receipts of {', '.join(e.name for e in noted[:3])}"
        + (f" and {len(noted) - 3} more" if len(noted) > 3 else "")
        + (", and raise context_budget_chars if the steps mattered." if who else "."),
    )


def _cut(settings: Resolved, run: Sequence[Seen]) -> Iterator[Finding]:
    """Find outputs of steps that were cut: the cap of the newest or of the older ones is too small."""
    newest = [each.steps[-1] for each in run if each.steps and each.steps[-1].get("state") == "cut"]
    older = [step for each in run for step in each.steps[:-1] if step.get("state") == "cut"]
    untold = sum(each.truncated and not each.omitted and not each.steps for each in run)
    for key, which, cut, more in ((RECENT, "the newest step", newest, untold), (OLDER, "older steps", older, 0)):
        if not cut and not more:
            continue
        largest = max((_number(step.get("chars")) for step in cut), default=0)
        yield _raise(
            settings,
            key,
            rounded(largest, 1_000),
            check=f"{which} cut",
            seen=f"{STEP_MARKER!r} on {which}: {len(cut) + more} times in {len(run)} packs"
            + (f", the largest output {largest:,} chars" if largest else ""),
            why="A step whose output is cut has lost its end for all that follow.",
        )


def _loader(settings: Resolved, run: Sequence[Seen]) -> Iterator[Finding]:
    """Find a context loader whose files do not arrive."""

    def loads(agent: object) -> bool:
        return "loader" in str(agent)

    newest = [(each.agent, each.steps[-1]) for each in run if each.steps and each.steps[-1].get("state") == "cut"]
    lost = [step for agent, step in newest if loads(agent) or loads(step.get("agent"))]
    if lost:
        largest = max(_number(step.get("chars")) for step in lost)
        yield _raise(
            settings,
            RECENT,
            rounded(largest, 1_000),
            check="context loader misses files",
            seen=f"what a context loader wrote or was to read was cut {len(lost)} times, of up to {largest:,} chars",
            why="Files that were gathered and do not arrive are searched for again, by a dearer model.",
        )
    dropped = [file for each in run for file in each.files if file.get("given") in ("dropped", "path")]
    if dropped:
        yield _raise(
            settings,
            _FILES,
            settings.value(_FILES) * 2,
            check="files left out",
            seen=f"{len(dropped)} times a chosen file had no room but for its path, first {dropped[0].get('path')}",
            why="A step that gets a path alone has to open the file itself.",
        )


def _raise(settings: Resolved, key: str, wanted: int, **told: str) -> Finding:
    """Return the finding that a setting should be raised."""
    now, top = settings.value(key), LARGEST if key == _FILES else settings.value(TOTAL)
    wanted = min(max(wanted, now + now // 2), top)
    do = f"{name_of(key)} is as large as the whole budget of {top:,}: raise context_budget_chars."
    if wanted > now:
        do = f"Raise {name_of(key)} from {now:,} to {wanted:,}."
    return Finding(level=WRONG, do=do, commands=_commands(settings, key, wanted) if wanted > now else (), **told)


def _commands(settings: Resolved, key: str, value: object) -> tuple[str, ...]:
    return tuple(filter(None, (command(settings, key, value),)))


def _tiny(settings: Resolved, run: Sequence[Seen]) -> Iterator[Finding]:
    """Find packs that are tiny beside what they may have."""
    fullest = max((each.used for each in run), default=0)
    now = settings.value(TOTAL)
    wanted = max(rounded(2 * fullest, 10_000), LEAST[TOTAL])
    if len(run) < _ENOUGH or fullest * _TINY > now or wanted >= now or any(each.truncated for each in run):
        return
    window = max((each.window or 0 for each in run), default=0)
    beside = f", and a window of {window:,} tokens" if window else ""
    yield Finding(
        check="prompts are tiny",
        level=ADVICE,
        seen=f"the fullest of {len(run)} packs has {fullest:,} chars (about {fullest // CHARS_A_TOKEN:,} tokens),"
        f" {100 * fullest // now} % of the budget of {now:,}{beside}",
        why="A budget far above the need lets one talkative step cost much more than it should.",
        do=f"Lower context_budget_chars to {wanted:,}.",
        commands=_commands(settings, TOTAL, wanted),
    )


def _curator(settings: Resolved, run: Sequence[Seen]) -> Iterator[Finding]:
    """Find a curator that fails."""
    failed = [each for each in run if each.curator]
    if failed:
        slow = any("took longer" in each.curator for each in failed)
        key, value = (
            ("timeout_seconds", settings.value("timeout_seconds") * 2) if slow else ("curator.enabled", "false")
        )
        yield Finding(
            check="curator fails",
            level=ADVICE,
            seen=f"the curator failed for {len(failed)} of {len(run)} packs, first for {failed[0].name}:"
            f" {failed[0].curator.removeprefix('the curator failed: ')}",
            why="The usual selection served, so nothing broke, but the call was paid for.",
            do="Give it more time." if slow else "Put its model right, or switch it off.",
            commands=_commands(settings, key, value),
        )


def _ended(_: Resolved, run: Sequence[Seen]) -> Iterator[Finding]:
    """Find steps that the model's own limits ended."""
    checks: tuple[tuple[str, Callable[[Seen], bool], str, str], ...] = (
        (
            "answer cut off",
            lambda each: each.stop == "length",
            "An answer that the model's limit cut off is a failure: whatever builds on it fails later.",
            "Split the step, or use a model that answers at greater length. Budgets are for input and do not help.",
        ),
        (
            "prompt refused",
            lambda each: each.status == 400,
            "HTTP 400 is how a server refuses a prompt that is longer than its window: the call is wasted.",
            "Set model or window.size to what the server really has, so that the window is kept to.",
        ),
    )
    for check, is_so, why, do in checks:
        names = [each.name for each in run if is_so(each)]
        if names:
            yield Finding(check=check, level=WRONG, seen=f"{len(names)} times, first {names[0]}", why=why, do=do)


def _number(value: object) -> int:
    return value if type(value) is int and value >= 0 else 0


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _rows(value: object) -> list[Mapping[str, Any]]:
    return [row for row in value if isinstance(row, Mapping)] if isinstance(value, Iterable) else []
