"""Envelopes: texts from another source that agents put into results and messages, and who wrote them.

What a person types while an agent works comes inside a tool result or a system message, and so do the answers of
subagents. Both are kept like a person's messages. What a program says about itself is not.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from brim.meter.memo import Memo

Voice = Literal["person", "agent", "program"]
"""Who wrote the text in an envelope: a person, a subagent, or a program."""


class Envelope(NamedTuple):
    """How one kind of envelope begins and ends."""

    voice: Voice
    opening: str
    closings: tuple[str, ...]
    """How it may end; without any of these it ends with the text."""


_WORKING = "The user sent a new message while you were working:"
_REMINDED = "</system-reminder>"

ENVELOPES = (
    # Claude Code: what is typed while it works, and why a call was not allowed.
    Envelope("person", _WORKING, ("\n\nIMPORTANT: ", "\n\nThis is how Claude Code", _REMINDED)),
    Envelope("person", "To tell you how to proceed, the user said:", ()),
    # opencode: what is typed while it works.
    Envelope("person", "The user sent the following message:", ("\n\nPlease address this message", _REMINDED)),
    # Cline, Roo Code: what is said with an approval, or instead of one.
    Envelope("person", "<feedback>", ("</feedback>",)),
    Envelope("person", "<user_message>", ("</user_message>",)),
    # Claude Code, Codex: a subagent has ended.
    Envelope("agent", "<task-notification>", ("</task-notification>",)),
    Envelope("agent", "<subagent_notification>", ("</subagent_notification>",)),
    # Reminders, todo lists, commands of the program itself, the state of the workspace.
    Envelope("program", "<system-reminder>", (_REMINDED,)),
    Envelope("program", "<local-command-stdout>", ("</local-command-stdout>",)),
    Envelope("program", "<local-command-caveat>", ("</local-command-caveat>",)),
    Envelope("program", "<environment_details>", ("</environment_details>",)),
    Envelope("program", "<environment_context>", ("</environment_context>",)),
    Envelope("program", "<session_context>", ("</session_context>",)),
    Envelope("program", "<current_datetime>", ("</current_datetime>",)),
    Envelope("program", "<turn_aborted>", ("</turn_aborted>",)),
)
"""The known envelopes."""

SUBAGENTS = frozenset({"Task", "Agent", "task", "agent", "wait_agent", "delegate_to_agent", "run_subagent", "new_task"})
"""Tools that call a subagent."""

COMPACTIONS = {
    "Your task is to create a detailed summary of": "Claude Code",
    "You are performing a CONTEXT CHECKPOINT COMPACTION": "Codex",
    "Provide a detailed prompt for continuing our conversation above": "opencode",
    "Create a new anchored summary": "opencode",
    "Update the anchored summary": "opencode",
    "generate the <state_snapshot>": "gemini-cli",
    "produce the <state_snapshot> XML": "qwen-code",
    "Summarize the conversation history so far": "Copilot",
    "The history is being compacted so moving forward": "Copilot",
    "You are about to run out of context. Create a handoff summary": "kimi-code",
    "your urgent task is to create a comprehensive detailed summary": "Cline",
    "Create a structured context checkpoint summary": "pi",
    "This is the PREFIX of a turn that was too large to keep.": "pi",
}
"""Phrases with which agents ask for a summary of their conversation, and the agent of each."""


_LAST = 8
"""Envelopes at the end of a text that are examined."""


class Enveloped(NamedTuple):
    """The place of an envelope in a text, with its opening and closing."""

    start: int
    stop: int
    voice: Voice


_FOUND: Memo[list[Enveloped]] = Memo()
"""The envelopes of texts: each text is asked for several times."""


def enveloped(text: str) -> list[Enveloped]:
    """Return the envelopes of a text in order, nested ones of another kind too."""
    found = _FOUND.get(text)
    if found is None:
        found = _enveloped(text)
        _FOUND.put(text, found)
    return found


def _enveloped(text: str) -> list[Enveloped]:
    found = list[Enveloped]()
    for voice, opening, closings in ENVELOPES:
        start, own, ends = text.find(opening), f"</{opening[1:]}", dict.fromkeys(closings, -1)
        while start >= 0:
            for end in (end for end, at in ends.items() if at <= start):  # Each ending is searched for once.
                at = text.find(end, start)
                ends[end] = len(text) if at < 0 else at + len(own) * (end == own)
            stop = min(ends.values(), default=len(text))
            found.append(Enveloped(start, stop, voice))
            start = text.find(opening, stop)
    return sorted(found)


def compacting_agent(text: str) -> str:
    """Return the agent whose request for a summary of its conversation this is; empty if it is not one."""
    return next((agent for words, agent in COMPACTIONS.items() if words in text), "")


def heard(text: str) -> list[Enveloped]:
    """Return the envelopes of a text by a person or a subagent."""
    return [each for each in enveloped(text) if each.voice != "program"]


def has_person(text: str) -> bool:
    """Return whether a text has words of a person: in an envelope, or outside of all envelopes."""
    found = enveloped(text)
    return any(each.voice == "person" for each in found) or bool(without(text, found).strip())


def without(text: str, spans: Iterable[Enveloped]) -> str:
    """Return a text without some of its envelopes."""
    kept, end = list[str](), 0
    for start, stop, _ in spans:
        kept.append(text[end:start])
        end = max(end, stop)
    return "".join([*kept, text[end:]])


def body(text: str) -> int:
    """Return where the envelopes at the end of a result begin; its length if there are none."""
    end = len(text)
    for start, stop, _ in reversed(enveloped(text)[-_LAST:]):
        if not text[stop:end].strip():
            end = start
    return end if end == len(text) else len(text[:end].rstrip())
