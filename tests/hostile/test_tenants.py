"""A neighbour reads nothing: gateways that share a store, the MCP server and the studio show no text of another owner.

Every text that an owner wants to keep holds a token with its owner's name, so that it can be told whose text went where.
"""

from __future__ import annotations

import asyncio
import http.client
import itertools
import json
import os
import re
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from urllib.parse import urlencode

import pytest
from mcp import Client, StdioServerParameters

import brim
from brim.sessions.log.overview import overview
from model_server import PATHS, ModelServer, running

TENANTS = ("ada", "bob")
ROUTES = ("chat", "messages", "responses")
SECRETS = {
    "ADA_KEY": "gateway-key-of-ada-7f31",
    "BOB_KEY": "gateway-key-of-bob-90c2",
    "MODEL_KEY": "key-for-the-model-55aa",
    "STUDIO_TOKEN": "token-of-the-local-operator",
}
OWN = {"ada": "sk-own-of-ada-1a2b3c", "bob": "sk-own-of-bob-4d5e6f"}
SETUPS = {
    "gateway-keys": {"keys": ["ADA_KEY", "BOB_KEY"], "upstream_key": "MODEL_KEY"},
    "passed-keys": {},
}
OWNERS = [*itertools.product(SETUPS, TENANTS)]
_TOKEN = re.compile(r"TEXT-OF-([a-z-]+)-(ada|bob)-")


def owners_in(text):
    """Return whose texts a text holds."""
    return set(_TOKEN.findall(text))


def history(owner):
    """Return a history that has to be cut; both tenants begin alike."""
    said = [{"role": "user", "content": "The task: find the code of the vault."}]
    for i in range(44):
        kept = f"The code of the vault is TEXT-OF-{'-'.join(owner)}-{i}, in clue {i}."
        said.append({"role": "assistant", "content": f"Step {i}: looked at the log, found nothing of use. {kept}"})
        said.append({"role": "user", "content": f"Go on with part {i} of the work, and look at the log again. {kept}"})
    return said


def headers_of(owner):
    setup, tenant = owner
    key = SECRETS[f"{tenant.upper()}_KEY"] if setup == "gateway-keys" else OWN[tenant]
    return {"authorization": f"Bearer {key}", "content-type": "application/json"}


def asked(url, method, path, body=None, headers=()):
    host, port = url.split("//")[1].removesuffix("/v1").strip("/").split(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=30)
    try:
        connection.request(method, path, body, dict(headers))
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


@contextmanager
def process(folder, *arguments):
    """Run a command of brim, and yield the address that it prints."""
    environ = {"PATH": os.environ["PATH"], "HOME": folder, **SECRETS}
    command = [sys.executable, "-m", "brim", *arguments, "--json"]
    started = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder, env=environ)
    try:
        yield json.loads(started.stdout.readline())["address"]
    finally:
        started.terminate()
        started.communicate(timeout=20)


@contextmanager
def gateways(folder, upstream, store):
    """Run one gateway for each set-up, all with one store."""
    with ExitStack() as stack:
        begun = {}
        for setup, settings in SETUPS.items():
            place = f"{folder}/{setup}.yaml"
            with open(place, "w", encoding="utf-8") as file:
                json.dump({"gateway": settings}, file)
            options = ("--upstream", upstream + "/v1", "--port", "0", "--window", "1200", "--store", store)
            begun[setup] = stack.enter_context(process(folder, "gateway", *options, "--config", place))
        yield begun


