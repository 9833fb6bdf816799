"""The gateway as an ASGI application: admits and routes requests, and answers errors in the format of their route."""

from __future__ import annotations

import traceback
from collections.abc import MutableMapping
from typing import Any

from brim.gateway import relay
from brim.gateway.connection import ClientGone
from brim.gateway.decision import LOG
from brim.gateway.guard import Receive, Scope, Send, admit
from brim.gateway.key_mask import KeyMask
from brim.gateway.problem import HttpProblem
from brim.gateway.routes import route_of, served
from brim.gateway.settings import GatewaySettings
from brim.gateway.state import GatewayState


class GatewayApp:
    """One gateway."""

    def __init__(self, settings: GatewaySettings) -> None:
        self.state = GatewayState(settings)

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
        id_, began = "brim-unknown", False
        if state.hidden is not None:
            send = KeyMask(state.hidden, send)

        async def send_noted(event: MutableMapping[str, Any]) -> None:
            nonlocal began
            began = True
            await send(event)

        try:
            incoming = admit(scope, state.settings, state.keys)
            id_ = incoming.id
            await served(state, incoming, receive, send_noted)
        except ClientGone:
            state.metrics.requests.add(route=route, model="other", outcome="left")
        except HttpProblem as problem:
            if began:
                raise  # The server breaks the connection, so the client sees that its answer is not complete.
            state.metrics.requests.add(route=route, model="other", outcome=f"refused_{problem.status}")
            state.traffic.add("", id=id_, route=route, status=problem.status, refused=True)
            await _answer(send, problem, route, id_)
        except Exception as error:  # An error of brim must not look like an answer of the provider.
            place = traceback.extract_tb(error.__traceback__)[-1]
            LOG.error("%s: %s at %s:%d", id_, type(error).__name__, place.name, place.lineno)
            state.metrics.faults.add(kind="fault", became="refuse")
            if began:
                raise ClientGone from None
            await _answer(send, HttpProblem(503, "the gateway failed; the request was not answered"), route, id_)


async def _answer(send: Send, problem: HttpProblem, route: str, id_: str) -> None:
    headers = [("content-type", "application/json"), ("x-brim-request-id", id_), *problem.headers.items()]
    await relay.send_answer(send, problem.status, headers, problem.body(route, id_))
