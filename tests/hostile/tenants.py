"""Two tenants on gateways that share a store, and a model that recalls whatever a client tells it to.

Every text that a tenant wants to keep holds a token with its owner's name, so that it can be told whose text went where.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import brim
from model_server import PATHS, ModelServer, say
from model_server import running as served

TENANTS = ("ada", "bob")
SETUPS = ("gateway keys", "passed keys", "none")
ROUTES = ("chat", "messages", "responses")
KINDS = ("full", "prefix", "query")
SECRETS = {
    "ADA_KEY": "gateway-key-of-ada-7f31",
    "BOB_KEY": "gateway-key-of-bob-90c2",
    "MODEL_KEY": "key-for-the-model-55aa",
    "STUDIO_TOKEN": "token-of-the-local-operator",
    "MCP_TOKEN": "token-for-one-agent-4411",
}
OWN = {"ada": "sk-own-of-ada-1a2b3c", "bob": "sk-own-of-bob-4d5e6f"}
SETTINGS = {
    "gateway keys": {"keys": ["ADA_KEY", "BOB_KEY"], "upstream_key": "MODEL_KEY"},
    "passed keys": {},
    "none": {"upstream_key": "MODEL_KEY"},
}
_TOKEN = re.compile(r"TEXT-OF-([a-z-]+)-([a-z]+)-IN-[a-z]+")
_ASKED = re.compile(r"RECALL:(\{.*\})")


@dataclass(frozen=True)
class Owner:
    """A tenant in a set-up."""

    setup: str
    tenant: str

    @property
    def session(self) -> str:
        """The name of its conversation: the same for both tenants, if a key tells them apart."""
        return f"talk-{self.tenant}" if self.setup == "none" else "talk"

    @property
    def headers(self) -> dict[str, str]:
        """What its requests show."""
        keys = {"gateway keys": SECRETS[f"{self.tenant.upper()}_KEY"], "passed keys": OWN[self.tenant]}
        return {"authorization": f"Bearer {keys[self.setup]}"} if self.setup in keys else {}

    def token(self, route: str) -> str:
        """The word in the texts that nobody else may see."""
        return f"TEXT-OF-{self.setup.replace(' ', '-')}-{self.tenant}-IN-{route}"


OWNERS = [Owner(setup, tenant) for setup in SETUPS for tenant in TENANTS]


def owners_in(text: str) -> set[Owner]:
    """Return whose texts a text holds."""
    return {Owner(setup.replace("-", " "), tenant) for setup, tenant in _TOKEN.findall(text)}


def history(owner: Owner, route: str, asked: dict[str, str] | None = None) -> list[dict[str, str]]:
    """Return a history that has to be cut; both tenants begin alike, and the last message tells what to recall."""
    said = [{"role": "user", "content": "The task: find the code of the vault."}]
    for i in range(44):
        kept = f"The code of the vault is {owner.token(route)}, in clue {i}." if i in range(14, 24) else ""
        said.append({"role": "assistant", "content": f"Step {i}: looked at the log, found nothing of use. {kept}"})
        said.append({"role": "user", "content": f"Go on with part {i} of the work, and look at the log again."})
    said[-1] = {"role": "user", "content": f"Go on. RECALL:{json.dumps(asked)}" if asked else "Go on."}
    return said


class RecallingModel(ModelServer):
    """A model that calls the tool as the last message of the client says, and answers with what it brought back."""

    async def _answer(self, route, values, receive, send) -> None:
        messages = values.get("messages", values.get("input"))
        last = messages[-1]
        said = last.get("content")  # A result is a list: it may hold an earlier request to recall.
        asked = _ASKED.search(said) if last.get("role") == "user" and isinstance(said, str) else None
        if asked and "brim_recall" in json.dumps(values.get("tools") or []):
            await say(send, 200, _call(route, json.loads(asked[1])))
        else:
            await say(send, 200, _said(route, f"brought back: {json.dumps(last)}"))


def _call(route, arguments):
    text = json.dumps(arguments)
    if route == "chat":
        call = {"id": "r1", "type": "function", "function": {"name": "brim_recall", "arguments": text}}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        return {"id": "x", "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
    if route == "messages":
        block = {"type": "tool_use", "id": "r1", "name": "brim_recall", "input": arguments}
        return {"id": "m", "type": "message", "role": "assistant", "content": [block], "stop_reason": "tool_use"}
    item = {"type": "function_call", "id": "f", "call_id": "r1", "name": "brim_recall", "arguments": text}
    return {"id": "r", "object": "response", "output": [item], "status": "completed"}


def _said(route, text):
    if route == "chat":
        message = {"role": "assistant", "content": text}
        return {"id": "x", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    if route == "messages":
        block = {"type": "text", "text": text}
        return {"id": "m", "type": "message", "role": "assistant", "content": [block], "stop_reason": "end_turn"}
    part = {"type": "output_text", "text": text, "annotations": []}
    item = {"type": "message", "id": "i", "role": "assistant", "status": "completed", "content": [part]}
    return {"id": "r", "object": "response", "output": [item], "status": "completed"}


@dataclass
class World:
    """The processes, the store, and what is known of each owner's conversations."""

    folder: str
    store: str
    model: RecallingModel
    gateways: dict[str, str] = field(default_factory=dict)
    sessions: dict[tuple[Owner, str], str] = field(default_factory=dict)
    """The id of each conversation in the store, by owner and route."""
    handles: dict[tuple[Owner, str], str] = field(default_factory=dict)
    """The handle of a text with the token of its owner."""

    def arguments(self, victim: Owner, route: str, kind: str) -> dict[str, str]:
        """Return how a text of a victim is asked for."""
        if kind == "query":
            return {"query": "the code of the vault in clue 18"}
        handle = self.handles[victim, route]
        return {"handle": handle if kind == "full" else handle[:11]}

    def ask(self, owner: Owner, route: str, asked: dict[str, str] | None = None, **names: str) -> str:
        """Send a request of an owner, and return the answer; `header`, `user` name the conversation."""
        sent = {"content-type": "application/json", **owner.headers}
        key = "input" if route == "responses" else "messages"
        body = {"model": "gpt-5", "max_tokens": 20, key: history(owner, route, asked)}
        if "header" in names:
            sent["x-brim-session-id"] = names["header"]
        if "user" in names:
            body |= {"metadata": {"user_id": names["user"]}} if route == "messages" else {"user": names["user"]}
        host, port = self.gateways[owner.setup].removeprefix("http://").split(":")
        path = next(path for path, name in PATHS.items() if name == route)
        connection = http.client.HTTPConnection(host, int(port), timeout=30)
        try:
            connection.request("POST", path, json.dumps(body), sent)
            answer = connection.getresponse()
            text = answer.read().decode()
        finally:
            connection.close()
        assert answer.status == 200, text
        return text


