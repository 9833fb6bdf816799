"""`brim gateway` as a process: it starts from options alone, checks itself, reloads its settings, and drains."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from brim.cli import main
from gateway.conftest import asked, conversation, get, post


@pytest.fixture
def served(served_model, upstream, tmp_path):
    """Start `brim gateway` and return its address and its process."""
    made = []

    def start(*options, **environ):
        run = [
            sys.executable,
            "-m",
            "brim",
            "gateway",
            "--upstream",
            served_model[1] + "/v1",
            "--port",
            "0",
            "--json",
            *options,
        ]
        told = {**os.environ, "HOME": str(tmp_path), **environ}
        process = subprocess.Popen(
            run, cwd=tmp_path, env=told, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        made.append(process)
        line = process.stdout.readline()
        assert line, process.stderr.read()
        return json.loads(line)["address"].removesuffix("/v1"), process

    yield start
    for process in made:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


@pytest.mark.slow
def test_it_starts_reloads_its_settings_and_drains(served, upstream, tmp_path):
    (tmp_path / "brim.yaml").write_text("gateway: {policy: fit}\n")
    url, process = served("--window", "1000")
    assert post(url, asked(conversation(60)))[0] == 200
    assert get(url, "/healthz")[::2] == (200, b'{"status": "ok"}')
    assert get(url, "/readyz")[0] == 200
    status, _, page = get(url, "/metrics")
    assert status == 200
    assert b'brim_requests_total{model="gpt-4o",outcome="ok",route="chat"} 1' in page
    assert b"brim_input_tokens_count" in page

    (tmp_path / "brim.yaml").write_text("gateway: {policy: refuse}\n")
    process.send_signal(signal.SIGHUP)
    until = time.monotonic() + 5
    while post(url, asked(conversation(60)))[0] != 400 and time.monotonic() < until:
        time.sleep(0.02)
    assert post(url, asked(conversation(60)))[0] == 400
    (tmp_path / "brim.yaml").write_text("gateway: {policy: nonsense}\n")
    process.send_signal(signal.SIGHUP)
    time.sleep(0.1)
    assert post(url, asked(conversation(60)))[0] == 400

    upstream.pause, upstream.pieces = 0.08, 4
    answers = []
    stream = threading.Thread(target=lambda: answers.append(post(url, asked(conversation(1), stream=True))))
    stream.start()
    while not upstream.open:
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    stream.join(10)
    assert answers[0][2].endswith(b"data: [DONE]\n\n")
    assert process.wait(10) in (0, -signal.SIGTERM)


def test_check_names_a_key_that_is_not_set(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NOT_SET", raising=False)
    (tmp_path / "brim.yaml").write_text("gateway: {keys: [NOT_SET], upstream: 'http://127.0.0.1:9/v1'}\n")
    assert main(["gateway", "--check"]) == 2
    assert "NOT_SET" in capsys.readouterr().err


def test_invalid_options_are_refused_in_one_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["gateway"]) == 2
    assert "--upstream" in capsys.readouterr().err
    assert main(["gateway", "--upstream", "http://127.0.0.1:9/v1", "--host", "0.0.0.0"]) == 2
    assert "gateway.keys" in capsys.readouterr().err
    assert main(["gateway", "--upstream", "ftp://somewhere"]) == 2
    assert "gateway.upstream" in capsys.readouterr().err
    assert main(["gateway", "--upstream", "http://127.0.0.1:9/v1", "--policy", "maybe"]) == 2
    assert "--policy" in capsys.readouterr().err
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert main(["gateway", "--upstream", "http://127.0.0.1:9/v1", "--port", port]) == 2
    assert "cannot listen there" in capsys.readouterr().err


def test_without_its_packages_it_says_how_to_install_them(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    for name in [name for name in sys.modules if name.startswith("brim.gateway")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    assert main(["gateway", "--upstream", "http://127.0.0.1:9/v1"]) == 2
    assert "pip install 'brim[gateway]'" in capsys.readouterr().err
