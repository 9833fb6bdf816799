"""No path leads out: 300 payloads against a real server, and links that are swapped in while it reads."""

import itertools
import json
import os
import socket
import threading
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
TARGETS = ("secret.json", "etc/passwd", "brim.yaml", "app.py", "hosts.py")
DEPTHS = (1, 3, 8)
PATHS = [
    *(
        f"{prefix}{up * depth}{target}"
        for up, depth, (prefix, target) in itertools.product(
            UPS, DEPTHS, zip(("/", "/static/", "/api/", "//", "/"), TARGETS, strict=True)
        )
    ),
]
"""15 ways up, 3 depths, 5 targets from 5 places: 225 in all."""
IDS = [
    *(f"step:{up * depth}secret.json" for up in UPS for depth in DEPTHS),
    *(f"step:build/{up}secret.json" for up in UPS),
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
    "prompt:/etc/passwd:1",
    "file:///etc/passwd",
    "step:",
    "step:build/",
]
"""60 ways up by an id, and others: 76 in all."""


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
        for inner in (SECRET.encode(), b"root:", b"import "):
            assert inner not in answer, path


def test_no_id_leads_out(guarded):
    for name in IDS:
        asked = name.format(root=guarded.folder) if "{root}" in name else name
        status, _, body = guarded.ask(f"/api/prompt?workspace=mine&id={quote(asked, errors='surrogatepass')}")
        assert status in (400, 404), (name, status)
        assert SECRET.encode() not in body
        assert b"root:" not in body
        for view, field in (("text", "handle"), ("timeline", "session"), ("prompt", "session")):
            status, _, body = guarded.ask(
                f"/api/{view}?workspace=mine&after=x&{field}={quote(asked, errors='surrogatepass')}"
            )
            assert status in (400, 404), (view, name, status)
            assert SECRET.encode() not in body


def test_what_is_listed_is_what_lies_inside(guarded):
    listed = guarded.studio.mine.index.files.receipts()
    assert [file.id for file in listed] == ["step:build/a.json"]
    assert guarded.get("prompt", workspace="mine", id="step:build/a.json")[1]["facts"] == {"step_id": "a"}


def test_a_link_that_is_swapped_in_while_it_reads_is_never_followed(tmp_path):
    """Readings while a file and its directory are a link to a secret every other moment, until both states were met."""
    inside = tmp_path / "runs" / "build" / "receipts"
    inside.mkdir(parents=True)
    good, bad = inside / "a.json", tmp_path / "secret" / "receipts"
    bad.mkdir(parents=True)
    (bad / "a.json").write_text(json.dumps({"step_id": SECRET}))
    good.write_text('{"step_id": "a"}')
    spare = tmp_path / "spare"
    ended = threading.Event()
    swaps = 0

    def swap():
        nonlocal swaps
        while not ended.is_set():
            os.symlink(bad / "a.json", spare)
            os.replace(spare, good)
            spare.write_text(json.dumps({"step_id": "a", "n": swaps}))
            os.replace(spare, good)
            os.rename(inside, tmp_path / "apart")
            os.symlink(bad, inside)
            os.unlink(inside)
            os.rename(tmp_path / "apart", inside)
            swaps += 1

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        seen = {"a": 0, None: 0}
        folder = ReceiptFiles(str(tmp_path / "runs"))
        for i in range(1_000_000):
            if i >= 5_000 and seen["a"] > 100 and seen[None] > 100 and swaps > 20:
                break
            found = folder.receipts() if i % 2 else []
            names = [filed.values["step_id"] for filed in found]
            whole = folder.read("step:build/a.json")
            assert SECRET not in names
            assert whole is None or whole["step_id"] == "a"
            seen[None if whole is None else "a"] += 1
    finally:
        ended.set()
        thread.join()
    assert swaps > 20
    assert seen["a"] > 100
    assert seen[None] > 100


def test_a_changed_receipt_is_read_again(tmp_path):
    inside = tmp_path / "build" / "receipts"
    inside.mkdir(parents=True)
    (inside / "a.json").write_text('{"step_id": "a"}')
    folder = ReceiptFiles(str(tmp_path))
    assert folder.receipts()[0].values["step_id"] == "a"
    (inside / "a.json").write_text('{"step_id": "another"}')
    assert folder.receipts()[0].values["step_id"] == "another"
