"""Attacks in a real Chromium: 40 payloads stored where strangers write, and a stranger's page in the same browser."""

import http.server
import json
import threading

import pytest

import brim
from studio.browser import Tab, found_chromium, tab

pytestmark = pytest.mark.ui

RUN = "window.hit=1"
PAYLOADS = (
    f"<script>{RUN}</script>",
    f"<ScRiPt>{RUN}</sCrIpT>",
    f"<img src=x onerror={RUN}>",
    f'"><img src=x onerror="{RUN}">',
    f"'><img src=x onerror='{RUN}'>",
    f"<svg onload={RUN}>",
    f"<svg><script>{RUN}</script></svg>",
    f"<svg><animate onbegin={RUN} attributeName=x dur=1s>",
    f"<body onload={RUN}>",
    f"<iframe src=javascript:{RUN}>",
    f"<iframe srcdoc='<script>parent.{RUN}</script>'>",
    f"<object data=javascript:{RUN}>",
    f"<embed src=javascript:{RUN}>",
    f"<a href=javascript:{RUN}>x</a>",
    f"javascript:{RUN}",
    f"<math><mi xlink:href=javascript:{RUN}>x</mi></math>",
    f"<details open ontoggle={RUN}>",
    f"<video><source onerror={RUN}>",
    f"<audio src=x onerror={RUN}>",
    f"<input autofocus onfocus={RUN}>",
    f"<select autofocus onfocus={RUN}>",
    f"<marquee onstart={RUN}>",
    f"<style>@import 'javascript:{RUN}';</style>",
    f"<style onload={RUN}></style>",
    f"<link rel=stylesheet href=javascript:{RUN}>",
    f"<meta http-equiv=refresh content='0;url=javascript:{RUN}'>",
    f"<base href=javascript:{RUN}//>",
    f"<form action=javascript:{RUN}><button autofocus>x</button></form>",
    f"<template><script>{RUN}</script></template>",
    f"<noscript><p title='</noscript><img src=x onerror={RUN}>'>",
    f"</textarea><script>{RUN}</script>",
    f"</title><script>{RUN}</script>",
    f"]]><script>{RUN}</script>",
    f"--><script>{RUN}</script><!--",
    "{{constructor.constructor('" + RUN + "')()}}",
    "${" + RUN + "}",
    f"\u2028{RUN}//",
    f'{{"__html":"<img src=x onerror={RUN}>"}}',
    f"&lt;script&gt;{RUN}&lt;/script&gt;",
    f"%3Cscript%3E{RUN}%3C/script%3E",
)
ALL = " ".join(PAYLOADS)
SCREENS = ("sessions", "session", "lab", "settings")


def poisoned(folder):
    """Write every payload wherever a stranger's text may come to lie."""
    store = brim.open_store(f"sqlite:///{folder}/brim.db")
    name = PAYLOADS[3]
    tools = [
        {"type": "function", "function": {"name": f"t{i}", "description": each, "parameters": {"title": each}}}
        for i, each in enumerate(PAYLOADS)
    ]
    session = brim.Session(window=9_000, meter="o200k_base", store=store, id=name, capture=True, tool_limit=64)
    for i, each in enumerate(PAYLOADS):
        call = {"id": f"c{i}", "type": "function", "function": {"name": each, "arguments": json.dumps({"a": each})}}
        session.add({"role": "user", "content": each})
        session.add({"role": "assistant", "content": each, "tool_calls": [call]})
        session.add({"role": "tool", "tool_call_id": f"c{i}", "content": each * 30})
        session.prompt(system=ALL, tools=tools, memory=[each])
        session.record_usage(input_tokens=700 + i, output_tokens=3, cached_tokens=0)
    session.compact()
    session.prompt(system=ALL, tools=tools)
    (folder / "brim.models.yaml").write_text(
        json.dumps({"models": {each: {"window": 900 + i} for i, each in enumerate(PAYLOADS)}})
    )
    (folder / "brim.yaml").write_text(json.dumps({"profiles": {name: {"description": ALL}}}))
    (folder / "flows").mkdir()
    steps = [{"id": each, "agent": each, "task": each} for each in PAYLOADS]
    flow = {"flow": "evil", "description": ALL, "budget_overrides": {"context_budget_chars": 900_000}, "steps": steps}
    (folder / "flows" / "evil.yaml").write_text(json.dumps(flow))
    told = {"used": 5, "budget": 9, "unit": ALL, "exact": True, "messages": 1, "truncated": True, "model": ALL}
    store.append(ALL[:150], [("prompt", told)], meta={"kind": "gateway", "status": told})
    store.close()
    return name


