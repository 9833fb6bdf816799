"""The pictures of the docs can be taken: each is a screen of the demo, a WebP file below 120 kB.

`BRIM_PICTURES=docs/pictures make test-ui UI=tests/studio/test_pictures.py` takes them anew; then look at them.
"""

import base64
import os
from pathlib import Path

import pytest

from checkout import ROOT
from studio.browser import tab

pytestmark = pytest.mark.ui
MOST_BYTES = 120_000
STEP = {"session": "orders-incident", "step": "37"}
BUILD = {"flow": "build", "step": "code", "key": "context_budget_chars"}
PICTURES = {
    "studio-session": ("session", STEP, ".part", {}),
    "studio-left-out": ("session", {**STEP, "tab": "out", "find": "timed out"}, ".part.open", {}),
    "studio-sessions": ("sessions", {}, ".row.session", {"height": 420}),
    "studio-lab": ("lab", {"budget": "2600"}, "[data-used]", {}),
    "studio-settings": ("settings", BUILD, ".keys", {"height": 1_120}),
}
"""The screen of each picture, its query, the element to wait for, and the options of its tab."""
CLICKS = {"studio-settings": ("lean",)}


def taken(page):
    """Return a screenshot in the best quality that its size allows."""
    session = page.context.new_cdp_session(page)
    for quality in (92, 85, 75, 60):
        shot = session.send("Page.captureScreenshot", {"format": "webp", "quality": quality})
        if len(data := base64.b64decode(shot["data"])) <= MOST_BYTES:
            break
    return data


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_of_the_docs_is_a_screen_of_the_demo(chromium, served, tmp_path, name):
    screen, query, waits, options = PICTURES[name]
    with tab(chromium, served, **{"width": 1_440, "height": 860, "motion": "reduce", **options}) as made:
        made.go(screen, **query)
        made.page.wait_for_selector(waits)
        for label in CLICKS.get(name, ()):
            made.page.get_by_role("button", name=label).first.click()
        made.page.wait_for_timeout(700)
        data = taken(made.page)
    assert 5_000 < len(data) <= MOST_BYTES
    Path(os.environ.get("BRIM_PICTURES", tmp_path), f"{name}.webp").write_bytes(data)
    assert (ROOT / "docs" / "pictures" / f"{name}.webp").stat().st_size <= MOST_BYTES