def environ(folder: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": folder, **SECRETS}


@contextmanager
def process(folder: str, *arguments: str):
    """Run a command of brim, and yield the first line that it prints, as JSON."""
    command = [sys.executable, "-m", "brim", *arguments, "--json"]
    started = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder, env=environ(folder))
    try:
        yield started
    finally:
        started.terminate()
        started.communicate(timeout=20)


def address(started) -> str:
    return json.loads(started.stdout.readline())["address"]


@contextmanager
def gateways(world: World, upstream: str):
    """Run one gateway for each set-up, all with one store, in place of those that the world has."""
    with ExitStack() as stack:
        begun = {}
        for at, setup in enumerate(SETUPS):
            place = f"{world.folder}/{at}.yaml"
            with open(place, "w", encoding="utf-8") as file:
                json.dump({"gateway": {**SETTINGS[setup], "recall": True}}, file)
            options = ("--upstream", upstream + "/v1", "--port", "0", "--window", "1200", "--store", world.store)
            begun[setup] = stack.enter_context(process(world.folder, "gateway", *options, "--config", place))
        before = world.gateways
        world.gateways = {setup: address(each).removesuffix("/v1") for setup, each in begun.items()}
        yield world
        world.gateways = before


@contextmanager
def world(folder: str):
    """Run the model and the gateways, and let every owner talk on every route."""
    model = RecallingModel(window=100_000)
    made = World(folder, f"sqlite:///{folder}/brim.db", model)
    with served(model) as upstream, gateways(made, upstream):
        for owner in OWNERS:
            for route in ROUTES:
                made.ask(owner, route, header=owner.session)
        with brim.open_store(made.store) as store:
            for row in store.sessions():
                _note(made, store, row.id)
        assert len(made.sessions) == len(made.handles) == len(OWNERS) * len(ROUTES)
        made.upstream = upstream
        yield made


def _note(made: World, store, session: str) -> None:
    """Note whose a session of the store is, and the handle of a text of it."""
    for entry in store.entries(session, kinds=["dropped"]):
        for handle in entry.body["turns"]:
            for setup, tenant in _TOKEN.findall(store.text(handle) or ""):
                owner = Owner(setup.replace("-", " "), tenant)
                route = next(each for each in ROUTES if owner.token(each) in store.text(handle))
                made.sessions[owner, route] = session
                made.handles[owner, route] = handle
