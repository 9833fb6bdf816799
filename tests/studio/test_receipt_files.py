"""No path and no link leads out of the directory of receipts."""

import json
import os
import socket

import pytest

from brim.studio.receipt_files import receipts_in

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


def test_what_is_listed_is_what_lies_inside(guarded):
    assert receipts_in(guarded.studio.mine.runs) == [("build", {"step_id": "a"})]
    assert guarded.get("doctor", workspace="mine")[1]["receipts"] == 1
