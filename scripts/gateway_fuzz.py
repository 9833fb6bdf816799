"""Calls the gateway in ways made up from the description of its routes: `python scripts/gateway_fuzz.py [CALLS]`.

schemathesis makes the calls, right ones and wrong ones. The model behind the gateway answers everything with 200, so
that an answer of 5xx is the gateway's own fault. Needs the environment that `make prove-gateway-fuzz` builds.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from gateway_process import gateway, memory
from model_server import answering, completion, running, say

ROOT = Path(__file__).resolve().parent.parent
CALLS = 50_000
_EACH = 100
"""Calls for each operation in one round: more at a time, and most of it goes into looking for even better ones."""
_MADE = re.compile(r"(\d[\d,]*) generated")


async def agreeable(scope: Any, send: Any) -> None:
    """Be a model that finds nothing wrong, and that leaves counting to the gateway."""
    path = scope["path"]
    if path.endswith(("/count_tokens", "/input_tokens")):
        await say(send, 404, {})
    elif path == "/v1/models":
        await say(send, 200, {"object": "list", "data": [{"id": "local-model", "max_model_len": 4_096}]})
    else:
        route = "messages" if path == "/v1/messages" else "responses" if path == "/v1/responses" else "chat"
        await say(send, 200, completion(route, {}, 9))


def round_of(url: str, seed: int, folder: str) -> tuple[int, bool, str]:
    """Make one round of calls; return their number, whether one failed, and the report."""
    run = [str(ROOT / ".venv-fuzz/bin/schemathesis"), "run", str(ROOT / "scripts/gateway_openapi.json"), "--url", url]
    run += ["--checks", "not_a_server_error", "--max-examples", str(_EACH), "--seed", str(seed), "--workers", "1"]
    phases = "coverage,fuzzing" if seed == 1 else "fuzzing"  # What is covered is the same under any seed.
    run += ["--phases", phases, "--suppress-health-check", "all", "--continue-on-failure"]
    run += ["--request-timeout", "10", "--warnings", "off", "--no-shrink", "--no-color"]
    done = subprocess.run(run, cwd=folder, capture_output=True, text=True, check=False)
    made = [int(found.replace(",", "")) for found in _MADE.findall(done.stdout)]
    return sum(made), done.returncode == 0, done.stdout + done.stderr


def main() -> int:
    """Make the calls; return 1 where an answer was a fault of the gateway's, or the gateway ended."""
    wanted, made, seed, failed = int(sys.argv[1]) if len(sys.argv) > 1 else CALLS, 0, 1, 0
    with (
        tempfile.TemporaryDirectory() as folder,
        running(answering(agreeable)) as upstream,
        gateway(upstream, "--window", "2000", "--store", f"sqlite:///{folder}/brim.db") as (url, pid),
    ):
        while made < wanted and not failed:
            count, well, told = round_of(url, seed, folder)
            made, seed, failed = made + count, seed + 1, failed + (not well or not count)
            print(f"fuzz: {made:,} calls, {memory(pid):.0f} MB" if not failed else told[-6_000:], flush=True)
        peak = memory(pid, "VmHWM")
    print(f"fuzz: {made:,} calls made up, {failed} rounds with a fault of the gateway's; peak {peak:.0f} MB")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
