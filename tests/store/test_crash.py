"""`make crash` kills every writer; here it finds one that acknowledges too early."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "crash.py"


def crash(*options):
    return subprocess.run([sys.executable, SCRIPT, *options], capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="kills processes as POSIX has them")
def test_a_writer_that_acknowledges_too_early_is_found_out():
    ended = crash("--only", "lies", "--kills", "3")
    assert ended.returncode == 1
    assert "1 scenarios lost or tore something" in ended.stdout
