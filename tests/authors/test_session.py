"""The session document, as its author would check it: its configuration, its estimate, its notice, its loop, its status.

Each acceptance criterion is named in `tests/authors/session.md`, with its test here.
"""

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest

import brim
from brim.errors import SourceError
from brim.sessions.log.overview import overview
from talk import calling, model, result, user

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "tests" / "authors" / "session.md"
CONFIG = """\
context:
  max_utilization_pct: 20    # target ceiling as % of model context window
  warning_pct: 15            # emit a warning when crossing this threshold
  model_context_tokens: 1000000  # or derive from model name
loop:
  max_context_pct: 15   # per-tick budget (leave headroom for the tick itself)
"""
NOTICE = "This thread is getting long, I'm compacting my context to stay sharp"
FINDINGS = [
    "The payment worker holds a lock that the refund job wants.",
    "Nobody has looked at the tests in the folder called legacy since Ingrid left.",
    "A customer in Bergen gets her invoice twice every month.",
    "The queue is drained by a cron job on the old machine in the basement.",
    "Two of the feature flags are read by the mobile app alone.",
    "The schema of the ledger has a column that nothing writes.",
    "Emails in Finnish are cut at the first umlaut.",
    "The search box sends its query three times.",
    "Backups go to a disk that is full since August.",
    "The login page loads a font from a server in Ohio.",
]


def settings(tmp_path, text=CONFIG, **asked):
    (tmp_path / "brim.yaml").write_text(text)
    return brim.load_config(tmp_path, environ={}).resolve(**asked)


def small(tmp_path, **more):
    """Return the document's settings for a window of 20,000 tokens, counted as it proposes, by chars/4."""
    text = CONFIG.replace("1000000", "20000") + "profile: session\nmeter: chars/4\n"
    return settings(tmp_path, text + "".join(f"{key}: {json.dumps(value)}\n" for key, value in more.items()))


# --- 1. the configuration


@pytest.mark.requirement("S3.1", "S3.6")
def test_the_block_of_the_document_gives_its_ceiling_its_warning_and_its_tick(tmp_path):
    made = settings(tmp_path)
    window = made.window()
    assert (window.size, window.budget, window.warning) == (1_000_000, 200_000, 150_000)
    loop = made.loop("Look.", lambda tick: brim.Step(end="goal"), meter="chars/4")
    assert loop.session.budget == 150_000
    tighter = settings(tmp_path, CONFIG.replace("max_context_pct: 15", "max_context_pct: 10"))
    assert tighter.loop("Look.", lambda tick: brim.Step(end="goal"), meter="chars/4").session.budget == 100_000
    assert made["window.cap"].where.endswith("brim.yaml:2")


@pytest.mark.requirement("S3.1")
@pytest.mark.parametrize("cap", ["20", '"20%"', "0.2"])
def test_a_cap_may_be_written_as_a_number_of_percent(tmp_path, cap):
    made = settings(tmp_path, f"window: {{size: 1000000, cap: {cap}, warn: 15}}\n")
    assert (made.window().budget, made.window().warning) == (200_000, 150_000)


@pytest.mark.requirement("S3.1")
@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("pct: 20", "pct: 0", "brim.yaml:2: context.max_utilization_pct must be a number above 0 and at most 100"),
        ("pct: 20", "pct: 101", "brim.yaml:2: context.max_utilization_pct must be a number above 0"),
        ("warning_pct: 15", "warning_pct: 25", "brim.yaml"),
        ("warning_pct", "warn_pct", "brim.yaml:3: context has no key 'warn_pct'; did you mean 'warning_pct'?"),
    ],
)
def test_a_value_that_cannot_be_is_refused_with_its_line(tmp_path, old, new, told):
    with pytest.raises(SourceError, match=re.escape(told)):
        settings(tmp_path, CONFIG.replace(old, new)).window()


@pytest.mark.requirement("S3.1")
def test_the_window_may_come_from_the_model_name(tmp_path):
    text = CONFIG.replace("  model_context_tokens: 1000000  # or derive from model name\n", "") + "model: gpt-4o\n"
    assert (settings(tmp_path, text).window().budget, settings(tmp_path, text).window().warning) == (25_600, 19_200)


