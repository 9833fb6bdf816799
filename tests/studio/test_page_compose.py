"""A request and sections put together on the page, in a real Chromium. `make test-ui` runs this."""

import json

import pytest

from studio.browser import tab
from studio.views.test_composition import REQUEST, SECTIONS

pytestmark = pytest.mark.ui


def compose(page, request, sections, budget="", model=""):
    page.get_by_label("Request: its body").fill(request)
    page.get_by_label("Sections as YAML").fill(sections)
    form = page.locator(".compose")
    form.get_by_label("Budget").fill(budget)
    form.get_by_label("Model").fill(model)
    form.get_by_role("button", name="Fit").click()


def test_a_request_and_sections_are_fitted_under_one_budget(chromium, alone):
    with tab(chromium, alone) as at:
        at.go("lab", workspace="mine")
        at.page.get_by_role("button", name="Compose a request").click()
        compose(at.page, REQUEST, SECTIONS, budget="700")
        at.page.wait_for_selector("[data-used][data-budget='700']")
        assert at.page.locator(".compose").count() == 0
        names = at.page.locator(".piece b").all_inner_texts()  # The list has only the rows that are seen.
        assert names[0] == "rules"
        for name in ("documents", "question"):
            at.page.locator("input[type=search]").last.fill(name)
            at.page.wait_for_selector(f".piece b:text-is('{name}')")
        at.page.get_by_role("button", name="Show the result").click()
        body = json.loads(at.page.locator("pre.sent").inner_text())
        assert body["messages"][0] == {"role": "system", "content": "Answer from the documents."}
        assert "Where is order 12" in body["messages"][-1]["content"]
        assert body["tools"][0]["function"]["name"] == "track"
        assert "documents" in at.page.locator("pre.receipt").inner_text()
        used = int(at.page.locator("[data-used]").first.get_attribute("data-used"))
        assert f"{used:,} of 700" in at.page.locator(".result").inner_text()
        # Another budget has another result.
        at.page.locator("input[type=range]").fill("1500")
        at.page.wait_for_selector("[data-used][data-budget='1500']")
        at.page.get_by_role("button", name="Show the result").click()
        at.page.wait_for_selector(".result >> text=of 1,500")
        assert len(json.loads(at.page.locator("pre.sent").inner_text())["messages"]) > len(body["messages"])


def test_what_is_wrong_is_told_in_the_form_and_what_was_written_stays(chromium, alone):
    with tab(chromium, alone) as at:
        at.go("lab", workspace="mine")
        at.page.get_by_role("button", name="Compose a request").click()
        compose(at.page, '{"model": "gpt-4o"}', SECTIONS, budget="700")
        at.page.wait_for_selector(".compose .problem >> text=either messages, input or contents")
        assert at.page.get_by_label("Request: its body").input_value() == '{"model": "gpt-4o"}'
        at.wrong = [each for each in at.wrong if "400" not in each]  # Chromium logs each refused request.
        compose(at.page, REQUEST, SECTIONS, budget="10")
        at.page.wait_for_selector("text=It does not fit")


def test_the_example_of_the_form_can_be_fitted_as_it_is(chromium, alone):
    with tab(chromium, alone, width=390) as at:
        at.go("lab", workspace="mine")
        at.page.get_by_role("button", name="Compose a request").click()
        at.page.locator(".compose").get_by_role("button", name="Fit").click()
        at.page.wait_for_selector("[data-used][data-budget='2000']")
        assert "order 1234" in at.page.content()
        assert at.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
