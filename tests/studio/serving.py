"""Starts a studio in a thread and talks to it over a real socket."""

import http.client
import json
import threading
import time
from dataclasses import replace
from urllib.parse import urlencode

import uvicorn

from brim.studio import server
from brim.studio.access import StudioAccess
from brim.studio.app import Studio


class Served:
    """A studio that is up as long as the block lasts."""

    def __init__(self, workspace, access=None):
        self.workspace, self._access = workspace, access or StudioAccess(port=0)

    def __enter__(self):
        self._socket = server.listener(self._access.host, self._access.port)
        self.access = replace(self._access, port=self._socket.getsockname()[1])
        self._server = uvicorn.Server(server.config(Studio(self.workspace, self.access)))
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True)
        self._thread.start()
        until = time.monotonic() + 10
        while not self._server.started and time.monotonic() < until:
            time.sleep(0.01)
        return self

    def __exit__(self, *_):
        self._server.should_exit = True
        self._thread.join(10)
        self._socket.close()
        self.workspace.close()

    @property
    def cookie(self):
        return f"{self.access.cookie}={self.access.session}"

    def ask(self, path, *, method="GET", headers=None, body=None, cookie=True):
        """Return the status, the headers and the body of an answer; every header can be given."""
        connection = http.client.HTTPConnection("127.0.0.1", self.access.port, timeout=20)
        told = {"Cookie": self.cookie} if cookie else {}
        told |= headers or {}
        connection.request(method, path, body=body, headers=told)
        answer = connection.getresponse()
        result = (answer.status, dict(answer.getheaders()), answer.read())
        connection.close()
        return result

    def get(self, view, **asked):
        status, _, body = self.ask(f"/api/{view}?{urlencode(asked)}")
        return status, json.loads(body)

    def post(self, view, headers=None, **asked):
        sent = {"Content-Type": "application/json", "Sec-Fetch-Site": "same-origin", **(headers or {})}
        status, _, body = self.ask(f"/api/{view}", method="POST", headers=sent, body=json.dumps(asked))
        return status, json.loads(body)
