"""An agent that asks again for what a cut had taken: the cut is charged with it."""

import json

import pytest

import brim
from brim.observe.metrics import Metrics
from brim.sessions.log.overview import overview
from brim.studio.views.ledger import ledger
from brim.studio.workspace import Workspace
from brim.testing import MemoryStore


def read(at, path):
    """Return a call that reads a file, and its result."""
    call = {"name": "read", "arguments": json.dumps({"path": path})}
    return [
        {"role": "assistant", "content": None, "tool_calls": [{"id": f"c{at}", "type": "function", "function": call}]},
        {"role": "tool", "tool_call_id": f"c{at}", "content": " ".join(f"{path}:{line}" for line in range(120))},
    ]


def run(files, **options):
    """Send a request for each file that an agent reads; return the engine and the last request."""
    engine = brim.Conversations(brim.Window(3_000), meter="o200k_base", **options)
    history, last = [{"role": "user", "content": "Fix the bug."}], None
    for at, path in enumerate(files):
        history += read(at, path)
        last = engine.request(list(history))
    return engine, last


FILES = [f"f{at}.py" for at in range(8)]


@pytest.mark.parametrize("log", [True, False], ids=["logged", "cuts alone"])
def test_a_file_that_is_read_again_is_charged_to_the_cut_that_took_it(log):
    store = MemoryStore()
    _, before = run(FILES, log=log, store=store)
    assert before.regret == (0, 0)
    assert "regret" not in before.receipt.to_dict()["history"]
    store = MemoryStore()
    engine, last = run([*FILES, "f1.py"], log=log, store=store)
    calls, tokens = last.regret
    assert calls == 1
    assert tokens > 400
    told = last.receipt.to_dict()["history"]["regret"]
    assert told == {"calls": 1, "tokens": tokens, "cuts": {"2": {"calls": 1, "tokens": tokens}}}
    assert "1 call repeated after a cut" in last.receipt.headline
    shown = overview(store)
    assert (shown.current.status["regret"] if log else shown.gateway[0].regret) == told
    engine.close()


@pytest.mark.parametrize("number", ["2", "2" * 5_000], ids=["a digit", "5,000 digits"])
def test_arguments_may_be_written_in_another_order(number):
    call = {"name": "read", "arguments": '{"b": 1,  "a": ' + number + "}"}
    again = {"name": "read", "arguments": '{"a":' + number + ',"b":1}'}
    session = brim.Session(2_000, meter="o200k_base")
    session.add({"role": "user", "content": "Fix the bug."})
    for at, each in enumerate([call, *({"name": "read", "arguments": str(n)} for n in range(5)), again]):
        calls = [{"id": f"c{at}", "type": "function", "function": each}]
        session.add({"role": "assistant", "content": None, "tool_calls": calls})
        session.add({"role": "tool", "tool_call_id": f"c{at}", "content": " ".join(f"{at}.{n}" for n in range(150))})
        session.prompt()
    assert session.status().regret["calls"] == 1


def test_a_session_that_is_opened_again_knows_what_its_cut_has_taken():
    store = MemoryStore()
    session = brim.Session(3_000, meter="o200k_base", store=store, id="s")
    session.add({"role": "user", "content": "Fix the bug."})
    for at, path in enumerate(FILES):
        for raw in read(at, path):
            session.add(raw)
        session.prompt()
    opened = brim.Session.open("s", store=store)
    for raw in read(99, "f1.py"):
        opened.add(raw)
    assert opened.status().regret["calls"] == 1
    assert brim.Session.open("s", store=store).status().regret == opened.status().regret


def test_a_recall_is_charged_to_the_newest_cut():
    session = brim.Session(3_000, meter="o200k_base")
    session.add({"role": "user", "content": "Fix the bug."})
    for at, path in enumerate(FILES):
        for raw in read(at, path):
            session.add(raw)
        session.prompt()
    call = {"name": "brim_recall", "arguments": '{"query": "f1.py"}'}
    session.add(
        {"role": "assistant", "content": None, "tool_calls": [{"id": "r", "type": "function", "function": call}]}
    )
    session.add({"role": "tool", "tool_call_id": "r", "content": session.answer_recall({"query": "f1.py"})})
    cut = session.status().compactions
    assert list(session.status().regret["cuts"]) == [str(cut)]


def test_the_metrics_count_what_was_asked_for_again():
    metrics = Metrics()
    run([*FILES, "f1.py"], observers=[metrics])
    assert "brim_regrets_total" in metrics.text()
    assert metrics.total("brim_regrets_total") == 1
    assert metrics.total("brim_regret_tokens_total") > 400


def test_the_ledger_of_the_studio_has_it_beside_each_cut(tmp_path):
    url = f"sqlite:///{tmp_path}/brim.db"
    engine, last = run([*FILES, "f1.py", *(f"g{at}.py" for at in range(8))], store=url)
    (session,) = engine.sessions
    edits = ledger(Workspace(url=url, config=str(tmp_path)), session.id)["edits"]
    cuts = [edit["regret"] for edit in reversed(edits) if edit["kind"] == "compaction"]
    assert len(cuts) > 1
    assert cuts == [None, last.receipt.history["regret"]["cuts"]["2"], *[None] * (len(cuts) - 2)]
    engine.close()
