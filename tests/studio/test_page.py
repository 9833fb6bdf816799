"""The page in a real Chromium. `make test-ui` runs this; the page has to be built."""

import http.server
import json
import os
import shutil
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

import brim
from brim.studio import lab, sample
from brim.studio.desk import Desk
from studio.serving import Served

pytestmark = pytest.mark.ui

STUDIO = Path(brim.__file__).parent / "studio"
SCREENS = ("context", "lab", "timeline", "ledger", "receipts", "flows", "models", "gateway", "doctor")
EVIL = '<img src=x onerror="window.hit=1"><script>window.hit=1</script>\'"><svg onload=window.hit=1>{{7*7}}javascript:'


@pytest.fixture(scope="module")
def chromium():
    from playwright.sync_api import sync_playwright

    found = os.environ.get("BRIM_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if found is None or not (STUDIO / "static" / "studio.js").is_file():
        pytest.fail("needs Chromium and the built page: apt-get install chromium, make studio")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found)
        yield browser
        browser.close()


class Tab:
    """A page that lets nothing wrong pass: no error on the console, none in the page."""

    def __init__(self, browser, served, *, width=1280, scheme="light"):
        self.context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.page = self.context.new_page()
        self.base = f"http://127.0.0.1:{served.door.port}/"
        self.wrong = []
        self.page.on("console", lambda told: told.type == "error" and self.wrong.append(told.text))
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.wrong.append(dialog.message), dialog.dismiss()))
        self.page.goto(f"{self.base}?token={served.door.token}")
        self.page.wait_for_selector(".rail")

    def go(self, screen, **asked):
        from urllib.parse import urlencode

        self.page.goto(f"{self.base}#/{screen}?{urlencode(asked)}")
        self.page.wait_for_selector(f".rail a[aria-current][href^='#/{screen}']")
        self.page.wait_for_selector("main h1")
        self.page.wait_for_function("() => !document.querySelector('.waiting')")


