"""The keys that a gateway has seen are found in names, and none of them is kept."""

from brim.gateway.seen_keys import _MOST, SeenKeys
from gateway.attacks import KEY_SHAPES


def test_a_key_is_found_wherever_it_stands_in_a_name():
    seen = SeenKeys(KEY_SHAPES[:6])
    seen.see(KEY_SHAPES[6:])
    for key in KEY_SHAPES:
        for name in (key, f"talk-{key}", f"{key}.x", f"a{key}b"):
            assert seen.found(["plain", name]) == [key]
    assert seen.found(["plain", "gpt-4o", ""]) == []


def test_short_words_are_no_keys_and_old_keys_are_forgotten():
    seen = SeenKeys(["gpt-5", "default"])
    assert seen.found(["gpt-5", "default"]) == []
    seen.see(["first-key-0001"])
    seen.see(f"key-{i:09}" for i in range(_MOST))
    assert seen.found(["first-key-0001"]) == []
    assert seen.found([f"by key-{_MOST - 1:09}"]) == [f"key-{_MOST - 1:09}"]


def test_no_key_is_kept():
    seen = SeenKeys(KEY_SHAPES)
    assert not [key for key in KEY_SHAPES if key in repr(vars(seen))]
