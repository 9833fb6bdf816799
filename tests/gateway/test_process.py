"""A gateway as a process that is watched: it calls no other host, and leaves no key anywhere, not even when it crashes.

All of it is one process. The tests that let it crash stand at the end.
"""

import json
import signal
import socket
from urllib.parse import quote

import pytest

from brim import open_store
from brim.studio import api
from brim.studio.workspace import Workspace
from gateway.attacks import KEY_SHAPES, REDIRECTS, answers, pointers
from gateway.conftest import asked, call, conversation, get, post
from gateway.watched import Canary, Leading, Watched
from model_server import running
from store_file import readable
from studio.serving import Served

SHORT, LONG = asked(conversation(1)), conversation(40)
FEW = (KEY_SHAPES[0], KEY_SHAPES[10])
"""Keys that are shown here, of two shapes."""
PATHS = ("/v1/chat/completions", "/v1/responses", "/v1/messages")
COUNTS = ("/v1/messages/count_tokens", "/v1/responses/input_tokens")


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
            get(watched.url, "/v1/models", **told),
        ]
        assert {status for status, _, _ in found} == {502}
        assert not any("location" in headers or "refresh" in headers for _, headers, _ in found)
        counted = post(watched.url, SHORT, "/v1/messages/count_tokens", **told)
        assert (counted[0], json.loads(counted[2])["input_tokens"] > 0) == (200, True)  # by brim's own count
    assert not any(canary.called() for canary in canaries)
    assert watched.connected() == {watched.upstream}
    assert "/v1/stolen" not in watched.model.paths


def drive(url, key):
    """Show a key in every place of a request on every route, upstream repeating it or not."""
    shown = {
        "authorization": f"Bearer {key}",
        "x_api_key": key,
        "api_key": key,
        "cookie": f"k={key}",
        "x_goog_api_key": key,
    }
    fields = {"api_key": key, "extra_headers": {"authorization": key}, "metadata": {"user_id": key}, "user": key}
    for path in (*PATHS, *COUNTS, "/v1/embeddings"):
        words = "input" if "responses" in path else "messages"
        for said, more in ((LONG[:3], {}), (LONG, {}), (LONG, {"stream": True}))[: 3 if path in PATHS else 1]:
            body = json.dumps({"model": "gpt-4o", "max_tokens": 9, words: said, **fields, **more}).encode()
            post(url, body, f"{path}?key={quote(key)}", **shown)
        post(url, body, path, x_repeat="401", **shown)
        post(url, body, path, x_repeat="500", x_brim_session_id=key, **shown)
        post(url, body, path, x_brim_session_id=f"talk of {key}", prompt_cache_key=key, **shown)
        post(url, body[:-9], path, **shown)
        call(url, "DELETE", f"{path}/{quote(key)}", **shown)
    for path in ("/v1/models", "/healthz", "/metrics", f"/v1/{quote(key)}"):
        get(url, f"{path}?api_key={quote(key)}", **shown)
    get(url, "/v1/models", x_repeat="403", **shown)
    host = url.removeprefix("http://")
    for line in (f"GET http://user:{quote(key)}@{host}/v1/models", f"GET /v1/{key}\x00", f"{key} / "):
        answers(
            url, f"{line} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {key}\r\nConnection: close\r\n\r\n".encode()
        )


def left_by(made, keys):
    """Have a gateway see keys everywhere and then crash; return all that it left, by name, and the sessions in its store.

    The log is at its loudest; telemetry, metrics, the store and what the studio makes of it are there too.
    """
    for key in keys:
        drive(made.url, key)
    (made.folder / "metrics").write_text(get(made.url, "/metrics")[2].decode())
    made.process.send_signal(signal.SIGABRT)
    made.end("wait")
    store = f"sqlite:///{made.folder}/brim.db"
    with open_store(store) as opened:
        names = [row.id for row in opened.sessions(limit=1_000)]
    with Served(Workspace(name="mine", url=store, config=str(made.folder), runs=str(made.folder / "runs"))) as studio:
        pages = [studio.ask(f"/api/{view}?desk=mine") for view in ("about", *api.READS)]
        pages += [studio.ask(f"/api/{view}?desk=mine&session={quote(name)}") for name in names for view in _OF_ONE]
    (made.folder / "studio").write_text("\n".join(f"{head} {body.decode()}" for _, head, body in pages))
    left = {path.name: path.read_bytes() for path in made.folder.rglob("*") if path.is_file()}
    return {**left, "brim.db": readable(made.folder / "brim.db")}, names


_OF_ONE = ("prompt", "timeline", "ledger", "search")


@pytest.fixture(scope="module")
def driven(watched):
    """What is left of the process; nothing can be asked of it any more."""
    return *left_by(watched, FEW), watched.model


@pytest.mark.slow
def test_no_key_stands_in_anything_that_is_written_or_shown(driven):
    sinks, _, _ = driven
    assert not [(key, name) for key in FEW for name, said in sinks.items() if key.encode() in said]


@pytest.mark.slow
def test_the_sinks_that_were_searched_hold_something(driven):
    sinks, names, model = driven
    assert b"Fatal Python error: Aborted" in sinks["stderr"]
    assert sinks["log"].count(b"brim.gateway") > 30
    assert b"brim.prompt_assembled" in sinks["otel"]
    assert b"brim_requests_total" in sinks["metrics"]
    assert len(names) > 5
    assert all(name.encode() in sinks["brim.db"] + sinks.get("brim.db-wal", b"") for name in names)
    assert any(FEW[0] in str(headers) for headers in model.headers)  # They were really sent.