@contextmanager
def tab(*given, **more):
    made = Tab(*given, **more)
    yield made
    made.context.close()
    assert made.wrong == []


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")])
def test_every_screen_is_filled_by_the_demo_fits_the_width_and_passes_axe(chromium, served, width, scheme):
    axe = (STUDIO / "page" / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
    with tab(chromium, served, width=width, scheme=scheme) as at:
        for screen in SCREENS:
            at.go(screen, desk="demo")
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


def test_every_screen_is_of_use_when_it_is_empty_and_loads_the_demo(chromium, alone):
    with tab(chromium, alone, width=390) as at:
        for screen in SCREENS:
            at.go(screen, desk="mine")
            assert at.page.locator("main").inner_text().strip(), screen
            if screen not in ("lab", "models", "doctor"):
                at.page.get_by_role("button", name="Load the demo").click()
                at.page.wait_for_selector(".card")
                assert "desk=demo" in at.page.url


def test_the_slider_keeps_what_the_library_keeps_to_the_unit(chromium, served):
    given = sample.receipt().capture
    options = {key: value for key, value in given.options.items() if value is not None}
    with tab(chromium, served) as at:
        at.go("lab", desk="demo")
        for budget in (900, 1_500, 2_600, 3_333, 7_000):
            at.page.locator("input[type=range]").fill(str(budget))
            expected = brim.fit(list(given.sections), budget, model=given.model, meter=given.meter, **options).receipt
            at.page.wait_for_selector(f"[data-used='{expected.used}']")
            at.page.get_by_label("Which pieces").select_option("dropped")
            dropped = [part.name for part in expected.parts if part.state == "dropped"]
            at.page.wait_for_function("n => document.querySelectorAll('.piece').length === n", arg=len(dropped))
            assert at.page.locator(".piece b").all_inner_texts() == dropped
            if dropped:
                at.page.wait_for_selector(".badge.back")
            at.page.get_by_label("Which pieces").select_option("all")


def test_the_slider_is_moved_by_keys_and_the_place_has_a_link(chromium, served):
    with tab(chromium, served) as at:
        at.go("lab", desk="demo", budget="2600")
        at.page.wait_for_selector("[data-used]")
        at.page.locator("input[type=range]").focus()
        for keys, budget in (("ArrowRight", 2_601), ("Shift+ArrowRight", 2_729), ("Control+ArrowLeft", 1_705)):
            at.page.keyboard.press(keys)
            at.page.wait_for_function(
                "n => document.querySelector('input[type=number]').value === String(n)", arg=budget
            )
        assert "budget=1705" in at.page.url


def test_a_redraw_of_two_thousand_pieces_keeps_up_with_the_slider(chromium, alone, capsys):
    sections = [
        brim.Section(f"s{i}", f"piece {i} " + "some words " * (3 + i % 20), priority=("high", "medium", "low")[i % 3])
        for i in range(2_000)
    ]
    receipt = brim.fit(sections, 20_000, model="gpt-5", capture=True).receipt
    mine = alone.studio.mine
    mine.keep("receipt:big", lab._captured("receipt:big", "big", receipt))
    with tab(chromium, alone) as at:
        at.go("lab", desk="mine", source="receipt:big", budget="15000")
        at.page.wait_for_selector("[data-used]")
        took = at.page.evaluate(
            """async () => {
                const took = [];
                for (let budget = 12000; budget < 26000; budget += 700) {
                    const range = document.querySelector("input[type=range]");
                    const before = document.querySelector("[data-used]").dataset.used;
                    const began = performance.now();
                    range.value = budget;
                    range.dispatchEvent(new Event("input", { bubbles: true }));
                    while (document.querySelector("[data-used]").dataset.used === before)
                        await new Promise(done => setTimeout(done, 1));
                    took.push(performance.now() - began);
                }
                return took.sort((a, b) => a - b);
            }"""
        )
    with capsys.disabled():
        print(f"\nredraw: median {took[len(took) // 2]:.0f} ms, largest {took[-1]:.0f} ms")
    assert took[len(took) // 2] < 150


@pytest.mark.requirement("S2.22")
def test_an_override_made_in_the_page_is_in_the_file_in_the_settings_and_in_the_next_prompt(chromium, alone):
    from brim.pack import Curator

    with tab(chromium, alone) as at:
        at.go("flows", desk="demo", flow="build", step="review")
        form = at.page.locator("form.budget").first
        form.locator("input").fill("15000")
        form.get_by_role("button", name="Show the change").click()
        at.page.wait_for_selector(".diff .plus")
        folder = alone.studio.desk("demo").config
        path = Path(folder) / "flows" / "build.yaml"
        before = path.read_text(encoding="utf-8")
        at.page.get_by_role("button", name="Save").click()
        at.page.wait_for_selector("form.budget.override >> text=override: step")
        after = path.read_text(encoding="utf-8")
        steps = yaml.safe_load(after)["steps"]
        assert steps[4]["budget_overrides"]["context_budget_chars"] == 15_000
        assert "# needs the whole plan" in after
        config = brim.load_config(folder)
        assert config.resolve(flow="build", step="review")["context_budget_chars"].value == 15_000
        pack = Curator(config, flow="build").prepare(config.flow("build").step("review"), [])
        assert pack.receipt["budget_chars"] == 15_000
        at.page.get_by_role("button", name="Undo").click()
        at.page.wait_for_selector("text=Taken back")
        assert path.read_text(encoding="utf-8") == before


def test_what_was_dropped_is_found_and_poured_back_in_the_page(chromium, alone):
    with tab(chromium, alone) as at:
        at.go("ledger", desk="demo")
        at.page.keyboard.press("/")
        at.page.keyboard.type("certificate")
        row = at.page.locator("section[aria-label=Search] li").first
        row.get_by_role("button", name="Restore").click()
        row.get_by_role("button", name="Pour it back").click()
        at.page.wait_for_selector("text=Poured back")
        session = brim.Session.open("orders-incident", store=alone.studio.desk("demo").needed())
        assert "certificate" in json.dumps(session.messages[-1])


def test_markup_in_texts_tool_names_and_model_names_stays_text(chromium, alone):
    store = brim.open_store(f"sqlite:///{alone.folder}/brim.db")
    session = brim.Session(
        window=900, meter="o200k_base", model=None, store=store, id=EVIL, capture=True, tool_limit=64
    )
    for i in range(12):
        call = {"id": f"c{i}", "type": "function", "function": {"name": EVIL, "arguments": json.dumps({"a": EVIL})}}
        session.add({"role": "user", "content": EVIL})
        session.add({"role": "assistant", "content": None, "tool_calls": [call]})
        session.add({"role": "tool", "tool_call_id": f"c{i}", "content": EVIL * 30})
        session.prompt(system=EVIL)
    (alone.folder / "brim.models.yaml").write_text(json.dumps({"models": {EVIL: {"window": 900}}}))
    (alone.folder / "flows").mkdir()
    (alone.folder / "flows" / "evil.yaml").write_text(
        json.dumps({"flow": "evil", "description": EVIL, "steps": [{"id": EVIL, "agent": EVIL, "task": EVIL}]})
    )
    inside = alone.folder / "runs" / "evil" / "receipts"
    inside.mkdir(parents=True)
    (inside / "x.json").write_text(
        json.dumps({"step_id": EVIL, "agent": EVIL, "model": EVIL, "sections": [{"name": EVIL, "state": EVIL}]})
    )
    told = {"used": 5, "budget": 9, "unit": EVIL, "exact": True, "messages": 1, "truncated": True, "model": EVIL}
    store.append("talk", [("prompt", told), ("meta", {"kind": "gateway", "status": told})])
    with tab(chromium, alone) as at:
        for screen in SCREENS:
            at.go(screen, desk="mine", session=EVIL, flow="evil", step=EVIL, id="step:evil/x.json")
            at.page.wait_for_timeout(150)
            assert at.page.evaluate("window.hit") is None
            assert at.page.locator("main img, main script").count() == 0
        at.go("context", desk="mine", session=EVIL)
        assert EVIL in at.page.locator("main").inner_text()


class _Stranger(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b"<!doctype html><title>stranger</title><body></body>"
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def test_a_strangers_page_neither_reads_nor_writes_nor_frames_the_studio(chromium, served):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Stranger)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    made = Tab(chromium, served)
    page = made.page
    page.goto(f"http://localhost:{server.server_address[1]}/")
    asked = """async ([address, how]) => {
        try { const got = await fetch(address, how); return got.type === "opaque" ? "opaque" : String(got.status); }
        catch { return "refused"; }
    }"""
    own = f"{made.base}api/sessions?desk=demo"
    assert page.evaluate(asked, [own, {"credentials": "include"}]) == "refused"
    assert (
        page.evaluate(asked, [f"{made.base}api/undo", {"method": "POST", "credentials": "include", "body": "{}"}])
        == "refused"
    )
    framed = page.evaluate(
        """address => new Promise(done => {
            const frame = document.createElement("iframe");
            frame.src = address;
            frame.onload = () => { try { done(String(frame.contentDocument !== null)); } catch { done("apart"); } };
            document.body.append(frame);
            setTimeout(() => done("nothing"), 3000);
        })""",
        made.base,
    )
    assert framed in ("false", "apart", "nothing")
    assert "orders-incident" not in "".join(frame.content() for frame in page.frames)
    made.context.close()
    server.shutdown()
    server.server_close()


def test_a_newcomer_sees_the_demo_within_ten_seconds(chromium, tmp_path):
    began = time.monotonic()
    mine = Desk(name="mine", url=f"sqlite:///{tmp_path}/brim.db", config=str(tmp_path), runs=str(tmp_path / "runs"))
    with Served(mine, demo=True) as served, tab(chromium, served) as at:
        at.page.wait_for_selector("h1 >> text=orders-incident")
        assert time.monotonic() - began < 10


def test_the_page_and_the_terminal_have_the_same_letters_and_colours(chromium, served):
    from brim.cli import grid

    with tab(chromium, served) as at:
        at.go("context", desk="demo", session="orders-incident")
        rows = at.page.locator("tbody button.plain")
        names = [text.strip().split("\n")[-1].strip() for text in rows.all_inner_texts()]
        chips = at.page.locator("tbody button.plain .chip")
        shown = [
            (chips.nth(i).inner_text(), chips.nth(i).evaluate("each => getComputedStyle(each).backgroundColor"))
            for i in range(chips.count())
        ]
        names = [name.split(" ", 1)[-1] if len(name.split(" ", 1)[0]) == 1 else name for name in names]
        expected = [
            (letter, "rgb({}, {}, {})".format(*(int(colour[i : i + 2], 16) for i in (1, 3, 5))))
            for letter, colour in grid.keys(names).values()
        ]
        assert shown == expected
