"""Looks at what the settings of sessions, loops and stores do: a session talks, a loop runs, and what comes out is seen."""

from brim.sessions.loop import Step
from brim.testing import MemoryStore
from sessions.talking import turn

SMALL = "meter: chars\nwindow: {size: 6000, cap: 0.5, warn: 0.3}\n"
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

RUNNING = {
    "compaction.at": (talk(), "warning", SMALL),
    "compaction.keep_turns": (talk(), 1, SMALL),
    "compaction.summary_share": (talk(), 0.05, SMALL),
    "session.stable": (talk(), False, NEVER),
    "session.tool_limit": (talk(), 100, SMALL),
    "session.memory_limit": (talk(), 50, SMALL),
    "session.capture": (captured, True, SMALL),
    "loop.tick_cap": (run, 0.4, LOOP),
    "loop.handoff_share": (run, 0.1, LOOP),
    "loop.max_iterations": (run, 2, LOOP),
    "loop.max_sub_ticks": (run, 0, LOOP),
    "loop.max_steps": (run, 3, LOOP),
    "loop.max_cost": (run, 1.0, LOOP),
    "loop.max_seconds": (run, 12.5, LOOP),
    "loop.boundary": (run, "visible", LOOP),
    "store.url": (opened, "sqlite:///:memory:"),
}
"""A look, what the key is changed to, and the rest of the file, for every key that sessions, loops and stores read."""
