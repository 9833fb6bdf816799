"""The page that `brim audit --html` writes, in a real Chromium. `make test-ui` runs this."""

import json

import pytest

from brim.cli import main

pytestmark = pytest.mark.ui


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_report_of_an_audit_fits_1200_pixels_and_its_axes_have_counts(chromium, tmp_path, scheme):
    said = [{"role": "user", "content": "The task: find out why the build is slow. " + "word " * 300}]
    lines = []
    for i in range(60):
        said = [*said, {"role": "assistant", "content": f"answer {i} " + "word " * 200}]
        said.append({"role": "user", "content": f"question {i} /a/very/long/path/" + "without_a_space_in_it" * 12})
        lines.append(json.dumps({"model": f"gpt-4o{'-with-a-long-name' * (i % 2)}", "messages": said}))
    log = tmp_path / "a-log-with-a-rather-long-name-of-its-own.jsonl"
    log.write_text("\n".join(lines))
    page = tmp_path / "report.html"
    assert main(["audit", str(log), "--html", str(page), "--policy", "wrap", "--policy", "lean:budget=6000"]) == 0
    tab = chromium.new_page(viewport={"width": 1_200, "height": 900}, color_scheme=scheme)
    wrong = []
    tab.on("console", lambda told: wrong.append(told.text) if told.type == "error" else None)
    tab.on("pageerror", lambda error: wrong.append(str(error)))
    tab.goto(page.as_uri())
    assert tab.evaluate("document.documentElement.scrollWidth") <= 1_200
    inner = "[...document.querySelectorAll('*')].filter(each => each.scrollWidth > each.clientWidth + 1 && getComputedStyle(each).overflowX !== 'visible' && each.tagName !== 'svg').map(each => each.className || each.tagName)"
    assert tab.evaluate(inner) == []
    text = tab.locator("body").inner_text()
    assert "tokens" in text
    assert "brim studio" in text
    tab.close()
    assert wrong == []
