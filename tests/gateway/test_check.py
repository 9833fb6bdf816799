"""`brim gateway --check` tells what is wrong with an upstream: each fault needs something else."""

import http.server
import logging
import socket
import ssl
import subprocess
import threading

import pytest

from brim.cli import main


@pytest.fixture
def server():
    """Start servers that answer each request alike, and return their ports."""
    made = []

    def start(status=200, body=b'{"data": []}', *, context=None, good=None):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200 if good is not None and self.headers.get(good) else status)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

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
        code = main(["gateway", "--check", "--upstream", url])
        out, err = capsys.readouterr()
        return code, " ".join((out + err).split())

    return run


@pytest.mark.parametrize(
    ("answer", "code", "says"),
    [
        ((200, b'{"data": [{"id": "a"}]}'), 0, "can be used"),
        ((404, b"no"), 0, "can be used"),
        ((401, b"{}"), 0, "can be used"),
        ((503, b"{}"), 2, "upstream answered 503"),
        ((302, b"{}"), 2, "a redirect, which the gateway does not follow"),
    ],
    ids=["list", "no list", "no key", "down", "redirect"],
)
def test_an_upstream_that_answers(server, found, answer, code, says):
    got = found(f"http://127.0.0.1:{server(*answer)}/v1")
    assert got[0] == code
    assert says in got[1]


@pytest.mark.parametrize("good", [True, False])
def test_the_key_for_upstream_is_tried(server, found, tmp_path, monkeypatch, good):
    monkeypatch.setenv("MODEL_KEY", "sk-model")
    (tmp_path / "brim.yaml").write_text("gateway: {upstream_key: MODEL_KEY}\n")
    code, text = found(f"http://127.0.0.1:{server(401, good='authorization' if good else None)}/v1")
    assert (code, "rejects the gateway's key" in text) == ((0, False) if good else (2, True))
    assert "sk-model" not in text


def test_a_closed_port_is_not_a_missing_list(found):
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
    assert "upstream refused the connection; check its address and port" in found(f"http://127.0.0.1:{port}/v1")[1]


def test_an_unknown_host_is_named_as_such(found):
    assert "the host name of upstream cannot be resolved" in found("http://no-such-host.invalid/v1")[1]


def test_each_mistake_with_tls_is_told_apart(server, found, certificate):
    plain, secure = server(), server(context=certificate)
    assert "does not speak TLS at this port" in found(f"https://127.0.0.1:{plain}")[1]
    assert "the certificate of upstream is not valid" in found(f"https://127.0.0.1:{secure}")[1]
    assert "if it expects TLS, its URL must begin with https:" in found(f"http://127.0.0.1:{secure}")[1]


def test_an_upstream_without_its_scheme_is_told_so(capfd):
    assert main(["gateway", "--upstream", "127.0.0.1:18101"]) == 2
    told = capfd.readouterr().err
    assert "it must begin with http:// or https://" in " ".join(told.split())
    assert "18101" not in told


@pytest.mark.parametrize(("options", "told"), [((), ["a model is unknown"]), (("--quiet",), [])])
def test_quiet_prints_no_warning(monkeypatch, caplog, options, told):
    """`--quiet` printed the advice on a model that is not in the catalogue."""
    log = logging.getLogger("brim")
    monkeypatch.setattr(log, "level", log.level)
    run = lambda *_: logging.getLogger("brim.meter").warning("a model is unknown")  # noqa: E731 - a double
    monkeypatch.setattr("brim.gateway.http.server.run", run)
    assert main(["gateway", "--upstream", "http://127.0.0.1:9/v1", *options]) == 0
    assert caplog.messages == told
