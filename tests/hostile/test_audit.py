"""Files that unpack to far more than they are, and what an audit leaves on the disk."""

import gzip
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from brim.audit import audit
from brim.audit import records as audit_records
from brim.errors import SourceError

LINE = json.dumps({"model": "gpt-4o", "messages": [{"role": "user", "content": "a" * 1_000}]}).encode() + b"\n"


def test_a_file_that_unpacks_to_too_much_is_refused_and_nothing_of_it_stays(tmp_path, monkeypatch):
    monkeypatch.setattr(audit_records, "MOST", 1_000_000)
    spool = tmp_path / "spool"
    spool.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(spool))
    bomb = tmp_path / "bomb.jsonl.gz"
    bomb.write_bytes(gzip.compress(LINE * 20_000))
    most = max(1_000_000, 100 * bomb.stat().st_size)
    assert most < 20_000 * len(LINE)
    with pytest.raises(
        SourceError, match=f"it unpacks to more than {most:,} bytes; if you expect this, unpack it first"
    ):
        audit([str(bomb)])
    assert os.listdir(spool) == []


def test_a_recording_that_repeats_itself_as_recordings_do_is_unpacked(tmp_path):
    rows = [
        json.dumps({"model": "gpt-4o", "messages": [{"role": "user", "content": f"{i} {'a b c ' * 9}"}]})
        for i in range(900)
    ]
    trace = tmp_path / "trace.jsonl.gz"
    trace.write_bytes(gzip.compress("\n".join(rows).encode()))
    assert audit([str(trace)]).values["recorded"]["requests"] == 900


def test_an_audit_that_is_terminated_leaves_nothing_on_the_disk(tmp_path):
    spool = tmp_path / "spool"
    spool.mkdir()
    run = [sys.executable, "-m", "brim", "audit", "-"]
    environment = {**os.environ, "TMPDIR": str(spool)}
    with subprocess.Popen(run, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
        process.stdin.write(LINE * 3_000)  # More than the pipe itself holds.
        process.stdin.flush()
        while not (copied := list(spool.glob("*/*.records"))) or copied[0].stat().st_size < 2_000 * len(LINE):
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 128 + signal.SIGTERM
    assert os.listdir(spool) == []
