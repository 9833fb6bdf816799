"""How the gateway could be wrong: faults for `scripts/faults.py`."""

_START = "tests/gateway/test_stream_start.py"
_RECALL = "tests/gateway/test_recall_answer.py"
_ROUTES = "tests/gateway/test_routes.py"

AREAS = (
    (
        "gateway/stream_start.py",
        _START,
        (
            ("the first events of Responses decide", '"response.created", ', ""),
            ("a ping decides", '"ping", ', ""),
            ("a role alone is content", 'if key != "role"', "if True"),
            ("an error is kept back", 'or event.get("error"):', "or False:"),
            ("a start without an end is kept back for ever", "self.decided = self._size > _MOST", "pass"),
        ),
    ),
    (
        "gateway/server_event.py",
        f"{_START} tests/gateway/test_mutants.py",
        (
            ("an event ends with its piece", "start = self.rest + piece, [], 0", "start = piece, [], 0"),
            ("a line ends in one way", r'_LINE = rb"(?>\r\n|\n|\r)"', r'_LINE = rb"(?>\n)"'),
        ),
    ),
    (
        "gateway/relay.py",
        f"{_START} tests/gateway/test_relay.py",
        (
            ("the head waits for the keepalive", "min(_FIRST_SECONDS, self._keepalive)", "self._keepalive"),
            ("the head is sent twice", "                    self.began = True\n", ""),
            ("an error after content teaches nothing", "self.stopped = self.stopped or refusal_in(event)", "pass"),
        ),
    ),
    (
        "gateway/exchange.py",
        f"{_START} {_RECALL} {_ROUTES}",
        (
            ("the calls of the client are answered", "if not calls or others or turn", "if not calls or turn"),
            ("streams show the recalls", "RecallStream(self.route) if outcome.recalls else None", "None"),
            (
                "an error after the head has a status",
                "if not self._buffered.began:\n                raise",
                "if 1:\n                raise",
            ),
            ("what cannot be read is refused under any policy", "if not work.passes:", "if True:"),
        ),
    ),
    (
        "gateway/recall_answer.py",
        _RECALL,
        (
            ("an answer without calls announces some", "return ended if given in _CALLED and not calls else", "return"),
            ("an answer may be empty", 'message["content"] = message.get("content") or EMPTY', "pass"),
            ("the definition of the tool is shown", "if not is_recall(tool)]", "]"),
            ("reasoning that leads to nothing stays", "            dropped.add(at)\n", "            pass\n"),
            ("thinking is an answer", ' and item.get("type") not in ("thinking", "redacted_thinking")', ""),
        ),
    ),
    (
        "gateway/recall_stream.py",
        _RECALL,
        (
            ("indexes of calls have gaps", "if state.dropped and new != at[0] else part", "if False else part"),
            ("indexes of blocks have gaps", 'value if new == at else {**value, "index": new}', "value"),
            ("indexes of items have gaps", "at - sum(each < at for each in self._dropped)", "at"),
            ("numbers of events have gaps", 'self._shift -= "sequence_number" in value', "pass"),
            ("calls are told apart by index alone", 'return at, ids.get(at, "")', 'return at, ""'),
            ("an empty message ends empty", "[] if self._said else self._empty()", "[]"),
            ("an empty response ends empty", "added = _empty_events(number + self._shift, len(self._passed))", "pass"),
            ("an empty chat ends empty", 'made |= {"content": EMPTY} if state.empty else {}', "pass"),
        ),
    ),
    (
        "gateway/guard.py",
        "tests/gateway/test_keys.py",
        (
            ("keys of the gateway are passed on", "if pair[0] not in own] if own", "] if own"),
            ("any header opens the gateway", 'found.get("x-api-key") or', "next(iter(found.values()), None) or"),
        ),
    ),
    (
        "gateway/upstream.py",
        "tests/gateway/test_keys.py",
        (
            ("keys of the client go with that of the gateway", "if name not in KEY_HEADERS]", "]"),
            ("Anthropic gets a Bearer token", 'key) if route == "messages" else', "key) if False else"),
        ),
    ),
    (
        "gateway/routes.py",
        _ROUTES,
        (
            ("a WebSocket is a GET", '== "websocket":', '== "never":'),
            ("lists of models teach nothing", "state.conversations.windows.take(", "("),
        ),
    ),
    (
        "gateway/body.py",
        _ROUTES,
        (("half an answer is decompressed", "return content if complete else raw", "return content"),),
    ),
    (
        "gateway/decision.py",
        "tests/gateway/test_faults.py",
        (
            ("after an error everything is passed on", "if most > fits:", "if False:"),
            ("after an error images count as their text", "if most is None:", "if False:"),
            ("after an error a warning is a refusal", "if room is None or policy == WARN:", "if room is None:"),
        ),
    ),
)
