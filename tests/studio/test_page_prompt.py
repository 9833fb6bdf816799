"""The prompt page in a real Chromium: its numbers, its links, its speed, and the file to share. `make test-ui` runs this."""

import json
import re
import statistics

import pytest

import brim
from hostile.test_canaries import FORMLESS, SHAPES, secret_of
from studio.browser import crowd, tab, timed
from studio.test_page_attacks import PAYLOADS
from studio.test_page_open import drop, text

pytestmark = pytest.mark.ui
SESSION = "orders-incident"
SECRETS = [f"password: {shape}" if shape in FORMLESS else shape for shape in SHAPES]
"""The fifteen shapes of the canaries."""
FIRST_PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
EVIL = " ".join(PAYLOADS) + " </pre></details>"


def recorded(store, model, name, *, capture=True):
    """Record a session whose last prompts are cut."""
    anthropic = "claude" in model
    session = brim.Session(brim.Window(3_000), model=model, store=store, id=name, capture=capture)

    def said(role, content):
        return {"role": role, "content": [{"type": "text", "text": content}] if anthropic else content}

    for i in range(12):
        session.add(said("user", f"question {i} of {name} " + "word " * 120))
        fitted = session.prompt(system="Be brief and exact.")
        session.record_usage(
            input_tokens=int(fitted.used * (1.1 if anthropic else 1)), output_tokens=9, cached_tokens=0
        )
        session.add(said("assistant", f"answer {i} " + "word " * 60))


def test_the_numbers_of_ten_sessions_of_three_providers_agree_everywhere(chromium, alone):
    models = ("gpt-4o", "claude-sonnet-4-5", "gemini-2.5-pro")
    names = [f"{models[i % 3]}-{i}" for i in range(10)]
    with brim.open_store(f"sqlite:///{alone.folder}/brim.db") as store:
        for i, name in enumerate(names):
            recorded(store, models[i % 3], name)
    with tab(chromium, alone) as at:
        for name in names:
            points = alone.get("timeline", "mine", session=name)[1]["points"]
            rows = alone.get("receipts", "mine", text=name, kind="prompt")[1]["receipts"]
            listed = {row["step"]: row["used"] for row in rows}
            for step in (1, 7, 12):
                at.go("prompt", workspace="mine", session=name, step=step)
                used = int(at.page.locator("[data-used]").first.get_attribute("data-used"))
                total = int(at.page.locator("[data-sum]").get_attribute("data-sum"))
                assert used == total == points[step - 1]["used"] == listed[step]
                body = json.loads(alone.get("prompt_body", "mine", session=name, step=step)[1]["body"])
                texts = [
                    each.get("text", "")
                    for each in alone.get("prompt", "mine", session=name, step=step)[1]["rows"]
                    if each["sent"]
                ]
                for message in body["messages"]:
                    content = message["content"]
                    sent = content if isinstance(content, str) else "\n".join(block["text"] for block in content)
                    assert sent in texts


def test_every_mark_leads_to_its_prompt_in_one_click_and_back_returns(chromium, served):
    with tab(chromium, served) as at:
        marks = served.get("timeline", session=SESSION)[1]["marks"]
        for i, mark in enumerate(marks):
            at.go("timeline", workspace="demo", session=SESSION)
            at.page.locator(".marks a").nth(i).click()
            at.page.wait_for_selector(f"[data-step='{mark['step']}']")
            at.page.go_back()
            at.page.wait_for_selector(".marks a")
        at.page.locator(".u-over").first.click(position={"x": 40, "y": 60})
        at.page.wait_for_selector("[data-step]")
        call = served.get("cache", session=SESSION)[1]["calls"][-27]
        at.go("cache", workspace="demo", session=SESSION, call=call["step"])
        at.page.get_by_role("link", name="See its prompt").click()
        at.page.wait_for_selector(f"[data-step='{call['step']}']")
        at.page.go_back()
        at.page.wait_for_selector("h2 >> text=Step")
        edit = served.get("ledger", session=SESSION)[1]["edits"][0]
        at.go("ledger", workspace="demo", session=SESSION)
        at.page.get_by_role("link", name="See its prompt").click()
        at.page.wait_for_selector(f"[data-step='{edit['step']}']")
        at.go("search", workspace="demo", query="certificate")
        hit = served.get("search", query="certificate")[1]["found"][0]
        at.page.locator("section[aria-label='Left out'] a").first.click()
        at.page.wait_for_selector(f"[data-step='{hit['step']}']")
        at.go("gateway", workspace="demo")
        at.page.locator("section[aria-label=Conversations] a").first.click()
        at.page.wait_for_selector("[data-step]")
        at.page.go_back()
        at.page.wait_for_selector("section[aria-label=Conversations]")