def test_what_the_project_says_beside_the_profile_wins(tmp_path):
    made = settings(tmp_path, "profile: session\nwindow: {cap: 30%}\n")
    assert (made.window().budget, made.window().warning) == (300_000, 150_000)


# --- 2. the estimate


@pytest.mark.requirement("S3.2", "S3.13")
def test_the_estimate_counts_system_conversation_memory_and_tool_output(tmp_path):
    session = small(tmp_path).session()
    session.add([user("Look. " * 20), calling("c"), result("c", "line " * 100)])
    bare = session.estimate()
    whole = session.estimate(system="You are Phantom. " * 20, memory=["A fact of old. " * 20])
    assert bare + 150 < whole < bare + 250
    fitted = session.prompt(system="You are Phantom. " * 20, memory=["A fact of old. " * 20])
    assert whole == fitted.used


@pytest.mark.requirement("S3.3")
def test_the_count_is_corrected_by_what_the_provider_reports(tmp_path):
    session = small(tmp_path).session(meter=None, model="claude-opus-4-6")
    for i in range(6):
        session.add(user(f"Question {i}. " + "日本語の質問です。" * 40))
        fitted = session.prompt()
        session.record_usage(input_tokens=int(fitted.used * 1.2))
        session.add(model("Well."))
    session.add(user("Question. " + "日本語の質問です。" * 40))
    assert session.estimate() > 0
    assert session.status().reported is not None


# --- 3. the thread


@pytest.mark.requirement("S3.4", "S3.5")
def test_a_long_thread_keeps_its_last_turns_and_tells_the_user_once_for_each_compaction(tmp_path):
    told = []
    session = small(tmp_path).session(on_notice=told.append)
    for i in range(120):
        session.add(user(f"Message {i}. " + "please look into it " * 12))
        fitted = session.prompt(system="You are Phantom.")
        assert fitted.used <= 4_000
        session.add(model(f"Answer {i}. " + "it was looked into " * 12))
    status = session.status()
    assert status.compactions >= 2
    assert told == [NOTICE] * status.compactions
    texts = [str(message["content"]) for message in fitted.messages]
    assert any("Message 119." in text for text in texts)
    assert any("Answer 118." in text for text in texts)


# --- 4. the loop


def act_of(seen, *, last=60, printed=""):
    def act(tick):
        number = len(seen)
        seen.append(tick)
        finding = FINDINGS[number] if number < len(FINDINGS) else "Nothing of note."
        text = f"RESULT {number}: " + "a line of the file. " * 25 + printed
        return brim.Step(
            messages=[model(finding), calling(f"c{number}"), result(f"c{number}", text)],
            result={"step": number},
            end="goal" if number == last else "continue",
            cost=0.01,
        )

    return act


@pytest.mark.requirement("S3.7", "S3.8", "S3.9")
def test_a_sub_tick_gets_the_goal_the_summary_and_the_state_and_no_iteration_is_used(tmp_path):
    seen = []
    store = brim.open_store("sqlite:///:memory:")
    loop = small(tmp_path).loop(
        "Explore the shop. Never drop a table.", act_of(seen), store=store, id="L", max_sub_ticks=50
    )
    outcome = loop.run()
    assert (outcome.ended, outcome.iterations, outcome.steps) == ("goal", 1, 61)
    assert outcome.sub_ticks >= 3
    assert outcome.cost == pytest.approx(0.61)
    assert outcome.results == [{"step": i} for i in range(61)]
    firsts = [tick for before, tick in pairwise(seen) if tick.sub_tick != before.sub_tick]
    for tick in firsts:
        opening = tick.messages[0]["content"]
        assert opening.startswith("Explore the shop. Never drop a table.\n\n[CONTINUATION] iteration 1, sub-tick ")
        assert tick.used < tick.budget / 2, "it starts fresh"
        assert tick.iteration == 1
    kept = [finding for finding in FINDINGS if finding in firsts[-1].messages[0]["content"]]
    assert len(kept) >= 8, "ten plain findings were said"
    assert loop.session.status().sub_ticks == outcome.sub_ticks
    resumed = brim.Loop.resume("L", act=act_of([]), store=store)
    assert resumed.progress.continuation == loop.progress.continuation, "it lives in the loop's own state"


