"""A gateway as a process that is watched: it calls no other host. `tests/hostile/test_canaries.py` looks for what it leaves."""

import json
import socket

import pytest

from gateway.attacks import REDIRECTS, answers, pointers
from gateway.conftest import asked, conversation, get, post
from gateway.watched import Canary, Leading, Watched
from model_server import running

SHORT = asked(conversation(1))


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    model = Leading()
    with running(model) as upstream:
        made = Watched(tmp_path_factory.mktemp("watched"), upstream, "--window", "1000", "--store", "sqlite:///brim.db")
        made.model, made.upstream = model, ("127.0.0.1", int(upstream.rsplit(":", 1)[1]))
        yield made
        made.end()


@pytest.fixture
def canaries():
    made = [Canary(), Canary("::1")] if socket.has_ipv6 else [Canary()]
    yield made
    for canary in made:
        canary.close()


def places(canaries):
    """Return addresses that must not be called: ours would be heard, the others would be seen."""
    first = canaries[0].port
    return [
        f"http://127.0.0.1:{first}/v1",
        f"http://localhost:{first}",
        f"http://[::ffff:127.0.0.1]:{first}/",
        f"http://0.0.0.0:{first}",
        f"http://2130706433:{first}",
        f"http://[::1]:{canaries[-1].port}/v1",
        "http://169.254.169.254/latest/meta-data/",
        "http://[fd00:ec2::254]/latest",
        f"//127.0.0.1:{first}/x",
        f"http://user:pw@127.0.0.1:{first}/",
    ]


@pytest.mark.slow
def test_no_field_header_or_query_chooses_where_a_request_goes(watched, canaries):
    for path, headers, body in pointers(90, places(canaries), conversation(1)):
        status, _, answer = post(watched.url, json.dumps(body).encode(), path, **headers)
        assert status < 500, answer
    for place in places(canaries):
        head = f"POST {place.rstrip('/')}/v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
        told = answers(watched.url, f"{head}Content-Length: {len(SHORT)}\r\n\r\n".encode() + SHORT)
        assert all(status < 500 for status, _ in told)
    assert not any(canary.called() for canary in canaries)
    assert watched.connected() == {watched.upstream}  # It is seen, so that others would be.
    assert len(watched.model.bodies) > 60


@pytest.mark.slow
def test_no_redirect_is_followed_wherever_it_leads(watched, canaries):
    for number, place in enumerate(
        [*places(canaries), "/v1/stolen", "http://{}:{}/v1/stolen".format(*watched.upstream)]
    ):
        told = {"x_lead": place, "x_status": REDIRECTS[number % len(REDIRECTS)]}
        found = [
            post(watched.url, SHORT, **told),
            post(watched.url, asked(conversation(60), stream=True), **told),
            post(watched.url, SHORT, "/v1/embeddings", **told),
            post(watched.url, SHORT, "/v1/messages/count_tokens", **told),
            get(watched.url, "/v1/models", **told),
        ]
        assert {status for status, _, _ in found} == {502}
        assert not any("location" in headers or "refresh" in headers for _, headers, _ in found)
    assert not any(canary.called() for canary in canaries)
    assert watched.connected() == {watched.upstream}
    assert "/v1/stolen" not in watched.model.paths