def test_the_tokens_of_the_cache_page_add_up(chromium, served):
    with tab(chromium, served) as at:
        at.go("cache", workspace="demo", session=SESSION)
        told = at.page.locator(".lead").last.inner_text()
        read, had, missed, rest = (
            int(found.replace(",", ""))
            for found in re.search(
                r"^([\d,]+) .* of ([\d,]+) that .* missed: ([\d,]+) .* · ([\d,]+) at the", told
            ).groups()
        )
        assert read + missed + rest == had > missed > 0


def test_steps_are_walked_by_keys_and_compared_as_text(chromium, served):
    with tab(chromium, served) as at:
        at.go("prompt", workspace="demo", session=SESSION, step=27)
        at.page.keyboard.press("[")
        at.page.wait_for_selector("[data-step='26']")
        at.page.keyboard.press("]")
        at.page.wait_for_selector("[data-step='27']")
        at.page.get_by_role("button", name="Compare with the step before").click()
        at.page.wait_for_selector("section[aria-label=Comparison] del")
        told = at.page.get_by_role("region", name="Comparison").inner_text()
        assert "From step 26 to step 27" in told
        assert "[CONTEXT_SUMMARY]" in told
        at.page.keyboard.press("Control+k")
        at.page.keyboard.type("budget lab")
        at.page.keyboard.press("Enter")
        at.page.wait_for_selector(".rail a[aria-current][href^='#/lab']")
        at.go("home", workspace="demo")
        at.page.keyboard.press("j")
        at.page.keyboard.press("j")
        at.page.keyboard.press("k")
        at.page.keyboard.press("Enter")
        at.page.wait_for_selector(f"h1 >> text={SESSION}")


def test_the_exported_file_opens_from_disk_and_holds_no_secret_and_no_script(chromium, alone, tmp_path):
    content = " ".join(SECRETS) + " " + EVIL
    with brim.open_store(f"sqlite:///{alone.folder}/brim.db") as store:
        session = brim.Session(window=9_000, model="gpt-5", store=store, id="s", capture=True)
        session.add(
            [
                {"role": "user", "content": content},
                {"role": "assistant", "content": EVIL},
                {"role": "user", "content": "go on"},
            ]
        )
        session.prompt(system=f"Be brief. {SECRETS[0]} {EVIL}")
    with tab(chromium, alone) as at:
        at.go("prompt", workspace="mine", session="s", view="share")
        at.page.wait_for_selector(".masked li")
        shown = at.page.locator(".masked").inner_text()
        with at.page.expect_download() as download:
            at.page.get_by_role("button", name=re.compile("Save s-step-1.html")).click()
        path = tmp_path / "shared.html"
        download.value.save_as(path)
    html = path.read_text(encoding="utf-8")
    assert [shape for shape in SHAPES if secret_of(shape) in html + shown] == []
    page = chromium.new_page()
    wrong = []
    page.on("console", lambda told: wrong.append(told.text) if told.type == "error" else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda request: wrong.append(request.url) if not request.url.startswith("file:") else None)
    page.goto(path.as_uri())
    assert page.evaluate("window.hit") is None
    assert page.locator("img, script, iframe, svg, object, embed, form, input, a, base, link").count() == 0
    told = page.locator("body").text_content()
    assert [each for each in PAYLOADS if each not in told] == []
    page.close()
    assert wrong == []


