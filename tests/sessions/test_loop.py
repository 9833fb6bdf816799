"""Loops go on in fresh contexts, add up from outside, end at their limits, and are resumed where they stopped."""

import asyncio
import json
import random
import threading
import time

import pytest

import brim
from brim.errors import InvalidType, InvalidValue, StoreError, UnknownName
from brim.history.compact.continuation import Continuation
from brim.sessions.loop import Loop, Step
from brim.testing import MemoryStore
from faulty import AFTER, BEFORE, FaultyStore
from sessions.talking import Seen

M = brim.meter("o200k_base")
WINDOW = brim.Window(8_000, cap=0.20, warn=0.15)
GOAL = "Port every module. Never delete a test."


def talk(k, *, words=60):
    """Return what one step says: a call, its result, a report."""
    call = {"id": f"c{k}", "type": "function", "function": {"name": "read", "arguments": f'{{"path": "/srv/m{k}.py"}}'}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {
            "role": "tool",
            "tool_call_id": f"c{k}",
            "content": f"/srv/m{k}.py has ticket REQ-{k * 13}. " + "word " * words,
        },
        {"role": "assistant", "content": f"I fixed /srv/m{k}.py. TODO: test module {k}."},
    ]


class Worker:
    """Makes steps: so many to an iteration, so many in all; remembers its ticks."""

    def __init__(self, *, each=8, steps=40, words=60, cost=0.01):
        self.each, self.steps, self.words, self.cost = each, steps, words, cost
        self.ticks = []

    def __call__(self, tick):
        self.ticks.append(tick)
        k = tick.state["k"] = tick.state.get("k", 0) + 1
        end = "goal" if k == self.steps else "iteration" if k % self.each == 0 else "continue"
        found = f"found {k}" if k % self.each == 0 else None
        return Step(messages=talk(k, words=self.words), end=end, result=found, cost=self.cost)


def loop(act, **asked):
    return Loop(**{"goal": GOAL, "act": act, "window": WINDOW, "meter": "o200k_base", **asked})


