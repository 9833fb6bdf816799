"""The budget lab in a real Chromium. `make test-ui` runs this; the page has to be built."""

import pytest

import brim
from brim.errors import DoesNotFit
from brim.studio import lab_source
from studio.browser import tab

pytestmark = pytest.mark.ui


def fitted(budget):
    given = lab_source.sample_receipt().capture
    options = {key: value for key, value in given.options.items() if value is not None}
    return brim.fit(list(given.sections), budget, model=given.model, meter=given.meter, **options).receipt


def test_the_slider_keeps_what_the_library_keeps_to_the_unit(chromium, served):
    with tab(chromium, served) as at:
        at.go("lab")
        for budget in (900, 1_500, 2_600, 3_333, 7_000):
            at.page.locator("input[type=range]").fill(str(budget))
            expected = fitted(budget)
            at.page.wait_for_selector(f"[data-used='{expected.used}'][data-budget='{budget}']")
            at.page.get_by_label("Which pieces").select_option("dropped")
            dropped = [part.name for part in expected.parts if part.state == "dropped"]
            at.page.wait_for_function("n => document.querySelectorAll('.piece').length === n", arg=len(dropped))
            assert at.page.locator(".piece b").all_inner_texts() == dropped
            at.page.get_by_label("Which pieces").select_option("all")


def test_the_lab_is_worked_by_keys_alone_and_every_place_has_a_link(chromium, served):
    with tab(chromium, served) as at:
        at.go("lab", budget="2600")
        at.page.wait_for_selector("[data-used]")
        at.page.locator("input[type=range]").focus()
        assert at.page.evaluate("document.activeElement.type") == "range"
        for keys, budget in (
            ("ArrowRight", 2_601),
            ("Shift+ArrowRight", 2_729),
            ("Control+ArrowLeft", 1_705),
            ("ArrowDown", 1_704),
        ):
            at.page.keyboard.press(keys)
            at.page.wait_for_selector(f"[data-budget='{budget}']")
        at.page.wait_for_function("() => location.hash.includes('budget=1704')")
        at.page.keyboard.press("/")
        assert at.page.evaluate("document.activeElement.type") == "search"
        at.page.keyboard.type("less")
        at.page.wait_for_function("() => document.querySelectorAll('.piece').length === 1")
        assert at.page.locator(".piece b").inner_text() == "lessons"
        stops = set()
        for _ in range(8):
            at.page.keyboard.press("Tab")
            stops.add(at.page.evaluate("document.activeElement.ariaLabel ?? document.activeElement.textContent.trim()"))
        assert {"Which pieces", "Pieces"} <= stops
        at.go("lab", budget="3100")
        at.page.wait_for_selector(f"[data-used='{fitted(3_100).used}'][data-budget='3100']")


def test_a_budget_that_is_too_small_says_what_it_takes_and_goes_there(chromium, served):
    with pytest.raises(DoesNotFit) as caught:
        fitted(10)
    with tab(chromium, served) as at:
        at.go("lab", budget="10")
        at.page.get_by_role("button", name=f"Raise the budget to {caught.value.needed:,}").click()
        at.page.wait_for_selector(f"[data-budget='{caught.value.needed}']")
