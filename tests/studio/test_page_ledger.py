"""The ledger in a real Chromium: dropped texts are found, read, restored and pinned."""

import json

import pytest

import brim
from studio.browser import tab

pytestmark = pytest.mark.ui
SESSION = "orders-incident"


def test_a_dropped_text_is_found_restored_and_in_the_next_prompt(chromium, alone):
    with tab(chromium, alone) as at:
        at.go("ledger", workspace="demo", session=SESSION)
        at.page.keyboard.press("/")
        at.page.keyboard.type("certificate")
        row = at.page.locator("section[aria-label=Search] li").first
        row.get_by_role("button", name="Restore…").click()
        row.get_by_role("button", name="Restore", exact=True).click()
        at.page.wait_for_selector("text=Restored:")
        session = brim.Session.open(SESSION, store=alone.studio.workspace("demo").store())
        assert "certificate" in json.dumps(session.messages[-1])
        assert "Restored from earlier" in session.prompt().text


def test_what_was_pinned_is_in_every_prompt_until_it_is_unpinned(chromium, alone):
    store = alone.studio.workspace("demo").store()
    with tab(chromium, alone) as at:
        at.go("ledger", workspace="demo", session=SESSION, words="certificate March")
        row = at.page.locator("section[aria-label=Search] li").first
        row.get_by_role("button", name="Pin", exact=True).click()
        at.page.get_by_role("region", name="Pinned").wait_for()
        session = brim.Session.open(SESSION, store=store)
        (pinned,) = session.pins.values()
        assert "certificate" in pinned
        for _ in range(3):
            session.add({"role": "user", "content": "Go on."})
            fitted = session.prompt()
            assert pinned in fitted.text
            assert fitted.used <= session.budget
        at.page.get_by_role("region", name="Pinned").get_by_role("button", name="Unpin").click()
        at.page.wait_for_selector("section[aria-label=Pinned]", state="detached")
        assert pinned not in brim.Session.open(SESSION, store=store).prompt().text


def test_each_edit_shows_before_after_trigger_removed_texts_and_summary(chromium, served):
    edits = served.get("ledger", session=SESSION)[1]["edits"]
    with tab(chromium, served) as at:
        at.go("ledger", workspace="demo", session=SESSION)
        links = at.page.locator(".picks a")
        assert links.count() == len(edits)
        for i, edit in enumerate(edits):
            links.nth(i).click()
            at.page.wait_for_function("n => location.hash.includes(`edit=${n}`)", arg=edit["number"])
            told = at.page.locator(".split.ledger > .card").last.inner_text()
            if edit["kind"] == "compaction":
                assert f"{edit['before']:,}" in told
                assert f"{edit['after']:,}" in told
                assert "trigger" in told
                assert "Replaced by" in told
        at.page.locator(".texts button.plain").first.click()
        at.page.wait_for_selector(".texts pre")


def test_the_search_goes_across_all_sessions(chromium, served):
    with tab(chromium, served) as at:
        at.go("ledger", workspace="demo", session=SESSION, words="Batch checked")
        at.page.wait_for_selector("text=No text that was left out of this session has these words")
        at.page.get_by_label("in all sessions").check()
        at.page.wait_for_selector("section[aria-label=Search] li a >> text=orders-recount")
