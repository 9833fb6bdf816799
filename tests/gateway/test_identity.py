"""The names of conversations: by header or body, apart for each key, and never with a secret in them."""

from brim.gateway.client.names import conversation_name, has_key
from gateway.attacks import KEY_SHAPES


def test_the_header_names_a_conversation_for_each_key_apart():
    first = conversation_name("my-talk-7", {"user": "u"}, "TEAM_A.chat")
    assert first.endswith(".my-talk-7")
    assert conversation_name("my-talk-7", {}, "TEAM_A.chat") == first
    assert conversation_name("my-talk-7", {}, "TEAM_B.chat") != first
    assert conversation_name(None, {"messages": []}, "TEAM_A.chat") is None


def test_a_body_names_a_conversation_together_with_its_first_message():
    body = {"model": "m", "user": "u", "messages": [{"role": "user", "content": "one"}]}
    name = conversation_name(None, body, "")
    longer = {**body, "messages": [*body["messages"], {"role": "user", "content": "two"}]}
    assert conversation_name(None, longer, "") == name
    assert conversation_name(None, {**body, "messages": [{"role": "user", "content": "other"}]}, "") != name
    keys = {"prompt_cache_key": "p", "metadata": {"user_id": "m"}, "user": "u"}
    found = [conversation_name(None, {key: keys[key] for key in list(keys)[at:]}, "").split(".")[1] for at in range(3)]
    assert found == ["p", "m", "u"]


def test_a_name_that_contains_a_key_is_replaced_by_its_fingerprint():
    for key in KEY_SHAPES:
        assert key not in conversation_name(f"talk {key}", {}, "", [key])
        assert key not in conversation_name(None, {"user": key, "messages": []}, "", [key])
    assert conversation_name("my-talk-7", {}, "", ["qv7Rk2xw"]).endswith(".my-talk-7")
    assert conversation_name("a" + KEY_SHAPES[0], {}, "") != conversation_name("b" + KEY_SHAPES[0], {}, "")


def test_a_name_that_cannot_be_logged_is_made_plain_and_stays_unique():
    names = [conversation_name(text, {}, "") for text in ("a b", "a\nb", "x" * 300, "x" * 301)]
    assert len(set(names)) == 4
    assert all(name.isascii() and name.isprintable() and len(name) < 250 for name in names)


def test_a_key_is_told_by_its_form():
    keys = [key for key in KEY_SHAPES if has_key(key, [])]  # The others are told by what a client shows as its key.
    assert len(keys) > 5
    for name in (*keys, *(f"model-{i}" for i in range(600))):
        assert has_key(name, []) == (name in keys)
