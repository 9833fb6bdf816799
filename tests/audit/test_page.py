from html.parser import HTMLParser

import pytest

from audit import traces
from brim.audit import Policy, audit
from brim.audit.page import page

EVIL = "<script>alert('x')</script>&\""


class Seen(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.links, self.texts = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href", "action")]

    def handle_data(self, data):
        self.texts.append(data)


@pytest.fixture
def report(tmp_path):
    path = tmp_path / f"log {EVIL.replace('/', '')}"
    traces.write(path, [*traces.openai_log(), {"a": EVIL}, {"model": "gpt-4o", "messages": traces.CHAT[3:4]}])
    return audit([str(path)], [Policy(name="window"), Policy(name=EVIL, budget=60)], window=100)


def test_the_page_loads_nothing_and_runs_no_script(report):
    seen = Seen()
    seen.feed(page(report))
    assert "script" not in seen.tags
    assert seen.links == []
    assert "table" in seen.tags
    assert "http://" not in page(report).replace("http-equiv", "")


def test_every_text_is_escaped(report):
    made = page(report)
    assert "<script>" not in made
    assert "&lt;script&gt;alert" in made


def test_the_page_shows_the_numbers_of_the_report(report):
    seen = Seen()
    seen.feed(page(report))
    said = " ".join(seen.texts)
    recorded = report.values["recorded"]
    for value in (recorded["units"], recorded["longest"], report.values["policies"][1]["messages_dropped"]):
        assert f"{value:,}" in said
    assert "a result without its call" in said
    assert "up to 100 %" in said


def test_the_page_of_one_request_to_an_unknown_model_is_complete(tmp_path):
    path = traces.write(tmp_path / "log", [{"model": "nobody-knows", "messages": traces.CHAT[:2]}])
    made = page(audit([path]))
    assert "unknown" in made
    assert made.endswith("</html>\n")
