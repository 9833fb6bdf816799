"""Secrets of fifteen shapes in every place where a stranger or a user can put one: none is in anything that is written.

One gateway process with all of its outputs (log at its loudest, lines as JSON, telemetry, metrics, store) sees them in
every field of bodies, headers, queries and paths, and crashes at the end. Then the studio, the commands and the audit
show what is left, and are given the same secrets in files, settings, environment variables and addresses.

Text of messages is no canary here: docs/security.md lists the places that hold it on purpose. A store has shortened
messages with all of their fields, so the message with a canary is one that the cut keeps whole or drops.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
from pathlib import Path
from urllib.parse import quote

import pytest

from brim import open_store
from brim.cli import main
from brim.settings.keys import SETTINGS
from brim.studio import api
from brim.studio.workspace import Workspace
from gateway.attacks import KEY_SHAPES, answers
from gateway.conftest import call, conversation, get, post
from gateway.watched import Leading, Watched
from model_server import running
from store_file import readable
from studio.serving import Served

PASSWORD = "Zk8qW2vX9t"
SHAPES = (*KEY_SHAPES, "sk_live_51HqX2vKd8Rw1Zp6Hc3Jf0", "glpat-9aZ7xT2bV8nR5mK1wL6y", f"https://ann:{PASSWORD}@host/x")
"""Twelve have a form that is known, and three (a hash and two passwords) have none."""
FORMLESS = ("7c1e9a40b2d84f6f9d03", "qv7Rk2xw", "Tr0ub4d!")
"""They are recognised where they are a credential: of the same request, or of the settings."""
FEW = (SHAPES[0], FORMLESS[2], SHAPES[14])
PATHS = {"/v1/chat/completions": "messages", "/v1/responses": "input", "/v1/messages": "messages"}
LONG = conversation(30)
FIELDS = (
    *("model", "user", "prompt_cache_key", "safety_identifier", "service_tier", "previous_response_id", "instructions"),
    *("stop", "tool_choice", "store", "reasoning_effort", "modalities", "seed", "unknown", "conversation", "include"),
    *("metadata.user_id", "metadata.trace", "response_format.type", "extra_headers.authorization", "api_key", "stream"),
    *("tools.name", "message.name", "message.role", "message.type", "image.url", "file.id", "call.id", "call.name"),
)
HEADERS = (
    *("authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie", "user-agent", "referer", "x-request-id"),
    *("traceparent", "tracestate", "baggage", "x-forwarded-for", "accept", "accept-language", "openai-organization"),
    *("anthropic-version", "anthropic-beta", "x-brim-session-id", "x-brim-budget"),
    *("idempotency-key", "content-encoding", "expect", "te", "via", "from", "origin", "x-unknown"),
)


def secret_of(shape):
    """Return the part of a shape that must not be found."""
    return PASSWORD if PASSWORD in shape else shape


def body_with(field, value, words, model="gpt-4o"):
    """Return a body with a value in one field."""
    said = [dict(message) for message in LONG]
    values = {"model": model, "max_tokens": 9, words: said}
    name, _, inner = field.partition(".")
    if name == "tools":
        values["tools"] = [{"type": "function", "name": value, "function": {"name": value, "description": "d"}}]
    elif name == "message":
        said[3][inner] = value
    elif name == "image":
        said[2]["content"] = [{"type": "image_url", "image_url": {"url": value}}, {"type": "text", "text": "x"}]
    elif name == "file":
        said[2]["content"] = [{"type": "file", "file": {"file_id": value}}, {"type": "text", "text": "x"}]
    elif name == "call":
        call_id, call_name = (value, "read") if inner == "id" else ("c", value)
        function = {"name": call_name, "arguments": "{}"}
        said[3:3] = [
            {"role": "assistant", "tool_calls": [{"id": call_id, "type": "function", "function": function}]},
            {"role": "tool", "tool_call_id": call_id, "content": "done"},
        ]
    else:
        values[name] = {inner: value} if inner else value
    return json.dumps(values).encode()


def drive(url, shape):
    """Put a secret in every place of a request."""
    shown = {"authorization": f"Bearer {shape}"} if secret_of(shape) in FORMLESS else {}
    for at, (path, words) in enumerate(PATHS.items()):
        for field in FIELDS[at::3]:
            for value in (shape, f"talk_of_{shape}", f"{shape}-" * 40)[: 3 if field == "model" else 1]:
                post(url, body_with(field, value, words), path, **shown)
        for header in HEADERS[at::3]:
            value = f"Bearer {shape}" if header == "authorization" else shape
            with contextlib.suppress(OSError):
                post(url, body_with("seed", 1, words), path, **{**shown, header.replace("-", "_"): value})
        body = body_with("seed", 1, words)
        for field in ("key", "api_key", "token", "any", "model")[at::3]:
            post(url, body, f"{path}?{field}={quote(shape, safe='')}", **shown)
        for place in (f"{path}/{quote(shape, safe='')}", f"/v1/{quote(shape, safe='')}/x", f"/{quote(shape, safe='')}"):
            for method in ("GET", "POST", "DELETE"):
                call(url, method, place, body if method == "POST" else None, **shown)
        # The key of one client as the names of another, which has to know it.
        post(url, body, path, authorization=f"Bearer {shape}")
        other = shown or {"authorization": "Bearer another-client-0001"}
        for field in ("model", "user", "metadata.user_id", "prompt_cache_key"):
            post(url, body_with(field, f"{shape}", words), path, **other)
            post(url, body_with(field, f"by {shape}.", words), path, **other)
        post(url, body, path, x_brim_session_id=shape, **other)
        for status in ("401", "500"):
            post(url, body, path, x_repeat=status, **shown)
        post(url, body[:-5] + shape.encode(), path, **shown)
    get(url, "/v1/models", x_repeat="403", **shown)
    host = url.removeprefix("http://")
    for line in (f"GET http://user:{quote(shape)}@{host}/v1/models", f"GET /v1/{shape}\x00", f"{shape} / "):
        answers(url, f"{line} HTTP/1.1\r\nHost: {host}\r\nX-Api-Key: {shape}\r\nConnection: close\r\n\r\n".encode())


@pytest.fixture(scope="module")
def left(tmp_path_factory):
    """What a gateway leaves that has seen secrets and crashed: all sinks by name, and the names of its sessions."""
    folder = tmp_path_factory.mktemp("canaries")
    model = Leading()
    with running(model) as upstream:
        made = Watched(folder, upstream, "--window", "1000", "--store", "sqlite:///brim.db")
        for shape in FEW:
            drive(made.url, shape)
        folder.joinpath("metrics").write_text(get(made.url, "/metrics")[2].decode())
        folder.joinpath("status").write_text(get(made.url, "/brim/status")[2].decode())
        folder.joinpath("processes").write_bytes(
            subprocess.run(["ps", "-ww", "-eo", "args"], capture_output=True, check=True).stdout
            + Path(f"/proc/{made.process.pid}/cmdline").read_bytes()
        )
        made.process.send_signal(signal.SIGABRT)
        made.end("wait")
    store = f"sqlite:///{folder}/brim.db"
    with open_store(store) as opened:
        names = [row.id for row in opened.sessions(limit=1_000)]
    with Served(Workspace(url=store, config=str(folder))) as studio:
        pages = [studio.ask(f"/api/{view}") for view in ("about", *api.READS)]
        few = names[:: max(1, len(names) // 6)]
        pages += [studio.ask(f"/api/{view}?session={quote(name)}") for name in few for view in _OF_ONE]
    folder.joinpath("studio").write_text("\n".join(f"{head} {body.decode()}" for _, head, body in pages))
    told = [run(folder, "status", "--store", store), run(folder, "status", "--store", store, "--json")]
    told += [run(folder, "replay", f"prompt:{name}", "--store", store, "--json") for name in few[:3]]
    folder.joinpath("commands").write_text("\n".join(told))
    assert any(secret_of(FEW[0]) in str(headers) for headers in model.headers)  # They were really sent.
    sinks = {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return {**sinks, "brim.db": readable(folder / "brim.db")}, names


_OF_ONE = ("prompt", "timeline", "ledger", "search")


def hits(sinks, shapes):
    """Return the secrets that are found, plain or as a part of an address, with the sinks."""
    forms = {secret_of(shape): {secret_of(shape), quote(secret_of(shape), safe="")} for shape in shapes}
    return [
        (secret, name)
        for secret, written in forms.items()
        for name, said in sinks.items()
        if any(form.encode() in said for form in written)
    ]


def run(folder, *words, **environ):
    """Run a command in a folder, and return all that it prints."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True), io.StringIO()
    before, variables = Path.cwd(), dict(os.environ)
    os.chdir(folder)
    os.environ.update(environ)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), contextlib.suppress(SystemExit):
            main(list(words))
    finally:
        os.chdir(before)
        os.environ.clear()
        os.environ.update(variables)
    return out.buffer.getvalue().decode("utf-8", "replace") + err.getvalue()


