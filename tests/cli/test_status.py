"""How full a session is, on a page of the terminal, as JSON, and as one line."""

import json

import pytest

import brim as library
from sessions.talking import turn, window


@pytest.fixture
def store(here):
    with library.open_store(f"sqlite:///{here}/brim.db") as made:
        yield made


def talked(store, name, turns=12, **asked):
    talk = library.Session(window=window(), meter="o200k_base", store=store, id=name, **asked)
    for i in range(turns):
        talk.add(turn(i))
        talk.prompt(system="Be brief.")
    return talk


@pytest.mark.requirement("S3.11")
def test_the_page_shows_use_by_category_peak_warnings_compactions_and_sub_ticks(brim, store):
    talked(store, "small", 1)
    talk = talked(store, "thread", 30)
    told = talk.status()
    done = brim("status")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0] == "session thread"
    assert f"{told.used:,} of 2,000 tokens" in lines[1]
    assert "of a window of 4,000" in lines[1]
    for name, units in told.categories.items():
        row = next(line for line in lines if line.startswith(f"{name} "))
        assert f" {units:,} " in row
    peak = f"{100 * told.peak_utilization:.1f} %"
    assert lines[-1] == (
        f"2 recent sessions: peak {peak} of the current window, 1 crossed the warning line,"
        f" {told.compactions} compactions, 0 sub-ticks, 0 overflows"
    )


@pytest.mark.requirement("S3.11")
def test_everything_on_the_page_is_in_the_json(brim, store):
    talk = talked(store, "thread", 30)
    values = json.loads(brim("status", "--json").out)
    assert values["current"]["status"] == talk.status().to_dict()
    assert values["recent"]["warned_sessions"] == 1
    assert values["recent"]["compactions"] == talk.status().compactions
    assert values["recent"]["peak_utilization"] == pytest.approx(talk.status().peak_utilization, abs=1e-6)
    assert [row["id"] for row in values["sessions"]] == ["thread"]


def test_one_line_is_for_a_status_bar(brim, store):
    talk = talked(store, "thread", 12)
    told = talk.status()
    done = brim("status", "--line")
    assert done.out.startswith(f"{told.used:,}/2,000 ({100 * told.use:.1f} %)")
    assert done.out.count("\n") == 1
    both = brim("status", "--line", "--json").out
    assert json.loads(both)["status"]["used"] == told.used
    assert both.count("\n") == 1


def test_the_store_is_the_one_named_that_of_the_settings_or_the_one_here(brim, here, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    with library.open_store(f"sqlite:///{elsewhere}/other.db") as store:
        talked(store, "far", 1)
    assert brim("status").code == 2
    assert "brim.db: this store does not exist" in brim("status").err
    assert not (here / "brim.db").exists()
    assert (brim("status", "--line").code, brim("status", "--line").out) == (
        0,
        "\n",
    )  # The prompt of a shell stays clean.
    assert brim("status", "--line", "--json").out == "{}\n"
    assert brim("status", "--line", "--store", "sqlite:///none.db").code == 2
    assert brim("status", "--store", "sqlite:///none.db").err == "brim: none.db: this store does not exist\n"
    assert brim("status", "--store", f"sqlite:///{elsewhere}/other.db").out.startswith("session far\n")
    (here / "brim.yaml").write_text(f"store: {{url: 'sqlite:///{elsewhere}/other.db'}}\n")
    assert brim("status").out.startswith("session far\n")


@pytest.mark.parametrize(("end", "state"), [("goal", "ended: goal"), ("iteration", "not ended")])
def test_a_loop_is_shown_with_its_iterations_and_how_it_ended(brim, store, end, state):
    from brim.sessions.loop import Step

    loop = library.Loop(
        goal="Port it.",
        act=lambda tick: Step(messages=turn(1)[1:], end=end),
        window=window(),
        meter="o200k_base",
        store=store,
        id="port",
    )
    loop.run(ticks=1)
    lines = brim("status").out.splitlines()
    assert lines[0] == "loop port"
    assert lines[2] == f"1 iteration, {state}: Port it."


def test_an_empty_store_and_an_unknown_session_are_reported(brim, store):
    assert "There are no sessions yet" in brim("status").out
    assert brim("status", "--line").out == "no sessions\n"
    talked(store, "thread", 1)
    done = brim("status", "--session", "tread")
    assert done.code == 2
    assert "thread" in done.err


def test_a_conversation_of_a_gateway_is_shown_beside_the_sessions(brim, store):
    talked(store, "thread", 1)
    store.append("gateway/1", [], meta={"kind": "gateway", "status": {"used": 7, "budget": 9}})
    lines = brim("status").out.splitlines()
    assert lines[0] == "session thread"
    assert lines[-1] == "1 conversation of a gateway, 0 cuts"
    row = next(line for line in lines if line.startswith("gateway/1 "))
    assert row.split()[1:7] == ["-", "-", "7", "9", "-", "0"]
    assert brim("status", "--line", "--session", "gateway/1").out == "7/9 (77.8 %), 0 cuts\n"


def test_calls_that_were_made_again_after_a_cut_are_on_the_page_and_the_line(brim, store):
    talk = library.Session(3_000, meter="o200k_base", store=store, id="agent")
    talk.add({"role": "user", "content": "Fix the bug."})
    for at, path in enumerate([*(f"f{n}.py" for n in range(8)), "f1.py"]):
        call = {"name": "read", "arguments": json.dumps({"path": path})}
        talk.add({"role": "assistant", "tool_calls": [{"id": f"c{at}", "type": "function", "function": call}]})
        talk.add({"role": "tool", "tool_call_id": f"c{at}", "content": " ".join(f"{path}:{n}" for n in range(120))})
        talk.prompt()
    tokens = talk.status().regret["tokens"]
    assert f"1 call repeated after a cut, {tokens:,} tokens (cut 2: 1)" in brim("status").out
    assert brim("status", "--line").out.strip().endswith(", 1 call repeated")