def test_forty_stored_payloads_stay_text_on_every_screen(chromium, alone):
    assert len(PAYLOADS) == 40
    name = poisoned(alone.folder)
    with tab(chromium, alone) as at:
        at.page.add_init_script("document.addEventListener('securitypolicyviolation', () => { window.hit = 2; })")
        at.page.reload()
        base = {"session": name, "flow": "evil"}
        places = [(screen, base) for screen in SCREENS]
        places += [("session", {**base, "view": "body"}), ("lab", {**base, "source": f"prompt:{name}@41"})]
        places += [("session", {**base, "tab": each}) for each in ("out", "cache")]
        places += [("session", {**base, "find": "window"})]
        places += [("settings", {**base, "step": each}) for each in PAYLOADS[::8]]
        places += [("settings", {**base, "key": "model"})]
        places += [(each, {"session": each, "tab": each, "view": each, "why": each, "text": each}) for each in SCREENS]
        for screen, asked in places:
            at.go(screen, **asked)
            at.page.wait_for_timeout(30)
            at.page.evaluate("document.querySelectorAll('details').forEach(each => (each.open = true))")
            for button in at.page.locator("main .texts button.plain, main button.plain").all()[:4]:
                button.click(timeout=2_000)
            assert at.page.evaluate("window.hit") is None, (screen, asked)
            bad = "main :is(script, img, iframe, object, embed, base, style, link, meta, video, audio, marquee, math)"
            assert at.page.locator(bad).count() == 0, (screen, asked)
            assert at.page.locator("main a[href^='javascript']").count() == 0, screen
            handlers = "[...document.querySelectorAll('main *')].filter(e => e.getAttributeNames().some(n => n.startsWith('on')))"
            assert at.page.evaluate(f"{handlers}.length") == 0, screen
        at.go("sessions", text="window hit")
        at.page.wait_for_selector("section[aria-label='Texts'] li >> text=left out of")
        assert at.page.evaluate("window.hit") is None
        at.go("session", session=name)
        for each in (name, PAYLOADS[-1]):
            assert each in at.page.locator("main").text_content()
        # A session that is not there is refused by the server, and the browser says so on its console.
        at.wrong[:] = [told for told in at.wrong if "404" not in told]


class _Stranger(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>stranger</title><body></body>")

    def log_message(self, *_):
        pass


@pytest.fixture
def stranger():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Stranger)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


FETCH = """async ([address, how]) => {
    try { const got = await fetch(address, how); return got.type + " " + got.status + " " + (await got.text()).length; }
    catch { return "refused"; }
}"""
SOCKET = """address => new Promise(done => {
    const line = new WebSocket(address);
    line.onopen = () => done("open");
    line.onerror = () => done("refused");
})"""
EVENTS = """address => new Promise(done => {
    const source = new EventSource(address, { withCredentials: true });
    source.onopen = () => done("open");
    source.onmessage = () => done("message");
    source.onerror = () => { source.close(); done("refused"); };
})"""
FORM = """([address, kind]) => new Promise(done => {
    const frame = document.createElement("iframe");
    frame.name = "f" + Math.random();
    const form = document.createElement("form");
    form.action = address; form.method = "POST"; form.enctype = kind; form.target = frame.name;
    const field = document.createElement("input");
    field.name = '{"x":"'; field.value = '"}';
    form.append(field);
    document.body.append(frame, form);
    let loads = 0;
    frame.onload = () => ++loads === 1 && done("answered");
    form.submit();
    setTimeout(() => done("nothing"), 1500);
})"""
FRAME = """address => new Promise(done => {
    const frame = document.createElement("iframe");
    frame.src = address;
    frame.onload = () => { try { done(String(frame.contentDocument.body.innerHTML)); } catch { done("apart"); } };
    document.body.append(frame);
    setTimeout(() => done("nothing"), 1500);
})"""


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"], ids=["another site", "another port of the same name"])
def test_a_strangers_page_neither_reads_nor_writes_nor_frames_the_studio(chromium, own_demo, stranger, host):
    plan = own_demo.post("plan", key="context_budget_chars", value="21000", flow="build", step="code")[1]
    own_demo.post("save", plan=plan["id"])
    assert own_demo.get("flows")[1]["saved"] == 1
    made = Tab(chromium, own_demo)
    page, base = made.page, made.base
    page.goto(f"http://{host}:{stranger}/")
    for mode in ("cors", "no-cors"):
        told = page.evaluate(FETCH, [f"{base}api/sessions", {"mode": mode, "credentials": "include"}])
        assert told in ("refused", "opaque 0 0"), mode
        for kind in ("application/json", "text/plain"):
            how = {"mode": mode, "method": "POST", "credentials": "include", "body": "{}"}
            told = page.evaluate(FETCH, [f"{base}api/undo", {**how, "headers": {"content-type": kind}}])
            assert told in ("refused", "opaque 0 0"), (mode, kind)
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        page.evaluate(FORM, [f"{base}api/undo", kind])
    assert page.evaluate(SOCKET, base.replace("http", "ws") + "api/sessions") == "refused"
    assert page.evaluate(EVENTS, f"{base}api/sessions") == "refused"
    assert page.evaluate(FRAME, base) in ("apart", "nothing")
    assert page.evaluate(FRAME, f"{base}api/sessions") in ("apart", "nothing")
    assert "orders-incident" not in "".join(frame.content() for frame in page.frames)
    made.context.close()
    assert own_demo.get("flows")[1]["saved"] == 1  # No undo came through.


def test_a_name_that_was_rebound_reaches_nothing(chromium, own_demo):
    """The browser is told that evil.example is this machine, as a rebinding attack does."""
    rules = "--host-resolver-rules=MAP evil.example 127.0.0.1"
    browser = chromium.browser_type.launch(executable_path=found_chromium(), args=[rules])
    page = browser.new_page()
    for path in (f"?token={own_demo.access.token}", "api/sessions", ""):
        answer = page.goto(f"http://evil.example:{own_demo.access.port}/{path}")
        assert answer.status == 421
        assert "orders-incident" not in page.content()
        assert page.context.cookies() == []
    browser.close()
