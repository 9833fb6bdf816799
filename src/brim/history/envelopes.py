"""The envelopes in which agents put what was not typed as a message, and whose words are inside.

What a person types while an agent works comes inside the result of a tool, or as a system message; so do the answers of
subagents. They are kept as other words of people are. What a program says about itself is nobody's word.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

Voice = Literal["person", "agent", "program"]
"""Whose words an envelope has: a person's, a subagent's, or nobody's."""


class Envelope(NamedTuple):
    """How one kind of text begins and ends."""

    voice: Voice
    opening: str
    closings: tuple[str, ...]
    """How it may end; without any of them, with the text."""


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
"""The envelopes that are known."""

SUBAGENTS = frozenset({"Task", "Agent", "task", "agent", "wait_agent", "delegate_to_agent", "run_subagent", "new_task"})
"""Tools whose results are answers of subagents."""

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
"""What agents ask for a summary of their conversation with, and which they are."""


_LAST = 8
"""Envelopes at the end of a text that are looked at."""


class Enveloped(NamedTuple):
    """Where an envelope stands in a text, with what opens it."""

    start: int
    stop: int
    voice: Voice


def enveloped(text: str) -> list[Enveloped]:
    """Return the envelopes of a text in order; one inside another kind is there too."""
    found = list[Enveloped]()
    for voice, opening, closings in ENVELOPES:
        start, own, ends = text.find(opening), f"</{opening[1:]}", dict.fromkeys(closings, -1)
        while start >= 0:
            for end in (end for end, at in ends.items() if at <= start):  # Each is looked for once on its way.
                at = text.find(end, start)
                ends[end] = len(text) if at < 0 else at + len(own) * (end == own)
            stop = min(ends.values(), default=len(text))
            found.append(Enveloped(start, stop, voice))
            start = text.find(opening, stop)
    return sorted(found)


def compacting_agent(text: str) -> str:
    """Return the agent that asks for a summary of its conversation with these words; empty if it is no such request."""
    return next((agent for words, agent in COMPACTIONS.items() if words in text), "")


def heard(text: str) -> list[Enveloped]:
    """Return the envelopes of a text that have words of a person or of a subagent."""
    return [each for each in enveloped(text) if each.voice != "program"]


def has_person(text: str) -> bool:
    """Return whether a person says something in a text: in an envelope for that, or outside of all."""
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
    """Return where the envelopes begin that a program added to the end of a result; its length if there are none."""
    end = len(text)
    for start, stop, _ in reversed(enveloped(text)[-_LAST:]):
        if not text[stop:end].strip():
            end = start
    return end if end == len(text) else len(text[:end].rstrip())
