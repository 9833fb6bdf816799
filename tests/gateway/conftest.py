"""A model server with a hard window on a real socket, and gateways in front of it."""

import contextlib
import http.client
import json
from types import SimpleNamespace

import anthropic
import openai
import pytest

from brim.gateway.client.parsed import parse
from brim.gateway.http import server
from brim.gateway.http.admitted import admit
from brim.gateway.http.app import GatewayApp
from brim.gateway.settings import GatewaySettings, RequestRule
from brim.hosts import Access, Secrets
from brim.sessions.learning.scope import LearningScope
from model_server import ModelServer, running


@pytest.fixture(scope="module")
def served_model():
    server = ModelServer()
    with running(server) as url:
        yield server, url


@pytest.fixture
def upstream(served_model):
    """The model server, reset."""
    server, _ = served_model
    server.__init__()
    return server


@pytest.fixture
def gateway(served_model, upstream):
    """Start gateways in front of the server; each call returns an address and an application."""
    with contextlib.ExitStack() as stack:

        def start(**told):
            rule = {name: told.pop(name) for name in ("policy", "window", "meter") if name in told}
            default = RequestRule(**{"policy": "fit", "window": upstream.window, **rule})
            settings = GatewaySettings(**{"upstream": served_model[1] + "/v1", "default": default, **told})
            app = GatewayApp(settings)
            return stack.enter_context(running(app, server.config(app, settings))), app

        yield start


@pytest.fixture(scope="module")
def plain_http():
    """The HTTP clients of the official libraries, without the certificates that each would load."""
    with openai.DefaultHttpxClient(verify=False) as one, anthropic.DefaultHttpxClient(verify=False) as other:
        yield one, other


@pytest.fixture
def chat(plain_http):
    """Make OpenAI clients."""
    return lambda url, key="sk-test", **more: openai.OpenAI(
        base_url=url + "/v1", api_key=key, max_retries=0, http_client=plain_http[0], **more
    )


@pytest.fixture
def claude(plain_http):
    """Make Anthropic clients."""
    return lambda url, key="sk-test", **more: anthropic.Anthropic(
        base_url=url, api_key=key, max_retries=0, http_client=plain_http[1], **more
    )


def conversation(turns, words=20):
    """Return a conversation: the task, then answers and questions in turn."""
    said = [{"role": "user", "content": "The task: find out why the build is slow, and say so in one line."}]
    for i in range(turns):
        said.append(
            {"role": "assistant", "content": f"Step {i}: " + "looked at the log and found nothing. " * (words // 7)}
        )
        said.append({"role": "user", "content": f"Go on with part {i}."})
    return said


def post(url, body, path="/v1/chat/completions", **headers):
    """Send bytes as they are, and return the status, the headers and the body of the answer."""
    return call(url, "POST", path, body, content_type="application/json", **headers)


def get(url, path, **headers):
    """Get a path, and return the status, the headers and the body of the answer."""
    return call(url, "GET", path, **headers)


def call(url, method, path, body=None, **headers):
    host, port = url.removeprefix("http://").split(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=20)
    try:
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    finally:
        connection.close()


def admitted(path="/v1/chat/completions", query="", keys=(), **headers):
    """Return an admitted request."""
    named = {"host": "localhost", **{name.replace("_", "-"): value for name, value in headers.items()}}
    raw = [(name.encode(), value.encode()) for name, value in named.items()]
    scope = {"method": "POST", "path": path, "query_string": query.encode(), "headers": raw}
    return admit(scope, Access("127.0.0.1"), Secrets(dict(keys)))


def parsed(route, raw, path="/v1/x", **headers):
    """Return the request of a body."""
    return parse(admitted(path, **headers), route, raw)


def metric(app, name, **labels):
    """Return the value of a metric of a gateway."""
    return app.state.metrics.registry.get_sample_value(name, labels) or 0


def seen_by(app):
    """Return a list to which a gateway adds its events."""
    seen = []
    app.state.activity.observers.append(SimpleNamespace(observe=seen.append))
    return seen


def asked(messages, **more):
    return json.dumps({"model": "gpt-4o", "messages": messages, **more}).encode()


def learned_window(app, model, route="chat", owner=()):
    """Return what refusals taught a gateway about a model, for a client without keys."""
    scope = LearningScope(model, owner or ("", route), app.state.settings.base(route))
    return app.state.conversations.windows.learned(scope)