@pytest.mark.requirement("S3.7", "S3.10")
def test_no_context_ends_between_a_result_and_the_model_reading_it(tmp_path):
    seen = []
    outcome = small(tmp_path).loop("Explore.", act_of(seen, last=400), max_sub_ticks=100).run()
    unread = [i for i in range(200) if f"RESULT {i}:" not in str(seen[i + 1].messages)]
    assert (unread, outcome.sub_ticks > 10) == ([], True)


@pytest.mark.requirement("S3.14")
def test_what_runs_and_where_goes_from_tick_to_tick(tmp_path):
    seen = []

    def act(tick):
        number = len(seen)
        seen.append(tick)
        text = {
            0: "[1] 48211\nserving at http://127.0.0.1:8123 from /srv/clone\nprocess 48211 listens on port 8123\n",
            30: "kill 48211: the process 48211 was terminated, port 8123 is freed\n",
        }.get(number, "") + "a line of the file. " * 30
        end = "goal" if number == 60 else "continue"
        return brim.Step(messages=[calling(f"c{number}"), result(f"c{number}", text)], end=end)

    small(tmp_path).loop("Serve it.", act, max_sub_ticks=50).run()
    openings = {tick.sub_tick: tick.messages[0]["content"] for tick in seen}
    assert "Running:\n- process 48211 listens on port 8123" in openings[1] or "- [1] 48211" in openings[1]
    assert "8123" in openings[1].split("Running:")[1].split("\n\n")[0]
    assert "/srv/clone" in openings[1]
    assert "Running:" not in openings[max(openings)], "it was ended since"


@pytest.mark.requirement("S3.14")
@pytest.mark.parametrize(("boundary", "count"), [("silent", 0), ("visible", 1)])
def test_a_boundary_is_silent_or_says_what_is_true(tmp_path, boundary, count):
    told, seen = [], []
    loop = small(tmp_path).loop("Explore.", act_of(seen, last=40), boundary=boundary, on_notice=told.append)
    outcome = loop.run()
    assert outcome.sub_ticks >= 1
    assert len(told) == count * outcome.sub_ticks
    for notice, tick in zip(told, [tick for tick in seen if tick.sub_tick][:1], strict=False):
        opening = tick.messages[0]["content"]
        shown, known = map(int, re.search(r"(\d+) of (\d+) results", notice).groups())
        assert opening.count('- {"step":') == shown <= known == len(tick.results)


@pytest.mark.requirement("S3.15")
def test_where_the_warning_is_the_tick_it_warns_first(tmp_path):
    names = []

    class Observed:
        def observe(self, event):
            names.append(event.name)

    small(tmp_path).loop("Explore.", act_of([], last=40), observers=[Observed()]).run()
    assert names.index("warning") < names.index("sub_tick")


# --- 5. observability


@pytest.mark.requirement("S3.11")
def test_the_status_has_the_estimate_the_peak_the_sub_ticks_and_how_many_sessions_warned(tmp_path):
    store = brim.open_store("sqlite:///:memory:")
    made = small(tmp_path)
    for name, turns in (("short", 2), ("long", 60)):
        session = made.session(store=store, id=name)
        for i in range(turns):
            session.add([user(f"Message {i}. " + "word " * 60), model("answer " * 30)])
            session.prompt()
    made.loop("Explore.", act_of([], last=40), store=store, id="loop").run()
    found = overview(store)
    assert (found.warned, len(found.recent)) == (2, 3)
    assert found.total("sub_ticks") == next(row for row in found.recent if row.id == "loop").status["sub_ticks"] >= 1
    assert 0.15 <= found.peak <= 0.20
    assert found.current.status["used"] > 0


# --- the page


def test_every_criterion_of_the_page_names_a_test_that_exists():
    text = PAGE.read_text(encoding="utf-8")
    named = set(re.findall(r"`(test_\w+)`", text))
    own = {name for name in globals() if name.startswith("test_")}
    assert len(named) >= 12
    elsewhere = (ROOT / "tests" / "sessions" / "test_peer_steps.py").read_text(encoding="utf-8")
    assert [name for name in named - own if f"def {name}(" not in elsewhere] == []
    assert own - named <= {"test_every_criterion_of_the_page_names_a_test_that_exists"}, (
        "every test stands for a criterion"
    )
