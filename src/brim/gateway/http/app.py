"""The gateway as an ASGI application: admits and routes requests, and reports errors in the format of the route."""

from __future__ import annotations

import json
import logging

from brim.gateway.client.paths import FITTED, OWN, STATUS, model_path, route_of, shortened
from brim.gateway.exchange import Exchange
from brim.gateway.http.admitted import Admitted, admit
from brim.gateway.http.connection import ClientConnection, ClientGone, Receive, Scope, Send
from brim.gateway.http.key_mask import KeyMask
from brim.gateway.http.problem import HttpProblem, ending
from brim.gateway.settings import GatewaySettings
from brim.gateway.state import GatewayState
from brim.gateway.upstream.passed import check_reach, pass_on
from brim.observe.metrics import CONTENT_TYPE
from brim.observe.uncaught import log_error

LOG = logging.getLogger("brim.gateway")
_UNKNOWN = "brim-unknown"
"""The id in the answer to a request that is not admitted."""
_NO_WEBSOCKET = {"upgrade": "HTTP/1.1", "connection": "close"}


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
        for key in reversed(state.hidden):  # The longest is masked first.
            send = KeyMask(key, send)
        client = ClientConnection(receive, send)
        admitted: Admitted | None = None
        exchange: Exchange | None = None
        ended: str | None = None
        try:
            admitted = admit(scope, state.access, state.keys)
            if (admitted.header("upgrade") or "").lower() == "websocket":
                # After this status, clients such as Codex send the request by POST; after others they wait.
                problem = "the gateway does not support WebSockets; send the request by POST"
                raise HttpProblem(426, problem, headers=_NO_WEBSOCKET)
            if admitted.path in OWN:
                await self._own(admitted, client)
                return
            is_fitted = admitted.method == "POST" and (shortened(admitted.path) in FITTED or model_path(admitted.path))
            exchange = Exchange(state, admitted, route, client) if is_fitted else None
            ended = await self._served(admitted, client, exchange)
        except ClientGone:
            ended = "left"
        except HttpProblem as problem:
            ended = "broken" if client.began else ending(problem.status, refused=True)
            if client.began:
                raise  # The server closes the connection, so the client notices that the answer is incomplete.
            await self._refuse(admitted, exchange, route, problem, client)
        except Exception as error:  # An error of brim must not look like an answer of the provider.
            log_error(admitted.id if admitted is not None else _UNKNOWN, error, LOG)
            label = exchange.label if exchange is not None else ""
            state.activity.fault(admitted, route, error, kind="fault", became="refuse", model=label)
            failed = HttpProblem(503, "the gateway failed; the request was not answered")
            ended = "broken" if client.began else ending(failed.status, refused=True)
            if client.began:
                raise ClientGone from None
            await self._refuse(admitted, exchange, route, failed, client)
        finally:
            if ended is not None:
                state.metrics.ended(route, exchange.label if exchange is not None else "", ended)

    async def _served(self, admitted: Admitted, client: ClientConnection, exchange: Exchange | None) -> str | None:
        """Answer a request that is fitted or passed on; return how a fitted request ended.

        Raises:
            ClientGone: the client has disconnected.
            HttpProblem: the request is refused.
        """
        state, settings = self.state, self.state.settings
        if exchange is None:
            check_reach(state, admitted)
        raw = await client.body(admitted.header("content-length"), settings.most_bytes, settings.timeout)
        if exchange is not None:
            return await client.watched(exchange.run(raw))
        await client.watched(pass_on(state, admitted, raw, client))
        return None

    async def _own(self, admitted: Admitted, client: ClientConnection) -> None:
        """Answer a request to a path of the gateway itself.

        Raises:
            HttpProblem: the method is not GET.
        """
        state, path = self.state, admitted.path
        if admitted.method not in ("GET", "HEAD"):
            raise HttpProblem(405, f"{path} only accepts GET", headers={"allow": "GET"})
        if path == "/metrics":
            page = state.metrics.page(state.conversations.store.failures)
            await client.answer(200, [("content-type", CONTENT_TYPE)], page)
            return
        wrong = await state.problem() if path == "/readyz" else ""
        said = state.status(admitted.key) if path == STATUS else {"status": wrong or "ok"}
        await client.answer(503 if wrong else 200, [("content-type", "application/json")], json.dumps(said).encode())

    async def _refuse(
        self,
        admitted: Admitted | None,
        exchange: Exchange | None,
        route: str,
        problem: HttpProblem,
        client: ClientConnection,
    ) -> None:
        """Record a refusal, and answer it."""
        id_ = admitted.id if admitted is not None else _UNKNOWN
        label = exchange.label if exchange is not None else ""
        self.state.activity.refused(admitted, route, problem, label)
        headers = [("content-type", "application/json"), ("x-brim-request-id", id_), *problem.headers_of(route).items()]
        await client.answer(problem.status, headers, problem.body(route, id_))
