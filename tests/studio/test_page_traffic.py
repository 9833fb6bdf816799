"""A gateway at work, in a real Chromium: what happens there is on the page a moment later. `make test-ui` runs this."""

import http.client
import json
from urllib.parse import urlsplit

import pytest

from brim.gateway.http import server
from brim.gateway.http.app import GatewayApp
from brim.gateway.settings import GatewaySettings, RequestRule
from model_server import ModelServer, running
from studio.browser import tab

pytestmark = pytest.mark.ui


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
            at.go("live")
            at.page.wait_for_selector("text=No gateway traffic yet")
            said = [{"role": "user", "content": "word " * 200}, {"role": "assistant", "content": "word " * 200}] * 5
            body = {"model": "gpt-5", "messages": [*said, {"role": "user", "content": "go on"}]}
            headers = ask(gateway, "/v1/chat/completions", body)
            row = at.page.locator(".row").first
            row.wait_for(timeout=15_000)
            told = row.inner_text()
            for name in ("before", "after"):
                assert f"{int(headers[f'x-brim-tokens-{name}']):,}" in told
            assert f"{headers['x-brim-edits']} edits" in told
            row.locator("button").click()
            detail = at.page.get_by_role("region", name="One request").inner_text()
            assert headers["x-brim-request-id"] in detail
            assert f"{float(headers['x-brim-overhead-ms']):.0f}" in detail
            assert "number of its cut\n1" in detail
            at.page.get_by_role("region", name="One request").get_by_role("button", name="Close").click()
            ask(gateway, "/v1/chat/completions", body, **{"x-brim-budget": "many"})
            at.page.locator(".row", has_text="refused 400").wait_for(timeout=15_000)
            at.page.get_by_label("Which requests").select_option("wrong")
            at.page.wait_for_function("document.querySelectorAll('.row').length === 1")
            at.page.get_by_label("Which requests").select_option("cut")
            at.page.locator(".row a").first.click()
            at.page.wait_for_selector("[data-step='1']")
            assert at.page.locator("[data-used]").first.get_attribute("data-used") == headers["x-brim-tokens-after"]
    with tab(chromium, alone) as at:
        at.go("live")
        at.page.wait_for_selector(".badge >> text=stopped")
