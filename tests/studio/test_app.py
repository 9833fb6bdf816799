"""The page comes with the answers to its first requests."""

import json
import time

import pytest
from starlette.responses import Response

import brim
from brim.studio import app
from studio.browser import STUDIO

NAVIGATED = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture(autouse=True)
def _page(monkeypatch):
    """The page as it is before it is built."""
    html = (STUDIO / "page" / "index.html").read_bytes()
    monkeypatch.setattr(app, "_file", lambda _: Response(html, headers={"content-type": app.TYPES["index.html"]}))


def given(served, headers=NAVIGATED):
    status, _, body = served.ask("/", headers=headers)
    assert status == 200
    assert body.endswith(b"</html>\n")
    before, _, rest = body.partition(b'id="given">')
    text, _, after = rest.partition(b"</script>")
    assert b'<div id="studio">' in before
    assert b"<noscript>" in after, "the answers end where their element ends"
    return json.loads(text)


def test_the_page_has_the_answers_that_its_first_requests_would_get(alone):
    with brim.open_store(f"sqlite:///{alone.folder}/brim.db") as store:
        hostile = "a</script><script>alert(1)</script><!--"
        session = brim.Session(4_000, model="gpt-5", store=store, id=hostile)
        session.add({"role": "user", "content": "hello"})
        session.prompt()
    found = given(alone)
    for request, values in found.items():
        assert values == json.loads(alone.ask(f"/api/{request}")[2])
    assert set(found) == {"about?workspace=mine", "sessions?workspace=mine"}
    assert found["sessions?workspace=mine"]["sessions"][0]["id"] == hostile


@pytest.mark.parametrize("site", ["same-site", "cross-site", None])
def test_a_page_that_another_site_led_to_has_no_answers(alone, site):
    assert given(alone, {} if site is None else {"Sec-Fetch-Site": site}) == {}


def test_a_demo_that_is_not_recorded_yet_and_a_view_that_fails_are_left_to_the_page(alone, monkeypatch):
    alone.studio.first = "demo"
    assert given(alone) == {}
    alone.studio.first = "mine"
    monkeypatch.setattr(type(alone.studio), "view", lambda *_: 1 / 0)
    assert given(alone) == {}


def test_a_slow_store_does_not_hold_the_page_up(alone, monkeypatch):
    monkeypatch.setattr(app, "_WAIT", 0.05)
    monkeypatch.setattr(app, "_given", lambda _: time.sleep(0.5) or b"{}")
    assert given(alone) == {}
