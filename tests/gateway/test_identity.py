"""The names of conversations: by header or body, apart for each key, and never with a secret in them."""

from brim.gateway import identity
from brim.gateway.identity import has_key, named
from gateway.attacks import KEY_SHAPES


def test_the_header_names_a_conversation_for_each_key_apart():
    first = named("my-talk-7", {"user": "u"}, "TEAM_A.chat")
    assert first.endswith(".my-talk-7")
    assert named("my-talk-7", {}, "TEAM_A.chat") == first
    assert named("my-talk-7", {}, "TEAM_B.chat") != first
    assert named(None, {"messages": []}, "TEAM_A.chat") is None


def test_a_body_names_a_conversation_together_with_its_first_message():
    body = {"model": "m", "user": "u", "messages": [{"role": "user", "content": "one"}]}
    name = named(None, body, "")
    longer = {**body, "messages": [*body["messages"], {"role": "user", "content": "two"}]}
    assert named(None, longer, "") == name
    assert named(None, {**body, "messages": [{"role": "user", "content": "other"}]}, "") != name
    keys = {"prompt_cache_key": "p", "metadata": {"user_id": "m"}, "user": "u"}
    found = [named(None, {key: keys[key] for key in list(keys)[at:]}, "").split(".")[1] for at in range(3)]
    assert found == ["p", "m", "u"]


def test_a_name_that_contains_a_key_is_replaced_by_its_fingerprint():
    for key in KEY_SHAPES:
        assert key not in named(f"talk {key}", {}, "", [key])
        assert key not in named(None, {"user": key, "messages": []}, "", [key])
    assert named("my-talk-7", {}, "", ["qv7Rk2xw"]).endswith(".my-talk-7")
    assert named("a" + KEY_SHAPES[0], {}, "") != named("b" + KEY_SHAPES[0], {}, "")


def test_a_name_that_cannot_be_logged_is_made_plain_and_stays_unique():
    names = [named(text, {}, "") for text in ("a b", "a\nb", "x" * 300, "x" * 301)]
    assert len(set(names)) == 4
    assert all(name.isascii() and name.isprintable() and len(name) < 250 for name in names)


def test_names_that_were_searched_are_kept_but_no_key_and_not_without_end():
    keys = [key for key in KEY_SHAPES if has_key(key, [])]  # The others are told by what a client shows as its key.
    assert len(keys) > 5
    for name in (*keys, *(f"model-{i}" for i in range(600))):
        assert has_key(name, []) == (name in keys)
    assert "model-599" in identity._PLAIN
    assert len(identity._PLAIN) <= 256
    assert not identity._PLAIN.intersection(keys)
