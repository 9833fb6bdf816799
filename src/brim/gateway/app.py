"""The gateway as an ASGI application: admits and routes requests, and answers errors in the format of their route."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path

from brim.gateway import relay
from brim.gateway.connection import ClientConnection, ClientGone, Receive, Scope, Send
from brim.gateway.decision import LOG
from brim.gateway.guard import IncomingRequest, admit
from brim.gateway.key_mask import KeyMask
from brim.gateway.metrics import ending
from brim.gateway.problem import HttpProblem
from brim.gateway.routes import route_of, served
from brim.gateway.settings import GatewaySettings
from brim.gateway.state import GatewayState
from brim.observe.uncaught import log_error

_LARGE, _PAUSE = 1_000_000, 1.0
"""Bytes of a body after which cycles are looked for, and the seconds until then: an error and its frames, which hold
the body, are one, and without other requests they would stay."""
_UNKNOWN = "brim-unknown"
"""The id of a request that was not admitted."""


class GatewayApp:
    """One gateway."""

    def __init__(self, settings: GatewaySettings, worker: int = 1, folder: Path | None = None) -> None:
        self.state = GatewayState(settings, worker, folder)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or the lifespan of the server."""
        await (self._lifespan(receive, send) if scope["type"] == "lifespan" else self._request(scope, receive, send))

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        await self.state.open()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.state.close()
        await send({"type": "lifespan.shutdown.complete"})

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        state, route = self.state, route_of(scope["path"])
        incoming: IncomingRequest | None = None
        ended: str | None = None
        for key in reversed(state.hidden):  # The longest is masked first.
            send = KeyMask(key, send)
        client = ClientConnection(receive, send)
        try:
            incoming = admit(scope, state.settings, state.keys)
            ended = await served(state, incoming, client)
        except ClientGone:
            ended = "left"
        except HttpProblem as problem:
            ended = "broken" if client.began else ending(problem.status, refused=True)
            if client.began:
                raise  # The server breaks the connection, so the client sees that its answer is not complete.
            await self._refuse(incoming, route, problem, send)
        except Exception as error:  # An error of brim must not look like an answer of the provider.
            log_error(incoming.id if incoming is not None else _UNKNOWN, error, LOG)
            state.activity.fault(incoming, route, "fault", "refuse", error)
            failed = HttpProblem(503, "the gateway failed; the request was not answered")
            ended = "broken" if client.began else ending(failed.status, refused=True)
            if client.began:
                raise ClientGone from None
            await self._refuse(incoming, route, failed, send)
        finally:
            if incoming is not None and len(incoming.raw) > _LARGE:
                asyncio.get_running_loop().call_later(_PAUSE, gc.collect)
            if ended is not None:
                state.metrics.ended(route, incoming.model if incoming is not None else "", ended)

    async def _refuse(self, incoming: IncomingRequest | None, route: str, problem: HttpProblem, send: Send) -> None:
        """Note a refusal, and answer it."""
        state, model = self.state, incoming.model if incoming is not None else ""
        id_ = incoming.id if incoming is not None else _UNKNOWN
        state.activity.refused(incoming, route, problem)
        ended = ending(problem.status, refused=True)
        told = {"status": problem.status, "refused": True, "reason": problem.reason}
        state.traffic.add(model, ended=ended, id=id_, route=route, **told)
        headers = [("content-type", "application/json"), ("x-brim-request-id", id_), *problem.headers_of(route).items()]
        await relay.send_answer(send, problem.status, headers, problem.body(route, id_))
