"""What can be expected of a prompt: each check returns a sentence on what is wrong, or nothing."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .adapter import Adapter, Message
from .case import Case
from .judge import Judge, body, gist, illegal, leading, left, standing, task, texts

_BROKEN = re.compile("[\ufffd\ud800-\udfff]")
_MARK = re.compile(r"\W{0,3}[\[<(…][^\n]{0,200}[\])>…]")
"""Words in brackets that stand for what was left out, whatever they are."""
_LONG = 200
"""Characters of an argument that may give way to a mark."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    """A history before and after a trimmer had it."""

    adapter: Adapter
    case: Case
    judge: Judge
    budget: int
    before: list[Message]
    after: list[Message]

    def again(self, messages: list[Message]) -> list[Message]:
        """Return what the trimmer makes of other messages at the same budget."""
        return self.adapter.trim(copy.deepcopy(messages), self.budget)


Check = Callable[[Trial], str | None]


def fits(trial: Trial) -> str | None:
    """The whole prompt counts at most the budget."""
    size = trial.judge.size(trial.after)
    return f"{size:,} units for a budget of {trial.budget:,}" if size > trial.budget else None


def legal(trial: Trial) -> str | None:
    """The provider takes it: every call has its result and every result its call."""
    return illegal(trial.after)


def ordered(trial: Trial) -> str | None:
    """What was kept stands in the order in which it was said."""
    known = [gist(message) for message in trial.before]
    place: Iterator[object] = iter(known)
    seen = set(known)
    for i, message in enumerate(trial.after):
        if gist(message) in seen and gist(message) not in place:
            return f"messages[{i}] stands before what came before it, or twice"
    return None


def system(trial: Trial) -> str | None:
    """The leading system messages are there, whole and first."""
    first = leading(trial.after)
    for message in leading(trial.before):
        if not any(standing(message, other) == "whole" for other in first):
            return f"the {message['role']} message is not there whole"
    return None


def newest(trial: Trial) -> str | None:
    """The prompt ends with the newest message, whole or cut."""
    found = left(trial.before[-1], trial.after[-1:], trial.before)
    return None if found else "the prompt does not end with the newest message"


def newest_whole(trial: Trial) -> str | None:
    """The prompt ends with the newest message, whole."""
    found = left(trial.before[-1], trial.after[-1:], trial.before)
    return None if found == "whole" else f"the newest message is {found or 'lost'} though it fits"


def newest_image(trial: Trial) -> str | None:
    """The images of the newest message are still in it."""
    wanted = [part for part in trial.before[-1]["content"] if part["type"] == "image_url"]
    found = trial.after[-1].get("content")
    missing = [part for part in wanted if not isinstance(found, list) or part not in found]
    return f"{len(missing)} of {len(wanted)} images of the newest message are gone" if missing else None


def goal(trial: Trial) -> str | None:
    """The first user message is there, whole or cut."""
    wanted = task(trial.before)
    if wanted is None or left(wanted, trial.after, trial.before):
        return None
    return "the task, the first user message, is lost"


def unchanged(trial: Trial) -> str | None:
    """What fits already comes back as it was."""
    if trial.after == trial.before:
        return None
    return f"the history fits, and {len(trial.before):,} messages became {len(trial.after):,} or other ones"


def untouched(trial: Trial) -> str | None:
    """A message that was kept whole has all its fields, known or not."""
    known = {gist(message): message for message in trial.before}
    for i, message in enumerate(trial.after):
        if gist(message) in known and message != known[gist(message)]:
            return f"messages[{i}] lost or gained fields"
    return None


def idempotent(trial: Trial) -> str | None:
    """What was fitted is not changed by fitting it again."""
    return None if trial.again(trial.after) == trial.after else "fitting the result again changes it"


def deterministic(trial: Trial) -> str | None:
    """The same history gives the same prompt."""
    return None if trial.again(trial.before) == trial.after else "the same history gives another prompt"


def clean(trial: Trial) -> str | None:
    """No character is split: no U+FFFD and no half of a pair that was not in the history."""
    before = sum(len(_BROKEN.findall(body(message))) for message in trial.before)
    after = sum(len(_BROKEN.findall(body(message))) for message in trial.after)
    return f"{after - before} broken characters are in the prompt" if after > before else None


def full(trial: Trial) -> str | None:
    """At least a third of the budget is used where there are many small messages to fill it with.

    No more is asked, because a trimmer that spares the prompt cache cuts deep, and seldom.
    """
    size = trial.judge.size(trial.after)
    return f"only {size:,} of {trial.budget:,} units are used" if 3 * size < trial.budget else None


def shows(trial: Trial) -> str | None:
    """The texts that the case names stand in the prompt, whole, in whatever message."""
    told = "\n".join(text for message in trial.after for text in texts(message))
    missing = [text for text in trial.case.shows if text not in told]
    found = len(trial.case.shows) - len(missing)
    if found >= trial.case.share * len(trial.case.shows):
        return None
    return f"{found} of {len(trial.case.shows)} texts are there; lost is {missing[0][:60]!r}"


def grows(trial: Trial) -> str | None:
    """With more room the prompt is no smaller, and still within it."""
    size = trial.judge.size(trial.after)
    for times in (1.5, 2, 3):
        room = int(trial.budget * times)
        larger = trial.judge.size(trial.adapter.trim(copy.deepcopy(trial.before), room))
        if larger > room:
            return f"{larger:,} units for a budget of {room:,}"
        if larger < size:
            return f"{size:,} units at {trial.budget:,} and {larger:,} at {room:,}"
        size = larger
    return None


def returns(trial: Trial) -> str | None:
    """After a third of the budget, the whole of it keeps nearly as much as before."""
    size = trial.judge.size(trial.after)
    trial.adapter.trim(copy.deepcopy(trial.before), trial.budget // 3)
    again = trial.judge.size(trial.again(trial.before))
    return f"{size:,} units before, and {again:,} after a smaller budget" if 10 * again < 9 * size else None


def mostly_full(trial: Trial) -> str | None:
    """At least three fifths of the budget are used where there are many small messages to fill it with."""
    size = trial.judge.size(trial.after)
    return f"only {size:,} of {trial.budget:,} units are used" if 5 * size < 3 * trial.budget else None


def once(trial: Trial) -> str | None:
    """A text that came again and again stands in the prompt once."""
    told = "\n".join(text for message in trial.after for text in texts(message))
    found = max(told.count(text) for text in trial.case.shows)
    return None if found == 1 else f"the same text is there {found:,} times"


def calls_as_made(trial: Trial) -> str | None:
    """A call has the arguments that it was made with; a long one may be a short mark, and no other is changed."""
    made = {call["id"]: call["function"]["arguments"] for m in trial.before for call in m.get("tool_calls") or ()}
    for message in trial.after:
        for call in message.get("tool_calls") or ():
            before, after = made.get(call["id"], ""), call["function"]["arguments"]
            if before != after and not _marked(before, after):
                return f"call {call['id']} was made with {before[:60]!r} and shows {after[:60]!r}"
    return None


def _marked(before: str, after: str) -> bool:
    """Return whether arguments differ in long values alone, each of which became a mark in brackets."""
    try:
        was, now = json.loads(before), json.loads(after)
    except ValueError:
        return False
    if not isinstance(was, dict) or not isinstance(now, dict) or list(was) != list(now):
        return False
    changed = [name for name in was if was[name] != now[name]]
    return all(
        len(str(was[name])) > _LONG and isinstance(now[name], str) and _MARK.fullmatch(now[name]) for name in changed
    )


def lines_whole(trial: Trial) -> str | None:
    """Each line of a result is one that the tool printed, or a mark in brackets."""
    printed = {m["tool_call_id"]: str(m["content"]).split("\n") for m in trial.before if m["role"] == "tool"}
    for message in trial.after:
        if message["role"] == "tool":
            known = printed.get(message["tool_call_id"], [])
            for line in str(message["content"]).split("\n"):
                if line not in known and line.strip() and not _MARK.fullmatch(line.strip()):
                    return f"the result of {message['tool_call_id']} has the line {line[:60]!r}"
    return None


def json_whole(trial: Trial) -> str | None:
    """A JSON result is one mark, or JSON whose values are those that the tool returned, or marks."""
    returned = {m["tool_call_id"]: json.loads(m["content"]) for m in trial.before if m["role"] == "tool"}
    for message in trial.after:
        if message["role"] != "tool" or _MARK.fullmatch(message["content"].strip()):
            continue
        try:
            found = json.loads(message["content"])
        except ValueError:
            return f"the result of {message['tool_call_id']} is no JSON: {message['content'][:60]!r}"
        known = {json.dumps(each) for each in _scalars(returned[message["tool_call_id"]])}
        strange = [each for each in _scalars(found) if json.dumps(each) not in known and not _is_mark(each)]
        if strange:
            return f"the result of {message['tool_call_id']} has the value {strange[0]!r:.60}"
    return None


def wrapped(trial: Trial) -> str | None:
    """A result that is JSON with JSON in its texts is a mark or the same: each of its texts is a mark, or JSON."""
    for message in trial.after:
        if message["role"] != "tool" or _MARK.fullmatch(message["content"].strip()):
            continue
        try:
            inner = [each for each in _scalars(json.loads(message["content"])) if str(each).startswith(("{", "["))]
            _ = [json.loads(str(each)) for each in inner if not _is_mark(each)]
        except ValueError:
            return f"the result of {message['tool_call_id']} is no JSON, or has a text that is none"
    return None


def _scalars(value: object) -> Iterator[object]:
    """Yield the texts, numbers and truth values in a JSON value."""
    if isinstance(value, dict):
        for name, each in value.items():
            if not _is_mark(name):
                yield from _scalars(each)
    elif isinstance(value, list):
        for each in value:
            yield from _scalars(each)
    else:
        yield value


def _is_mark(value: object) -> bool:
    return isinstance(value, str) and _MARK.fullmatch(value) is not None


ALWAYS: dict[str, Check] = {"fits": fits, "legal": legal, "ordered": ordered}
"""What every prompt must pass; that there is one, that it is a list and that the input is untouched comes before."""

CHECKS: dict[str, Check] = {
    **ALWAYS,
    "system": system,
    "newest": newest,
    "newest whole": newest_whole,
    "newest image": newest_image,
    "task": goal,
    "unchanged": unchanged,
    "untouched": untouched,
    "idempotent": idempotent,
    "deterministic": deterministic,
    "clean": clean,
    "full": full,
    "mostly full": mostly_full,
    "once": once,
    "calls as made": calls_as_made,
    "lines whole": lines_whole,
    "json whole": json_whole,
    "wrapped": wrapped,
    "shows": shows,
    "grows": grows,
    "returns": returns,
}
"""Every check by the name that a case asks for it."""
