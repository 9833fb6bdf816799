"""The conversations of a gateway: in the store, by its own path, and in `brim status`."""

import json

from brim.cli import main
from brim.gateway.report import activity
from gateway.conftest import asked, conversation, get, post

LONG = asked(conversation(60))


def status(url, **headers):
    code, _, body = get(url, "/brim/status", **headers)
    assert code == 200
    return json.loads(body)


def printed(capsys, *arguments):
    code = main(["status", *arguments])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_a_gateway_lists_its_conversations_without_a_store(gateway, upstream, capsys):
    url, _ = gateway()
    for turns in (60, 61):
        headers = post(url, asked(conversation(turns)), x_brim_session_id="talk")[1]
    post(url, LONG, x_brim_session_id="second")
    found = status(url)
    assert found["summary"]["conversations"] == 2
    second, talk = found["conversations"]
    assert (second["id"].split(".")[1], talk["id"].split(".")[1]) == ("second", "talk")
    assert (talk["model"], talk["key"], talk["cuts"], talk["requests"]) == ("gpt-4o", "", 1, 2)
    assert (talk["before"], talk["used"]) == tuple(
        int(headers[f"x-brim-tokens-{each}"]) for each in ("before", "after")
    )
    assert (talk["window"], talk["budget"]) == (upstream.window, upstream.window - upstream.window // 8)


def test_the_rows_of_the_newest_conversations_are_kept(gateway, upstream, monkeypatch):
    monkeypatch.setattr(activity, "_MOST_ROWS", 2)
    url, _ = gateway()
    for name in ("first", "second", "third"):
        post(url, asked(conversation(1)), x_brim_session_id=name)
    found = status(url)
    assert [row["id"].split(".")[1] for row in found["conversations"]] == ["third", "second"]
    assert found["summary"]["conversations"] == 3


def test_a_narrow_terminal_cuts_no_number_and_a_pipe_no_name(gateway, upstream, monkeypatch, capsys, tmp_path):
    store = f"sqlite:///{tmp_path}/brim.db"
    url, _ = gateway(store=store)
    session = "3c1171d9-7690-4cce-9b05-4dc3529bb618"
    for turns in (600, 610):
        body = asked(conversation(turns), model="qwen3-coder-480b-a35b-instruct-fp8")
        post(url, body, session_id=session, user_agent="claude-cli/2.1 (external)")
    (row,) = status(url)["conversations"]
    assert row["id"].endswith(f".claude-code.{session}")
    numbers = [f"{row[each]:,}" for each in ("before", "used", "budget", "window", "cuts")]
    monkeypatch.setenv("COLUMNS", "80")
    _, out, _ = printed(capsys, "--store", store)
    (line,) = (line for line in out.splitlines() if numbers[0] in line)
    assert line.split()[2:-1] == numbers
    monkeypatch.delenv("COLUMNS")
    _, out, _ = printed(capsys, "--store", store)
    assert f"{row['id']}   {row['model']}" in out  # A pipe gets the whole names.


def test_a_client_sees_the_conversations_of_its_own_key_only(gateway, upstream, monkeypatch, capsys):
    monkeypatch.setenv("TEAM_A", "key-a")
    monkeypatch.setenv("TEAM_B", "key-b")
    url, _ = gateway(keys=("TEAM_A", "TEAM_B"))
    for key in ("key-a", "key-b"):
        post(url, LONG, authorization=f"Bearer {key}", x_brim_session_id=f"of {key[-1]}")
    assert get(url, "/brim/status")[0] == 401
    (row,) = status(url, authorization="Bearer key-b")["conversations"]
    assert row["key"] == "TEAM_B"
    assert "of_b" in row["id"]


def test_status_lists_the_conversations_of_a_store(gateway, upstream, tmp_path, capsys):
    store = f"sqlite:///{tmp_path}/brim.db"
    url, _ = gateway(store=store)
    post(url, LONG, x_brim_session_id="talk")
    post(url, asked(conversation(61)), x_brim_session_id="second")
    code, out, _ = printed(capsys, "--store", store)
    assert code == 0
    assert out.splitlines()[-1] == "2 conversations of a gateway, 2 cuts"
    name = next(line.split()[0] for line in out.splitlines() if ".talk " in line)
    _, out, _ = printed(capsys, "--store", store, "--session", name)
    assert out.splitlines()[-1] == "1 conversation of a gateway, 1 cut"
    _, out, _ = printed(capsys, "--store", store, "--json")
    found = json.loads(out)
    assert (found["current"], found["sessions"]) == (None, [])
    assert [row["id"].split(".")[1] for row in found["gateway"]] == ["second", "talk"]
    stored = {key: found["gateway"][0][key] for key in ("model", "used", "before", "budget", "window", "cuts", "key")}
    asked_for = status(url)["conversations"][0]
    assert stored == {key: asked_for[key] for key in stored}
