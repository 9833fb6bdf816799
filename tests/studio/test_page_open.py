"""Any file opens in one action: by argument, dropped, chosen or pasted, in a real Chromium. `make test-ui` runs this."""

import base64
import json
import os
import subprocess
import sys

import pytest

import brim
from audit import traces
from studio.browser import tab

pytestmark = pytest.mark.ui
MAKERS = [maker for makers in traces.ALL.values() for maker in makers]


def drop(page, name, content):
    """Drop a file on the page."""
    page.evaluate(
        """([name, data]) => {
            const bytes = Uint8Array.from(atob(data), each => each.charCodeAt(0));
            const held = new DataTransfer();
            held.items.add(new File([bytes], name));
            document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: held, bubbles: true, cancelable: true }));
        }""",
        [name, base64.b64encode(content).decode()],
    )


def choose(page, name, content):
    """Choose a file with the button."""
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Open a file").first.click()
    chooser.value.set_files([{"name": name, "mimeType": "application/json", "buffer": content}])


def paste(page, name, content):
    """Paste the content of a file on the page."""
    page.evaluate(
        """text => {
            const held = new DataTransfer();
            held.setData("text", text);
            document.body.dispatchEvent(new ClipboardEvent("paste", { clipboardData: held, bubbles: true }));
        }""",
        content.decode(),
    )


def text(records):
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def test_a_file_of_each_format_opens(chromium, alone):
    with tab(chromium, alone) as at:
        for maker in MAKERS:
            at.go("sessions")
            drop(at.page, f"{maker.__name__}.jsonl", text(maker()))
            at.page.wait_for_selector("main[data-screen='session']", timeout=30_000)
            at.page.wait_for_selector("text=2 steps")
            at.page.go_back()


@pytest.mark.parametrize("way", [drop, choose, paste], ids=lambda way: way.__name__)
def test_one_request_opens_as_its_prompt_and_a_receipt_too(chromium, alone, way):
    fitted = brim.fit([brim.Section("plan", "Do it. " * 900)], budget=300, model="gpt-5", capture=True)
    one = json.dumps(traces.openai_bodies()[1], indent=2).encode()
    with tab(chromium, alone) as at:
        for content, used in ((one, 134), (fitted.receipt.to_json().encode(), fitted.receipt.used)):
            at.go("settings")
            way(at.page, "request.json", content)
            at.page.wait_for_selector(".part", timeout=30_000)
            assert at.page.locator("[data-used]").first.get_attribute("data-used") == str(used)


def test_a_log_opens_as_its_sessions(chromium, alone):
    bodies = [{"model": "gpt-4o", "messages": [{"role": "user", "content": f"question {i}"}]} for i in range(5)]
    with tab(chromium, alone) as at:
        at.go("sessions")
        drop(at.page, "log.jsonl", text(bodies))
        at.page.wait_for_selector("h1 >> text=log.jsonl")
        at.page.locator(".row.session").nth(4).wait_for()
        assert at.page.locator(".row.session").count() == 5
        at.page.locator(".row.session").first.click()
        at.page.wait_for_selector(".part")
        at.page.go_back()
        at.page.wait_for_selector("h1 >> text=log.jsonl")


def test_a_broken_file_gets_one_clear_sentence(chromium, alone):
    with tab(chromium, alone) as at:
        for content, said in (
            (b'{"model": ', "is not JSON"),
            (b'{"hello": 1}', "unknown recording format"),
            (b"", "is empty"),
        ):
            at.go("sessions")
            drop(at.page, "broken.json", content)
            alert = at.page.get_by_role("alert")
            alert.wait_for(timeout=30_000)
            assert said in alert.inner_text()
            assert "broken.json" in alert.inner_text()
            alert.get_by_role("button", name="Close").click()


def command(tmp_path, *arguments):
    environ = {key: value for key, value in os.environ.items() if not key.startswith("BRIM_")}
    line = [sys.executable, "-m", "brim", "studio", *arguments, "--no-open", "--port", "0"]
    return subprocess.Popen(line, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ)


def test_the_argument_of_the_command_opens(chromium, tmp_path):
    (tmp_path / "request.json").write_text(json.dumps(traces.openai_bodies()[1]))
    with command(tmp_path, "request.json") as process:
        try:
            line = next(line for line in process.stdout if "token=" in line)
            page = chromium.new_page()
            page.goto(next(word for word in line.split() if "token=" in word))
            page.wait_for_selector(".part", timeout=60_000)
            assert "#/session?" in page.url
            assert traces.TASK in page.locator(".parts").inner_text()
            page.close()
        finally:
            process.terminate()
