"""Two users of one program who begin with the same words: no text of one reaches the other. For the suite and `make prove`.

A case comes from one seed. The users send requests in turn, by one of the doors and in one of the formats, through one
process or two, with a store or without. They retry, edit, regenerate and fork. After each request, all that both users
can see is searched for the words of the other.
"""

from __future__ import annotations

import itertools
import json
import random
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import anthropic
import httpx2
import openai

import brim
from brim.errors import UnknownName
from brim.gateway.fit import fit, plan
from brim.gateway.settings import GatewaySettings, RequestRule
from brim.integrations.bedrock import ConverseCall
from brim.integrations.google_genai import GeminiCall
from brim.sessions.conversations import Conversations
from brim.testing import MemoryStore
from gateway.conftest import parsed

FORMATS = ("openai", "responses", "anthropic", "gemini", "bedrock")
DOORS = ("conversations", "wrap", "gateway")
ROUTES = {"openai": "chat", "responses": "responses", "anthropic": "messages", "gemini": "gemini", "bedrock": "bedrock"}
USERS = ("ann", "bob")
_OWN = re.compile(r"PELICAN(ann|bob)\d+")
_FIRST = ("Hello", "Hi there", "Where is my order?")
_CANNED = ("Hi! How can I help?", "Sure.", "Please tell me more.")
_QUESTIONS = ("Yes, please.", "Go on.", "What else?")
WINDOW = 900

Said = tuple[str, str]
"""The role and the text of a message."""


