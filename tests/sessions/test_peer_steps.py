"""`brim loop`: a loop whose steps another process makes, with a kill on either side, in TypeScript too."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import brim
from brim.cli import main
from brim.errors import InvalidValue
from brim.sessions.loop.peer_steps import step_of

ROOT = Path(__file__).resolve().parent.parent.parent
BRIM = [sys.executable, "-m", "brim"]


def environment(**more):
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONIOENCODING": "utf-8", **more}


def started(tmp_path, *more, goal="Explore the shop."):
    command = [*BRIM, "loop", "--id", "L", "--store", f"sqlite:///{tmp_path}/loop.db", "--window", "8000"]
    command += ["--goal", goal, "--max-sub-ticks", "99", *more]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, **pipes, env=environment(), cwd=tmp_path, text=True, encoding="utf-8")


def step(number, last):
    call = {"id": f"c{number}", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    said = {"role": "assistant", "content": f"Part {number} waits for lock {number % 5}.", "tool_calls": [call]}
    printed = {"role": "tool", "tool_call_id": f"c{number}", "content": f"part {number}: " + "a line. " * 40}
    end = "goal" if number == last else "continue"
    return {"messages": [said, printed], "end": end, "result": number, "state": {"next": number + 1}}


def drive(process, **asked):
    """Answer ticks until the outcome; `die_at` kills the loop's process in the middle of a step."""
    with process:
        return answered(process, **asked)


def answered(process, *, last, die_at=None, seen=None):
    for line in process.stdout:
        said = json.loads(line)
        if said["event"] == "outcome":
            return said
        number = said["state"].get("next", 0)
        if seen is not None:
            seen.append(said)
        if number == die_at:
            process.send_signal(signal.SIGKILL)
            return None
        process.stdin.write(json.dumps(step(number, last)) + "\n")
        process.stdin.flush()
    return None


@pytest.mark.slow
def test_a_loop_whose_process_is_killed_ends_as_one_that_was_not(tmp_path):
    plain, killed = tmp_path / "plain", tmp_path / "killed"
    for each in (plain, killed):
        each.mkdir()
    first, second = [], []
    whole = drive(started(plain), last=30, seen=first)
    assert drive(started(killed), last=30, die_at=16) is None
    again = drive(started(killed), last=30, seen=second)
    same = ("ended", "iterations", "sub_ticks", "steps", "results", "state")
    assert {name: again[name] for name in same} == {name: whole[name] for name in same}
    assert (whole["ended"], whole["steps"]) == ("goal", 31)
    assert whole["sub_ticks"] >= 1
    assert second[0]["state"] == {"next": 16}, "no step that was made is made again"
    assert second[-1]["messages"] == first[-1]["messages"]
    assert second[-1]["continuation"].startswith("[CONTINUATION] iteration 1, sub-tick ")
    assert all(tick["used"] <= tick["budget"] == 1_200 for tick in (*first, *second))


@pytest.mark.slow
def test_an_overflow_of_the_provider_is_answered_with_a_smaller_prompt(tmp_path):
    with started(tmp_path) as process:
        overflowed(process)


def overflowed(process):
    drive_to = [json.loads(process.stdout.readline())]
    for number in range(8):
        process.stdin.write(json.dumps(step(number, 99)) + "\n")
        process.stdin.flush()
        drive_to.append(json.loads(process.stdout.readline()))
    refusal = "This model's maximum context length is 700 tokens. However, your messages resulted in 1100 tokens."
    process.stdin.write(json.dumps({"error": refusal, "status": 400}) + "\n")
    process.stdin.flush()
    smaller = json.loads(process.stdout.readline())
    assert smaller["event"] == "tick"
    assert smaller["used"] < drive_to[-1]["used"]
    process.stdin.close()
    assert process.wait(30) == 1, "the input ended"
    assert "run the same command to continue" in process.stderr.read()


@pytest.mark.slow
def test_a_line_that_is_not_a_step_ends_the_loop(tmp_path):
    with started(tmp_path) as process:
        process.stdout.readline()
        _, err = process.communicate("no json\n", timeout=30)
    assert process.returncode == 2
    assert "JSON object" in err


@pytest.mark.parametrize(
    ("line", "told"), [('{"message": []}', "messages"), ('{"end": "soon"}', "Step end"), ("[1]", "JSON")]
)
def test_a_line_that_is_not_a_step_is_refused(line, told):
    with pytest.raises(InvalidValue, match=told):
        step_of(line)


def test_a_loop_that_is_not_stored_needs_a_goal(tmp_path, capsys):
    assert main(["loop", "--id", "none", "--store", f"sqlite:///{tmp_path}/loop.db"]) == 2
    assert "--goal is required: the store has no loop 'none'" in capsys.readouterr().err


def esbuild():
    own = ROOT / "src" / "brim" / "studio" / "page" / "node_modules" / ".bin" / "esbuild"
    return os.environ.get("ESBUILD") or (str(own) if own.exists() else shutil.which("esbuild"))


def script(tmp_path):
    """Return the command of the example: Node runs TypeScript from 22.18 on, and what esbuild makes of it before."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node here")
    source = ROOT / "examples" / "session" / "loop.ts"
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    if tuple(map(int, version.strip("v\n").split(".")[:2])) >= (22, 18):
        return [node, str(source)]
    if (tool := esbuild()) is None:
        pytest.skip("this node runs no TypeScript, and there is no esbuild here: make studio installs it")
    made = tmp_path / "loop.mjs"
    subprocess.run([tool, str(source), f"--outfile={made}", "--log-level=error"], check=True)
    return [node, str(made)]


@pytest.mark.slow
def test_a_loop_in_typescript_of_200_steps_is_the_same_with_a_kill_in_the_middle(tmp_path):
    """ "The author writes TypeScript: sub-ticks, continuation and status must be reachable without Python"."""
    command = script(tmp_path)

    def run(name, **more):
        env = environment(BRIM=" ".join(BRIM), STORE=f"sqlite:///{tmp_path}/{name}.db", **more)
        return subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=240)

    whole = json.loads(run("plain").stdout)
    assert run("killed", DIE_AT="100").returncode == -signal.SIGKILL
    again = json.loads(run("killed").stdout)
    same = ("ended", "iterations", "sub_ticks", "steps", "results", "state")
    assert {name: again[name] for name in same} == {name: whole[name] for name in same}
    assert (whole["ended"], whole["steps"]) == ("goal", 200)
    assert whole["sub_ticks"] >= 5
    handed = [
        brim.Loop.resume("explore", act=print, store=f"sqlite:///{tmp_path}/{name}.db").progress.continuation
        for name in ("plain", "killed")
    ]
    assert handed[0] == handed[1]
    status = [*BRIM, "status", "--store", f"sqlite:///{tmp_path}/killed.db", "--json"]
    told = subprocess.run(status, env=environment(), capture_output=True, text=True, check=True).stdout
    assert f'"sub_ticks": {whole["sub_ticks"]}' in told
