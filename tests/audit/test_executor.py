"""Processes and files that end while an audit runs."""

import gzip
import os

import pytest

from audit import traces
from brim.audit import audit
from brim.audit.audit import processes
from brim.errors import SourceError


def _die(_):
    os.kill(os.getpid(), 9)


def test_a_process_that_is_ended_from_outside_is_one_error():
    with pytest.raises(SourceError, match="a worker process was killed"), processes(2) as run:
        list(run(_die, [1]))


def test_a_copy_that_is_removed_meanwhile_is_told(tmp_path, monkeypatch):
    plain, packed = tmp_path / "plain.jsonl", tmp_path / "packed"
    traces.write(plain, traces.openai_log())
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def removed(*_):
        for copy in tmp_path.glob("*/*.records"):
            copy.unlink()

    with pytest.raises(SourceError, match="packed: the file was removed during the audit"):
        audit([str(packed)], workers=1, progress=removed)
