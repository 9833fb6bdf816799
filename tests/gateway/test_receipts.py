"""Each cut of a gateway leaves a receipt in its store, and its conversation counts its cuts."""

import json

import pytest

from brim import open_store
from brim.cli import main
from brim.receipts.receipt import Receipt
from brim.requests.replay import replay
from gateway.conftest import asked, conversation, post

NAMED = {"x_brim_session_id": "talk"}


def grown(url, turns):
    """Send a conversation as it grows, and return the answers' headers."""
    return [post(url, asked(conversation(turn)), **NAMED)[1] for turn in turns]


def prompts(url):
    """Return the entries of the prompts of the one conversation in a store, and what the list of sessions shows."""
    with open_store(url) as store:
        (row,) = store.sessions()
        entries = store.entries(row.id, kinds=["prompt"])
        return [entry.body for entry in entries], row.meta["status"]


def test_each_cut_leaves_one_receipt_without_text_and_what_is_held_leaves_none(gateway, upstream, tmp_path):
    store = f"sqlite:///{tmp_path}/brim.db"
    url, _ = gateway(store=store)
    headers = grown(url, range(40, 60))
    found, status = prompts(store)
    assert len(found) == 20
    cuts = [body["cuts"] for body in found]
    receipts = [Receipt.from_dict(body["receipt"]) if "receipt" in body else None for body in found]
    assert cuts[0] == 1
    assert 1 < cuts[-1] < 10
    assert cuts[-1] == status["cuts"]
    new = [now > before for before, now in zip([0, *cuts], cuts, strict=False)]
    assert [receipt is not None for receipt in receipts] == new
    for receipt, body, answer in zip(receipts, found, headers, strict=True):
        assert body["used"] == int(answer["x-brim-tokens-after"])
        assert (body["window"], body["key"]) == (upstream.window, "")
        if receipt is not None:
            assert (receipt.used, receipt.budget) == (body["used"], body["budget"])
            assert receipt.losses
            assert receipt.capture is None
    assert "looked at the log" not in json.dumps(found)


def test_a_gateway_that_starts_again_counts_on(gateway, upstream, tmp_path):
    store = f"sqlite:///{tmp_path}/brim.db"
    grown(gateway(store=store)[0], range(40, 47))
    before, _ = prompts(store)
    grown(gateway(store=store)[0], range(46, 48))
    after, _ = prompts(store)
    assert before[-1]["cuts"] == after[7]["cuts"] == after[8]["cuts"]
    assert not any("receipt" in body for body in after[7:])


@pytest.mark.parametrize("capture", [False, True])
def test_with_capture_the_cut_can_be_made_again_at_another_budget(gateway, upstream, tmp_path, capture):
    store = f"sqlite:///{tmp_path}/brim.db"
    url, _ = gateway(store=store, capture=capture)
    grown(url, [40])
    (body,), _ = prompts(store)
    assert ("looked at the log" in json.dumps(body["receipt"])) == capture
    if capture:
        again = replay(body["receipt"], budget=body["budget"] // 2)
        assert 0 < again.used <= body["budget"] // 2


def test_brim_replay_opens_the_receipts_of_a_store(gateway, upstream, tmp_path, capsys):
    store = f"sqlite:///{tmp_path}/brim.db"
    grown(gateway(store=store, capture=True)[0], range(40, 60))
    with open_store(store) as opened:
        (row,) = opened.sessions()
        cuts = [each for each in opened.entries(row.id, kinds=["prompt"]) if "receipt" in each.body]

    def said(*words):
        code = main(["replay", *words, "--store", store, "--json"])
        out, err = capsys.readouterr()
        assert bool(err) == bool(code)
        return code, json.loads(out)

    newest, first = f"prompt:{row.id}", f"prompt:{row.id}:{cuts[0].number}"
    dropped = Receipt.from_dict(cuts[-1].body["receipt"]).losses[0].name
    assert said(newest, "--why", dropped)[1]["part"]["state"] == "dropped"
    assert said(first, "--budget", "400")[0] == 0
    code, told = said(f"prompt:{row.id}:99999")
    names = [f"prompt:{row.id}:{each.number}" for each in cuts]
    assert (code, any(each in told["error"]["message"] for each in names)) == (2, True)


def test_brim_replay_lists_the_turns_of_a_receipt_without_texts(gateway, upstream, tmp_path, capsys):
    store = f"sqlite:///{tmp_path}/brim.db"
    grown(gateway(store=store)[0], [40])
    with open_store(store) as opened:
        (row,) = opened.sessions()

    def said(*words):
        code = main(["replay", f"prompt:{row.id}", *words, "--store", store])
        out, err = capsys.readouterr()
        return code, out, err

    code, out, err = said()
    assert (code, err) == (0, "")
    assert out.startswith("recorded: ")
    assert out.count(" dropped ") > 10
    assert " whole " not in out
    code, out, _ = said("--json")
    assert (code, json.loads(out)["replays"][0]["receipt"]["used"]) == (0, row.meta["status"]["used"])
    code, _, err = said("-b", "900")
    assert (code, "session.capture" in err) == (2, True)


def test_a_conversation_is_replayed_by_the_name_that_the_client_sent(gateway, upstream, tmp_path, capsys):
    store = f"sqlite:///{tmp_path}/brim.db"
    url, _ = gateway(store=store)
    grown(url, [40])
    assert main(["replay", "prompt:talk", "--store", store]) == 0
    assert main(["replay", "prompt:talk:99999", "--store", store]) == 2
    assert "prompt:talk:99999" in capsys.readouterr().err
    post(url, asked(conversation(40)), **NAMED, authorization="Bearer another-client-0001")
    assert main(["replay", "prompt:talk", "--store", store]) == 2  # Two clients have this name.
    with open_store(store) as opened:
        names = [row.id for row in opened.sessions()]
    said = capsys.readouterr().err
    assert len(names) == 2
    assert all(name in said for name in names)
