"""Clients with different keys of their own are told apart, also by processes that share a store, and no key is kept."""

import hashlib
import itertools
import threading

import pytest

from brim.gateway.client.names import owner_salt, owner_tag
from brim.sessions.log.tolerant_store import TolerantStore
from brim.store import open_store
from gateway.conftest import admitted, asked, conversation, get, post
from store_file import readable

KEYS = ("sk-own-key-of-ada", "sk-own-key-of-bob")


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path}/brim.db"


def test_processes_that_share_a_store_agree_on_a_tag_and_others_do_not(url, tmp_path):
    with open_store(url) as one, open_store(url) as two, open_store(f"sqlite:///{tmp_path}/other.db") as other:
        salts = [owner_salt(TolerantStore(each)) for each in (one, two, other, None, None)]
        ada, bob = ([owner_tag([key], salt) for salt in salts] for key in KEYS)
    for found in (ada, bob):
        assert found[0] == found[1]
        assert len(set(found)) == 4
    assert not set(ada) & set(bob)


def test_a_tag_is_that_of_all_keys_in_any_order():
    assert owner_tag([], b"salt") == ""
    assert owner_tag(["a", "b"], b"salt") == owner_tag(["b", "a", "a"], b"salt")
    assert len({owner_tag(keys, b"salt") for keys in (["a"], ["b"], ["a", "b"], ["ab"], ["a\udcff"])}) == 5


def test_threads_that_begin_at_once_agree_on_the_salt(url):
    found, ready = [], threading.Barrier(4)

    def begin():
        with open_store(url) as store:
            ready.wait()
            found.append(owner_salt(TolerantStore(store)))

    threads = [threading.Thread(target=begin) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(found) == 4
    assert len(set(found)) == 1


def test_no_key_and_no_quick_hash_of_one_is_in_the_store(url, gateway, upstream, tmp_path):
    address, _ = gateway(store=url, capture=True)
    for key in KEYS:
        headers = {"authorization": f"Bearer {key}", "x_brim_session_id": "talk"}
        assert post(address, asked(conversation(60)), **headers)[1]["x-brim-edits"] != "0"
    written = readable(tmp_path / "brim.db")
    assert b"Go on" in written or b"task" in written
    with open_store(url) as store:
        salt = bytes.fromhex(store.load("gateway-owners", "salt").body["salt"])
    for key, name in itertools.product(KEYS, ("md5", "sha1", "sha256", "sha512", "blake2b", "blake2s")):
        for text in (key, f"Bearer {key}", f".chat.{key}", salt.hex() + key, salt + key.encode()):
            told = text if isinstance(text, bytes) else text.encode()
            digest = hashlib.new(name, told)
            assert digest.hexdigest()[:12].encode() not in written
            assert digest.digest()[:6] not in written
        assert key.encode() not in written


def test_clients_with_different_keys_of_their_own_share_no_conversation(url, gateway, upstream):
    """Two clients, one name: "without gateway.keys they share a conversation"."""
    for told in ({}, {"store": url}, {"store": url}):  # In memory, in a store, and in another process of that store.
        address, app = gateway(**told)
        for key, name in itertools.product((*KEYS, None), ("talk", "default")):
            sent = {"x_brim_session_id": name} | ({"authorization": f"Bearer {key}"} if key else {})
            assert post(address, asked(conversation(60)), **sent)[0] == 200
        rows = app.state.status("")["conversations"]
        assert len({row["id"] for row in rows}) == 6
    with open_store(url) as store:
        assert len(store.sessions()) == 6
    status, _, body = get(address, "/brim/status")
    assert (status, body.count(b'"id"')) == (200, 6)


def test_every_place_of_a_key_tells_clients_apart():
    def sent(query="", keys=(), **headers):
        return sorted(admitted("/v1/x", query, keys, **headers).credentials)

    assert sent() == []
    assert sent(authorization="Bearer k") == sent(x_api_key="k") == sent(api_key="k") == sent(query="key=k") == ["k"]
    assert sent(x_goog_api_key="k", query="beta=true&api_key=l") == ["k", "l"]
    assert sent(authorization="Basic eA==") == ["eA=="]
    keyed = {"TEAM": "team"}.items()
    assert sent(keys=keyed, x_api_key="team", authorization="Bearer own") == ["own"]
    assert sent(keys=keyed, x_api_key="team") == []
