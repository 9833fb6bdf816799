"""What fits is sent as it came, whatever its JSON looks like; a body that is cut is written again."""

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


def test_what_is_not_cut_keeps_its_value(gateway, upstream):
    url, _ = gateway()
    said = conversation(60)
    other = {"temperature": 0.7, "n": 1.0, "stop": ["caf\u00e9"], "seed": 2**70, "user": "\ud800"}
    status, headers, _ = post(url, asked(said, **other))
    sent = json.loads(upstream.bodies[-1])
    assert status == 200
    assert int(headers["x-brim-edits"]) > 0
    assert {**sent, "messages": None} == {"model": "gpt-4o", "messages": None, **other}
    assert (sent["messages"][0], sent["messages"][-1]) == (said[0], said[-1])


def test_headers_of_the_client_go_on_and_those_for_this_hop_do_not(gateway, upstream):
    url, _ = gateway()
    post(url, asked(conversation(1)), authorization="Bearer sk-own", x_custom="kept", connection="x-gone", x_gone="1",
         x_brim_session_id="s", cookie="c=1", x_forwarded_host="evil")  # fmt: skip
    sent = upstream.headers[-1]
    assert sent["authorization"] == "Bearer sk-own"
    assert sent["x-custom"] == "kept"
    assert not {"x-gone", "x-brim-session-id", "cookie", "x-forwarded-host"} & set(sent)