def quickest(at, act, seen):
    """Return the least milliseconds of five openings from another screen, since others may be at work here."""
    took = []
    for _ in range(5):
        at.go("doctor", workspace="mine")
        at.page.wait_for_timeout(200)
        took.append(timed(at.page, act, seen))
    return min(took)


def test_a_prompt_of_5000_messages_opens_and_is_searched_at_once(chromium, alone, capsys):
    messages = [
        {"role": ("user", "assistant")[i % 2], "content": f"message {i} " + "some words of it " * 12}
        for i in range(4_999)
    ]
    messages[4_321]["content"] += " the needle in the stack"
    with tab(chromium, alone) as at:
        at.go("home", workspace="mine")
        drop(
            at.page,
            "long.json",
            text([{"model": "gpt-4o", "messages": [*messages, {"role": "user", "content": "go on"}]}]),
        )
        at.page.wait_for_selector(".part", timeout=60_000)
        opened = "location.hash = '#/prompt?workspace=mine&session=long.json:1'"
        took = {"open": quickest(at, opened, "document.querySelectorAll('.part').length > 5")}
        assert at.page.locator(".part").count() < 200
        fetched = at.page.evaluate(
            "performance.getEntriesByType('resource').findLast(each => each.name.includes('/api/prompt')).toJSON()"
        )
        typed = "const b = document.querySelector('[data-search]'); b.value = 'needle in'; b.dispatchEvent(new Event('input', {bubbles: true}))"
        took["search"] = timed(at.page, typed, "document.querySelector('[data-hits]')?.dataset.hits === '1'")
        at.page.wait_for_selector("mark")
        at.page.wait_for_selector("[data-part='4321']:visible")
        at.page.keyboard.press("End")
        at.page.evaluate("scrollTo(0, document.body.scrollHeight)")
        at.page.wait_for_selector("[data-part='5000']:visible")
    told, slower = ", ".join(f"{name} {each:.0f} ms" for name, each in took.items()), crowd()
    with capsys.disabled():
        print(
            f"\n5,000 messages: {told}; the answer {fetched['duration']:.0f} ms, {fetched['decodedBodySize']:,} bytes"
        )
        print(f"({slower:.1f} times slower than alone)")
    assert took["open"] < 300 * slower
    assert took["search"] < 100 * slower


def test_home_with_ten_thousand_sessions_is_painted_at_once(chromium, alone, capsys):
    status = brim.Session(4_000, model="gpt-5").status().to_dict()
    with brim.open_store(f"sqlite:///{alone.folder}/brim.db") as store, store.transaction():
        for i in range(10_000):
            store.append(f"session-{i:05d}", [], meta={"kind": "session", "status": {**status, "peak": i % 4_000}})
    firsts = []
    for _ in range(15):
        with tab(chromium, alone) as at:
            at.page.wait_for_selector(".row.session")
            at.page.wait_for_function(f"() => {FIRST_PAINT}")  # A text would be polled by eval, which the page refuses.
            firsts.append(at.page.evaluate(FIRST_PAINT))
    first = statistics.median(firsts)
    with tab(chromium, alone) as at:
        at.page.wait_for_selector(".lead >> text=10,000 of 10,000 sessions", timeout=60_000)
        took = quickest(
            at, "location.hash = '#/home?workspace=mine'", "document.querySelectorAll('.row.session').length > 5"
        )
        assert at.page.locator(".row.session").count() < 60
        slower = crowd()
    with capsys.disabled():
        told = f"home with 10,000 sessions: {took:.0f} ms, first paint of a new page {first:.0f} ms (median of 15)"
        print(f"\n{told} ({slower:.1f} times slower than alone)")
    assert took < 150 * slower
    assert first < 150 * slower