def test_nothing_that_a_gateway_leaves_holds_a_secret(left):
    sinks, names = left
    assert hits(sinks, FEW) == []
    assert b"Fatal Python error: Aborted" in sinks["stderr"]
    assert b"brim_requests_total" in sinks["metrics"]
    assert b"brim.prompt_assembled" in sinks["otel"]
    assert len(names) > 5
    assert sinks["log"].count(b"brim.gateway") > 20


def yaml_of(key, value):
    """Return settings with a value at a dotted key."""
    text = json.dumps(value)
    for name in reversed(key.replace("*", "notes").split(".")):
        text = f"{{{json.dumps(name)}: {text}}}"
    return text + "\n"


COMMANDS = (
    ("config", "show"),
    ("config", "show", "--json"),
    ("doctor",),
    ("doctor", "--json"),
    ("gateway", "--check"),
    ("status", "--json"),
)


def settled(folder, shapes, keys):
    """Give secrets as values of settings, in files and in the environment; return all that was printed.

    Each key has one secret after the other by itself, and all of them at once.
    """
    told = {}
    for i, key in enumerate(keys):
        one, every = shapes[i % len(shapes)], " ".join(shapes)
        for value in (one, every, list(shapes), {"name": one}):
            folder.joinpath("brim.yaml").write_text(yaml_of(key, value))
            for words in COMMANDS if value is one else COMMANDS[1:3]:
                told[f"yaml {key} {' '.join(words)} {type(value).__name__}"] = run(folder, *words).encode()
        folder.joinpath("brim.yaml").unlink()
        variable = f"BRIM_{key.replace('.', '__').replace('*', 'NOTES').upper()}"
        for words in (COMMANDS[0], COMMANDS[3]):
            told[f"environment {key} {words[0]}"] = run(folder, *words, **{variable: one}).encode()
    return told


