"""An MCP server with which an agent counts, fits and manages its context, over standard input and output.

Requests are not trusted: a model name is never opened as a file, sections contain text and no file names, and the
server reads and writes nothing but its store.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields
from functools import wraps
from importlib.metadata import version
from typing import Annotated, Any

from brim.errors import BrimError, InvalidType, InvalidValue, check_choice
from brim.files.json_body import body_of
from brim.history.compact.continuation import continuation
from brim.integrations import missing
from brim.meter import DEFAULT, meter
from brim.meter.catalogue import find
from brim.meter.estimate import FAMILIES
from brim.meter.units import UNITS
from brim.meter.vocabularies import VOCABULARIES
from brim.receipts.section import Section
from brim.requests.request_body import RequestBody, request_of
from brim.sections.fit import fit
from brim.sessions.log.overview import GatewayUse, ReadableSessions
from brim.sessions.recall_tool import answered
from brim.sessions.session import Session
from brim.store import Store
from brim.wire import wire
from brim.wire.base import MESSAGE_KEYS

try:
    from mcp.server import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from pydantic import Field
except ImportError as error:
    raise missing("mcp", error) from error

_RECALLED = 4_000
"""The default limit of a recalled text, in tokens."""
_INSTRUCTIONS = (
    "Counts and fits prompts to a token budget. count: tokens of a text or a request. fit: messages or sections"
    " shortened to a budget, valid for the provider, with a receipt. For recorded conversations, room: tokens left."
    " status: tokens by category. recall: dropped text. compact: make room now. restart: start again with a hand-over."
)
_STORE = "brim mcp --store sqlite:///brim.db"
_RECORDED = "one that was recorded by brim.wrap, an integration, a Session or a Loop"
_HANDED_OVER = 4
"""A hand-over is limited to a quarter of the budget, as in a loop."""
_SECTION = tuple(slot.name for slot in fields(Section))

Messages = Annotated[
    list[Any] | None, Field(description="Messages in the format of OpenAI chat, OpenAI Responses or Anthropic.")
]
Tools = Annotated[list[Any] | None, Field(description="The tool definitions of the request.")]
System = Annotated[str | list[Any] | None, Field(description="The system prompt, if it is not one of the messages.")]
Model = Annotated[
    str | None, Field(description="The model whose tokens are counted, such as gpt-5, or a unit such as chars.")
]
Budget = Annotated[int | None, Field(description="Tokens for the whole prompt; by default the window of the model.")]
Name = Annotated[str | None, Field(description="The id of a session; by default the newest.")]


def _answering(tool: Callable[..., Any]) -> Callable[..., Any]:
    """Return a tool that reports errors of brim as tool errors."""

    @wraps(tool)
    def answering(*args: Any, **fields: Any) -> Any:
        try:
            return tool(*args, **fields)
        except BrimError as error:
            raise ToolError(str(error)) from error

    return answering


class Offer:
    """The tools of the server, with a store or without one."""

    def __init__(self, sessions: ReadableSessions | None) -> None:
        """Serve the recorded sessions, if any."""
        self._sessions = sessions

    def count(
        self,
        *,
        text: Annotated[str | None, Field(description="A text; not used with messages.")] = None,
        messages: Messages = None,
        tools: Tools = None,
        system: System = None,
        model: Model = None,
    ) -> dict[str, Any]:
        """Count the tokens of a text or of a whole request, including framing, tool schemas and images."""
        name = _meter_name(model)
        if messages is not None:
            counted = _request({"messages": messages, "tools": tools, "system": system}).tally(name)
            return {"total": counted.total, **asdict(counted)}
        if text is None:
            raise InvalidType("text", text, "a string, unless messages are given")
        scale = meter(name)
        total = scale.count(text)
        upper = total if scale.exact else scale.upper(text)
        return {"total": total, "upper": upper, "unit": scale.unit, "meter": scale.name, "exact": scale.exact}

    def fit(
        self,
        *,
        messages: Messages = None,
        sections: Annotated[
            list[dict[str, Any]] | None,
            Field(
                description="Parts of a prompt instead of messages: each with name and content (a text or a list of"
                " texts), and optionally priority (required, high, medium, low), floor, ceiling, keep."
            ),
        ] = None,
        budget: Budget = None,
        model: Model = None,
        tools: Tools = None,
        system: System = None,
    ) -> dict[str, Any]:
        """Fit messages or sections to a budget, and return them with a receipt of what was dropped."""
        known = None if model is None else _meter_name(model)
        if (messages is None) == (sections is None):
            raise InvalidValue("messages", messages, "set, unless sections are")
        if messages is not None:
            request = _request({"messages": messages, "tools": tools, "system": system})
            fitted = request.fit(budget=budget, **_meter_option(known, budget))
            return {"messages": fitted.messages, "receipt": fitted.receipt.to_dict()}
        made = fit([_section(row) for row in sections or ()], budget, **_meter_option(known, budget))
        return {"text": made.text, "receipt": made.receipt.to_dict()}

    def room(self, *, session: Name = None) -> dict[str, Any]:
        """Return the tokens used, the budget and the tokens left of a recorded conversation."""
        found = self._readable().overview(session)
        row = found.current or next(iter(found.gateway), None)
        if row is None:
            raise InvalidValue("session", session, _RECORDED)
        use = row.to_dict() if isinstance(row, GatewayUse) else row.status
        used, budget = use["used"], use["budget"]
        return {"session": row.id, "used": used, "budget": budget, "left": None if budget is None else budget - used}

    def compact(self, *, session: Name = None) -> dict[str, Any]:
        """Compact a recorded conversation now: its next prompt has a summary in place of older turns."""
        opened = self._open(session)
        before = opened.status().used
        opened.compact()
        return {**self.room(session=opened.id), "freed": before - opened.status().used}

    def restart(
        self,
        *,
        goal: Annotated[str, Field(description="The goal of the remaining work, in your own words.")],
        session: Name = None,
    ) -> str:
        """Restart a recorded conversation: its next prompt begins with the hand-over that this returns.

        The hand-over has the goal, rules, what was done, what is open, and where to look; other text can be recalled.
        """
        opened = self._open(session)
        limit = max(1, opened.budget // _HANDED_OVER)
        made = continuation(opened.messages, goal=goal)
        text = made.text(opened.meter, limit)
        opened.restart([wire(opened.format).say(text)])
        return text

    def status(self, *, session: Name = None) -> dict[str, Any]:
        """Return how full a recorded conversation is, by category, with its peak, warnings and compactions."""
        return self._readable().overview(session).to_dict()

    def recall(
        self,
        *,
        handle: Annotated[str | None, Field(description="The handle of a text, such as b2:1f0c9a2e.")] = None,
        query: Annotated[str | None, Field(description="Words to search for in dropped texts.")] = None,
        session: Name = None,
        limit: Annotated[int, Field(description="The most tokens of the answer.", ge=1)] = _RECALLED,
    ) -> str:
        """Return text that was dropped from a prompt, by its handle or by a search."""
        texts = self._readable().texts(session)
        return answered({"handle": handle, "query": query}, texts, limit, meter(DEFAULT))

    def _open(self, session: str | None) -> Session:
        """Return a recorded session to change; its program continues from the new state."""
        readable = self._readable()
        found = readable.overview(session).current
        if found is None:
            raise InvalidValue("session", session, _RECORDED)
        if found.kind == "loop":  # Its program would end with a Conflict.
            raise InvalidValue("session", found.id, "not that of a loop, which starts fresh contexts by itself")
        return Session.open(found.id, store=readable.store)

    def _readable(self) -> ReadableSessions:
        if self._sessions is None:
            raise InvalidType("store", None, f"set when the server starts: {_STORE}")
        return self._sessions


def server(store: Store | None = None, sessions: Sequence[str] = ()) -> MCPServer[Any]:
    """Return the server with its tools.

    Args:
        store: the store with the recorded conversations.
        sessions: the ids of the sessions to serve; by default all except those of a gateway's clients.
    """
    made = MCPServer("brim", instructions=_INSTRUCTIONS, version=version("brim"), log_level="WARNING")
    offer = Offer(ReadableSessions(store, sessions) if store is not None else None)
    for tool in (offer.count, offer.fit, offer.room, offer.status, offer.recall, offer.compact, offer.restart):
        made.add_tool(_answering(tool))
    return made


def run(store: Store | None = None, sessions: Sequence[str] = ()) -> None:
    """Serve the parent process over standard input and output, until the input ends."""
    server(store, sessions).run("stdio")


def _meter_name(name: str | None) -> str:
    """Return the name of a meter, which must not be a file.

    Raises:
        UnknownName: the name is unknown.
    """
    if name is not None and name not in (*UNITS, *VOCABULARIES, *FAMILIES):
        find(name)
    return name or DEFAULT


def _meter_option(name: str | None, budget: int | None) -> dict[str, Any]:
    """Return the argument for the meter: a model, or a unit or vocabulary, which have no window."""
    if name is None or name not in (*UNITS, *VOCABULARIES, *FAMILIES):
        return {"model": name} if name is not None or budget is None else {"meter": DEFAULT}
    return {"meter": name}


def _request(given: Mapping[str, Any]) -> RequestBody:
    """Return the request with these fields, read like that of a file."""
    text = json.dumps({key: value for key, value in given.items() if value is not None}, ensure_ascii=False)
    return request_of(body_of(text, "request", MESSAGE_KEYS))


def _section(row: Mapping[str, Any]) -> Section:
    for name in row:
        check_choice("section", name, _SECTION)
    return Section(**{"name": None, "content": None, **row})
