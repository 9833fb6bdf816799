"""The studio as an ASGI application: the page, its files, and the views."""

from __future__ import annotations

import json
import logging
import tempfile
from collections.abc import Mapping
from importlib.metadata import version
from importlib.resources import files
from threading import Lock
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from brim.errors import BrimError, InvalidValue, UnknownName
from brim.studio import api, health
from brim.studio.desk import Desk
from brim.studio.guard import App, Door, Guard

LOG = logging.getLogger("brim.studio")
KINDS = {
    "index.html": "text/html; charset=utf-8",
    "studio.js": "text/javascript; charset=utf-8",
    "studio.css": "text/css; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
"""The files of the page: these and no others are served, whatever a path says."""
_UNBUILT = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>brim studio</title>'
    "<h1>The page is not built yet</h1>"
    "<p>The server runs, and <code>/api/sessions</code> and its kin answer. To build the page from a checkout or the "
    "source distribution, with Node 20 or newer: <code>make studio</code>, or in <code>src/brim/studio/page</code> "
    "<code>npm install --no-package-lock &amp;&amp; npm run build</code>. A wheel has it if there was Node where it "
    "was built; with Node, <code>pip install --no-binary brim 'brim[studio]'</code> builds another.</p></html>"
)


class Studio:
    """Everything that one studio serves."""

    def __init__(self, mine: Desk, door: Door, *, demo: bool = False) -> None:
        self.mine = mine
        self.door = door
        self.begins = "demo" if demo else "mine"
        """The desk that the page opens on."""
        self._demo: Desk | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._lock = Lock()

    def desk(self, name: str) -> Desk:
        """Return a desk by its name; the demo is recorded when it is first asked for.

        Raises:
            InvalidValue: there is none of that name.
        """
        if name == "mine":
            return self.mine
        if name != "demo":
            raise InvalidValue("desk", name, "mine or demo")
        with self._lock:
            if self._demo is None:
                from brim.studio import demo

                self._folder = tempfile.TemporaryDirectory(prefix="brim-studio-")
                self._demo = demo.desk(self._folder.name)
            return self._demo

    def about(self, desk: Desk) -> dict[str, Any]:
        """Return what the page has to know first."""
        return {"version": version("brim"), "begins": self.begins, "desk": desk.name, "store": desk.url}

    def view(self, name: str, asked: Mapping[str, Any], views: Mapping[str, api.View]) -> dict[str, Any]:
        """Return what a view shows.

        Raises:
            BrimError: it refuses what was asked, or there is no such view.
        """
        desk = self.desk(str(asked.get("desk") or self.begins))
        if views is api.READS and name == "about":
            return self.about(desk)
        if views is api.READS and name == "doctor":
            return health.doctor(desk, self.door)
        if name not in views:
            raise UnknownName("view", name, views)
        return views[name](desk, asked)

    def close(self) -> None:
        """Let go of the stores, and remove the demo."""
        self.mine.close()
        if self._demo is not None:
            self._demo.close()
        if self._folder is not None:
            self._folder.cleanup()


def app(studio: Studio) -> App:
    """Return the application, with its guard before it."""

    async def read(request: Request) -> Response:
        return await _answered(studio, request.path_params["view"], dict(request.query_params), api.READS)

    async def write(request: Request) -> Response:
        try:
            asked = json.loads(await request.body())
        except (ValueError, RecursionError):
            return _json({"problem": "the body must be JSON"}, 400)
        except ClientDisconnect:
            return _json({"problem": "the body is too long"}, 413)
        if not isinstance(asked, dict):
            return _json({"problem": "the body must be a JSON object"}, 400)
        return await _answered(studio, request.path_params["view"], asked, api.WRITES)

    routes = [
        Route("/", lambda _: _file("index.html"), methods=["GET"]),
        Route("/api/{view}", read, methods=["GET"]),
        Route("/api/{view}", write, methods=["POST"]),
        Route("/{name}", lambda request: _file(request.path_params["name"]), methods=["GET"]),
    ]
    return Guard(Starlette(routes=routes), studio.door)


async def _answered(studio: Studio, name: str, asked: dict[str, Any], views: Mapping[str, api.View]) -> Response:
    try:
        return _json(await run_in_threadpool(studio.view, name, asked, views), 200)
    except BrimError as error:
        return _json({"problem": str(error)}, api.status_of(error))
    except Exception:
        LOG.exception("the view %s failed", name[:40])
        return _json({"problem": "a fault of the studio's; its log has the details"}, 500)


def _json(values: Mapping[str, Any], status: int) -> Response:
    return Response(json.dumps(values, default=str), status, media_type="application/json")


def _file(name: str) -> Response:
    kind = KINDS.get(name)
    if kind is None:
        return _json({"problem": "there is no such page"}, 404)
    path = files("brim.studio").joinpath("static", name)
    if path.is_file():
        return Response(path.read_bytes(), 200, headers={"content-type": kind})
    if name == "index.html":
        return Response(_UNBUILT, 200, headers={"content-type": kind})
    return _json({"problem": "the page is not built: make studio"}, 404)
