"""Which requests the studio serves, over real sockets."""

import json
import socket
from urllib.parse import quote

import pytest

from brim.errors import InvalidValue
from brim.hosts import Access
from brim.redaction import redact
from brim.studio import api
from brim.studio.access import StudioAccess
from brim.studio.workspace import Workspace
from studio.serving import Served

JSON = {"Content-Type": "application/json"}


def test_without_the_token_neither_the_page_nor_a_view_nor_a_file_is_served(served):
    for path in ("/", "/api/sessions", "/api/about", "/studio.js", "/index.html", "/nothing"):
        status, _, body = served.ask(path, cookie=False)
        assert status == 401, path
        assert b"orders-incident" not in body


@pytest.mark.parametrize(("path", "status", "kind"), [("/", 200, "text/html"), ("/app.py", 404, "application/json")])
def test_the_page_is_served_and_no_file_beside_it(served, path, status, kind):
    found, headers, _ = served.ask(path)
    assert (found, headers["content-type"].partition(";")[0]) == (status, kind)


def test_the_printed_address_becomes_a_cookie_that_scripts_cannot_read(served):
    status, headers, body = served.ask(f"/?token={served.access.token}", cookie=False)
    assert status == 200
    cookie = headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert served.access.token.encode() not in body
    told = cookie.partition(";")[0]
    assert served.ask("/api/about", headers={"Cookie": told}, cookie=False)[0] == 200


def test_the_cookie_is_not_the_token_and_opens_nothing_but_this_studio(served, tmp_path):
    _, headers, _ = served.ask(f"/?token={served.access.token}", cookie=False)
    name, _, value = headers["set-cookie"].partition(";")[0].partition("=")
    assert name == served.access.cookie
    assert value not in (served.access.token, "")
    assert served.access.token not in headers["set-cookie"]
    assert served.ask(f"/?token={value}", cookie=False)[0] == 401
    assert served.ask("/api/about", headers={"Authorization": f"Bearer {value}"}, cookie=False)[0] == 401
    token = {"Cookie": f"{name}={served.access.token}"}
    assert served.ask("/api/about", headers=token, cookie=False)[0] == 401
    # Another studio with the same token of the user's own, as after a restart.
    same = StudioAccess(port=0, token=served.access.token, chosen=True)
    with Served(Workspace(url=f"sqlite:///{tmp_path}/none.db"), same) as other:
        stolen = {"Cookie": f"{other.access.cookie}={value}"}
        assert other.ask("/api/about", headers=stolen, cookie=False)[0] == 401
        assert other.ask("/api/about")[0] == 200


def test_headers_are_bounded_before_the_token_is_looked_at(served):
    with socket.create_connection(("127.0.0.1", served.access.port), timeout=10) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n")
        sent = 0
        try:
            while sent < 8_000_000:
                sent += client.send(b"x-fill: " + b"a" * 8_000 + b"\r\n")
            answer = b""
        except OSError:
            answer = b"closed"
        else:
            answer = client.recv(400)
    assert answer == b"closed" or answer.startswith(b"HTTP/1.1 400")
    assert served.ask("/api/about")[0] == 200


@pytest.mark.slow
def test_the_password_of_a_store_is_not_shown(tmp_path):
    workspace = Workspace(url="postgresql://ann:Tr0ub4d!@127.0.0.1:9/db?password=Tr0ub4d!")
    with Served(workspace) as served:
        status, body = served.get("about")
        assert (status, body["store"]) == (200, "postgresql://ann@127.0.0.1:9/db")
        for view in api.READS:
            assert "Tr0ub4d!" not in str(served.get(view))


def test_a_wrong_token_is_refused_in_the_address_the_cookie_and_the_header(served):
    own = {"Cookie": f"brim_studio={served.access.token}"}
    assert served.ask("/api/about", headers=own, cookie=False)[0] == 401, "a token is no cookie"
    assert served.ask(f"/api/about?token={served.access.token}", cookie=False)[0] == 401
    for token in ("", "x", quote("é"), "A" * 4_000):
        assert served.ask(f"/?token={token}", cookie=False)[0] == 401
        for header in ({"Cookie": f"{served.access.cookie}={token}"}, {"Authorization": f"Bearer {token}"}):
            assert served.ask("/api/about", headers=header, cookie=False)[0] == 401, token[:9]


def test_two_hosts_are_refused(served):
    with socket.create_connection(("127.0.0.1", served.access.port)) as line:
        own = f"127.0.0.1:{served.access.port}"
        line.sendall(
            f"GET /api/about HTTP/1.1\r\nHost: {own}\r\nHost: evil.example\r\nCookie: {served.cookie}\r\n\r\n".encode()
        )
        assert b" 400 " in line.recv(200).partition(b"\r\n")[0] + b" "


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1:1"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_page_of_another_origin_is_refused_even_with_the_cookie(served, origin, method):
    headers = {**JSON, "Origin": origin.format(port=served.access.port)}
    status, told, _ = served.ask("/api/about", method=method, headers=headers, body="{}")
    assert status == 403
    assert not [name for name in told if name.lower().startswith("access-control")]


