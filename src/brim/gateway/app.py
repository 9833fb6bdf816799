"""The gateway as an ASGI application: guard, route, and every refusal in the shape of its route."""

from __future__ import annotations

import traceback

from brim.gateway import relay
from brim.gateway.deciding import LOG
from brim.gateway.guard import Receive, Scope, Send, admitted
from brim.gateway.line import ClientGone
from brim.gateway.masking import masked
from brim.gateway.problems import Problem
from brim.gateway.routes import route_of, served
from brim.gateway.settings import GatewaySettings
from brim.gateway.state import GatewayState


class App:
    """One gateway."""

    def __init__(self, settings: GatewaySettings) -> None:
        self.state = GatewayState(settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection's request, or the life of the server."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._request(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            event = await receive()
            if event["type"] == "lifespan.startup":
                await self.state.open()
                await send({"type": "lifespan.startup.complete"})
            elif event["type"] == "lifespan.shutdown":
                await self.state.close()
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        route, known = route_of(scope["path"]), "brim-unknown"
        began = False
        if self.state.hidden is not None:
            send = masked(send, self.state.hidden)

        async def sending(event: dict[str, object]) -> None:
            nonlocal began
            began = True
            await send(event)

        try:
            incoming = admitted(scope, self.state.settings, self.state.keys)
            known = incoming.id
            await served(self.state, incoming, receive, sending)  # type: ignore[arg-type]
        except ClientGone:
            self.state.tally.requests.add(route=route, model="other", outcome="left")
        except Problem as problem:
            if began:
                raise  # The server breaks the connection, so that the client sees that its answer is not whole.
            self.state.tally.requests.add(route=route, model="other", outcome=f"refused_{problem.status}")
            self.state.traffic.saw("", id=known, route=route, status=problem.status, refused=True)
            headers = [("content-type", "application/json"), ("x-brim-request-id", known), *problem.headers.items()]
            await relay.whole(send, problem.status, headers, problem.body(route, known))
        except Exception as error:  # A fault of ours is told as one, and never as an answer.
            where = traceback.extract_tb(error.__traceback__)[-1]
            LOG.error("%s: %s at %s:%d", known, type(error).__name__, where.name, where.lineno)
            self.state.tally.faults.add(kind="fault", became="refuse")
            if began:
                raise ClientGone from None
            fault = Problem(503, "a fault of the gateway's; the request was not answered")
            headers = [("content-type", "application/json"), ("x-brim-request-id", known)]
            await relay.whole(send, fault.status, headers, fault.body(route, known))
