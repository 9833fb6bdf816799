"""Requests without a valid key, generated from a seed: for tests and proofs that none is admitted."""

import random
import re
import socket

PROTECTED = (
    "/v1/chat/completions",
    "/v1/responses",
    "/v1/messages",
    "/v1/messages/count_tokens",
    "/v1/responses/input_tokens",
    "/v1/models",
    "/v1/embeddings",
    "/v1",
    "/metrics",
)
"""Paths that need a key, one of each kind."""
METHODS = ("GET", "POST", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "PRI", "post", "PROPFIND")
OPEN_ANSWERS = (b'{"status": "ok"}', b"")
"""The bodies of the two open paths."""

_BEFORE = ("", "/", "//", "/.", "/./", "/..", "/../", "/healthz/..", "/healthz/../", "/readyz//", "/healthz;", "/%2e%2e/",
           "/%2e/", "/%2f", "/%5c..", "\\", "/healthz%2f..%2f", "/healthz%00/", "/healthz%0d%0a", "/healthz?/..", "/healthz#",
           "/healthz/%2e%2e/%2e%2e", "/%252e%252e/", "/;x=/healthz", "*", "/v1/../healthz/..")  # fmt: skip
_AFTER = ("", "/", "//", "/.", "/..;/", "%00", "%20", "%2f", "%0d%0aHost:%20evil", ";/healthz", "?/healthz", "#/healthz",
          "/%2e%2e/healthz", "/../healthz", "?x=%00", ".json", "%3fx", "\t", "/healthz/..", "%c0%af", "%ff", "\\")  # fmt: skip
_WHOLE = (
    "http://127.0.0.1",
    "http://evil.example",
    "https://[::1]",
    "http://healthz",
    "http://user:pw@127.0.0.1",
    "//evil",
    "ftp://x",
)
_HOSTS = ("{host}", "127.0.0.1", "localhost", "[::1]", "127.0.0.1:0", "evil.example", "127.0.0.1@evil", "evil#@127.0.0.1", "",
          "localhost/healthz", "localhost/healthz?", "127.0.0.1:80/healthz", "{host}, evil", "LOCALHOST", "localhost.", " ",
          "127.0.0.1\t", "0x7f.1", "2130706433", "[::ffff:127.0.0.1]", "a" * 300, "127.0.0.1:99999", "healthz")  # fmt: skip
_EXTRA = ("X-Forwarded-Host: {host}", "X-Forwarded-For: 127.0.0.1", "X-Forwarded-Proto: https", "X-Forwarded-Prefix: /healthz",
          "X-Forwarded-Path: /healthz", "X-Original-URL: /healthz", "X-Rewrite-URL: /healthz", "X-Original-Method: GET",
          "X-HTTP-Method-Override: GET", "Forwarded: for=127.0.0.1;host=localhost", "X-Real-IP: 127.0.0.1", "Via: 1.1 localhost",
          "Transfer-Encoding: chunked", "Content-Length: 0", "Connection: authorization, host", "Connection: upgrade",
          "Upgrade: websocket", "Upgrade: h2c", "Expect: 100-continue", "X-Brim-Policy: pass", "X-Brim-Key: CLIENT_KEY",
          "Host: localhost", " folded: x", "Cookie: key=x", "Accept: \x00", "X-Y: a\rX-Api-Key: x", "Origin: http://localhost")  # fmt: skip
_KEYS = ("", "Bearer", "Bearer ", "bearer\t", "Basic Og==", "Bearer CLIENT_KEY", "Bearer {short}", "Bearer {key}x", "Bearer x{key}",
         "Bearer {upper}", "Bearer {key}\x00", "{key}", "Token {key}", "Bearer ' OR '1'='1", "Bearer " + "k" * 9_000, "Bearer \xff",
         "Bearer {key},{key}", "Bearer null", "Bearer undefined", "Bearer Bearer {key}", "Bearer %63orrect", "Basic {key}")  # fmt: skip


def doors(count, key, host, seed=16):
    """Yield raw requests, none of which shows the key; each route that needs one has its turn."""
    chooser = random.Random(seed)
    for number in range(count):
        yield _door(chooser, PROTECTED[number % len(PROTECTED)], key, host)


