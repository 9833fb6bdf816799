"""The command line run in this process: its exit code and what it wrote."""

import io
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from brim.cli import main


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


@pytest.fixture
def brim(capfdbinary, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("FORCE_COLOR", raising=False)

    def run(*arguments, stdin=b""):
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(stdin)))
        code = main([str(each) for each in arguments])
        written = capfdbinary.readouterr()
        return Outcome(code, written.out.decode(), written.err.decode())

    return run


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


SPEC = """\
meter: chars
budget: 60
sections:
  - name: rules
    content: be brief
    priority: required
  - name: log
    content: a log that is rather long, so that not all of it can stay
    priority: low
"""


@pytest.fixture
def spec(here):
    path = here / "spec.yaml"
    path.write_text(SPEC)
    return path
