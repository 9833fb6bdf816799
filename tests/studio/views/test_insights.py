"""What a session wastes is told with its tokens, its price, and the setting that mends it."""

import json

import pytest

import brim
from studio.logs import ask, requests, written


def tool(name):
    about = {"name": name, "description": f"{name} does things. " * 40, "parameters": {"type": "object"}}
    return {"type": "function", "function": about}


def agent(results, tools=("bash", "browse", "draw")):
    """Yield the requests of an agent that calls bash, each with the results so far."""
    messages = [{"role": "user", "content": "Mend the build."}]
    for i, (command, output) in enumerate(results):
        call = {"name": "bash", "arguments": json.dumps({"command": command})}
        messages += [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": f"c{i}", "type": "function", "function": call}],
            },
            {"role": "tool", "tool_call_id": f"c{i}", "content": output},
        ]
        body = {"model": "gpt-4o", "tools": [tool(name) for name in tools], "messages": [*messages]}
        yield {"session_id": "a", "request": body}


def found(workspace, tmp_path, lines, kind):
    file = workspace.files.open(written(tmp_path / "log.jsonl", lines), wait=60)
    told = ask(workspace, "insights", session=file.sessions[0])["insights"]
    assert [each["tokens"] for each in told] == sorted((each["tokens"] for each in told), reverse=True)
    for each in told:
        assert each["do"]
        if each["key"] is not None:
            assert ask(workspace, "plan", key=each["key"], value=each["value"])["changed"]
    return [each for each in told if each["kind"] == kind]


def test_tools_that_were_never_called(workspace, tmp_path):
    tools = [f"tool_{i}" for i in range(19)]
    (told,) = found(workspace, tmp_path, agent([("ls", "a b")] * 3, ("bash", *tools)), "tools")
    assert told["title"] == "19 of 20 tools were never called"
    assert told["detail"].startswith("20 tools, ")
    assert told["detail"].endswith("only bash was called")
    assert 1_500 < told["tokens"] < 8_000
    assert told["cost_usd"] == pytest.approx(3 * told["tokens"] * 2.5e-6, rel=0.01)
    assert not found(workspace, tmp_path, agent([("ls", "a b")], ("bash",)), "tools")


def test_a_file_that_was_read_again(workspace, tmp_path):
    text = "".join(f"line {i} of the settings\n" for i in range(50))
    results = [("cat a.yaml", text), ("make", "failed"), ("cat a.yaml", text), ("make", "worked"), ("cat a.yaml", text)]
    (told,) = found(workspace, tmp_path, agent(results), "repeat")
    assert "3 times" in told["title"]
    assert "cat a.yaml" in told["detail"]
    assert 500 < told["tokens"] < 1_000
    assert told["key"] is None


def test_a_cache_that_a_clock_breaks(workspace, tmp_path):
    (told,) = found(workspace, tmp_path, requests(clock=True), "cache")
    assert told["title"] == "The system prompt changed at character 32 in 29 of 30 requests"
    assert "09:28" in told["detail"]
    assert told["tokens"] == 29 * 1_600
    assert told["cost_usd"] == pytest.approx(29 * 1_600 * 1.125e-6, rel=0.01)


def test_a_client_that_trims_at_each_request_breaks_the_cache_too(workspace, tmp_path):
    (told,) = found(workspace, tmp_path, requests(trim=5), "cache")
    assert told["title"] == "Messages were dropped in 27 of 30 requests"


def test_a_result_that_takes_a_quarter_of_the_window(workspace, tmp_path):
    words = " ".join(f"w{i}" for i in range(12_000))
    (told,) = found(workspace, tmp_path, agent([("ls", "a"), ("cat big", words)]), "large result")
    assert "of the window" in told["title"]
    assert (told["key"], told["value"]) == ("session.tool_limit", "10%")


def test_a_healthy_session_has_none(workspace, tmp_path):
    with brim.open_store(f"sqlite:///{tmp_path}/brim.db") as store:
        session = brim.Session(20_000, meter="o200k_base", store=store, id="s")
        session.add({"role": "user", "content": "hello"})
        session.prompt()
    assert ask(workspace, "insights", session="s") == {"insights": []}


def test_a_session_is_named_by_the_first_words_of_its_task(workspace, tmp_path):
    workspace.files.open(written(tmp_path / "log.jsonl", agent([("ls", "a b")])), wait=60)
    (row,) = ask(workspace, "sessions")["sessions"]
    assert (row["title"], row["problem"]) == ("Mend the build.", "")
