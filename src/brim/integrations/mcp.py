"""An MCP server that offers count, fit, status and recall to any agent, over stdio or over HTTP on this machine.

What comes is a stranger's: names of models are looked up and never opened as files, sections hold texts and name no
files, and all that is read beside the request is the store that the server was started with.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from functools import wraps
from importlib.metadata import version
from typing import Annotated, Any

from brim.errors import BrimError, InvalidType, InvalidValue, check_choice
from brim.files.json_body import body_of
from brim.history.request_body import RequestBody, request_of
from brim.hosts import LOOPBACK, listener
from brim.integrations import missing
from brim.meter import DEFAULT, meter
from brim.meter.catalogue import find
from brim.meter.estimate import FAMILIES
from brim.meter.units import UNITS
from brim.meter.vocabularies import VOCABULARIES
from brim.receipts.section import Section
from brim.sections.fit import fit
from brim.sessions.dropped_texts import DroppedTexts
from brim.sessions.overview import overview
from brim.sessions.recall_tool import answered
from brim.store import Store
from brim.wire.base import MESSAGE_KEYS

try:
    import uvicorn
    from mcp.server import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp.server.transport_security import TransportSecuritySettings
    from pydantic import Field
except ImportError as error:
    raise missing("mcp") from error

MOST_BYTES = 8 * 1024 * 1024
"""Bytes of one request."""
_RECALLED = 4_000
"""Tokens that a text is brought back in, if nothing else is asked."""
_TOLD = (
    "Counts and fits prompts to a token budget. count: tokens of a text or a request. fit: the messages or the sections"
    " that fit, legal and with a receipt. status: how full the recorded conversations are. recall: text that left one."
)
_SECTION = tuple(slot.name for slot in fields(Section))

Messages = Annotated[
    list[Any] | None, Field(description="Messages in the shape of OpenAI chat, Responses items or Anthropic.")
]
Tools = Annotated[list[Any] | None, Field(description="The tool definitions that are sent along.")]
System = Annotated[
    str | list[Any] | None, Field(description="The system prompt, where it is sent apart from the messages.")
]
Model = Annotated[
    str | None, Field(description="The model whose tokens count, such as gpt-5, or a unit such as chars.")
]
Budget = Annotated[int | None, Field(description="Units of the whole; without it, the window of the model.")]
Name = Annotated[str | None, Field(description="The id of a session; without it, the one that was last written.")]


def _answering(tool: Callable[..., Any]) -> Callable[..., Any]:
    """Let a tool answer what brim refuses with its sentence."""

    @wraps(tool)
    def told(*given: Any, **asked: Any) -> Any:
        try:
            return tool(*given, **asked)
        except BrimError as error:
            raise ToolError(str(error)) from error

    return told


class Offer:
    """The tools, on one store or on none."""

    def __init__(self, store: Store | None) -> None:
        self._store = store

    @_answering
    def count(
        self,
        *,
        text: Annotated[str | None, Field(description="A text; left out where messages are given.")] = None,
        messages: Messages = None,
        tools: Tools = None,
        system: System = None,
        model: Model = None,
    ) -> dict[str, Any]:
        """Count the tokens of a text, or of a whole request: framing, tool schemas and images included."""
        name = _known(model)
        if messages is not None:
            counted = _request({"messages": messages, "tools": tools, "system": system}).tally(name)
            return {"total": counted.total, **asdict(counted)}
        if text is None:
            raise InvalidType("text", text, "a text, or messages given in its place")
        scale = meter(name)
        _sized(text)
        total = scale.count(text)
        upper = total if scale.exact else scale.upper(text)
        return {"total": total, "upper": upper, "unit": scale.unit, "meter": scale.name, "exact": scale.exact}

    @_answering
    def fit(
        self,
        *,
        messages: Messages = None,
        sections: Annotated[
            list[dict[str, Any]] | None,
            Field(
                description="Parts of a prompt instead of messages: each with name and content (a text or a list of"
                " texts), and as wished priority (required, high, medium, low), floor, ceiling, keep."
            ),
        ] = None,
        budget: Budget = None,
        model: Model = None,
        tools: Tools = None,
        system: System = None,
    ) -> dict[str, Any]:
        """Fit messages or sections to a budget: what comes back counts at most that, with a receipt of what left."""
        known = None if model is None else _known(model)
        if (messages is None) == (sections is None):
            raise InvalidValue("messages", messages, "given, or sections in their place")
        if messages is not None:
            request = _request({"messages": messages, "tools": tools, "system": system})
            fitted = request.fit(budget=budget, **_measured(known, budget))
            return {"messages": fitted.messages, "receipt": fitted.receipt.to_dict()}
        _sized(sections)
        made = fit([_section(row) for row in sections or ()], budget, **_measured(known, budget))
        return {"text": made.text, "receipt": made.receipt.to_dict()}

    @_answering
    def status(self, *, session: Name = None) -> dict[str, Any]:
        """Tell how full a recorded conversation is: by category, with its peak, warnings and compactions."""
        return overview(self._kept(), session).to_dict()

    @_answering
    def recall(
        self,
        *,
        handle: Annotated[str | None, Field(description="The handle of a text, such as b2:1f0c9a2e.")] = None,
        query: Annotated[str | None, Field(description="Words to search for in what left a prompt.")] = None,
        session: Name = None,
        limit: Annotated[int, Field(description="Tokens that the answer may take.", ge=1)] = _RECALLED,
    ) -> str:
        """Bring back text that is no longer in a prompt: by its handle, or by words."""
        store = self._kept()
        current = overview(store, session).current
        shelf = DroppedTexts(store, session or (current.id if current is not None else ""))
        return answered({"handle": handle, "query": query}, shelf, limit, meter(DEFAULT))

    def _kept(self) -> Store:
        if self._store is None:
            raise InvalidType("store", None, "given when the server is started: brim mcp --store sqlite:///brim.db")
        return self._store


def server(store: Store | None = None) -> MCPServer[Any]:
    """Return the server with its four tools.

    Args:
        store: what `status` and `recall` look into.
    """
    made = MCPServer("brim", instructions=_TOLD, version=version("brim"), log_level="WARNING")
    offer = Offer(store)
    for tool in (offer.count, offer.fit, offer.status, offer.recall):
        made.add_tool(tool)
    return made


def run(store: Store | None = None) -> None:
    """Serve whoever started the process, over its standard input and output, until the input ends."""
    server(store).run("stdio")


def run_http(store: Store | None, host: str, port: int, told: Callable[[str], Any] = print) -> None:
    """Serve programs of this machine over HTTP, until the process is told to end.

    Args:
        store: what `status` and `recall` look into.
        host: the address to listen on, of this machine alone.
        port: the port; 0 takes a free one.
        told: what the address is told to.

    Raises:
        InvalidValue: an address that others could reach.
        SourceError: it cannot be listened on.
    """
    if host not in LOOPBACK:  # Whoever can reach the server may use it.
        raise InvalidValue("--host", host, f"one of {', '.join(LOOPBACK)}: the server asks nobody for a key")
    with listener(host, port) as taken:
        shown = f"[{host}]" if ":" in host else host
        guard = TransportSecuritySettings(allowed_hosts=[f"{name}:*" for name in ("127.0.0.1", "localhost", "[::1]")])
        app = server(store).streamable_http_app(
            max_request_body_size=MOST_BYTES, transport_security=guard, stateless_http=True, json_response=True
        )
        config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False, ws="none")
        told(f"http://{shown}:{taken.getsockname()[1]}/mcp")
        asyncio.run(uvicorn.Server(config).serve(sockets=[taken]))


def _known(name: str | None) -> str:
    """Return the name of a meter that is no file of this machine.

    Raises:
        UnknownName: there is none of this name.
    """
    if name is not None and name not in (*UNITS, *VOCABULARIES, *FAMILIES):
        find(name)
    return name or DEFAULT


def _measured(name: str | None, budget: int | None) -> dict[str, Any]:
    """Return what measures: a model, or a unit or vocabulary, which has no window."""
    if name is None or name not in (*UNITS, *VOCABULARIES, *FAMILIES):
        return {"model": name} if name is not None or budget is None else {"meter": DEFAULT}
    return {"meter": name}


def _request(given: Mapping[str, Any]) -> RequestBody:
    """Return the request that these fields make, read as that of a file is."""
    text = json.dumps({key: value for key, value in given.items() if value is not None}, ensure_ascii=False)
    _sized(text)
    return request_of(body_of(text, "the request", MESSAGE_KEYS))


def _section(row: Mapping[str, Any]) -> Section:
    for name in row:
        check_choice("section", name, _SECTION)
    return Section(**{"name": None, "content": None, **row})


def _sized(value: Any) -> None:
    """Pass if a value is not too big; over HTTP it was measured on its way.

    Raises:
        InvalidValue: it is.
    """
    size = len(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    if size > MOST_BYTES:
        raise InvalidValue("the request", f"{size:,} characters", f"of at most {MOST_BYTES:,}")
