"""`brim studio` as a process of its own."""

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import contextmanager

import pytest

from brim.cli import main


@contextmanager
def started(folder, *more, **environ):
    command = [sys.executable, "-m", "brim", "studio", "--port", "0", "--no-open", *more]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **environ}
    ) as process:
        try:
            yield process, process.stdout.readline()
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(15)
            process.told = process.stderr.read()


def test_it_just_works_and_prints_its_address_with_the_token(tmp_path):
    with started(tmp_path, "--store", "sqlite:///brim.db") as (process, line):
        assert line.startswith("brim studio: http://127.0.0.1:")
        address = line.removeprefix("brim studio: ").strip()
        with urllib.request.urlopen(address, timeout=10) as answer:
            assert "HttpOnly" in answer.headers["set-cookie"]
        bare = address.partition("?")[0]
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(bare, timeout=10)
        assert caught.value.code == 401
        caught.value.close()
    assert process.returncode in (0, 130)
    assert process.told == ""
    assert list(tmp_path.iterdir()) == []


def test_the_demo_is_ready_with_the_address_and_gone_at_the_end(tmp_path):
    with started(tmp_path, "--demo", "--json", TMPDIR=str(tmp_path)) as (_, line):
        address = json.loads(line)["address"]
        bare, _, token = address.partition("?token=")
        asked = urllib.request.Request(f"{bare}api/sessions", headers={"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(asked, timeout=10) as answer:
            assert len(json.load(answer)["sessions"]) == 2
        assert [path.name[:11] for path in tmp_path.iterdir()] == ["brim-studio"]
    assert list(tmp_path.iterdir()) == []


def test_another_address_needs_a_token_and_a_used_port_is_an_error(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["studio", "--host", "0.0.0.0", "--no-open"]) == 2
    assert "--token" in capsys.readouterr().err
    monkeypatch.setenv("TOO_SHORT", "abc")
    assert main(["studio", "--host", "0.0.0.0", "--token", "TOO_SHORT", "--no-open"]) == 2
    told = capsys.readouterr().err
    assert "16 characters" in told
    assert "abc" not in told
    assert main(["studio", "--token", "NOT_SET_AT_ALL", "--no-open"]) == 2
    assert "NOT_SET_AT_ALL" in capsys.readouterr().err
    with started(tmp_path) as (_, line):
        port = line.rpartition(":")[2].partition("/")[0]
        assert main(["studio", "--port", port, "--no-open"]) == 2
        assert "cannot be listened on" in capsys.readouterr().err
