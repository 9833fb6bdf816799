"""`brim gateway --check` tells what is wrong with an upstream: each fault needs something else."""

import http.server
import json
import socket
import ssl
import subprocess
import threading

import pytest

from brim.cli import main
from brim.gateway import check


@pytest.fixture
def server():
    """Start servers that answer each request alike, and return their ports."""
    made = []

    def start(status=200, body=b'{"data": []}', *, context=None, seen=None, good=None, props=None):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                if seen is not None:
                    seen.append((self.path, dict(self.headers)))
                told = props if props is not None and self.path == "/props" else body
                self.send_response(200 if good is not None and self.headers.get(good) else status)
                self.send_header("content-length", str(len(told)))
                self.end_headers()
                self.wfile.write(told)

            def log_message(self, *_):
                pass

        made.append(http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler))
        if context is not None:
            made[-1].socket = context.wrap_socket(made[-1].socket, server_side=True)
        threading.Thread(target=made[-1].serve_forever, args=(0.01,), daemon=True).start()
        return made[-1].server_port

    yield start
    for each in made:
        each.shutdown()
        each.server_close()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A server's side of TLS with a certificate that nobody has signed."""
    where = tmp_path_factory.mktemp("tls")
    subject = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=here"]
    files = ["-keyout", str(where / "key.pem"), "-out", str(where / "cert.pem")]
    subprocess.run(["openssl", "req", *subject, *files], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(where / "cert.pem", where / "key.pem")
    return context


@pytest.fixture
def found(tmp_path, monkeypatch, capsys):
    """Check an upstream, and return the exit code and what was found."""
    monkeypatch.chdir(tmp_path)

    def run(url):
        code = main(["gateway", "--check", "--json", "--upstream", url])
        told = json.loads(capsys.readouterr().out)
        assert told["ok"] == (code == 0)
        (row,) = [each for each in told["checks"] if each["name"] == f"upstream {url}"]
        return code, row["reason"], row["text"]

    return run


@pytest.mark.parametrize(
    ("answer", "code", "reason", "says"),
    [
        (
            (200, b'{"data": [{"id": "a", "max_model_len": 9}, {"id": "b"}]}'),
            0,
            "ok",
            "2 models, 1 of them with their window",
        ),
        ((404, b"no"), 0, "no_list", "has no list of models (404 at /v1/models); if the URL is right"),
        ((200, b"<html>"), 0, "no_list", "an unexpected answer at /v1/models"),
        ((401, b"{}"), 0, "no_key", "it answers 401 without a key; each client's own key is passed on"),
        ((500, b"{}"), 1, "status", "it answers 500"),
        ((302, b"{}"), 1, "upstream", "a redirect, which the gateway does not follow"),
    ],
    ids=["list", "no list", "no JSON", "no key", "error", "redirect"],
)
def test_an_upstream_that_answers(server, found, answer, code, reason, says):  # noqa: PLR0917 - a row of the table
    url = f"http://127.0.0.1:{server(*answer)}/v1"
    got = found(url)
    assert got[:2] == (code, reason)
    assert says in got[2]


@pytest.mark.parametrize(
    ("models", "says"),
    [
        (b'{"data": [{"id": "a", "meta": {"n_ctx_train": 9}}]}', "1 model, all with"),
        (b"no", "at /v1/models); all with"),
    ],
    ids=["list", "no list"],
)
def test_the_window_of_a_server_of_one_model_is_found_at_its_properties(server, found, models, says):
    """ "`--check` against llama.cpp says that no window is known, though `/props` has `n_ctx`"."""
    props = b'{"default_generation_settings": {"n_ctx": 8192}, "total_slots": 1}'
    code, _, text = found(f"http://127.0.0.1:{server(200, models, props=props)}/v1")
    assert code == 0
    assert f"{says} a window of 8,192 tokens" in text


@pytest.mark.parametrize("good", ["authorization", "x-api-key", None])
def test_the_key_for_upstream_is_tried_in_both_headers(server, found, tmp_path, monkeypatch, good):
    monkeypatch.setenv("MODEL_KEY", "sk-model")
    (tmp_path / "brim.yaml").write_text("gateway: {upstream_key: MODEL_KEY}\n")
    seen = []
    url = f"http://127.0.0.1:{server(401, seen=seen, good=good)}/v1"
    code, reason, text = found(url)
    assert (code, reason) == ((0, "ok") if good else (1, "key"))
    assert len([path for path, _ in seen if path == "/v1/models"]) == (1 if good == "authorization" else 2)
    assert "sk-model" not in text


def test_a_closed_port_is_not_a_missing_list(found):
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
    code, reason, text = found(f"http://127.0.0.1:{port}/v1")
    assert (code, reason) == (1, "upstream")
    assert text == "upstream refused the connection; check its address and port"


def test_an_unknown_host_is_named_as_such(found):
    assert "the host name of upstream cannot be resolved" in found("http://no-such-host.invalid/v1")[2]


def test_each_mistake_with_tls_is_told_apart(server, found, certificate):
    plain, secure = server(), server(context=certificate)
    assert "does not speak TLS at this port" in found(f"https://127.0.0.1:{plain}")[2]
    assert "the certificate of upstream is not valid" in found(f"https://127.0.0.1:{secure}")[2]
    assert "check http: and https: in its URL" in found(f"http://127.0.0.1:{secure}")[2]


def test_a_server_that_does_not_answer_is_waited_for_and_then_named(found, monkeypatch):
    monkeypatch.setattr(check, "_SECONDS", 0.2)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        assert found(url)[:2] == (1, "timeout")


@pytest.mark.parametrize("reached", [True, False])
def test_the_proxy_of_the_environment_is_named_without_its_password(server, tmp_path, monkeypatch, capsys, reached):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    port = server() if reached else 9
    monkeypatch.setenv("HTTP_PROXY", f"http://user:secret@127.0.0.1:{port}")
    code = main(["gateway", "--check", "--json", "--upstream", "http://model.invalid/v1"])
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)["checks"]}
    through = f"http://model.invalid/v1 is reached through the proxy http://127.0.0.1:{port};"
    assert rows["proxy"]["text"].startswith(through)
    assert "secret" not in json.dumps(rows)
    found = rows["upstream http://model.invalid/v1"]["reason"]
    assert (code, found) == ((0, "ok") if reached else (1, "upstream"))


def test_an_upstream_without_its_scheme_is_told_so(capfd):
    assert main(["gateway", "--upstream", "127.0.0.1:18101"]) == 2
    told = capfd.readouterr().err
    assert "it must begin with http:// or https://" in " ".join(told.split())
    assert "18101" not in told
