"""The walk of a message is true to the code: it names the files that a message passes, and functions that exist."""

import re
import sys
from pathlib import Path

import brim
from brim.gateway.http import server
from brim.gateway.http.app import GatewayApp
from brim.gateway.settings import GatewaySettings, RequestRule
from checkout import ROOT
from gateway.conftest import asked, conversation, post
from model_server import ModelServer, running
from sessions.talking import turn

PAGE = (ROOT / "docs" / "design" / "walk.md").read_text(encoding="utf-8")
SOURCE = Path(brim.__file__).parent
VALUES = {"learning/models", "settings", "status", "log/log_messages", "log/memory_log"}
"""Files of sessions that only hold values: the page does not name them."""


def passed(call):
    """Return the files of brim that a call enters."""
    found = set()

    def enter(frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(str(SOURCE)):
            found.add(Path(frame.f_code.co_filename).relative_to(SOURCE).as_posix())

    sys.setprofile(enter)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found


def test_the_files_of_a_message_are_on_the_page(tmp_path):
    session = brim.Session(3_000, meter="o200k_base", store=f"sqlite:///{tmp_path}/brim.db")
    for i in range(12):
        session.add(turn(i))
        session.prompt("Be brief.")
    files = passed(lambda: session.add(turn(12))) | passed(lambda: session.prompt("Be brief."))
    session.close()
    walked = {each for each in files if each.startswith("sessions/") or each == "history/history.py"}
    told = set(re.findall(r"`([a-z_/]+\.py)`", PAGE))
    left = {f"sessions/{each}.py" for each in VALUES}
    assert walked - told - left == set(), "add the file to docs/design/walk.md, or to those that hold values only"


def test_a_post_passes_the_modules_of_the_gateway_that_the_page_draws(monkeypatch):
    found = set()

    def enter(frame, event, _):
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(str(SOURCE / "gateway")):
            found.add(Path(path).relative_to(SOURCE / "gateway").with_suffix("").as_posix())

    async def seen(app, *given):
        sys.setprofile(enter)
        try:
            await GatewayApp._request(app, *given)
        finally:
            sys.setprofile(None)

    def work(job, *given):
        async def run():
            return job(*given)

        return run()

    model = ModelServer()
    with running(model) as upstream:
        settings = GatewaySettings(upstream=f"{upstream}/v1", default=RequestRule(policy="fit", window=model.window))
        app = GatewayApp(settings)
        monkeypatch.setattr(app.state, "work", work)  # On one thread, so that all of it is seen.
        with running(app, server.config(app, settings)) as url:
            post(url, asked(conversation(60)))
            monkeypatch.setattr(GatewayApp, "__call__", seen)
            assert int(post(url, asked(conversation(62)))[1]["x-brim-edits"]) > 0
    page = (ROOT / "docs" / "design" / "gateway.md").read_text(encoding="utf-8")
    drawn = re.findall(r"^  \|  ([a-z_/]+) ", page, re.MULTILINE)
    assert len(drawn) == 9
    assert set(drawn) - found == set()
    helpers = set(re.findall(r"`([a-z_/]+)`", page.partition("call helpers")[2].partition("\n\n")[0]))
    found.discard("http/protocol")  # The connection of the request before may end meanwhile.
    assert found - set(drawn) == helpers


def test_the_names_on_the_page_exist():
    for path in re.findall(r"`((?:sessions|history|wire|meter|store)/[a-z_/]+\.py)`", PAGE):
        assert (SOURCE / path).is_file(), path
    source = "\n".join(path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py"))
    for owner, name in re.findall(r"`([A-Z]\w+)\.(\w+)`", PAGE):
        body = source.partition(f"class {owner}")[2]
        assert re.search(rf"def {name}\(", body), f"{owner}.{name}"
