"""What fits is sent as it came, whatever its JSON looks like; what is cut is copied, not written anew."""

import json

from hypothesis import HealthCheck, given, settings

from gateway.bodies import bodies
from gateway.conftest import asked, conversation, post


def test_a_body_that_fits_arrives_byte_for_byte(gateway, upstream):
    url, _ = gateway()

    @settings(max_examples=30, suppress_health_check=list(HealthCheck))
    @given(bodies())
    def check(body):
        status, headers, _ = post(url, body)
        assert status == 200, headers
        assert upstream.bodies[-1] == body
        assert headers["x-brim-edits"] == "0"

    check()


def test_what_is_not_cut_keeps_its_bytes(gateway, upstream):
    url, _ = gateway()
    said = conversation(60)
    body = (
        asked(said)
        .decode()
        .replace('"model": "gpt-4o"', r'"temperature":0.70,  "model":"gpt-4o", "n": 1.0, "stop":["caf\u00e9"]')
    )
    first = r'{"role":  "user", "content":"Find out why the b\u0075ild is slow."}'
    body = body.replace(json.dumps(said[0]), first)
    status, headers, _ = post(url, body.encode())
    sent = upstream.bodies[-1].decode()
    assert status == 200
    assert int(headers["x-brim-edits"]) > 0
    assert r'"temperature":0.70,  "model":"gpt-4o", "n": 1.0, "stop":["caf\u00e9"]' in sent
    assert first in sent
    assert json.dumps(said[-1]) in sent


def test_headers_of_the_client_go_on_and_those_for_this_hop_do_not(gateway, upstream):
    url, _ = gateway()
    post(url, asked(conversation(1)), authorization="Bearer sk-own", x_custom="kept", connection="x-gone", x_gone="1",
         x_brim_session_id="s", cookie="c=1", x_forwarded_host="evil")  # fmt: skip
    sent = upstream.headers[-1]
    assert sent["authorization"] == "Bearer sk-own"
    assert sent["x-custom"] == "kept"
    assert not {"x-gone", "x-brim-session-id", "cookie", "x-forwarded-host"} & set(sent)
