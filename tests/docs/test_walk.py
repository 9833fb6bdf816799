"""The walk of a message is true to the code: it names the files that a message passes, and functions that exist."""

import re
import sys
from pathlib import Path

import brim
from checkout import ROOT
from sessions.talking import turn

PAGE = (ROOT / "docs" / "design" / "walk.md").read_text(encoding="utf-8")
SOURCE = Path(brim.__file__).parent
VALUES = {"learning/model_meter", "learning/models", "settings", "status", "log/log_value", "log/memory_log"}
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


def test_the_names_on_the_page_exist():
    for path in re.findall(r"`((?:sessions|history|wire|meter|store)/[a-z_/]+\.py)`", PAGE):
        assert (SOURCE / path).is_file(), path
    source = "\n".join(path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py"))
    for owner, name in re.findall(r"`([A-Z]\w+)\.(\w+)`", PAGE):
        body = source.partition(f"class {owner}")[2]
        assert re.search(rf"def {name}\(", body), f"{owner}.{name}"
