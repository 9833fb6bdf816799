"""`brim studio` as a process of its own."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from contextlib import contextmanager

import pytest

from brim.cli import main
from brim.errors import SourceError
from brim.studio import server
from brim.studio.access import StudioAccess
from brim.studio.workspace import Workspace


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


@pytest.mark.slow
def test_it_prints_its_address_with_the_token_and_leaves_nothing_behind(tmp_path):
    options = ("--demo", "--store", "sqlite:///brim.db", "--json")
    with started(tmp_path, *options, TMPDIR=str(tmp_path)) as (process, line):
        address = json.loads(line)["address"]
        assert address.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(address, timeout=60) as answer:
            assert "HttpOnly" in answer.headers["set-cookie"]
        bare, _, token = address.partition("?token=")
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(bare, timeout=10)
        assert caught.value.code == 401
        caught.value.close()
        asked = urllib.request.Request(f"{bare}api/sessions", headers={"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(asked, timeout=60) as answer:
            assert len(json.load(answer)["sessions"]) == 2
        assert [path.name[:11] for path in tmp_path.iterdir()] == ["brim-studio"]
    assert process.returncode in (0, 130)
    assert process.told == ""
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
    said = " ".join(capsys.readouterr().err.split())
    # It was "--token [secret removed] be the NAME": the masking of secrets removed a word.
    assert (
        said == "brim: the studio's token must be the NAME of an environment variable that is set, not 'NOT_SET_AT_ALL'"
    )
    workspace = Workspace(url="sqlite:///brim.db")
    workspace.files.new_path()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["studio", "--port", str(port), "--no-open"]) == 2
        assert "cannot listen there" in capsys.readouterr().err
        with pytest.raises(SourceError):
            server.run(workspace, StudioAccess(port=port))
    assert workspace.files.store is None, "the opened files are removed"


@pytest.mark.slow
def test_the_browser_is_opened_without_the_token_in_its_arguments_and_nothing_stays(tmp_path):
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/arguments\ncat "${{1#file://}}" > {tmp_path}/page\n')
    browser.chmod(0o700)
    (temporary := tmp_path / "tmp").mkdir()
    command = [sys.executable, "-m", "brim", "studio", "--port", "0", "--demo"]
    environ = {**os.environ, "BROWSER": f"{browser} %s", "TMPDIR": str(temporary)}
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True, env=environ) as process:
        address = process.stdout.readline().removeprefix("brim studio: ").strip()
        token = address.partition("?token=")[2]
        for _ in range(500):
            if (tmp_path / "page").exists() and address in (tmp_path / "page").read_text():
                break
            threading.Event().wait(0.02)
        listed = subprocess.run(["ps", "-ww", "-eo", "args"], capture_output=True, text=True, check=True).stdout
        asked = urllib.request.Request(
            address.partition("?")[0] + "api/sessions", headers={"Authorization": f"Bearer {token}"}
        )
        with urllib.request.urlopen(asked, timeout=20) as answer:
            assert answer.status == 200
        assert sorted(path.name[:10] for path in temporary.iterdir()) == ["brim-open-", "brim-studi"]
        process.send_signal(signal.SIGTERM)
        process.wait(15)
    assert len(token) > 20
    assert token not in listed
    assert token not in (tmp_path / "arguments").read_text()
    assert (tmp_path / "arguments").read_text().startswith("file://")
    assert address in (tmp_path / "page").read_text()
    assert process.returncode == 143
    assert list(temporary.iterdir()) == []