@dataclass
class User:
    """A user, and all that this user has said and received."""

    name: str
    system: str
    named: str | None
    numbers: itertools.count = field(default_factory=itertools.count)
    history: list[Said] = field(default_factory=list)
    requests: list[Any] = field(default_factory=list)
    """The newest requests, as the program may still hold them."""

    def secret(self, dice: random.Random) -> str:
        """Return a text of this user alone, long enough to be cut at times."""
        word = f"PELICAN{self.name}{next(self.numbers)}"
        return f"My account is {word}. " + "It was opened in spring. " * dice.choice((0, 1, 8, 30))

    def act(self, dice: random.Random) -> str:
        """Go on in one of the ways of a chat, and return which."""
        said = self.history
        if not said:
            said.append(("user", dice.choice(_FIRST) if dice.random() < 0.3 else _FIRST[0]))
            return "begin"
        way = dice.choices(("append", "retry", "edit", "regenerate", "fork"), (6, 1, 1, 1, 1))[0]
        own, common = self.secret(dice), dice.random() < 0.3
        question = ("user", dice.choice(_QUESTIONS) if common else own)
        answer = ("assistant", dice.choice(_CANNED) if dice.random() < 0.7 else self.secret(dice))
        if way == "edit":
            said[-1] = question
        elif way == "regenerate" and len(said) > 2:
            said[-2:] = [answer, question]
        elif way == "fork":
            del said[2 * dice.randint(0, len(said) // 2) + 1 :]
            said[-1] = question if len(said) > 1 else said[0]
        elif way != "retry":
            said += [answer, question]
        return way


def written(said: list[Said], format: str) -> list[dict[str, Any]]:
    """Return messages in a format."""
    made: list[dict[str, Any]] = []
    for role, text in said:
        if format == "gemini":
            made.append({"role": "user" if role == "user" else "model", "parts": [{"text": text}]})
        elif format == "bedrock":
            made.append({"role": role, "content": [{"text": text}]})
        elif format == "responses" and role == "assistant":
            made.append({"type": "message", "role": role, "content": [{"type": "output_text", "text": text}]})
        else:
            made.append({"role": role, "content": text})
    return made


def _body(said: list[Said], system: str, format: str) -> dict[str, Any]:
    """Return the fields of a request."""
    messages = written(said, format)
    if format == "openai":
        return {"model": "gpt-4o", "messages": [{"role": "system", "content": system}, *messages]}
    if format == "responses":
        return {"model": "gpt-4o", "instructions": system, "input": messages}
    if format == "gemini":
        return {"systemInstruction": {"parts": [{"text": system}]}, "contents": messages}
    if format == "bedrock":
        return {"modelId": "anthropic.claude-sonnet-4-5", "system": [{"text": system}], "messages": messages}
    return {"model": "claude-sonnet-5", "max_tokens": 100, "system": system, "messages": messages}


Door = Callable[[list[Said], User, str], tuple[str, Any]]
"""Sends a request, and returns the prompt as it was sent, and the engine's request."""


def by_conversations(store: Any, **options: Any) -> Door:
    """Return a process that calls `Conversations`."""
    engine = brim.Conversations(WINDOW, meter="chars/4", store=store, **options)

    def send(said: list[Said], user: User, format: str) -> tuple[str, Any]:
        made = engine.request(
            [{"role": "system", "content": user.system}, *written(said, format)]
            if format == "openai"
            else written(said, format),
            system=None if format == "openai" else user.system,
            format=format,
            session=user.named,
        )
        return json.dumps(made.messages), made

    return send


def by_wrap(store: Any, **options: Any) -> Door:
    """Return a process that calls wrapped clients."""
    bodies: list[str] = []

    def answered(request: httpx2.Request) -> httpx2.Response:
        bodies.append(request.read().decode())
        return httpx2.Response(500)

    web = httpx2.Client(transport=httpx2.MockTransport(answered))
    engine = Conversations(WINDOW, meter="chars/4", store=store, **options)
    clients: dict[str, Any] = {
        "openai": openai.OpenAI(api_key="k", base_url="http://m/v1", http_client=web, max_retries=0),
        "anthropic": anthropic.Anthropic(api_key="k", base_url="http://m", http_client=web, max_retries=0),
    }
    made = {name: brim.wrap(client, conversations=engine) for name, client in clients.items()}

    def send(said: list[Said], user: User, format: str) -> tuple[str, Any]:
        body = _body(said, user.system, format)
        if format in ("gemini", "bedrock"):
            path = "models/gemini-2.5-pro:generateContent"
            call = (
                GeminiCall.at(path, body, engine, user.named)
                if format == "gemini"
                else ConverseCall.of(body, "bedrock", engine, user.named)
            )
            return json.dumps(call.fields), call.request
        client = made["anthropic" if format == "anthropic" else "openai"]
        headers = {"x-brim-session-id": user.named} if user.named else {}
        call = {"openai": "chat.completions", "responses": "responses", "anthropic": "messages"}[format]
        for part in call.split("."):
            client = getattr(client, part)
        try:
            client.create(**body, extra_headers=headers)
        except (openai.InternalServerError, anthropic.InternalServerError):
            return bodies[-1], engine.last
        raise AssertionError("the server answers every request with an error")

    return send


def by_gateway(store: Any, **options: Any) -> Door:
    """Return a gateway; its users have the same key."""
    engine = Conversations(store=store, log=False, **options)
    settings = GatewaySettings(
        upstream="http://m/v1", default=RequestRule(policy="fit", window=WINDOW, meter="chars/4")
    )
    paths = {"gemini": "/v1beta/models/gemini-2.5-pro:generateContent", "bedrock": "/model/anthropic.claude/converse"}

    def send(said: list[Said], user: User, format: str) -> tuple[str, Any]:
        route = ROUTES[format]
        headers = {"x_brim_session_id": user.named} if user.named else {}
        request = parsed(
            route, json.dumps(_body(said, user.system, format)).encode(), paths.get(format, "/v1/x"), **headers
        )
        made = fit(plan(request, settings, engine, ("", route)), engine)
        return made.body.decode(), made.request

    return send


_BY = {"conversations": by_conversations, "wrap": by_wrap, "gateway": by_gateway}


def check(seed: int, door: str | None = None) -> str:
    """Let two users talk; return whether anything had to be cut."""
    dice = random.Random(seed)
    door = door or dice.choice(DOORS)
    format, store = dice.choice(FORMATS), MemoryStore() if dice.random() < 0.6 else None
    options = dice.choice(({}, {}, {"most": 1}, {"summarise": "extract"}))
    processes = [_BY[door](store, **options) for _ in range(dice.choice((1, 1, 2)))]
    users = [User(name, "Be brief.", None) for name in USERS]
    if dice.random() < 0.3:  # A prompt of its own for each user, who still begins with the same words.
        for user in users:
            user.system = f"You serve {user.name}. {user.secret(dice)[:60]}"
    if dice.random() < 0.3:
        for user in users:
            user.named = dice.choice((f"{user.name}-1", None))
    ends = set()
    for _ in range(dice.randint(8, 24)):
        user = dice.choice(users)
        if not user.history and users[0].history and dice.random() < 0.4:  # As from a shared link or a template.
            other = users[1 - users.index(user)]
            user.history = [*itertools.takewhile(lambda said: not _OWN.search(said[1]), other.history)]
            user.history = user.history[: len(user.history) - (len(user.history) % 2 == 0)]
        way = user.act(dice)
        prompt, made = dice.choice(processes)(user.history, user, format)
        ends |= {"cut"} if made.changed else set()
        assert not _others(prompt, user), (way, "a prompt")
        user.requests = [*user.requests[-2:], made]
        for each in users:
            for request in each.requests[-1:]:
                _check_seen(request, each)
        _check_own(made, user, prompt)
    for user in users:
        for request in user.requests:
            _check_seen(request, user)
            _check_handles(request, user, users)
    if store is not None:
        store.close()
    return "cut" if ends else "whole"


def going_on(seed: int, count: int = 20, door: str | None = None) -> tuple[int, int]:
    """Let many users talk in turn; return of how many requests the conversation was recognised, and of how many not.

    A conversation can be recognised once it differs from those of the others, whose first words may be the same. Its
    next request may come to another process with the same store; an edit comes to the one that has seen what it edits.
    """
    dice = random.Random(seed)
    format, store = dice.choice(FORMATS), MemoryStore() if dice.random() < 0.5 else None
    door = door or dice.choice(DOORS)
    processes = [_BY[door](store) for _ in range(dice.choice((1, 2)) if store and door != "gateway" else 1)]
    alike, sent = dice.random() < 0.5, dict[str, int]()
    users = [User(f"{USERS[at % 2]}{at}x", "Be brief.", None) for at in range(count)]
    names, places = dict[str, str](), dict[str, Door]()
    counts = [0, 0]
    for turn in range(10 * count):
        user, said = users[turn % count], users[turn % count].history
        known = sent.get(str(said), 0) == 1
        way = dice.choices(("append", "retry", "edit", "regenerate"), (85, 5, 5, 5))[0]
        question = ("user", f"And {dice.random()}? " + "Look at it closely. " * dice.choice((1, 10)))
        if not said:
            said.append(("user", "Hello" if alike else f"I am {user.name}."))
        elif way == "edit" and len(said) > 1:
            said[-1] = question
        elif way == "regenerate" and len(said) > 2:
            said[-2:] = [("assistant", f"Rather {dice.random()}."), question]
        elif way != "retry":
            said += [("assistant", _CANNED[0] if len(said) == 1 else f"It is {dice.random()}."), question]
        if way in ("append", "retry") or user.name not in places:
            places[user.name] = dice.choice(processes)
        _, made = places[user.name](said, user, format)
        if known:
            counts[made.conversation != names[user.name]] += 1
        names[user.name] = made.conversation
        sent[str(said)] = sent.get(str(said), 0) + (way != "retry" or str(said) not in sent)
    if store is not None:
        store.close()
    return counts[0], counts[1]


def check_going_on(seed: int) -> str:
    """Check that nearly every conversation of a program is recognised."""
    recognised, lost = going_on(seed)
    assert lost <= 0.05 * (recognised + lost), (recognised, lost)
    return f"at least {100 * recognised // (recognised + lost)} % recognised"


def _others(text: str, user: User) -> set[str]:
    """Return the names of the other users whose words a text has."""
    return set(_OWN.findall(text)) - {user.name}


def _check_seen(request: Any, user: User) -> None:
    """Check that nothing that a user can see through a request has a word of another user."""
    session = request.session
    if session is None:
        return
    assert not _others(f"{session.messages} {session.status().to_dict()} {session.notices}", user), "the status"
    assert not _others(str(session.search("My account was opened in spring", limit=99)), user), "a search"
    other = next(name for name in USERS if name != user.name)
    for query in ("account spring", f"PELICAN{other}0", f"PELICAN{other}1"):
        assert not _others(session.answer_recall({"query": query}, budget=5_000), user), "a recall by query"


def _check_handles(request: Any, user: User, users: list[User]) -> None:
    """Check that a user cannot recall by a handle that another user was shown."""
    theirs = [each.session for other in users if other is not user for each in other.requests]
    for handle in {name for each in theirs if each is not None for name in each.dropped.handles()}:
        with suppress(UnknownName):
            assert request.session is None or not _others(request.session.recall(handle), user), "a recall by handle"


def _check_own(request: Any, user: User, prompt: str) -> None:
    """Check that a user can recall what the prompt of a request left out."""
    if request.session is None:
        return
    said = " ".join(text for _, text in user.history)
    for word in {found[0] for found in re.finditer(_OWN, said)}:
        if word not in prompt:
            hits = request.session.search(word)
            assert any(word in request.session.recall(hit.handle) for hit in hits), (word, "was dropped")
