"""The studio as an ASGI application: the page, its files, and the views."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Mapping
from importlib.metadata import version
from importlib.resources import files
from typing import Any, Literal

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from brim.errors import BrimError, UnknownName
from brim.files.json_strings import map_strings
from brim.observe.uncaught import log_error
from brim.redaction import redact
from brim.store import shown_url
from brim.studio import api
from brim.studio.access import UPLOAD, AccessMiddleware, StudioAccess
from brim.studio.workspace import Workspace

LOG = logging.getLogger("brim.studio")
TYPES = {
    "index.html": "text/html; charset=utf-8",
    "studio.js": "text/javascript; charset=utf-8",
    "studio.css": "text/css; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
"""The files of the page; no other file is served, whatever the path."""
_UNBUILT = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>brim studio</title>'
    "<h1>The page is not built yet</h1>"
    "<p>The server runs, and <code>/api/sessions</code> and the other views answer. To build the page from a checkout "
    "or the source distribution, with Node 20 or newer: <code>make studio</code>, or in "
    "<code>src/brim/studio/page</code> <code>npm install --no-package-lock &amp;&amp; npm run build</code>. A wheel "
    "includes it if Node was installed where it was built; with Node, "
    "<code>pip install --no-binary brim 'brim[studio]'</code> builds a new one.</p></html>"
)


class Studio:
    """What one server shows, and who may see it."""

    def __init__(self, workspace: Workspace, access: StudioAccess) -> None:
        self.workspace = workspace
        self.access = access
        self._views: dict[str, dict[str, api.View]] = {"GET": {**api.READS, "about": about}, "POST": api.WRITES}

    def view(self, method: Literal["GET", "POST"], name: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return a view.

        Raises:
            BrimError: the view refuses the request, or does not exist.
        """
        views = self._views[method]
        if name not in views:
            raise UnknownName("view", name, views)
        values = api.call(views[name], self.workspace, fields)
        return map_strings(values, redact) if name in api.MASKED else values

    def open_file(self, path: str, name: str) -> dict[str, Any]:
        """Start to read a file, and return its state.

        Raises:
            SourceError: it is a store.
        """
        return {"file": self.workspace.files.open(path, name).to_dict()}


def about(workspace: Workspace) -> dict[str, Any]:
    """Return the version, the store, and the file that the page opens on."""
    file = next((each.id for each in workspace.files.files()), None)
    return {"version": version("brim"), "store": shown_url(workspace.url), "file": file}


def app(studio: Studio) -> ASGIApp:
    """Return the application behind its access checks."""

    async def answer(name: str, function: Callable[..., Mapping[str, Any]], *values: Any) -> Response:
        try:
            return _json(await run_in_threadpool(function, *values), 200)
        except BrimError as error:
            return _json({"problem": redact(str(error))}, api.status_of(error))
        except Exception as error:
            log_error(f"the view {redact(name[:40])}", error, LOG)
            return _json({"problem": "internal error of the studio; its log has the details"}, 500)

    async def read(request: Request) -> Response:
        name = request.path_params["view"]
        return await answer(name, studio.view, "GET", name, dict(request.query_params))

    async def upload(request: Request) -> Response:
        path = studio.workspace.files.new_path()
        try:
            with open(path, "wb") as file:
                async for part in request.stream():
                    file.write(part)
        except ClientDisconnect:
            os.unlink(path)
            return _json({"problem": "the file is not complete"}, 400)
        return await answer("open_file", studio.open_file, path, request.query_params.get("name") or "file")

    async def write(request: Request) -> Response:
        name = request.path_params["view"]
        try:
            fields = json.loads(await request.body())
        except (ValueError, RecursionError):
            return _json({"problem": "the body must be JSON"}, 400)
        except ClientDisconnect:
            return _json({"problem": "the body is too long"}, 413)
        if not isinstance(fields, dict):
            return _json({"problem": "the body must be a JSON object"}, 400)
        return await answer(name, studio.view, "POST", name, fields)

    routes = [
        Route("/", lambda _: _file("index.html"), methods=["GET"]),
        Route("/api/{view}", read, methods=["GET"]),
        Route(UPLOAD, upload, methods=["POST"]),
        Route("/api/{view}", write, methods=["POST"]),
        Route("/{name}", lambda request: _file(request.path_params["name"]), methods=["GET"]),
    ]
    return AccessMiddleware(Starlette(routes=routes), studio.access)


def _json(values: Mapping[str, Any], status: int) -> Response:
    return Response(json.dumps(values, default=str), status, media_type="application/json")


def _file(name: str) -> Response:
    kind = TYPES.get(name)
    if kind is None:
        return _json({"problem": "no such page"}, 404)
    path = files("brim.studio").joinpath("static", name)
    if path.is_file():
        return Response(path.read_bytes(), 200, headers={"content-type": kind})
    if name == "index.html":
        return Response(_UNBUILT, 200, headers={"content-type": kind})
    return _json({"problem": "the page is not built: make studio"}, 404)