def called(folder, shape):
    """Give a secret in the options of commands, and return all that was printed."""
    told = {}
    for words in (
        ("gateway", "--check", "--upstream", shape),
        ("gateway", "--check", "--upstream", f"http://ann:{quote(secret_of(shape), safe='')}@127.0.0.1:9/v1"),
        ("gateway", "--check", "--upstream", f"http://127.0.0.1:9/v1?key={quote(shape, safe='')}"),
        ("gateway", "--check", "--upstream", "http://127.0.0.1:9/v1", "--upstream-key", shape),
        ("gateway", "--check", "--upstream", "http://127.0.0.1:9/v1", "--store", shape),
        ("status", "--store", f"postgresql://ann:{quote(secret_of(shape), safe='')}@127.0.0.1:9/x?sslmode=disable"),
        ("status", "--store", f"postgresql://ann@127.0.0.1:9/x?password={quote(secret_of(shape), safe='')}"),
        ("studio", "--token", shape, "--no-open"),
        ("models", shape),
        ("count", "--model", shape, "brim.yaml"),
        ("config", "set", "model", shape, "--dry-run"),
    ):
        told[" ".join(words[:-1])] = run(folder, *words).encode()
    return told


def test_no_command_repeats_a_secret_of_the_settings(tmp_path):
    formed = [shape for shape in FEW if shape not in FORMLESS]
    found = hits(settled(tmp_path, formed, list(SETTINGS)[::60]), formed)
    for shape in FEW:  # A secret without a form is one where a secret is expected: a key, or a password.
        more = called(tmp_path, shape if shape in formed else f"http://ann:{quote(shape)}@127.0.0.1:9/v1")
        found += hits(more, [shape])
    assert [place for _, place in found] == []


def recorded(folder, shape):
    """Write recordings with a secret in the names of their files, models, sessions, tools and calls."""
    safe = "recording" if "/" in shape else shape  # No file has the name of an address.
    said = conversation(6)
    lines = []
    for i, field in enumerate(("model", "user", "tools.name", "call.name", "message.name", "metadata.user_id")):
        body = json.loads(body_with(field, shape, "messages"))
        lines.append(json.dumps({"id": f"{shape}-{i}", "session_id": shape, "request": body, "body": body, **body}))
    lines.append(json.dumps({"model": "gpt-4o", "messages": said, "id": shape}) + "}" + shape)
    (traces := folder / f"{safe}-traces").mkdir(parents=True)
    (traces / f"{safe}.jsonl").write_text("\n".join(lines) + "\n")
    (traces / "plain.jsonl").write_text("\n".join(lines) + "\n")
    return traces


@pytest.mark.parametrize("shape", FEW[::2])
def test_no_report_of_an_audit_repeats_a_secret_of_its_recordings(shape, tmp_path):
    traces = recorded(tmp_path, shape)
    words = ("audit", traces.name, "--window", "500")
    told = {"terminal": run(tmp_path, *words), "json": run(tmp_path, *words, "--json")}
    told["missing"] = run(tmp_path, "audit", f"{traces.name}/none.jsonl")
    assert "requests" in told["json"], told["json"][:300]
    assert hits({name: text.encode() for name, text in told.items()}, [shape]) == []


def test_the_studio_shows_no_secret_of_the_settings(tmp_path):
    keys = ("model", "meter", "store.url", "gateway.upstream", "gateway.upstream_key", "curator.url", "prompt.template")
    found = []
    for i, key in enumerate(keys):
        shape = FEW[0 if i % 2 else 2]
        (folder := tmp_path / str(i)).mkdir()
        folder.joinpath("brim.yaml").write_text(yaml_of(key, shape))
        store = f"postgresql://ann:{quote(secret_of(shape), safe='')}@127.0.0.1:9/x"
        with Served(Workspace(url=store, config=str(folder))) as studio:
            pages = {view: str(studio.get(view)) for view in api.MASKED[:3]}
            pages["plan"] = str(studio.post("plan", values={"model": shape}))
            pages["none"] = str(studio.ask(f"/api/{quote(FEW[0])}"))
        found += hits({f"{key} {name}": text.encode() for name, text in pages.items()}, FEW[::2])
    assert [place for _, place in found] == []
