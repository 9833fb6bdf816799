"""Receipts by the ten thousand, and a gateway at work, in a real Chromium."""

import http.client
import json
from urllib.parse import urlsplit

import pytest

import brim
from brim.gateway.fit.rules import RequestRule
from brim.gateway.http import server
from brim.gateway.http.app import GatewayApp
from brim.gateway.settings import GatewaySettings
from model_server import ModelServer, running
from studio.browser import crowd, tab, timed

pytestmark = pytest.mark.ui


def many(folder, count=10_000):
    """Write receipts: half as prompts of sessions, half as steps of runs."""
    told = {"used": 900, "budget": 4_000, "unit": "tokens", "exact": True, "messages": 3, "truncated": False}
    with brim.open_store(f"sqlite:///{folder}/brim.db") as store, store.transaction():
        for s in range(count // 100):
            name = f"{'billing' if s % 7 == 0 else 'orders'}-{s:03d}"
            entries = [("prompt", {**told, "used": 900 + i}) for i in range(50)]
            store.append(name, entries, meta={"kind": "session", "status": {"model": "gpt-5"}})
    sections = [{"name": f"part-{k}", "state": "whole", "used_chars": 100} for k in range(8)]
    for flow in range(10):
        inside = folder / "runs" / f"flow{flow}" / "receipts"
        inside.mkdir(parents=True)
        for i in range(count // 20):
            values = {"step_id": f"step-{i}", "agent": "worker", "budget_chars": 12_000, "used_chars": 9_000 + i}
            values |= {"sections": sections, "status": "ok", "model": "gpt-5-mini", "output": "word " * 300}
            (inside / f"{i}.json").write_text(json.dumps(values))


def test_ten_thousand_receipts_are_listed_filtered_and_opened_at_once(chromium, alone, capsys):
    many(alone.folder)
    mine = alone.studio.mine
    mine.index.rows()  # As the command does while the browser opens.
    with tab(chromium, alone) as at:
        at.go("doctor", workspace="mine")
        rows = "document.querySelectorAll('.receipt').length"
        text = "document.querySelector('main .lead').innerText"
        typed = "const b = document.querySelector('[data-search]'); b.value = '{}'; b.dispatchEvent(new Event('input', {{bubbles: true}}))"
        took = {}
        took["first paint"] = timed(at.page, "location.hash = '#/receipts?workspace=mine'", f"{rows} > 5")
        assert "10,000 of 10,000" in at.page.locator("main .lead").inner_text()
        took["filter by a word"] = timed(at.page, typed.format("billing"), f"{text} === '750 of 10,000'")
        took["filter to one"] = timed(at.page, typed.format("flow3 step-77 "), f"{text} === '1 of 10,000'")
        took["no filter"] = timed(at.page, typed.format(""), f"{text} === '10,000 of 10,000'")
        opened = "document.querySelector('.receipt a').click()"
        took["open"] = timed(at.page, opened, "document.querySelector('section[aria-label=\"The prompt\"] .part')")
        at.page.go_back()
        at.page.wait_for_selector(".receipt")
        at.page.wait_for_timeout(1_100)  # What was read is looked at again after a second.
        took["after a second"] = timed(at.page, typed.format("orders"), f"{text} === '4,250 of 10,000'")
        assert at.page.locator(".receipt").count() < 60
        at.page.get_by_role("button", name="Older").click()
        at.page.wait_for_selector("text=501 to 1,000")
    with capsys.disabled():
        print("\n10,000 receipts:", ", ".join(f"{name} {each:.0f} ms" for name, each in took.items()))
    for name, each in took.items():
        assert each < 300 * crowd(), name


def ask(address, path, body, **headers):
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=30)
    connection.request("POST", path, json.dumps(body), {"content-type": "application/json", **headers})
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return dict(answer.getheaders())


def test_a_request_to_a_running_gateway_is_on_the_page_a_moment_later(chromium, alone):
    url = f"sqlite:///{alone.folder}/brim.db"
    with running(ModelServer(window=1_000)) as upstream:
        settings = GatewaySettings(
            upstream=f"{upstream}/v1", default=RequestRule(policy="fit", window=1_000), store=url
        )
        app = GatewayApp(settings)
        with running(app, server.config(app, settings)) as gateway, tab(chromium, alone) as at:
            at.go("gateway", workspace="mine")
            at.page.wait_for_selector("text=No gateway traffic yet")
            said = [{"role": "user", "content": "word " * 200}, {"role": "assistant", "content": "word " * 200}] * 5
            body = {"model": "gpt-5", "messages": [*said, {"role": "user", "content": "go on"}]}
            headers = ask(gateway, "/v1/chat/completions", body)
            row = at.page.locator(".row", has_text=headers["x-brim-request-id"])
            row.wait_for(timeout=15_000)
            told = row.inner_text()
            for name in ("before", "after"):
                assert f"{int(headers[f'x-brim-tokens-{name}']):,}" in told
            assert f"{headers['x-brim-edits']} edits" in told
            row.click()
            detail = at.page.get_by_role("region", name="One request").inner_text()
            assert f"{float(headers['x-brim-overhead-ms']):.0f}" in detail
            assert "number 1, made by this request" in detail
            talk = at.page.get_by_role("region", name="Conversations").locator("tbody tr")
            talk.wait_for(timeout=15_000)
            numbers = [f"{int(headers[f'x-brim-tokens-{name}']):,}" for name in ("before", "after")]
            assert talk.locator("td").all_inner_texts()[:6] == ["gpt-5", *numbers, "875", "1,000", "1"]
            refused = ask(gateway, "/v1/chat/completions", body, **{"x-brim-budget": "many"})
            at.page.locator(".row", has_text=refused["x-brim-request-id"]).wait_for(timeout=15_000)
            at.page.get_by_label("Which requests").select_option("wrong")
            at.page.wait_for_function("document.querySelectorAll('.row').length === 1")
            assert "refused 400" in at.page.locator(".row").inner_text()
            talk.get_by_role("link").click()
            at.page.locator(".part .badge").first.wait_for()
            states = set(at.page.locator(".part .badge").all_inner_texts())
            assert states & {"left out", "shortened"}
            assert at.page.locator("[data-step]").get_attribute("data-step") == "1"
    with tab(chromium, alone) as at:
        at.go("gateway", workspace="mine")
        assert "(stopped)" in at.page.locator("main .lead").inner_text()


def test_with_capture_the_row_of_a_request_leads_to_its_body_in_one_click(chromium, alone):
    url = f"sqlite:///{alone.folder}/brim.db"
    with running(ModelServer(window=1_000)) as upstream:
        settings = GatewaySettings(
            upstream=f"{upstream}/v1", default=RequestRule(policy="fit", window=1_000), store=url, capture=True
        )
        app = GatewayApp(settings)
        with running(app, server.config(app, settings)) as gateway, tab(chromium, alone) as at:
            said = [{"role": "user", "content": "word " * 200}, {"role": "assistant", "content": "word " * 200}] * 5
            said.append({"role": "user", "content": "the last question, with sk-ant-api03-Zx81Qp44Lm20Vt77Bn93Kd55Rw"})
            headers = ask(gateway, "/v1/chat/completions", {"model": "gpt-5", "messages": said})
            at.go("gateway", workspace="mine")
            row = at.page.locator(".row", has_text=headers["x-brim-request-id"])
            row.click(timeout=15_000)
            at.page.get_by_role("region", name="One request").get_by_role("link").click()
            at.page.wait_for_selector("[data-step='1']")
            shown = at.page.locator("section[aria-label='The prompt']").inner_text()
            assert "the last question, with [secret removed]" in shown
            used = at.page.locator("[data-used]").first.get_attribute("data-used")
            assert used == headers["x-brim-tokens-after"] == at.page.locator("[data-sum]").get_attribute("data-sum")
            at.page.go_back()
            at.page.wait_for_selector("section[aria-label='One request']")


def test_two_receipts_stand_side_by_side(chromium, served):
    with tab(chromium, served) as at:
        at.go("receipts", workspace="demo", text="orders-incident")
        boxes = at.page.locator(".receipt input[type=checkbox]")
        boxes.nth(0).check()
        boxes.nth(8).check()
        at.page.get_by_role("button", name="Compare 2 of 2").click()
        at.page.get_by_role("region", name="Comparison").wait_for()
        assert "parts differ" in at.page.get_by_role("region", name="Comparison").inner_text()
        at.go("receipts", workspace="demo", kind="step", lost="1")
        assert "2 of" in at.page.locator("main .lead").inner_text()
