"""The MCP server, with the real client: over stdio, over HTTP, and by its guards."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from contextlib import contextmanager

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from starlette.responses import PlainTextResponse

import brim
from brim.cli import main
from brim.integrations.mcp import MOST_BYTES, server
from brim.integrations.mcp_access import McpAccess
from brim.store.texts import handle_of
from model_server import running

TOKEN = "a token of sixteen characters"
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
    return {"PATH": os.environ["PATH"], "HOME": str(folder), "MCP_TOKEN": TOKEN}


def over_stdio(folder, *arguments):
    command = ["-m", "brim", "mcp", *arguments]
    return StdioServerParameters(command=sys.executable, args=command, env=environ(folder), cwd=str(folder))


@contextmanager
def over_http(folder, *arguments):
    command = [sys.executable, "-m", "brim", "mcp", "--http", "--port", "0", *arguments]
    started = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder, env=environ(folder))
    try:
        yield started.stdout.readline().removeprefix("brim mcp: ").strip()
    finally:
        started.terminate()
        started.wait(10)
        started.stdout.close()


def ask(target, *calls):
    """Call tools one after the other, and return what each answered: its values, or its error."""

    async def asked():
        bearer = {"authorization": f"Bearer {TOKEN}"}
        async with (
            httpx2.AsyncClient(headers=bearer) as http,
            Client(streamable_http_client(target, http_client=http) if isinstance(target, str) else target) as client,
        ):
            found = []
            for name, arguments in calls:
                told = await client.call_tool(name, arguments)
                text = told.content[0].text if told.content else ""
                found.append(f"error: {text}" if told.is_error else (told.structured_content or text))
            return found

    return asyncio.run(asked())


def one(name, **arguments):
    return ask(server(), (name, arguments))[0]


@contextmanager
def served(way, folder, url):
    if way == "stdio":
        yield over_stdio(folder, "--store", url)
    else:
        with over_http(folder, "--store", url, "--token", "MCP_TOKEN") as address:
            yield address


@pytest.mark.parametrize("way", ["stdio", "http"])
def test_the_four_tools_answer_over_a_real_transport(way, store, tmp_path):
    with served(way, tmp_path, store) as target:
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


USUAL = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}


def refusals():
    """What is refused, with its status and its headers."""
    bearer = {**USUAL, "authorization": f"Bearer {TOKEN}"}
    return {
        "no token": (401, USUAL),
        "a wrong token": (401, {**USUAL, "authorization": f"Bearer {TOKEN}x"}),
        "another scheme": (401, {**USUAL, "authorization": f"Basic {TOKEN}"}),
        "a rebound name": (421, {**bearer, "host": "evil.example:80"}),
        "a name with a port that is none": (421, {**bearer, "host": "127.0.0.1:1.evil.example"}),
        "a page of another site": (403, {**bearer, "origin": "http://evil.example"}),
        "a page of this machine": (403, {**bearer, "origin": "http://127.0.0.1:3000"}),
        "a page without an origin": (403, {**bearer, "sec-fetch-site": "same-site"}),
        "two tokens": (400, [*bearer.items(), ("authorization", "Bearer another")]),
    }


def test_strangers_and_browsers_do_not_reach_the_application():
    async def app(scope, receive, send):
        if scope["type"] == "lifespan":
            for _ in range(2):
                await send({"type": (await receive())["type"] + ".complete"})
            return
        await PlainTextResponse("reached")(scope, receive, send)

    found = {}
    for token in (TOKEN, None):
        with running(McpAccess(app, "127.0.0.1", token)) as address, httpx2.Client() as client:
            for name, (_, headers) in refusals().items():
                found[name, token] = client.get(address, headers=headers).status_code
            known = client.get(address, headers={"authorization": f"Bearer {TOKEN}"})
        assert known.text == "reached"
    for name, (due, _) in refusals().items():
        assert (found[name, TOKEN], found[name, None]) == (due, 200 if due == 401 else due), name


def test_over_http_strangers_and_browsers_are_turned_away(store, tmp_path):
    bearer = {**USUAL, "authorization": f"Bearer {TOKEN}"}
    with over_http(tmp_path, "--store", store, "--token", "MCP_TOKEN") as address, httpx2.Client() as client:
        found = {name: client.post(address, json=LIST, headers=headers) for name, (_, headers) in refusals().items()}
        big = client.post(address, content=b'{"a": "' + b"x" * MOST_BYTES + b'"}', headers=bearer)
        known = client.post(address, json=LIST, headers=bearer)
    assert {name: told.status_code for name, told in found.items()} == {
        name: due for name, (due, _) in refusals().items()
    }
    assert TOKEN not in str([told.text for told in found.values()])
    assert (big.status_code, known.status_code) == (413, 200)


def test_over_http_without_a_token_the_store_is_not_read(store, tmp_path):
    with over_http(tmp_path, "--store", store, "--session", "nightly") as address:
        counted, status, recalled = ask(
            address, ("count", {"text": "x"}), ("status", {}), ("recall", {"query": "worker", "session": "nightly"})
        )
        with httpx2.Client() as client:
            rebound = client.post(address, json=LIST, headers={**USUAL, "host": "evil.example:80"})
            page = client.post(address, json=LIST, headers={**USUAL, "origin": "http://evil.example"})
    assert counted["total"] == 1
    for told in (status, recalled):
        assert "--token VARIABLE" in told
        assert "nightly" not in told
    assert (rebound.status_code, page.status_code) == (421, 403)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.com"])
def test_without_a_token_it_listens_on_this_machine_alone(host):
    with pytest.raises(brim.InvalidValue, match="unless --token names a token"):
        McpAccess(None, host, None)
    with pytest.raises(brim.InvalidValue, match="at least 16 characters"):
        McpAccess(None, host, "short")


def test_a_token_is_named_and_belongs_to_http(store, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NOT_SET", raising=False)
    assert main(["mcp", "--http", "--store", store, "--token", "NOT_SET"]) == 2
    assert "NAME of an environment variable" in capsys.readouterr().err
    assert main(["mcp", "--store", store, "--token", "NOT_SET"]) == 2
    assert "used with --http" in capsys.readouterr().err


def test_a_store_that_is_not_there_is_no_store(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["mcp", "--store", "sqlite:///none.db"]) == 2
    assert "this store does not exist" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