@pytest.mark.requirement("S3.6", "S3.9")
def test_a_tick_that_nears_its_share_goes_on_in_a_fresh_context_and_uses_no_iteration():
    act, seen = Worker(), Seen()
    outcome = loop(act, tick_cap=0.15, observers=[seen]).run()
    assert (outcome.ended, outcome.iterations, outcome.steps) == ("goal", 5, 40)
    assert outcome.results == [f"found {k}" for k in range(8, 41, 8)]
    assert outcome.sub_ticks == len(seen.of("sub_tick")) > 2
    assert outcome.cost == pytest.approx(0.40)
    for tick in act.ticks:
        assert M.count_messages(tick.messages) == tick.used <= tick.budget == 1_200
    fresh = [tick for tick in act.ticks if tick.sub_tick]
    assert max(tick.used for tick in fresh if len(tick.messages) == 1) < 500
    assert [tick.iteration for tick in act.ticks] == [1 + k // 8 for k in range(40)]
    assert not any(prompt["truncated"] for prompt in seen.of("prompt_assembled"))


@pytest.mark.requirement("S3.15")
@pytest.mark.parametrize(("said", "sub_ticks"), [(83, 0), (84, 1)])
def test_a_context_ends_where_its_share_is_reached_and_not_before(said, sub_ticks):
    def act(tick):
        return Step(messages=[{"role": "assistant", "content": "a" * said}])

    made = Loop("g" * 10, act, window=brim.Window(1_000), meter="chars", tick_cap=0.1, max_steps=1)
    made.run()
    assert made.session.estimate() == 10 + said + len("Go on.")
    resumed = Loop("g" * 10, act, window=brim.Window(1_000), meter="chars", tick_cap=0.1, max_steps=2)
    resumed.run()
    assert resumed.progress.sub_ticks == sub_ticks


def test_a_sub_tick_receives_the_goal_what_was_handed_over_and_what_lasts():
    act = Worker()
    loop(act).run()
    first = next(tick for tick in act.ticks if tick.sub_tick)
    text = first.messages[0]["content"]
    assert text.startswith(GOAL)
    assert f"[CONTINUATION] iteration {first.iteration}, sub-tick 1" in text
    assert "/srv/m3.py" in text
    assert "Never delete a test." in first.continuation.constraints
    assert first.state["k"] > 4
    later = next(tick for tick in act.ticks if tick.sub_tick and tick.iteration > 2)
    assert "Results so far: 2" in later.messages[0]["content"]
    assert later.results == ("found 8", "found 16")


def test_no_context_ends_between_a_call_and_its_result():
    pending = {}

    def act(tick):
        if "call" in pending:
            assert tick.sub_tick == pending["in"]
            message = pending.pop("call")
            return Step(messages=message, end="goal" if tick.state["k"] > 60 else "continue")
        k = tick.state["k"] = tick.state.get("k", 0) + 1
        call, result, _ = talk(k, words=5)
        call["tool_calls"][0]["function"]["arguments"] = json.dumps({"text": f"line {k} of the file, " * 30})
        pending.update({"call": [result], "in": tick.sub_tick})
        return Step(messages=[call])

    made = loop(act, max_sub_ticks=99)
    outcome = made.run()
    assert outcome.ended == "goal"
    assert outcome.sub_ticks > 3
    log = made.session.messages
    called = {call["id"] for message in log for call in message.get("tool_calls") or ()}
    assert called == {message["tool_call_id"] for message in log if message["role"] == "tool"}


@pytest.mark.requirement("S3.15")
def test_where_the_warning_is_the_limit_it_warns_first():
    seen = Seen()
    loop(Worker(), observers=[seen], tick_cap=0.15).run()
    names = [name for name in seen.names() if name in ("warning", "sub_tick")]
    assert names[:4] == ["warning", "sub_tick", "warning", "sub_tick"]
    assert seen.of("warning")[0]["used_tokens"] >= 1_200


@pytest.mark.requirement("S3.9")
@pytest.mark.parametrize(
    ("limits", "ended", "steps"),
    [
        ({"max_iterations": 2}, "max_iterations", 16),
        ({"max_cost": 0.05}, "max_cost", 5),
        ({"max_sub_ticks": 0, "tick_cap": 0.05}, "max_sub_ticks", None),
        ({"max_steps": 3}, "max_steps", 3),
    ],
    ids=str,
)
def test_a_limit_ends_it_without_another_step(limits, ended, steps):
    act = Worker()
    outcome = loop(act, **limits).run()
    assert outcome.ended == ended
    assert len(act.ticks) == outcome.steps
    assert steps is None or outcome.steps == steps


@pytest.mark.requirement("S3.10")
def test_a_limit_waits_for_the_result_of_a_call():
    def act(tick):
        k = tick.state["k"] = tick.state.get("k", 0) + 1
        call, result, _ = talk((k + 1) // 2)
        return Step(messages=[result if k % 2 == 0 else call], cost=1.0)

    assert loop(act, max_cost=3).run().steps == 4
    assert loop(act, max_cost=4).run().steps == 4
    assert loop(act, max_steps=3).run().steps == 3


def test_iterations_that_end_with_an_open_call_do_not_go_on_for_ever():
    """They did, whatever `max_iterations` and `max_cost`: each iteration started the count of `max_steps` anew."""

    def act(tick):
        k = tick.state["k"] = tick.state.get("k", 0) + 1
        assert k < 9, "the loop does not end"
        return Step(messages=[talk(k)[0]], end="iteration", cost=1.0)

    outcome = loop(act, max_steps=3, max_iterations=1, max_cost=1).run()
    assert (outcome.ended, outcome.steps) == ("max_steps", 4)


def test_time_is_added_up_and_ends_it():
    now = [100.0]

    def act(tick):
        now[0] += 2.5
        return Step(messages=talk(1))

    outcome = loop(act, clock=lambda: now[0], max_seconds=10).run()
    assert (outcome.ended, outcome.seconds, outcome.steps) == ("max_seconds", 10.0, 4)


def test_one_that_has_ended_makes_no_more_steps(store):
    act = Worker(steps=3)
    made = loop(act, store=store, id="L")
    first = made.run()
    assert made.run() == first
    assert Loop.resume("L", act=act, store=store).run().results == first.results
    assert len(act.ticks) == 3


def test_it_can_be_stopped_and_resumed(store):
    act = Worker()
    made = loop(lambda tick: made.stop() or act(tick), store=store, id="L")
    assert made.run().ended == "stopped"
    assert Loop.resume("L", act=act, store=store).run().steps == 40


class Killed(BaseException):
    """Ends a loop at once, as a dead process does."""


@pytest.mark.slow
@pytest.mark.requirement("X9")
def test_one_that_is_killed_again_and_again_makes_the_same_prompts_and_no_step_twice(store):
    whole = Worker()
    expected = loop(whole).run()
    act, chance = Worker(), random.Random(3)

    def dying(tick):
        if chance.random() < 0.3:
            raise Killed
        return act(tick)

    made, kills = loop(dying, store=store, id="L"), 0
    while True:
        try:
            outcome = made.run()
            break
        except Killed:
            kills += 1
            made = Loop.resume("L", act=dying, store=store)
    assert kills > 5
    assert [tick.messages for tick in act.ticks] == [tick.messages for tick in whole.ticks]
    assert (outcome.results, outcome.sub_ticks, outcome.cost) == (expected.results, expected.sub_ticks, expected.cost)


def test_what_a_step_changed_before_it_failed_is_forgotten(store):
    def act(tick):
        tick.state["half"] = True
        raise RuntimeError("no")

    made = loop(act, store=store, id="L")
    with pytest.raises(RuntimeError):
        made.run()
    seen = []
    Loop.resume("L", act=lambda tick: seen.append(dict(tick.state)) or Step(end="goal"), store=store).run()
    assert seen == [{}]
    assert made.progress.state == {}


class Callable:
    """Calls a function that is async, without being one."""

    def __init__(self, act):
        self.act = act

    def __call__(self, tick):
        return self.act(tick)


def test_an_async_act_is_awaited():
    act = Worker()

    async def later(tick):
        await asyncio.sleep(0)
        return act(tick)

    assert loop(later).run().steps == 40
    act.ticks.clear()
    assert asyncio.run(loop(later).arun()).steps == 40
    assert asyncio.run(loop(act).arun()).steps == 40
    assert loop(Callable(later)).run().steps == 40

    async def inside():
        return loop(later).run()

    with pytest.raises(InvalidType, match="arun"):
        asyncio.run(inside())


class SlowStore(FaultyStore):
    """A store each of whose calls takes a moment, and that notes its threads."""

    def __init__(self, store):
        super().__init__(store)
        self.threads = set()

    def _next(self, name):
        self.threads.add(threading.get_ident())
        time.sleep(0.002)
        return super()._next(name)


def test_the_event_loop_goes_on_while_the_store_is_written(tmp_path):
    act = Worker(steps=6)

    async def run():
        with brim.open_store(f"sqlite:///{tmp_path}/brim.db") as store:
            slow = SlowStore(store)
            outcome = await loop(act, store=slow, id="job").arun()
            return outcome, slow.threads

    made = loop(Worker(steps=6)).run()
    outcome, threads = asyncio.run(run())
    assert outcome.results == made.results
    assert len(threads - {threading.get_ident()}) >= 1


def test_a_loop_whose_task_is_cancelled_has_written_its_step_or_not(tmp_path):
    async def run(store):
        task = asyncio.ensure_future(loop(Worker(steps=30), store=store, id="job").arun())
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with brim.open_store(f"sqlite:///{tmp_path}/brim.db") as store:
        asyncio.run(run(SlowStore(store)))
        outcome = Loop.resume("job", act=Worker(steps=30), store=store).run()
    assert (outcome.ended, outcome.steps) == ("goal", 30)


class TooLong(Exception):
    """As clients raise it."""

    def __init__(self):
        super().__init__("Error code: 400")
        said = {"type": "invalid_request_error", "message": "prompt is too long: 1000 tokens > 800 maximum"}
        self.status_code, self.body = 400, {"error": said}


@pytest.mark.requirement("X3")
def test_a_prompt_that_is_refused_as_too_long_is_tried_once_more_and_smaller():
    sizes, seen = [], Seen()

    def act(tick):
        size = M.count_messages(tick.messages)
        sizes.append(size)
        if size > 500:
            raise TooLong
        return Step(messages=talk(len(sizes)), end="goal" if len(sizes) > 20 else "continue")

    outcome = loop(act, observers=[seen]).run()
    assert outcome.ended == "goal"
    refused = [i for i, size in enumerate(sizes) if size > 500]
    assert refused
    assert all(sizes[i + 1] <= sizes[i] * 0.8 for i in refused)
    assert all(later > 0 for later in sizes)
    assert {event["retried"] for event in seen.of("overflow")} == {True}
    assert seen.of("overflow")[0]["limit_tokens"] == 800


@pytest.mark.requirement("X3")
@pytest.mark.parametrize(("emitted", "calls"), [(False, 2), (True, 1)])
def test_a_second_refusal_is_raised_and_after_a_tool_call_the_first(emitted, calls):
    made, seen = [], Seen()

    def act(tick):
        made.append(tick.used)
        tick.emitted = emitted
        raise TooLong

    with pytest.raises(TooLong):
        loop(act, observers=[seen]).run()
    assert len(made) == calls
    assert seen.of("overflow")[0]["retried"] is not emitted


@pytest.mark.requirement("S3.14")
@pytest.mark.parametrize(("boundary", "notices"), [("silent", 0), ("visible", 6)])
def test_boundaries_are_silent_unless_they_are_asked_for(boundary, notices):
    told = []
    outcome = loop(Worker(), boundary=boundary, on_notice=told.append).run()
    assert len(told) == (outcome.sub_ticks if notices else 0)
    assert not told or "fresh context (sub-tick 1)" in told[0]


@pytest.mark.requirement("S3.14")
def test_what_spans_ticks_is_carried_as_resources_and_the_summary_lives_in_the_log(store):
    loop(Worker(), store=store, id="L").run()
    last = store.entries("L", kinds=["continuation"], limit=1, newest=True)[0].body
    assert any("/srv/m" in place for place in Continuation.from_dict(last["continuation"]).resources)


@pytest.mark.requirement("X8")
def test_secrets_are_not_handed_over():
    act = Worker()

    def leaky(tick):
        step = act(tick)
        said = {"role": "assistant", "content": "I set password=hunter2hunter2 for the database. Done."}
        return Step(messages=[*step.messages, said], end=step.end, result="token ghp_" + "a1B2" * 9)

    loop(leaky).run()
    later = [tick for tick in act.ticks if tick.sub_tick]
    assert later
    assert "hunter2" not in later[-1].messages[0]["content"]
    assert "a1B2a1B2" not in later[-1].messages[0]["content"]


def test_the_users_word_follows_the_models():
    act = Worker(each=2, steps=6)
    loop(act).run()
    assert act.ticks[1].messages[-1] == {"role": "user", "content": "Go on."}
    assert act.ticks[2].messages[-1]["content"] == "Iteration 2 of at most 20: go on towards the goal."


def test_usage_gives_the_cost_and_is_recorded():
    def act(tick):
        return Step(messages=talk(1), end="goal", usage={"prompt_tokens": 1_000_000, "completion_tokens": 0})

    made = Loop(goal=GOAL, act=act, model="gpt-5")
    assert made.run().cost == pytest.approx(1.25)
    assert made.session.status().reported == 1_000_000


def test_a_step_that_is_none_is_refused():
    with pytest.raises(InvalidType, match="a Step"):
        loop(lambda tick: {"messages": []}).run()
    with pytest.raises(InvalidValue, match="Step end"):
        Step(end="stop")
    with pytest.raises(InvalidType, match="messages"):
        Step(messages="text")
    with pytest.raises(InvalidValue, match="max_iteration"):
        loop(Worker(), max_iteration=3)
    with pytest.raises(InvalidType, match="goal"):
        Loop(goal=" ", act=Worker(), window=WINDOW)
    with pytest.raises(UnknownName, match="none"):
        Loop.resume("none", act=Worker(), store=MemoryStore())


def test_a_goal_alone_that_is_too_long_is_cut_and_no_context_is_begun_for_nothing():
    act = Worker(steps=4)
    outcome = Loop(goal="goal " * 5_000, act=act, window=WINDOW, meter="o200k_base").run()
    assert outcome.ended == "goal"
    assert all(900 < tick.used <= 1_200 for tick in act.ticks)
    assert all("goal goal" in str(tick.messages[0]["content"]) for tick in act.ticks)


def test_a_context_that_begins_full_is_not_ended_again_by_a_loop_that_was_killed_before_its_first_step(store):
    contexts = []

    def act(tick):
        contexts.append(tick.sub_tick)
        return Step(messages=talk(1), end="goal" if tick.sub_tick else "continue")

    def kill(notice):
        raise Killed

    with pytest.raises(Killed):
        loop(act, goal="goal " * 5_000, store=store, id="L", boundary="visible", on_notice=kill).run()
    Loop.resume("L", act=act, store=store).run()
    assert contexts == [0, 1]


@pytest.mark.slow
@pytest.mark.requirement("S0.22")
def test_a_run_of_many_calls_is_never_refused_by_a_server_that_counts():
    limit, refused, calls = 2_000, [], []

    def server(messages):
        size = M.count_messages(messages)
        calls.append(size)
        if size > limit:
            refused.append(size)
            raise TooLong

    def act(tick):
        server(tick.messages)
        k = tick.state["k"] = tick.state.get("k", 0) + 1
        return Step(messages=talk(k, words=k * 37 % 700), end="iteration" if k % 20 == 0 else "continue")

    window = brim.Window(2_500, reserve=500)
    outcome = Loop(GOAL, act, window=window, meter="o200k_base", tick_cap=0.7, max_iterations=8, max_sub_ticks=99).run()
    assert outcome.steps == len(calls) == 160
    assert refused == []


def test_the_system_prompt_and_the_tools_last(store):
    tools = [{"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}]
    act = Worker()
    loop(act, store=store, id="L", max_steps=1, system="Be brief.", tools=tools).run()
    Loop.resume("L", act=act, store=store, max_steps=2).run()
    for tick in act.ticks:
        assert tick.messages[0] == {"role": "system", "content": "Be brief."}
        assert tick.tools == tools
        assert tick.used == M.count_messages(tick.messages, tools)


def test_what_another_worker_writes_while_it_is_resumed_is_none_of_its_own():
    class Busy(MemoryStore):
        """Has somebody else write to a log just before its events are read."""

        meanwhile = None

        def entries(self, session, *, kinds=None, **options):
            if kinds == ["event"] and self.meanwhile is not None:
                self.meanwhile, act = None, self.meanwhile
                act()
            return super().entries(session, kinds=kinds, **options)

    store, act = Busy(), Worker()
    first = loop(act, store=store, id="L", max_steps=3)
    first.run()
    other = Loop.resume("L", act=act, store=store, max_steps=4)
    store.meanwhile = other.run
    late = Loop.resume("L", act=act, store=store, max_steps=9)
    with pytest.raises(brim.Conflict):
        late.run()
    assert [tick.state["k"] for tick in act.ticks][:4] == [1, 2, 3, 4]
    steps = [entry.body["progress"]["steps"] for entry in store.entries("L", kinds=["event"])]
    assert sorted(set(steps)) == [0, 1, 2, 3, 4]


def budgets_of(store, **changes):
    """Resume a loop with changes for one step; return the model and the budget of its tick."""
    seen = []

    def act(tick):
        seen.append(tick.budget)
        return Step(messages=[{"role": "assistant", "content": "Done so far."}], end="iteration")

    resumed = Loop.resume("L", act=act, store=store, **changes)
    resumed.run(ticks=1)
    return resumed.session.settings.model, *seen


def test_a_loop_is_resumed_with_another_model_or_window_whose_tick_cap_is_kept():
    """The only way was `Session.open(id, window=...)`, after which a tick took 20,000 tokens instead of 3,000."""
    store = MemoryStore()
    Loop(GOAL, print, window=8_000, model="gpt-4o", tick_cap=0.15, store=store, id="L")
    assert budgets_of(store) == ("gpt-4o", 1_200)
    assert budgets_of(store, window=20_000) == ("gpt-4o", 3_000)
    assert budgets_of(store) == ("gpt-4o", 3_000), "the window is stored"
    assert budgets_of(store, model="gpt-4") == ("gpt-4", 3_000)
    assert budgets_of(store, tick_cap=0.2, window=brim.Window(20_000, cap=0.5)) == ("gpt-4", 4_000)
    brim.Session.open("L", store=store, window=90_000)
    assert budgets_of(store) == ("gpt-4", 4_000), "what a session is opened with does not lift the cap"


def test_a_loop_without_a_window_of_its_own_gets_that_of_the_model_with_which_it_is_resumed():
    store = MemoryStore()
    Loop(GOAL, print, model="gpt-4o", tick_cap=0.15, store=store, id="L")
    assert budgets_of(store) == ("gpt-4o", int(0.15 * brim.Window.of("gpt-4o").size))
    assert budgets_of(store, model="gpt-4") == ("gpt-4", int(0.15 * brim.Window.of("gpt-4").size))
    assert budgets_of(store) == ("gpt-4", int(0.15 * brim.Window.of("gpt-4").size))
    with pytest.raises(UnknownName):
        budgets_of(store, model="no-such-model")
    with pytest.raises(InvalidValue, match="goal"):
        budgets_of(store, goal="Another one.")


def test_limits_with_which_a_loop_is_resumed_are_stored_with_its_next_step():
    store, act = MemoryStore(), Worker(each=1, steps=90)
    loop(act, store=store, id="L", max_iterations=2).run()
    Loop.resume("L", act=act, store=store, max_iterations=30, system="Be brief.").run(ticks=2)
    resumed = Loop.resume("L", act=act, store=store)
    assert resumed.limits.max_iterations == 30
    assert resumed.run().iterations == 30
    assert act.ticks[-1].system == "Be brief."


@pytest.mark.parametrize("kept", [True, False], ids=["with a store", "in memory"])
def test_a_loop_that_was_paused_or_reached_a_limit_still_asks_the_model_to_go_on(kept):
    """After the first `run(ticks=1)` in one process, and after a limit, prompts ended with the model's own message."""
    store, roles = MemoryStore() if kept else None, []

    def act(tick):
        roles.append(tick.messages[-1]["role"])
        return Step(messages=[{"role": "assistant", "content": "Done so far."}], end="iteration")

    made = loop(act, store=store, id="L", max_iterations=6)
    for _ in range(7):
        made.run(ticks=1)
    if kept:
        made = Loop.resume("L", act=act, store=store, max_iterations=9)
        made.run()
    assert roles == ["user"] * (9 if kept else 6)


def steps_in(store, name="L"):
    events = [entry.body for entry in store.entries(name, kinds=["event"]) if entry.body["event"] == "step"]
    return [body["progress"]["steps"] for body in events]


@pytest.mark.parametrize("when", [BEFORE, AFTER])
def test_a_step_that_could_not_be_written_is_written_by_the_next_run_and_not_made_again(when):
    store = FaultyStore(MemoryStore())
    act = Worker(steps=16)
    made = loop(act, store=store, id="L")
    failed = 0
    for _ in range(300):
        store.fail_next(when, calls=2, skip=failed % 9)
        try:
            outcome = made.run()
            break
        except StoreError:
            failed += 1
            store.faults = {}
    store.faults = {}
    assert failed >= 8
    assert outcome.ended == "goal"
    assert [tick.state["k"] for tick in act.ticks] == list(range(1, 17))
    store.faults = {}
    assert steps_in(store) == list(range(1, 17))


def test_a_step_that_can_never_be_written_is_made_again():
    said = [[{"role": "nobody", "content": "hi"}], talk(1)]
    made = loop(lambda tick: Step(messages=said.pop(0), end="goal"))
    with pytest.raises(InvalidValue):
        made.run()
    assert made.run().ended == "goal"
    assert said == []


def test_time_that_the_steps_took_is_not_that_of_a_clock_that_jumps(monkeypatch):
    jumping = iter(range(0, 10**9, 10_000))
    monkeypatch.setattr(time, "time", lambda: float(next(jumping)))
    outcome = Loop(GOAL, Worker(steps=8), window=4_000, meter="chars", max_seconds=3_600, clock=time.time).run()
    assert outcome.ended == "goal"
    assert outcome.seconds < 3_600


def test_an_id_that_is_in_use_names_the_call_that_continues_the_loop(store):
    Loop("Port it.", print, window=1_000, store=store, id="port")
    with pytest.raises(InvalidValue, match=r"brim\.Loop\.resume\(id, act=\.\.\., store=\.\.\.\) continues a loop"):
        Loop("Port it.", print, window=1_000, store=store, id="port")
