import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_reference_of_the_command_line_is_up_to_date():
    command = [sys.executable, str(ROOT / "scripts" / "reference.py"), "--check"]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (told.returncode, told.stderr) == (0, "")
