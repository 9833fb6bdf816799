"""Looks at what the settings of sessions, loops and stores do: a session talks, a loop runs, and what comes out is seen."""

from itertools import pairwise

from brim.sessions.loop import Step
from brim.testing import MemoryStore
from sessions.talking import turn

SMALL = "meter: chars\nwindow: {size: 6000, cap: 0.5, warn: 0.3}\n"
SUMMARISED = SMALL + "compaction: {summarise: extract}\n"
NEVER = SMALL + "compaction: {at: never}\n"


def talk(**asked):
    """Return a look at the prompts of a session that grows."""

    def look(settings):
        made = settings.session(**asked)
        sent = []
        for i in range(16):
            made.add(turn(i))
            sent.append(made.prompt(system="Be brief.", memory=[f"memory {i}" for i in range(40)]).messages)
        return sent

    return look


def captured(settings):
    """Return what a store keeps of a prompt."""
    store = MemoryStore()
    made = settings.session(store=store)
    made.add(turn(1))
    made.prompt()
    return [sorted(entry.body) for entry in store.entries(made.id, kinds=["prompt"])]


def run(settings):
    """Return what comes of a loop: how it ended, its prompts, and what the user was told."""
    prompts, now = [], [0.0]

    def act(tick):
        now[0] += 5
        prompts.append(tick.messages)
        k = tick.state["k"] = tick.state.get("k", 0) + 1
        return Step(messages=turn(k)[1:], end="iteration" if k % 6 == 0 else "continue", cost=0.25)

    made = settings.loop("Port it.", act, clock=lambda: now[0])
    outcome = made.run()
    return outcome.ended, outcome.steps, prompts, made.session.notices


def opened(settings):
    """Return where the store is that the settings open."""
    store = settings.store()
    return None if store is None else store.url


LOOP = SMALL + "loop: {max_iterations: 4, tick_cap: 0.3}\n"
SUMMARY, CONTINUED = "[CONTEXT_SUMMARY]", "[CONTINUATION]"


def texts(prompt):
    return [message.get("content") or "" for message in prompt]


def summaries(sent):
    """Return the place of the summary in each prompt that has one, and its size."""
    return {
        i: (texts(prompt).index(text), len(text))
        for i, prompt in enumerate(sent)
        for text in texts(prompt)
        if text.startswith(SUMMARY)
    }


def after_summary(sent):
    """Return how many messages of the history follow the first summary: those after it, without the memory."""
    first = min(summaries(sent))
    return len(sent[first]) - summaries(sent)[first][0] - 2


def extended(sent):
    """Return how often a prompt starts with all messages of the last one, which end before the memory."""
    return sum(new[: len(old) - 1] == old[:-1] for old, new in pairwise(sent))


def results(sent):
    """Return the size of the longest tool result."""
    return max(len(message["content"]) for prompt in sent for message in prompt if message["role"] == "tool")


def memories(sent):
    """Return the number of memories in each prompt."""
    return {"\n".join(texts(prompt)).count("memory ") for prompt in sent}


def earlier(before, after):
    """Summaries start at the warning at 1,800 characters, and no longer at the cap of 3,000."""
    largest = [max(len("".join(texts(prompt))) for prompt in sent) for sent in (before, after)]
    return (
        min(summaries(after)) < min(summaries(before)) and 2_700 < largest[0] <= 3_000 and 1_500 < largest[1] <= 1_900
    )


def smaller(before, after):
    """A summary takes at most a twentieth of 3,000 characters and its own frame, and not a quarter."""
    was, now = (max(size for _, size in summaries(sent).values()) for sent in (before, after))
    return 500 < was <= 750 + 66 and 100 < now <= 150 + 66


def ended(how, steps):
    """The effect of a limit on a loop that otherwise ends after 4 iterations of 6 steps."""
    return lambda before, after: (before[:2], after[:2]) == (("max_iterations", 24), (how, steps))


def largest(outcome):
    """Return the size of the largest prompt of a loop."""
    return max(len("".join(texts(prompt))) for prompt in outcome[2])


def handoffs(outcome):
    """Return the size of the largest continuation of a loop."""
    found = (text.partition(CONTINUED) for prompt in outcome[2] for text in texts(prompt) if CONTINUED in text)
    return max(len(mark + text) for _, mark, text in found)


RUNNING = {
    "compaction.at": (talk(), "warning", earlier, SUMMARISED),
    "compaction.summarise": (
        talk(),
        "extract",
        lambda before, after: len(summaries(after)) > 5 and not summaries(before),
        SMALL,
    ),
    "compaction.keep_turns": (
        talk(),
        1,
        # A question, a call with its result, and an answer are three turns of four messages.
        lambda before, after: (after_summary(before), after_summary(after)) == (4, 1),
        SUMMARISED,
    ),
    "compaction.summary_share": (talk(), 0.05, smaller, SUMMARISED),
    "session.stable": (talk(), False, lambda before, after: extended(before) >= 7 and extended(after) <= 4, NEVER),
    "session.tool_limit": (
        talk(),
        100,
        lambda before, after: results(before) > 300 and 80 <= results(after) <= 100,
        SMALL,
    ),
    "session.memory_limit": (
        talk(),
        150,
        lambda before, after: memories(before) == {40} and min(memories(after)) >= 10 and max(memories(after)) <= 16,
        SMALL,
    ),
    "session.capture": (
        captured,
        True,
        lambda before, after: set(after[0]) - set(before[0]) == {"receipt", "sent"} and set(before[0]) < set(after[0]),
        SMALL,
    ),
    "loop.tick_cap": (
        run,
        0.4,
        lambda before, after: 1_500 < largest(before) <= 1_800 and 2_000 < largest(after) <= 2_400,
        LOOP,
    ),
    "loop.handoff_share": (
        run,
        0.1,
        lambda before, after: 180 < handoffs(before) <= 450 and 100 < handoffs(after) <= 180,
        LOOP,
    ),
    "loop.handoff_tokens": (
        run,
        150,
        lambda before, after: 180 < handoffs(before) <= 450 and 80 < handoffs(after) <= 150,
        LOOP,
    ),
    "loop.max_iterations": (run, 2, ended("max_iterations", 12), LOOP),
    "loop.max_sub_ticks": (run, 0, ended("max_sub_ticks", 5), LOOP),
    "loop.max_steps": (run, 3, ended("max_steps", 3), LOOP),
    "loop.max_cost": (run, 1.0, ended("max_cost", 4), LOOP),
    "loop.max_seconds": (run, 12.5, ended("max_seconds", 3), LOOP),
    "loop.boundary": (
        run,
        "visible",
        lambda before, after: (
            before[:3] == after[:3]
            and before[3] == []
            and len(after[3]) == 5
            and all("continues in a fresh context" in notice for notice in after[3])
        ),
        LOOP,
    ),
    "store.url": (opened, "sqlite:///:memory:", lambda before, after: (before, after) == (None, "sqlite:///:memory:")),
}
"""A look, what the key is changed to, its effect, and the rest of the file, for every key that sessions, loops and stores read."""
