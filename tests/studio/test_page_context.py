"""What fills a context, and its prompt, in a real Chromium. `make test-ui` runs this; the page has to be built."""

import json

import pytest

import brim
from studio.browser import STUDIO, tab
from studio.views.test_prompt import TOOLS, recorded

pytestmark = pytest.mark.ui


def test_a_category_opens_its_pieces_and_a_piece_its_whole_text_by_keys_alone(chromium, alone):
    recorded(alone.folder, "openai", long=3_000)
    with tab(chromium, alone) as at:
        at.go("context", workspace="mine", session="s")
        at.page.locator("tbody button.plain", has_text="user").focus()
        at.page.keyboard.press("Enter")
        at.page.wait_for_selector("h2 >> text=31 pieces of user")
        at.page.get_by_role("button", name="all categories").click()
        at.page.locator("main").press("/")
        at.page.keyboard.type("the last question")
        at.page.wait_for_selector("h2 >> text=1 piece")
        at.page.keyboard.press("Tab")
        at.page.keyboard.press("Tab")
        assert at.page.evaluate("document.activeElement.getAttribute('aria-label')") == "Pieces of the context"
        at.page.keyboard.press("Tab")
        at.page.keyboard.press("Enter")
        at.page.wait_for_selector(".text pre")
        at.page.get_by_role("button", name="All 15,").press("Enter")
        at.page.wait_for_function("() => document.querySelector('.text pre').textContent.length > 15000")


def test_the_rows_say_what_frees_them_and_add_up_with_what_the_provider_counted(chromium, alone):
    _, fitted = recorded(alone.folder, "openai")
    with tab(chromium, alone) as at:
        at.go("context", workspace="mine", session="s")
        rows = at.page.locator("tbody tr")
        told = [[cell.strip() for cell in row.locator("th, td").all_inner_texts()] for row in rows.all()]
        units = {row[0].split("\n")[-1].split()[-1]: int(row[1].replace(",", "")) for row in told}
        assert units.pop("free") == 4_000 - fitted.used
        assert units["unattributed"] == 7
        assert sum(units.values()) == fitted.used + 7
        assert all(row[-1] for row in told)
        assert f"The rows add up to {fitted.used + 7:,}" in at.page.locator("main").inner_text()


def test_the_context_and_the_lab_say_estimated_of_the_same_session(chromium, served):
    with tab(chromium, served) as at:
        at.go("context", workspace="demo", session="orders-incident")
        assert at.page.locator(".lead .badge").first.inner_text() == "estimated"
        at.go("lab", workspace="demo", source="session:orders-incident")
        at.page.wait_for_selector("[data-used]")
        assert at.page.locator(".strip dd").last.inner_text() == "estimated"


@pytest.mark.parametrize("format", list(TOOLS))
def test_the_prompt_shows_what_was_sent_and_left_out_in_its_place_and_the_body(chromium, alone, format):
    _, fitted = recorded(alone.folder, format)
    with tab(chromium, alone) as at:
        at.go("prompt", workspace="mine", session="s")
        at.page.wait_for_function("() => document.querySelectorAll('.part').length > 60")
        gone = at.page.locator(".part.out")
        assert gone.count() > 0
        gone.first.locator(".part-head").press("Enter")
        assert gone.first.locator(".why").inner_text()
        assert "word" in gone.first.locator("pre").inner_text()
        total = at.page.locator("[data-sum]").get_attribute("data-sum")
        assert total == at.page.locator("[data-used]").first.get_attribute("data-used") == str(fitted.used)
        at.page.get_by_label("Which parts").select_option("changed")
        at.page.wait_for_function("() => !document.querySelector('.part:not(.out):not(.cut)')")
        at.page.get_by_role("button", name="Copy as…").click()
        at.page.wait_for_selector("pre.tall")
        body = json.loads(at.page.locator("pre.tall").inner_text())
        assert body["input" if format == "responses" else "messages"] == fitted.messages
        at.page.get_by_role("button", name="curl").click()
        at.page.wait_for_selector("pre.tall >> text=$API_KEY")
        axe = (STUDIO / "page" / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
        at.page.evaluate(axe)
        found = at.page.evaluate("axe.run().then(told => told.violations)")
        assert [each["id"] for each in found if each["impact"] in ("serious", "critical")] == []


def test_a_session_without_capture_says_how_to_keep_prompts(chromium, alone):
    recorded(alone.folder, "openai", capture=False)
    with tab(chromium, alone) as at:
        at.go("prompt", workspace="mine", session="s")
        assert "capture=True" in at.page.locator("main").inner_text()
        at.go("context", workspace="mine", session="s")
        at.page.locator("button.row").first.click()
        assert "capture=True" in at.page.locator(".text pre").inner_text()


def test_markup_that_was_sent_stays_text(chromium, alone):
    evil = '<img src=x onerror="window.hit=1"><script>window.hit=1</script>'
    with brim.open_store(f"sqlite:///{alone.folder}/brim.db") as store:
        session = brim.Session(window=4_000, model="gpt-5", store=store, id=evil, capture=True)
        session.add({"role": "user", "content": evil})
        session.prompt(system=evil)
    with tab(chromium, alone) as at:
        for view in ("", "body", "share"):
            at.go("prompt", workspace="mine", session=evil, view=view)
            assert "onerror" in at.page.locator("main").inner_text()
            assert at.page.evaluate("window.hit") is None
            assert at.page.locator("main img, main script").count() == 0
