"""Every screen in a real Chromium, filled and empty, by mouse and by keys. `make test-ui` runs this."""

import pytest

from studio.browser import STUDIO, tab

pytestmark = pytest.mark.ui

SCREENS = ("sessions", "lab", "settings")
INCIDENT = {"session": "orders-incident", "step": "27"}
MORE = (
    ("session", {"session": "orders-incident"}),
    ("session", {**INCIDENT, "tab": "out"}),
    ("session", {**INCIDENT, "tab": "cache"}),
    ("session", {**INCIDENT, "view": "body"}),
    ("lab", {"source": "prompt:orders-incident@27"}),
    ("session", {"session": "orders-recount"}),
    ("settings", {"flow": "build", "step": "code", "key": "context_budget_chars"}),
)
"""Places of screens that look different."""


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (1440, "dark"), (1024, "light"), (800, "light")])
def test_every_screen_is_filled_by_the_demo_fits_the_width_and_passes_axe(chromium, served, width, scheme):
    axe = (STUDIO / "page" / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
    with tab(chromium, served, width=width, scheme=scheme) as at:
        for screen, asked in [*((screen, {}) for screen in SCREENS), *MORE]:
            at.go(screen, **asked)
            assert at.page.locator(".card").count() > 0, screen
            assert at.page.locator(".problem").count() == 0, screen
            assert at.page.evaluate("document.documentElement.scrollWidth") <= width, screen
            at.page.evaluate(axe)
            found = at.page.evaluate("axe.run().then(told => told.violations)")
            serious = [
                (screen, each["id"], [node["html"][:120] for node in each["nodes"]][:3])
                for each in found
                if each["impact"] in ("serious", "critical")
            ]
            assert serious == []


def test_every_screen_says_what_to_do_when_it_is_empty(chromium, alone):
    with tab(chromium, alone, width=390) as at:
        for screen in (*SCREENS, "session"):
            at.go(screen)
            assert at.page.locator("main").inner_text().strip(), screen


def test_every_screen_is_reached_and_left_by_keys_alone_and_shows_where_one_is(chromium, served):
    """Tab goes through the page in its order, never into a trap, and what has the focus can be seen."""
    with tab(chromium, served) as at:
        at.go("settings")
        for screen in SCREENS:
            at.page.locator(f".rail a[href^='#/{screen}']").focus()
            at.page.keyboard.press("Enter")
            at.page.wait_for_selector(f"main[data-screen='{screen}'] h1")
            at.page.wait_for_function("() => !document.querySelector('.waiting')")
            at.page.locator(".skip").focus()
            at.page.keyboard.press("Enter")
            seen = []
            for _ in range(12):
                at.page.keyboard.press("Tab")
                told = at.page.evaluate(
                    """() => {
                        const at = document.activeElement, style = getComputedStyle(at);
                        const marked = style.outlineStyle !== "none" || style.boxShadow !== "none";
                        return [at.tagName, at.closest("main") !== null, marked, at.outerHTML.slice(0, 120)];
                    }"""
                )
                if not told[1]:
                    break  # The end of the page, so no trap.
                seen.append(told)
            assert seen, screen
            assert all(marked for _, _, marked, _ in seen), (screen, [told for told in seen if not told[2]])


def test_a_screen_that_is_left_while_it_works_does_not_come_back(chromium, served):
    with tab(chromium, served) as at:
        for budget in (900, 2_600, 7_000):
            at.go("settings")
            at.page.evaluate(
                """async budget => {
                    location.hash = `#/lab?budget=${budget}`;
                    while (!document.querySelector("input[type=range]")) await new Promise(done => setTimeout(done, 1));
                    const range = document.querySelector("input[type=range]");
                    range.value = budget + 7;
                    range.dispatchEvent(new Event("input", { bubbles: true }));
                    location.hash = "#/settings";
                }""",
                budget,
            )
            at.page.wait_for_timeout(900)
            assert "#/settings" in at.page.url


def test_each_category_has_a_colour_and_a_pattern_of_its_own(chromium, served):
    with tab(chromium, served) as at:
        at.go("session", session="orders-incident", step=37)
        chips = at.page.locator(".sums .chip")
        shown = chips.evaluate_all("all => all.map(each => [getComputedStyle(each).backgroundColor, each.className])")
        names = {name.strip() for name in at.page.locator(".sums button").all_inner_texts()}
        assert names == {"user", "tools", "assistant", "memory", "summary", "system", "framing", "tool results"}
        assert len({colour for colour, _ in shown}) == len({pattern for _, pattern in shown}) == len(names)
