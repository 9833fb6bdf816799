"""One prompt has one size: every view gives the same number, or names it as another thing."""

from datetime import UTC, datetime

import pytest

from brim.truncate.failure import reports_failure
from studio.logs import UNLOGGED, ask, claude_code, requests, written


def check_sizes(workspace, session):
    """Compare what all views say of each prompt of a session; return the sizes."""
    told = ask(workspace, "timeline", session=session)
    listed = next(row for row in ask(workspace, "sessions")["sessions"] if row["id"] == session)
    calls = {call["step"]: call for call in ask(workspace, "cache", session=session)["calls"]}
    sizes = []
    for point in told["points"]:
        prompt = ask(workspace, "prompt", session=session, step=str(point["step"]))
        size = prompt["size"]
        assert size == point["size"]
        assert size["used"] == prompt["used"] == point["used"] == calls[point["step"]]["used"]
        assert size["method"] in ("counted exactly", "estimated", "reported by the provider")
        assert size["exact"] == prompt["exact"]
        assert sum(row["units"] for row in prompt["rows"] if row["sent"]) == size["used"]
        assert sum(point["categories"].values() or [size["used"]]) == size["used"]
        if (call := calls[point["step"]])["actual"] is not None:
            assert 0 <= call["actual"] <= size["used"]
        if prompt["replayable"]:
            fitted = ask(workspace, "fit", source=f"prompt:{session}@{point['step']}")
            assert fitted["size"] == size
        sizes.append(size)
    # Of a conversation of a gateway only the last size is known without its log.
    known = sizes[-1:] if listed["kind"] == "gateway" else sizes
    assert listed["peak"] == max(size["used"] for size in known)
    return sizes


@pytest.mark.slow
def test_every_prompt_of_the_demo_has_one_size(own_demo):
    demo = own_demo.workspace
    for row in ask(demo, "sessions")["sessions"]:
        assert check_sizes(demo, row["id"])


@pytest.mark.parametrize("boundary", [True, False], ids=["boundary", "summary alone"])
def test_every_prompt_of_a_claude_code_log_has_one_size_with_what_the_log_does_not_hold(workspace, tmp_path, boundary):
    path = written(tmp_path / "session.jsonl", claude_code(boundary=boundary))
    file = workspace.files.open(path, wait=60)
    sizes = check_sizes(workspace, file.sessions[0])
    assert len(sizes) == 9
    for size in sizes:
        assert size["method"] == "reported by the provider"
        assert size["used"] == size["reported"] > UNLOGGED
        assert size["unlogged"] == pytest.approx(UNLOGGED, rel=0.02)
    assert sizes[6]["used"] < sizes[5]["used"] / 1.2
    rows = ask(workspace, "prompt", session=file.sessions[0], step="7")["rows"]
    assert [row["role"] for row in rows if row["category"] == "not in the log"] == ["not in the log"]


def test_a_compaction_of_claude_code_is_one_change_on_every_screen(workspace, tmp_path):
    session = workspace.files.open(written(tmp_path / "session.jsonl", claude_code()), wait=60).sessions[0]
    marks = [mark for mark in ask(workspace, "timeline", session=session)["marks"] if mark["kind"] == "compaction"]
    edits = ask(workspace, "ledger", session=session)["edits"]
    prompt = ask(workspace, "prompt", session=session, step="7")
    assert [(mark["step"], edit["step"]) for mark, edit in zip(marks, edits, strict=True)] == [(7, 7)]
    points = ask(workspace, "timeline", session=session)["points"]
    assert (edits[0]["before"], edits[0]["after"]) == (points[5]["used"], points[6]["used"])
    assert edits[0]["replaced"] == 11
    lost = [row for row in prompt["rows"] if row["state"] == "left out"]
    assert len(lost) == 11
    assert any(reports_failure(row["text"]) for row in lost)
    assert ask(workspace, "sessions")["sessions"][0]["compactions"] == 1


def test_the_times_of_a_log_are_those_of_its_records_so_an_expired_cache_is_found(workspace, tmp_path):
    session = workspace.files.open(written(tmp_path / "session.jsonl", claude_code()), wait=60).sessions[0]
    calls = ask(workspace, "cache", session=session)["calls"][::-1]
    assert [call["why"] for call in calls].count("expired") == 1
    assert calls[4]["why"] == "expired"
    assert "940 seconds ago" in calls[4]["text"]
    points = ask(workspace, "timeline", session=session)["points"]
    assert [point["at"] for point in points] == sorted(point["at"] for point in points)
    assert points[0]["at"] == datetime(2026, 11, 3, 9, 0, 5, tzinfo=UTC).timestamp()
    row = ask(workspace, "sessions")["sessions"][0]
    assert row["updated"] == points[-1]["at"]


@pytest.mark.parametrize("how", [{"trim": 5}, {"clock": True}, {"trim": 4, "clock": True}], ids=str)
def test_a_session_that_the_log_names_stays_one(workspace, tmp_path, how):
    lines = [*requests(**how), *requests(**how, name="run-8")]
    file = workspace.files.open(written(tmp_path / "log.jsonl", lines), wait=60)
    assert (len(file.sessions), file.prompts) == (2, 60)
    assert file.skipped == 0
    calls = ask(workspace, "cache", session=file.sessions[0])["calls"]
    assert {call["why"] for call in calls[:-4]} == {"system" if "clock" in how else "compacted"}
    if "clock" in how:
        assert {call["difference"]["offset"] for call in calls[:-1]} == {30, 31}


def test_a_sub_agent_under_the_same_name_is_a_session_of_its_own(workspace, tmp_path):
    other = [{"role": "system", "content": "You search."}, {"role": "user", "content": "Where is shelf 9?"}]
    lines = [*requests(4)]
    lines.insert(2, {"session_id": "run-7", "request": {"model": "gpt-5", "messages": other}})
    file = workspace.files.open(written(tmp_path / "log.jsonl", lines), wait=60)
    assert (len(file.sessions), file.prompts) == (2, 5)