def test_what_the_browser_marks_as_another_site_is_refused(served):
    for site in ("cross-site", "same-site"):
        assert served.ask("/api/about", headers={"Sec-Fetch-Site": site})[0] == 403
        assert served.ask("/api/undo", method="POST", headers={**JSON, "Sec-Fetch-Site": site}, body="{}")[0] == 403


def test_every_answer_forbids_frames_and_whatever_is_written_into_the_page(served):
    for path, cookie in (("/", True), ("/api/about", True), ("/", False), ("/api/none", True)):
        _, headers, _ = served.ask(path, cookie=cookie)
        policy = headers["content-security-policy"]
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-frame-options"] == "DENY"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"


def test_a_body_that_is_too_long_is_refused_before_it_is_read(served):
    headers = {**JSON, "Sec-Fetch-Site": "same-origin", "Content-Length": "99999999999"}
    assert served.ask("/api/plan", method="POST", headers=headers)[0] == 413


def test_a_body_that_does_not_say_how_long_it_is_ends_at_the_limit(served):
    headers = {**JSON, "Sec-Fetch-Site": "same-origin"}
    pieces = (b'{"a": "' if i == 0 else b"x" * 1_000_000 for i in range(18))
    try:
        status, _, answer = served.ask("/api/plan", method="POST", headers=headers, body=pieces)
    except ConnectionError:  # It hung up before all was sent.
        return
    assert status == 413
    assert b"too long" in answer


def test_a_body_that_is_not_an_object_is_refused_with_a_message(served):
    headers = {**JSON, "Sec-Fetch-Site": "same-origin"}
    for body in ("", "[]", "nonsense", '{"a":' * 2_000):
        status, _, answer = served.ask("/api/plan", method="POST", headers=headers, body=body)
        assert status == 400, body[:9]
        assert "JSON" in json.loads(answer)["problem"]


def test_another_address_than_loopback_needs_a_token_of_the_users_own():
    with pytest.raises(InvalidValue, match="--token") as refused:
        StudioAccess(host="0.0.0.0")
    assert redact(str(refused.value)) == str(refused.value), "the masking of secrets would remove the next word"
    with pytest.raises(InvalidValue, match="16 characters"):
        StudioAccess(host="0.0.0.0", token="short", chosen=True)
    access = StudioAccess(host="0.0.0.0", token="long enough to be safe", chosen=True, names=("studio.example",))
    names = Access(access.host, access.names, port=access.port)
    assert names.is_named("10.1.2.3:8090")
    assert names.is_named("Studio.example:8090")
    assert not names.is_named("evil.example:8090")


def test_the_token_is_new_at_each_start_and_stays_out_of_what_is_printed():
    first, second = StudioAccess(), StudioAccess()
    assert first.token != second.token
    assert first.token not in repr(first)


REBOUND = (
    "",
    "evil.example",
    "evil.example:{port}",
    "127.0.0.1.nip.io:{port}",
    "evil.example@127.0.0.1:{port}",
    "0.0.0.0:{port}",
    "[::ffff:127.0.0.1]:{port}",
    "2130706433:{port}",
    "localhost.:{port}",
    "127.0.0.1:1",
    "127.0.0.1:+{port}",
    "169.254.169.254:{port}",
)


@pytest.mark.parametrize("host", REBOUND)
def test_no_host_name_of_an_attacker_is_accepted(served, host):
    for path in ("/", "/api/sessions", f"/?token={served.access.token}"):
        status, headers, body = served.ask(path, headers={"Host": host.format(port=served.access.port)})
        assert status in (400, 421), path
        assert "set-cookie" not in {name.lower() for name in headers}
        assert b"orders-incident" not in body


def test_every_write_is_refused_without_the_token_from_another_site_and_as_a_form(served):
    from brim.studio.api import WRITES

    own = {"Sec-Fetch-Site": "same-origin"}
    bearer = {**JSON, "Authorization": f"Bearer {served.access.token}"}
    assert served.ask("/api/plan", method="POST", headers=bearer, body="{}", cookie=False)[0] == 400
    for view in WRITES:
        path = f"/api/{view}"
        assert served.ask(path, method="POST", headers={**JSON, **own}, body="{}", cookie=False)[0] == 401
        cross = {**JSON, "Sec-Fetch-Site": "cross-site"}
        assert served.ask(path, method="POST", headers=cross, body="{}")[0] == 403
        assert served.ask(path, method="POST", headers=JSON, body="{}")[0] == 403
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
            form = {**own, "Content-Type": kind}
            assert served.ask(path, method="POST", headers=form, body="key=model")[0] == 415
        assert served.ask(f"{path}")[0] == 404
