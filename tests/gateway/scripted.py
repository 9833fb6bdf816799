"""An upstream that plays scripts: for each request a status, headers, and the pieces in which its body comes."""

import asyncio
import contextlib
import http.client
import json

from model_server import running

EVENTS = ((b"content-type", b"text/event-stream"),)
JSON = ((b"content-type", b"application/json"),)


class Scripted:
    """The application, and what it received."""

    def __init__(self, *scripts):
        self.scripts = list(scripts)
        """A status, headers, and steps: bytes that are sent, seconds of silence, or an event that is waited for."""
        self.received = []
        """The method, the target, the headers and the body of each request."""

    @property
    def bodies(self):
        return [body for *_, body in self.received]

    async def __call__(self, scope, receive, send):
        if scope["type"] == "lifespan":
            for _ in range(2):
                await send({"type": (await receive())["type"] + ".complete"})
            return
        body, more = b"", True
        while more:
            event = await receive()
            body, more = body + event.get("body", b""), event.get("more_body", False)
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        query = scope["query_string"].decode()
        target = scope["raw_path"].decode() + (f"?{query}" if query else "")
        if not target.endswith("/props"):
            self.received.append((scope["method"], target, headers, body))
        if target.endswith(("/props", "/v1/models")) and not (self.scripts and self.scripts[0][0] == "models"):
            script = (404, JSON, [b"{}"])
        else:
            script = self.scripts.pop(0)
        status, sent, steps = script[-3:]
        await send({"type": "http.response.start", "status": status, "headers": list(sent)})
        for step in steps:
            if isinstance(step, bytes):
                await send({"type": "http.response.body", "body": step, "more_body": True})
            elif isinstance(step, float):
                await asyncio.sleep(step)
            else:
                assert await asyncio.get_running_loop().run_in_executor(None, step.wait, 10)
        await send({"type": "http.response.body", "body": b""})


@contextlib.contextmanager
def played(gateway, *scripts, **told):
    """Run a gateway before an upstream that plays scripts; yield its address, the upstream and the application."""
    upstream = Scripted(*scripts)
    with running(upstream) as address:
        url, app = gateway(upstream=address + "/v1", **told)
        yield url, upstream, app


def split(said, size):
    """Return bytes in pieces of a size, each in a segment of its own."""
    return [step for at in range(0, len(said), size) for step in (said[at : at + size], 0.001)]


@contextlib.contextmanager
def opened(url, path, values, **headers):
    """Send a request, and yield the answer once its head has come."""
    host, port = url.removeprefix("http://").split(":")
    link = http.client.HTTPConnection(host, int(port), timeout=20)
    sent = {"content-type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
    try:
        link.request("POST", path, json.dumps(values).encode(), sent)
        with link.getresponse() as answer:
            yield answer
    finally:
        link.close()
