import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from brim.errors import InvalidValue, ModelError
from brim.llm import LLM, Reply, Usage, cost
from brim.testing import Scripted

SECRET = "sk-very-secret-0123456789"
OPENAI = {
    "choices": [{"message": {"role": "assistant", "content": "Hello."}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 12, "completion_tokens": 3},
}
ANTHROPIC = {
    "content": [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "Hel"},
        {"type": "text", "text": "lo."},
    ],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 10, "cache_read_input_tokens": 2, "output_tokens": 3},
}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append((self.path, dict(self.headers), json.loads(body)))
        self.server.answer(self)

    def log_message(self, *_):
        return


def _send(handler, status, values, headers=()):
    body = values if isinstance(values, bytes) else json.dumps(values).encode()
    handler.send_response(status)
    handler.send_header("Content-Length", str(len(body)))
    for name, value in headers:
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body)


@pytest.fixture
def server():
    """A real server on the loopback that answers as it is told and remembers what it was asked."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as made:
        made.daemon_threads, made.asked, made.url = True, [], f"http://127.0.0.1:{made.server_port}"
        made.answer = lambda handler: _send(handler, 200, OPENAI)
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield made
        made.shutdown()
        thread.join()


@pytest.mark.requirement("S2.10")
def test_an_openai_endpoint_is_asked_without_any_limit_on_the_answer(server, monkeypatch):
    monkeypatch.setenv("MY_KEY", SECRET)
    llm = LLM(f"{server.url}/v1", "some-model", key="MY_KEY")
    reply = llm.complete([{"role": "user", "content": "Hi"}], system="Be kind.")
    assert reply == Reply(text="Hello.", usage=Usage(input=12, output=3), stop="end")
    path, headers, body = server.asked[0]
    assert path == "/v1/chat/completions"
    assert headers["Authorization"] == f"Bearer {SECRET}"
    assert body == {
        "model": "some-model",
        "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}],
    }


@pytest.mark.requirement("S2.10")
@pytest.mark.parametrize("base", ["", "/v1", "/v1/messages"])
def test_an_anthropic_endpoint_is_asked_with_the_models_own_maximum(server, monkeypatch, base):
    monkeypatch.setenv("MY_KEY", SECRET)
    server.answer = lambda handler: _send(handler, 200, ANTHROPIC)
    llm = LLM(server.url + base, "claude-sonnet-4-5", key="MY_KEY", api="anthropic")
    asked = [{"role": "system", "content": [{"type": "text", "text": "Be brief."}]}, {"role": "user", "content": "Hi"}]
    assert llm.complete(asked, system="Be kind.") == Reply(text="Hello.", usage=Usage(input=12, output=3))
    path, headers, body = server.asked[0]
    assert path == "/v1/messages"
    assert {name.lower(): value for name, value in headers.items()}["x-api-key"] == SECRET
    assert body["max_tokens"] == 64_000
    assert body["system"] == "Be kind.\n\nBe brief."
    assert [message["role"] for message in body["messages"]] == ["user"]


def test_an_anthropic_model_whose_maximum_nobody_knows_is_refused_before_anything_is_sent(server):
    with pytest.raises(InvalidValue, match=r"declare its max_output in brim\.models\.yaml"):
        LLM(server.url, "nobody-knows-me", api="anthropic").complete("Hi")
    assert server.asked == []


@pytest.mark.requirement("S2.12")
@pytest.mark.parametrize(
    ("api", "answer"),
    [
        ("openai", {"choices": [{"message": {"content": "Half"}, "finish_reason": "length"}]}),
        ("anthropic", {"content": [{"type": "text", "text": "Half"}], "stop_reason": "max_tokens"}),
    ],
)
def test_an_answer_that_was_cut_off_says_so(server, api, answer):
    server.answer = lambda handler: _send(handler, 200, answer)
    reply = LLM(server.url, "claude-sonnet-4-5", api=api).complete("Hi")
    assert (reply.text, reply.stop, reply.complete) == ("Half", "length", False)
    assert reply.usage == Usage(input=None, output=None)


@pytest.mark.parametrize("count", [0, 1, -1, True, "7", 1.5, None])
def test_usage_that_is_no_count_is_unknown(server, count):
    usage = {"prompt_tokens": count, "completion_tokens": count}
    server.answer = lambda handler: _send(handler, 200, {**OPENAI, "usage": usage})
    known = count if count in (0, 1) and count is not True else None
    assert LLM(server.url, "m").complete("Hi").usage == Usage(input=known, output=known)


def test_a_refusal_is_told_with_its_status_and_the_start_of_what_was_said_but_never_with_the_key(server, monkeypatch):
    monkeypatch.setenv("MY_KEY", SECRET)
    said = f"wrong key {SECRET} " + "x" * 5_000
    server.answer = lambda handler: _send(handler, 400, {"error": said})
    llm = LLM(f"{server.url}/v1?token=also-secret", "m", key="MY_KEY")
    with pytest.raises(ModelError, match=r"/v1/chat/completions answered 400: .*wrong key \[key\]") as refused:
        llm.complete("Hi")
    assert refused.value.status == 400
    assert len(str(refused.value)) < 500
    for shown in (str(refused.value), repr(refused.value), repr(llm), llm.place):
        assert SECRET not in shown
        assert "also-secret" not in shown
    assert server.asked[0][0].endswith("?token=also-secret")


def test_a_redirect_is_not_followed_with_the_key(server, monkeypatch):
    monkeypatch.setenv("MY_KEY", SECRET)
    server.answer = lambda handler: _send(handler, 302, b"", [("Location", f"{server.url}/elsewhere")])
    with pytest.raises(ModelError, match="302 .a redirect, which brim does not follow"):
        LLM(server.url, "m", key="MY_KEY").complete("Hi")
    assert len(server.asked) == 1


@pytest.mark.slow
def test_a_server_that_drips_is_ended_when_the_time_is_up(server):
    def drip(handler):
        handler.send_response(200)
        handler.end_headers()
        for _ in range(100):
            try:
                handler.wfile.write(b" ")
                handler.wfile.flush()
            except OSError:
                return
            time.sleep(0.05)

    server.answer = drip
    begun = time.monotonic()
    with pytest.raises(ModelError, match=r"did not finish its answer within 0\.3 seconds") as late:
        LLM(server.url, "m", timeout=0.3).complete("Hi")
    assert time.monotonic() - begun < 2
    assert late.value.status is None


def test_a_server_that_says_nothing_is_ended_too(server):
    server.answer = lambda handler: time.sleep(1)
    with pytest.raises(ModelError, match=r"within 0\.2 seconds: raise the timeout"):
        LLM(server.url, "m", timeout=0.2).complete("Hi")


def test_an_answer_that_never_ends_is_left_at_the_bound(server, monkeypatch):
    monkeypatch.setattr("brim.llm._MOST_BYTES", 100_000)

    def flood(handler):
        handler.send_response(200)
        handler.end_headers()
        try:
            for _ in range(1_000):
                handler.wfile.write(b"x" * 65_536)
        except OSError:
            return

    server.answer = flood
    with pytest.raises(ModelError, match="more than 100,000 bytes"):
        LLM(server.url, "m").complete("Hi")


@pytest.mark.parametrize(
    "answer",
    [
        b"<html>busy</html>",
        b"[" * 100_000,
        b"{}",
        b'{"choices": []}',
        b'{"choices": [{"message": null}]}',
        b'{"choices": [{"message": {"content": 7}}]}',
        b"null",
    ],
)
def test_an_answer_that_is_none_is_told_with_its_start(server, answer):
    server.answer = lambda handler: _send(handler, 200, answer)
    with pytest.raises(ModelError, match="did not return a valid openai answer") as told:
        LLM(server.url, "m").complete("Hi")
    assert told.value.status == 200


def test_a_host_that_nobody_listens_at_is_told():
    with pytest.raises(
        ModelError, match=r"http://127\.0\.0\.1:9/chat/completions cannot be reached: connection refused"
    ):
        LLM("http://127.0.0.1:9", "m").complete("Hi")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"key": SECRET}, "key must be the name of an environment variable"),
        ({"api": "openia"}, "did you mean 'openai'"),
        ({"url": "ftp://host/v1"}, "url must be an address"),
        ({"url": "http://host:99999"}, "url must be an address"),
        ({"url": f"http://me:{SECRET}@host/v1"}, "without a user and a password"),
        ({"url": f"me:{SECRET}@host"}, "url must be an address"),
        ({"timeout": 0}, "timeout must be seconds above 0"),
        ({"timeout": float("nan")}, "timeout must be seconds above 0"),
        ({"model": ""}, "model must be a non-empty string"),
    ],
)
def test_what_cannot_be_is_refused_without_repeating_a_secret(given, told):
    with pytest.raises(InvalidValue, match=told) as refused:
        LLM(**{"url": "http://host/v1", "model": "m", **given})
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize("value", ["", "  ", f"{SECRET}\nX-Evil: 1"])
def test_a_key_that_is_not_set_or_spans_lines_is_refused_before_anything_is_sent(server, monkeypatch, value):
    monkeypatch.setenv("MY_KEY", value)
    with pytest.raises(InvalidValue, match="MY_KEY") as refused:
        LLM(server.url, "m", key="MY_KEY").complete("Hi")
    assert SECRET not in str(refused.value)
    assert server.asked == []


@pytest.mark.parametrize("messages", [7, b"bytes", [{"content": "x"}], ["x"]])
def test_messages_that_are_none_are_refused(messages):
    with pytest.raises(InvalidValue, match="messages"):
        LLM("http://host", "m").complete(messages)


@pytest.mark.requirement("S2.9")
def test_what_a_call_cost_comes_from_the_catalogue_and_is_unknown_where_that_does_not_know():
    assert cost("claude-sonnet-4-5", Usage(input=1_000, output=100)) == 0.0045
    assert cost("claude-sonnet-4-5", Usage(input=1_000)) is None
    assert cost("nobody-knows-me", Usage(input=1, output=1)) is None


def test_a_scripted_model_says_what_it_is_told_to_and_remembers_what_it_was_asked():
    model = Scripted(["one", Reply(text="two", stop="length"), ModelError("busy", status=503)])
    assert model.complete("a").text == "one"
    assert not model.complete([{"role": "user", "content": "b"}], system="s").complete
    with pytest.raises(ModelError, match="busy"):
        model.complete("c")
    with pytest.raises(ModelError, match="the script has 3 answers, and one more was needed"):
        model.complete("d")
    assert model.asked == ["a", "s\n\nb", "c", "d"]
    assert Scripted(str.upper).complete("loud").text == "LOUD"
