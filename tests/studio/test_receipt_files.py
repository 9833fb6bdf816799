"""No path and no link leads out of the directory of receipts."""

import json
import os
import socket
from itertools import cycle
from urllib.parse import quote

import pytest

from brim.studio.receipt_files import ReceiptFiles

SECRET = "heron-4711-secret"
UPS = (
    "../",
    "..%2f",
    "%2e%2e/",
    "%2e%2e%2f",
    "..%5c",
    "..\\",
    "..%252f",
    "%252e%252e%252f",
    "..%c0%af",
    "..%ef%bc%8f",
    "....//",
    "..;/",
    ".%2e/",
    "..%00/",
    "/../",
)
PATHS = [f"{prefix}{up * 3}secret.json" for up in UPS for prefix in ("/", "/static/", "/api/", "//")]
IDS = [
    "step:/etc/passwd",
    "step:{root}/secret.json",
    "step:build/receipts/../../../secret.json",
    "step:build/linked.json",
    "step:linked/a.json",
    "step:build/receipts/a.json",
    "step:build/a.json/",
    "step:build//a.json",
    "step:./build/a.json",
    "step:build/a.json\x00.txt",
    "step:build/\ud800",
    "prompt:../../secret:1",
    "file:///etc/passwd",
    "step:",
    "step:build/",
    *(f"step:{place}{up * depth}secret.json" for up in UPS for place, depth in (("", 1), ("", 8), ("build/", 1))),
]


@pytest.fixture
def guarded(alone):
    """A studio whose runs lie beside a secret, and have links to it."""
    inside = alone.folder / "runs" / "build" / "receipts"
    inside.mkdir(parents=True)
    for place in (alone.folder, alone.folder.parent):
        (place / "secret.json").write_text(json.dumps({"step_id": SECRET}))
    (inside / "a.json").write_text('{"step_id": "a"}')
    (inside / "linked.json").symlink_to(alone.folder / "secret.json")
    (inside / "list.json").write_text("[]")
    os.mkfifo(inside / "pipe.json")
    outside = alone.folder / "outside" / "receipts"
    outside.mkdir(parents=True)
    (outside / "a.json").write_text(json.dumps({"step_id": SECRET}))
    (alone.folder / "runs" / "linked").symlink_to(alone.folder / "outside")
    return alone


def raw(served, path):
    """Ask for a path as it is written, and return the whole answer."""
    with socket.create_connection(("127.0.0.1", served.access.port), timeout=10) as line:
        head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{served.access.port}\r\nCookie: {served.cookie}\r\n"
        line.sendall((head + "Connection: close\r\n\r\n").encode("utf-8", "surrogatepass"))
        answer = b""
        while piece := line.recv(65_536):
            answer += piece
        return answer


def test_no_path_of_an_address_leads_out(guarded):
    for path in PATHS:
        answer = raw(guarded, path)
        status = int(answer[9:12])
        assert 400 <= status < 500, (path, status)
        assert SECRET.encode() not in answer, path


@pytest.mark.slow
def test_no_id_leads_out(guarded):
    fields = [("prompt", "id")] * 15 + [("text", "handle"), ("timeline", "session"), ("prompt", "session")]
    for name, (view, field) in zip(IDS, cycle(fields), strict=False):
        asked = name.format(root=guarded.folder) if "{root}" in name else name
        status, _, body = guarded.ask(f"/api/{view}?workspace=mine&{field}={quote(asked, errors='surrogatepass')}")
        assert status in (400, 404), (view, name, status)
        assert SECRET.encode() not in body


def test_what_is_listed_is_what_lies_inside(guarded):
    listed = guarded.studio.mine.receipts.receipts()
    assert [file.id for file in listed] == ["step:build/a.json"]
    assert guarded.get("prompt", workspace="mine", id="step:build/a.json")[1]["facts"] == {"step_id": "a"}


def test_a_changed_receipt_is_read_again(tmp_path):
    inside = tmp_path / "build" / "receipts"
    inside.mkdir(parents=True)
    (inside / "a.json").write_text('{"step_id": "a"}')
    folder = ReceiptFiles(str(tmp_path))
    assert folder.receipts()[0].values["step_id"] == "a"
    (inside / "a.json").write_text('{"step_id": "another"}')
    assert folder.receipts()[0].values["step_id"] == "another"
