"""The names of conversations: by header or body, apart for each key, and never with a secret in them."""

import pytest

from brim.gateway.client.names import conversation_name, has_key
from gateway.attacks import KEY_SHAPES

CLAUDE = {"user-agent": "claude-cli/2.1.5 (external, cli)"}
SESSION = "3c1171d9-7690-4cce-9b05-4dc3529bb618"
TASK = {"model": "m", "messages": [{"role": "user", "content": "Fix the build."}]}


def header_name(name, *given):
    return conversation_name({"x-brim-session-id": name}, *given)


def test_the_header_names_a_conversation_for_each_key_apart():
    first = header_name("my-talk-7", {"user": "u"}, "TEAM_A.chat")
    assert first.endswith(".my-talk-7")
    assert header_name("my-talk-7", {}, "TEAM_A.chat") == first
    assert header_name("my-talk-7", {}, "TEAM_B.chat") != first
    assert conversation_name({}, {"messages": []}, "TEAM_A.chat") is None


def test_a_body_names_a_conversation_together_with_its_first_message():
    body = {"model": "m", "user": "u", "messages": [{"role": "user", "content": "one"}]}
    name = conversation_name({}, body, "")
    longer = {**body, "messages": [*body["messages"], {"role": "user", "content": "two"}]}
    assert conversation_name({}, longer, "") == name
    assert conversation_name({}, {**body, "messages": [{"role": "user", "content": "other"}]}, "") != name
    keys = {"prompt_cache_key": "p", "metadata": {"user_id": "m"}, "user": "u"}
    found = [conversation_name({}, {key: keys[key] for key in list(keys)[at:]}, "").split(".")[1] for at in range(3)]
    assert found == ["p", "m", "u"]


@pytest.mark.parametrize(
    ("headers", "body", "shown"),
    [
        (
            CLAUDE,
            {"metadata": {"user_id": f'{{"device_id":"d6a9{"0" * 60}","account_uuid":"","session_id":"{SESSION}"}}'}},
            f"claude-code.{SESSION}",
        ),
        (CLAUDE, {"metadata": {"user_id": f"user_{'0a' * 32}_account__session_{SESSION}"}}, f"claude-code.{SESSION}"),
        ({**CLAUDE, "x-claude-code-session-id": SESSION}, {}, f"claude-code.{SESSION}"),
        ({"user-agent": "codex_cli_rs/0.50 (Linux)", "session_id": SESSION}, {}, f"codex.{SESSION}"),
        ({"user-agent": "codex_exec/0.50 (Linux)"}, {"prompt_cache_key": SESSION}, f"codex.{SESSION}"),
        ({"user-agent": "opencode/1.0 ai-sdk", "x-session-affinity": "ses_5f2a"}, {}, "opencode.ses_5f2a"),
        ({"user-agent": "QwenCode/0.14 (linux; x64)"}, {"metadata": {"sessionId": SESSION}}, f"qwen-code.{SESSION}"),
        ({"user-agent": "OpenAI/Python 2.8"}, {"user": "ada"}, "openai.ada"),
        ({"user-agent": "(odd)"}, {"user": "ada"}, "ada"),
        ({}, {"user": "ada", "metadata": "of another kind"}, "ada"),
    ],
)
def test_a_conversation_is_shown_by_the_agents_own_name_and_the_id_of_its_session(headers, body, shown):
    name = conversation_name(headers, {**TASK, **body}, "TEAM_A.chat")
    assert name.partition(".")[2] == shown
    other = {**TASK, "messages": [{"role": "user", "content": "Name this talk."}]}
    assert conversation_name(headers, {**other, **body}, "TEAM_A.chat") != name
    assert conversation_name(headers, {**TASK, **body}, "TEAM_B.chat") != name


def test_a_session_that_is_shown_in_part_is_told_from_others_by_all_of_it():
    names = {conversation_name({}, {**TASK, "user": f"{who}_session_tuesday"}, "") for who in ("ada", "grace")}
    assert len(names) == 2


def test_a_name_that_contains_a_key_is_replaced_by_its_fingerprint():
    for key in KEY_SHAPES:
        assert key not in header_name(f"talk {key}", {}, "", [key])
        assert key not in conversation_name({}, {"user": key, "messages": []}, "", [key])
    assert header_name("my-talk-7", {}, "", ["qv7Rk2xw"]).endswith(".my-talk-7")
    assert header_name("a" + KEY_SHAPES[0], {}, "") != header_name("b" + KEY_SHAPES[0], {}, "")


def test_a_name_that_cannot_be_logged_is_made_plain_and_stays_unique():
    names = [header_name(text, {}, "") for text in ("a b", "a\nb", "x" * 300, "x" * 301)]
    assert len(set(names)) == 4
    assert all(name.isascii() and name.isprintable() and len(name) < 250 for name in names)


def test_a_key_is_told_by_its_form():
    keys = [key for key in KEY_SHAPES if has_key(key, [])]  # The others are told by what a client shows as its key.
    assert len(keys) > 5
    for name in (*keys, *(f"model-{i}" for i in range(600))):
        assert has_key(name, []) == (name in keys)
