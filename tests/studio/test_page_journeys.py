"""What people come for, each from its question to the file that changed, in a real Chromium. `make test-ui` runs this.

A: the agent forgot an error, keep it next time. B: what fills the window. C: another budget.
"""

import json
import re
from pathlib import Path

import pytest
import yaml

import brim
from studio.browser import tab
from studio.logs import claude_code
from studio.test_page_open import drop, text

pytestmark = pytest.mark.ui
SESSION = "orders-incident"


def number(words):
    """Return the first number in some words."""
    return int(re.search(r"[\d,]+", words)[0].replace(",", ""))


def keep_next_time(at, folder, words):
    """Find a text that was left out, keep it, and return the settings file; then undo, and check that it is gone."""
    at.page.get_by_role("tab", name="Left out").click()
    at.page.wait_for_selector("[data-out]")
    at.page.get_by_label("Search this prompt").fill(words)
    row = at.page.locator(".part.out.open, .part.cut.open").first
    row.wait_for()
    assert words.lower() in row.locator("pre").inner_text().lower()
    assert row.locator(".why").inner_text().strip()
    row.get_by_role("button", name="Keep next time…").click()
    row.get_by_role("button", name="Show the change").click()
    row.locator(".diff .plus").first.wait_for()
    assert not any("pin" in path.read_text() for path in folder.glob("brim.yaml"))
    row.get_by_role("button", name="Save").click()
    row.locator("text=Saved to").wait_for()
    return folder / "brim.yaml"


def test_a_a_forgotten_error_is_found_and_kept_next_time(chromium, own_demo):
    folder = Path(own_demo.workspace.config)
    with tab(chromium, own_demo) as at:
        at.go("sessions")
        at.page.locator(".row.session", has_text=SESSION).click()
        at.page.locator(".plot svg").click(position={"x": 640, "y": 80})
        at.page.wait_for_selector("[data-step]")
        settings = keep_next_time(at, folder, "upstream timed out")
        pinned = yaml.safe_load(settings.read_text())["history"]["pin"]
        store = own_demo.workspace.store()
        said = [entry.body["message"] for entry in store.entries(SESSION, kinds=["message"])]
        kept = brim.load_config(str(folder)).resolve().fit_messages(said)
        assert all(any(text.lower() in json.dumps(each).lower() for each in kept.messages) for text in pinned)
        at.page.get_by_role("button", name="Undo").first.click()
        at.page.wait_for_selector("text=Reverted in")
        assert "pin" not in (yaml.safe_load(settings.read_text()).get("history") or {})


def test_a_in_a_log_of_claude_code_that_was_compacted(chromium, alone):
    with tab(chromium, alone) as at:
        at.go("sessions")
        drop(at.page, "import.jsonl", text(claude_code()))
        at.page.wait_for_selector("[data-step]", timeout=30_000)
        settings = keep_next_time(at, alone.folder, "ValueError")
        assert any("row 17" in each for each in yaml.safe_load(settings.read_text())["history"]["pin"])


def test_b_what_fills_it_adds_up_and_leads_to_the_setting(chromium, own_demo):
    folder = Path(own_demo.workspace.config)
    with tab(chromium, own_demo) as at:
        at.go("session", session=SESSION, step=37)
        sizes = [number(row.locator("td").first.inner_text()) for row in at.page.locator(".sums tr").all()]
        assert sum(sizes[:-1]) == sizes[-1] == number(at.page.locator("[data-used]").first.inner_text())
        at.page.locator(".sums tr", has_text="tool results").get_by_role("link", name="limit").click()
        form = at.page.locator(".keys form")
        form.get_by_label("session.tool_limit").fill("20%")
        form.get_by_role("button", name="Show the change").click()
        at.page.wait_for_selector(".diff .plus")
        at.page.get_by_role("button", name="Save").click()
        at.page.wait_for_selector("text=Saved to")
    assert yaml.safe_load((folder / "brim.yaml").read_text())["session"]["tool_limit"] == "20%"


def test_c_another_budget_says_what_is_left_out(chromium, own_demo):
    with tab(chromium, own_demo) as at:
        at.go("session", session=SESSION, step=26)
        used = number(at.page.locator("[data-used]").first.inner_text())
        at.page.get_by_role("link", name="Try another budget").click()
        lab = at.page.locator("main[data-screen='lab']")
        lab.locator("[data-used]").wait_for()
        assert int(lab.locator("[data-sent]").get_attribute("data-sent")) == used
        lab.locator("input[type=range]").fill("3000")
        lab.locator("[data-budget='3000']").wait_for()
        assert "left out" in lab.locator(".fit").inner_text().lower()
        lab.locator(".piece button.plain").nth(2).click()
        assert lab.locator(".text pre").inner_text().strip()


def test_words_of_any_text_are_found_from_anywhere(chromium, served):
    with tab(chromium, served) as at:
        at.go("settings")
        at.page.keyboard.press("Control+k")
        at.page.wait_for_selector("[data-search]:focus")
        at.page.keyboard.type("certificate March")
        at.page.locator("section[aria-label='Texts'] li", has_text="left out of").first.locator("a").click()
        at.page.wait_for_selector("main[data-screen='session'] mark")
        assert "certificate" in at.page.locator("#panel").inner_text()