def test_no_text_of_a_client_reaches_the_prompt_of_another(tmp_path):
    """All names of conversations are tried by all owners, then again in processes that know only the store."""
    model, store = ModelServer(window=100_000), f"sqlite:///{tmp_path}/brim.db"
    with running(model) as upstream:
        for _ in range(2):
            with gateways(str(tmp_path), upstream, store) as begun:
                names = ("talk", "other", None)
                for owner, route, name, place in itertools.product(OWNERS, ROUTES, names, ("header", "user")):
                    body = {
                        "model": "gpt-5",
                        "max_tokens": 20,
                        "input" if route == "responses" else "messages": history(owner),
                    }
                    headers = headers_of(owner)
                    if name and place == "header":
                        headers["x-brim-session-id"] = name
                    elif name:
                        body |= {"metadata": {"user_id": name}} if route == "messages" else {"user": name}
                    path = next(path for path, each in PATHS.items() if each == route)
                    model.bodies.clear()
                    assert asked(begun[owner[0]], "POST", path, json.dumps(body), headers)[0] == 200
                    (sent,) = model.bodies
                    assert len(sent) < len(json.dumps(body)) / 2
                    assert owners_in(sent.decode()) == {owner}
                listed = [
                    {row["id"] for row in json.loads(text)["conversations"]}
                    for owner in OWNERS[:2]
                    for _, text in [asked(begun["gateway-keys"], "GET", "/brim/status", None, headers_of(owner))]
                ]
                assert all(listed)
                assert not listed[0] & listed[1]
    with brim.open_store(store) as opened:
        assert set.union(*listed) <= {row.id for row in overview(opened, recent=999).gateway}


@pytest.fixture
def notes(tmp_path):
    """A store with a session of each tenant, and the handle of a dropped text of each."""
    url, found = f"sqlite:///{tmp_path}/notes.db", {}
    with brim.open_store(url) as store:
        for tenant in TENANTS:
            session = brim.Session(1_200, model="gpt-5", store=store, id=f"{tenant}-notes")
            session.add(history(("notes", tenant)))
            session.prompt()
            found[tenant] = next(hit.handle for hit in session.search("code vault"))
            assert owners_in(session.recall(found[tenant])) == {("notes", tenant)}
    return url, found


def test_an_agent_recalls_only_what_its_own_sessions_dropped(notes, tmp_path):
    url, handles = notes

    async def answers(own, calls):
        options = [part for session in own for part in ("--session", session)]
        command = ["-m", "brim", "mcp", "--store", url, *options]
        environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
        server = StdioServerParameters(command=sys.executable, args=command, env=environ, cwd=str(tmp_path))
        async with Client(server) as client:
            results = [await client.call_tool(name, arguments) for name, arguments in calls]
            return [str(each.structured_content or each.content) for each in results]

    for attacker, victim in itertools.permutations(TENANTS):
        mine, handle = f"{attacker}-notes", handles[victim]
        ways = [{"handle": handle}, {"handle": handle[:11]}, {"query": "the code of the vault in clue 18"}]
        calls = [
            *(("recall", {**way, **own}) for way in ways for own in ({}, {"session": mine})),
            *(("recall", {**way, "session": f"{victim}-notes"}) for way in ways),
            ("status", {"session": f"{victim}-notes"}),
            ("status", {}),
        ]
        found = asyncio.run(answers([mine], [*calls, ("recall", {"handle": handles[attacker], "session": mine})]))
        assert set().union(*map(owners_in, found[:-1])) <= {("notes", attacker)}
        assert owners_in(found[-1]) == {("notes", attacker)}


def test_the_studio_shows_a_session_only_its_own_texts_and_a_stranger_nothing(notes, tmp_path):
    url, handles = notes
    operator = {"authorization": f"Bearer {SECRETS['STUDIO_TOKEN']}"}

    def ask(address, view, headers=operator, **fields):
        return asked(address, "GET", f"/api/{view}?{urlencode(fields)}", None, headers)

    command = ("studio", "--no-open", "--port", "0", "--token", "STUDIO_TOKEN", "--store", url)
    with process(str(tmp_path), *command) as started:
        address = started.partition("?")[0]
        for tenant, view in itertools.product(TENANTS, ("ledger", "cache", "prompt", "timeline")):
            status, answer = ask(address, view, session=f"{tenant}-notes")
            assert status == 200, answer
            assert owners_in(answer) <= {("notes", tenant)}
        for view, fields in (("text", {"handle": handles["ada"]}), ("search", {"query": "code"}), ("sessions", {})):
            for headers in ({}, headers_of(("gateway-keys", "ada"))):
                status, answer = ask(address, view, headers, **fields)
                assert (status, owners_in(answer)) == (401, set())
        assert owners_in(ask(address, "text", handle=handles["ada"])[1]) == {("notes", "ada")}