def _door(chooser, path, key, host):
    target = _cased(chooser, path)
    if chooser.random() < 0.25:
        target = _percented(chooser, target)
    target = chooser.choice(_BEFORE) + target if chooser.random() < 0.35 else target
    target += chooser.choice(_AFTER) if chooser.random() < 0.35 else ""
    if chooser.random() < 0.1:
        target = chooser.choice(_WHOLE) + target
    if chooser.random() < 0.08:
        at = chooser.randrange(len(target) + 1)
        target = target[:at] + chr(chooser.randrange(256)) + target[at:]
    method = chooser.choice(METHODS) if chooser.random() < 0.2 else chooser.choice(("GET", "POST"))
    named = chooser.choice(_HOSTS).format(host=host) if chooser.random() < 0.3 else host
    lines = [f"{method} {target or '/'} HTTP/{chooser.choice(('1.1',) * 8 + ('1.0', '2.0'))}", f"Host: {named}"]
    lines += [chooser.choice(_EXTRA).format(host=host) for _ in range(chooser.choice((0, 0, 1, 1, 2, 3)))]
    if chooser.random() < 0.4:
        name = chooser.choice(("Authorization", "X-Api-Key", "authorization", "Proxy-Authorization"))
        told = chooser.choice(_KEYS)
        if not (name.lower() == "x-api-key" and told == "{key}"):
            lines.append(f"{name}: {told.format(key=key, short=key[:-1], upper=key.upper())}")
    body = b"{}" if method.upper() in ("POST", "PUT", "PATCH") else b""
    head = "\r\n".join([*lines, f"Content-Length: {len(body)}", "Connection: close", "", ""])
    return head.encode("latin-1") + body


def _cased(chooser, text):
    if chooser.random() < 0.7:
        return text
    return "".join(chooser.choice((letter.upper(), letter.lower())) for letter in text)


def _percented(chooser, text):
    """Write some letters as their numbers, one of them perhaps twice over."""
    percent = "%25" if chooser.random() < 0.2 else "%"
    return "".join(f"{percent}{ord(letter):02x}" if chooser.random() < 0.15 else letter for letter in text)


def answers(url, raw, timeout=5):
    """Send bytes and return all that comes back: a status and a body for each answer on the connection."""
    host, _, port = url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=timeout) as link:
        said = b""
        try:
            link.sendall(raw)
            while piece := link.recv(65_536):
                said += piece
        except OSError:  # It was cut off in the middle, which is an answer too; what came before counts.
            pass
    parts = re.split(rb"(?=HTTP/1\.[01] \d{3} )", said)
    return [(int(part.split(b" ", 2)[1]), part.partition(b"\r\n\r\n")[2]) for part in parts if part]


def gets_in(told):
    """Return the answers that are neither a refusal nor an open path."""
    return [(status, body) for status, body in told if not (400 <= status < 500 or _is_open(status, body))]


def _is_open(status, body):
    return status == 100 or (status == 200 and body in OPEN_ANSWERS)


FIELDS = ("api_base", "base_url", "url", "api_url", "endpoint", "host", "user_config", "extra_body", "extra_headers", "extra_query",
          "model_list", "litellm_params", "proxy", "http_proxy", "custom_llm_provider", "callback_url", "webhook", "image_url")  # fmt: skip
LEADING_HEADERS = ("x-api-base", "x-base-url", "x-upstream", "x-target-url", "x-original-url", "x-forwarded-host", "x-forwarded-server",
                   "x-portkey-custom-host", "helicone-target-url", "x-litellm-api-base", "x-brim-upstream", "x-host", "proxy",
                   "x-http-host-override", "forwarded", "referer")  # fmt: skip

KEY_SHAPES = (
    "sk-proj-4fQ9aZ7xT2bV8nR5mK1wL6yD3cH0jS",
    "sk-ant-api03-Zx81Qp44Lm20Vt77Bn93Kd55Rw",
    "AKIAQ7X2M9L4T8W1Z5RB",
    "AIzaSyB7n4Qx9Lm2Vt8Kd5Rw1Zp6Hc3Jf0Gs9Tq",
    "ghp_9aZ7xT2bV8nR5mK1wL6yD3cH0jS4fQ1uE8oP",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI5OTkxIn0.q7Xw2Lk9Vt4Zp8Rm1",
    "hf_Qx9Lm2Vt8Kd5Rw1Zp6Hc3Jf0Gs9TqBn4Aa",
    "gsk_Lm2Vt8Kd5Rw1Zp6Hc3Jf0Gs9TqBn4AaQx9",
    "xoxb-7741902833-Zp6Hc3Jf0Gs9Tq",
    "7c1e9a40b2d84f6f9d03",
    "qv7Rk2xw",
    "Tr0ub4d!",
)
"""Keys of many providers, two of them of eight characters, none like another."""
