"""The MCP server, with the real client."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys

import pytest
from mcp import Client, StdioServerParameters

import brim
from brim.cli import main
from brim.integrations.mcp import server
from brim.store.texts import handle_of

TASK = {"role": "user", "content": "Find out why the nightly build fails."}


def history(steps):
    made = [{"role": "system", "content": "Be careful."}, TASK]
    for i in range(steps):
        call = {"id": f"c{i}", "type": "function", "function": {"name": "look", "arguments": json.dumps({"n": i})}}
        made.append({"role": "assistant", "content": None, "tool_calls": [call]})
        made.append({"role": "tool", "tool_call_id": f"c{i}", "content": f"line {i}: " + "the worker is fine " * 40})
    return made


@pytest.fixture
def store(tmp_path):
    """A store with one session, of whose prompt something has left."""
    url = f"sqlite:///{tmp_path}/brim.db"
    with brim.open_store(url) as opened:
        session = brim.Session(1_500, model="gpt-5", store=opened, id="nightly")
        session.add(history(30))
        session.prompt()
    return url


def environ(folder):
    return {"PATH": os.environ["PATH"], "HOME": str(folder)}


def over_stdio(folder, *arguments):
    command = ["-m", "brim", "mcp", *arguments]
    return StdioServerParameters(command=sys.executable, args=command, env=environ(folder), cwd=str(folder))


def ask(target, *calls):
    """Call tools one after the other, and return what each answered: its values, or its error."""

    async def asked():
        async with Client(target) as client:
            found = []
            for name, arguments in calls:
                told = await client.call_tool(name, arguments)
                text = told.content[0].text if told.content else ""
                found.append(f"error: {text}" if told.is_error else (told.structured_content or text))
            return found

    return asyncio.run(asked())


def one(name, **arguments):
    return ask(server(), (name, arguments))[0]


@pytest.mark.slow
def test_the_tools_answer_over_a_real_transport(store, tmp_path):
    target = over_stdio(tmp_path, "--store", store)
    counted, fitted, status, found = ask(
        target,
        ("count", {"messages": history(20), "model": "gpt-5"}),
        ("fit", {"messages": history(20), "budget": 1_000, "model": "gpt-5"}),
        ("status", {}),
        ("recall", {"query": "the worker is fine"}),
    )
    handle = re.search(r"b2:[0-9a-f]+", str(found))[0]
    (text,) = ask(target, ("recall", {"handle": handle, "session": "nightly"}))
    assert counted["total"] == brim.meter("gpt-5").count_messages(history(20))
    assert counted["unit"] == "tokens"
    assert brim.meter("gpt-5").count_messages(fitted["messages"]) <= 1_000
    assert TASK in fitted["messages"]
    assert fitted["receipt"]["budget"] == 1_000
    assert status["current"]["id"] == "nightly"
    assert status["current"]["status"]["budget"] == 1_500
    assert "the worker is fine" in str(text)


def talk(turns):
    made = [{"role": "user", "content": "Find out why the nightly build fails. Never touch the main branch."}]
    for i in range(turns):
        made.append(
            {"role": "assistant", "content": f"Worker {i} is fine. " + "Its log has nothing about the build. " * 9}
        )
        made.append({"role": "user", "content": f"Look at worker {i + 1}, then."})
    return made


def test_an_agent_looks_after_its_own_context_while_its_program_goes_on(tmp_path):
    url = f"sqlite:///{tmp_path}/brim.db"
    with brim.Conversations(brim.Window(8_000), meter="o200k_base", store=url) as engine, brim.open_store(url) as own:
        whole = engine.request(talk(40)).used
        room, compacted = ask(server(own), ("room", {}), ("compact", {}))
        assert room == {"session": engine.sessions[0].id, "used": whole, "budget": 8_000, "left": 8_000 - whole}
        assert compacted["freed"] > whole / 2
        assert compacted["left"] > room["left"] + compacted["freed"] * 0.9
        after = engine.request(talk(41))
        assert after.used < whole / 2
        assert after.messages[-1] == talk(41)[-1]
        (text,) = ask(server(own), ("restart", {"goal": "Find the failure of the nightly build"}))
        afresh = engine.request(talk(42)).messages
        assert "Never touch the main branch." in text["result"]
        assert afresh == [{"role": "user", "content": text["result"]}, *talk(42)[-2:]]
        (found,) = ask(server(own), ("recall", {"query": "worker 7"}))
        assert "b2:" in str(found)


def test_a_conversation_of_a_gateway_has_room_and_is_changed_by_its_gateway_alone(tmp_path):
    with brim.open_store(f"sqlite:///{tmp_path}/brim.db") as own:
        status = {"used": 300, "budget": 1_000, "before": 2_000, "window": 1_200, "model": "m", "key": "", "cuts": 1}
        own.append("talk", [("note", {})], meta={"kind": "gateway", "status": status})
        room, compacted, restarted = ask(
            server(own, ["talk"]), ("room", {}), ("compact", {}), ("restart", {"goal": "go on", "session": "talk"})
        )
    assert room["left"] == 700
    assert str(compacted).startswith("error: ")
    assert str(restarted).startswith("error: ")


def test_the_context_of_a_loop_is_left_to_the_loop(tmp_path):
    """A compaction from outside ended the running loop with a Conflict."""

    def act(tick):
        (compacted,) = ask(server(own), ("compact", {}))
        return brim.Step(messages=[{"role": "assistant", "content": str(compacted)}], end="goal", result=str(compacted))

    with brim.open_store(f"sqlite:///{tmp_path}/brim.db") as own:
        loop = brim.Loop("Count.", act, window=8_000, meter="o200k_base", store=f"sqlite:///{tmp_path}/brim.db")
        (said,) = loop.run().results
    assert "which starts fresh contexts by itself" in said


def test_the_tools_say_what_they_take():
    async def listed():
        async with Client(server()) as client:
            return (await client.list_tools()).tools

    tools = {tool.name: tool for tool in asyncio.run(listed())}
    assert sorted(tools) == ["compact", "count", "fit", "recall", "restart", "room", "status"]
    for tool in tools.values():
        assert tool.description
        assert all("description" in each or "anyOf" in each for each in tool.input_schema["properties"].values())


def test_a_text_is_counted():
    assert one("count", text="Hello, world!", model="gpt-5")["total"] == brim.meter("gpt-5").count("Hello, world!")
    assert one("count", text="Hello", model="chars")["total"] == 5


def test_sections_are_fitted():
    sections = [
        {"name": "rules", "content": "Be brief.", "priority": "required"},
        {"name": "log", "content": "a line of a log\n" * 500, "priority": "low", "keep": "tail"},
    ]
    made = one("fit", sections=sections, budget=100, model="gpt-5")
    assert 95 <= brim.meter("gpt-5").count(made["text"]) <= 100
    assert made["text"].startswith("Be brief.")
    assert made["receipt"]["parts"][1]["state"] == "cut"


def test_without_a_budget_it_is_the_window_of_the_model():
    assert one("fit", messages=[TASK], model="gpt-5")["receipt"]["budget"] == brim.Window.of("gpt-5").budget
    for given in ({"messages": [TASK]}, {"sections": [{"name": "a", "content": "b"}]}):
        assert re.match("error: .*budget", one("fit", **given))


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("count", {}, "text must be a string, unless messages"),
        ("count", {"text": "x", "model": "gpt-55"}, "gpt-5"),
        ("count", {"messages": [{"role": "king", "content": "x"}]}, "role"),
        ("fit", {"budget": 10}, "set, unless sections are"),
        ("fit", {"messages": [TASK], "sections": [], "budget": 10}, "set, unless sections are"),
        ("fit", {"messages": [TASK], "budget": 3}, "the parts that must stay"),
        ("fit", {"messages": [TASK], "budget": -3}, "budget"),
        ("fit", {"sections": [{"name": "a", "file": "/etc/passwd"}], "budget": 10}, "section must be one of"),
        ("fit", {"sections": [{"content": "a"}], "budget": 10}, "section name"),
        ("status", {}, "--store"),
        ("room", {}, "--store"),
        ("compact", {}, "--store"),
        ("restart", {"goal": "x"}, "--store"),
        ("recall", {"handle": "b2:12345678"}, "--store"),
        ("recall", {"query": "x", "limit": 0}, "limit"),
    ],
)
def test_what_cannot_be_is_answered_by_a_sentence(name, arguments, told):
    answer = one(name, **arguments)
    assert str(answer).startswith("error: ")
    assert told in answer
    assert "Traceback" not in answer


def test_a_model_is_never_a_file_of_this_machine(tmp_path):
    secret = tmp_path / "tokenizer.json"
    secret.write_text('{"version": "secret"}')
    for name in (str(secret), "/etc/passwd", "../tokenizer.json"):
        for tool, more in (("count", {"text": "x"}), ("fit", {"messages": [TASK], "budget": 50})):
            answer = one(tool, model=name, **more)
            assert str(answer).startswith("error: ")
            assert "secret" not in answer
            assert "cannot be read" not in answer


def test_a_session_that_is_not_there_is_told(store):
    with brim.open_store(store) as opened:
        status, recalled = ask(
            server(opened), ("status", {"session": "daily"}), ("recall", {"handle": "b2:ffffffffff"})
        )
    assert "nightly" in status
    assert "b2:ffffffffff" in str(recalled)


def test_what_is_brought_back_is_within_its_limit(store):
    with brim.open_store(store) as opened:
        (found,) = ask(server(opened), ("recall", {"query": "the worker is fine"}))
        handle = re.search(r"b2:[0-9a-f]+", str(found))[0]
        (text,) = ask(server(opened), ("recall", {"handle": handle, "limit": 30}))
    assert 15 <= brim.meter("o200k_base").count(text["result"]) <= 30


def test_sessions_that_it_was_not_started_for_are_neither_read_nor_named(store):
    with brim.open_store(store) as opened:
        other = brim.Session(1_500, model="gpt-5", store=opened, id="secret-plan")
        other.add([TASK, *({"role": "assistant", "content": f"clue {i}: " + "heliotrope " * 30} for i in range(40))])
        other.prompt()
        (found,) = ask(server(opened, ["secret-plan"]), ("recall", {"query": "heliotrope"}))
        handle = re.search(r"b2:[0-9a-f]+", str(found))[0]
        told = ask(
            server(opened, ["nightly"]),
            ("recall", {"handle": handle}),
            ("recall", {"handle": handle[:11]}),
            ("recall", {"handle": handle, "session": "secret-plan"}),
            ("recall", {"query": "heliotrope clue"}),
            ("recall", {"query": "heliotrope clue", "session": "secret-plan"}),
            ("status", {}),
            ("status", {"session": "secret-plan"}),
            ("status", {"session": "secret-pla"}),
            ("recall", {"query": "the worker is fine"}),
        )
    assert "heliotrope" not in str(told[:-1])
    assert str(told).count("secret-plan") == 3  # The name that the asker gave three times, and nothing nearest.
    assert told[5]["current"]["id"] == "nightly"
    assert "b2:" in str(told[-1])


def test_conversations_of_a_gateways_clients_are_read_only_if_they_are_named(tmp_path):
    with brim.open_store(f"sqlite:///{tmp_path}/brim.db") as opened:
        opened.append("c1.talk", [("text", {"text": "heliotrope"})])
        handle = handle_of("heliotrope")
        told = ask(server(opened), ("recall", {"handle": handle, "session": "c1.talk"}))
        meta = {"kind": "gateway", "status": {"used": 10, "model": "m", "cuts": 1}}
        opened.append("c1.talk", [], meta=meta)
        told += ask(
            server(opened),
            ("recall", {"handle": handle}),
            ("recall", {"handle": handle, "session": "c1.talk"}),
            ("recall", {"query": "heliotrope", "session": "c1.tal"}),
            ("status", {}),
        )
        (named,) = ask(server(opened, ["c1.talk"]), ("recall", {"handle": handle[:9]}))
    assert "heliotrope" not in str(told)
    assert str(told).count("c1.talk") == 2
    assert named == {"result": "heliotrope"}


def test_a_store_that_is_not_there_is_no_store(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["mcp", "--store", "sqlite:///none.db"]) == 2
    assert "this store does not exist" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
