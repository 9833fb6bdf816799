"""How the gateway could be wrong: faults for `scripts/faults.py`."""

_START = "tests/gateway/test_stream_start.py"
_RECALL = "tests/gateway/test_recall.py"
_SECTIONS = "tests/gateway/test_added_sections.py"
_PROVIDERS = "tests/gateway/test_recall_providers.py"
_ROUTES = "tests/gateway/test_routes.py"

AREAS = (
    (
        "gateway/upstream/answered.py",
        "tests/gateway/test_metrics.py",
        (("a broken stream ended well", '"broken" if broken else ending', "ending"),),
    ),
    (
        "gateway/exchange.py",
        "tests/gateway/test_metrics.py",
        (("a client that left saw a broken answer", 'ended = "left"', 'ended = "broken"'),),
    ),
    (
        "gateway/state.py",
        "tests/gateway/test_metrics.py",
        (("a gateway without upstream is ready", "            return problem.message", '            return ""'),),
    ),
    (
        "gateway/upstream/stream_start.py",
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
        "gateway/upstream/server_event.py",
        f"{_START} tests/gateway/test_mutants.py",
        (
            ("an event ends with its piece", 'b"".join((*self._pieces, piece)), [], 0', "piece, [], 0"),
            ("a line ends in one way", r'_LINE = rb"(?>\r\n|\n|\r)"', r'_LINE = rb"(?>\n)"'),
        ),
    ),
    (
        "gateway/http/connection.py",
        f"{_START} tests/gateway/test_relay.py",
        (
            ("the head waits for the keepalive", "min(_FIRST_SECONDS, keepalive)", "keepalive"),
            ("the head is sent twice", "        if not self.began:\n", "        if True:\n"),
        ),
    ),
    (
        "gateway/upstream/answered.py",
        f"{_START} tests/gateway/test_relay.py",
        (("an error after content teaches nothing", "self.stopped = self.stopped or refusal_in(event)", "pass"),),
    ),
    (
        "gateway/exchange.py",
        f"{_START} {_RECALL} {_ROUTES}",
        (
            ("a model recalls for ever", "job = job if turn < MOST_ROUNDS else", "job = job if True else"),
            (
                "an error after the head has a status",
                "if not self._client.began:\n                raise",
                "if 1:\n                raise",
            ),
            (
                "what cannot be read is refused under any policy",
                "[1] != PASS:\n                raise",
                "[1]:\n                raise",
            ),
        ),
    ),
    (
        "gateway/recall/round.py",
        _RECALL,
        (
            ("calls of the client look as if they were run", "if call.recalls else _NOT_RUN", "if True else _NOT_RUN"),
            ("the last recall is not told", " + _LAST * ends", ""),
        ),
    ),
    (
        "gateway/fit/compactions.py",
        "tests/gateway/test_compactions.py",
        (
            ("a block stands twice", "if block and not any(map(_is_compacted, messages[at:])):", "if block:"),
            ("an emptied block counts as kept", "_is_compaction(part) and _text(part)", "_is_compaction(part)"),
            ("a block that saves nothing is asked for again", "asks = asks and block != {}", "asks = True"),
            ("a request that was cut is compacted too", "not asks or fitted.edits or line", "not asks or line"),
            ("the header of the client is replaced", "for value in [*betas, beta]", "for value in [beta]"),
            ("edits of the client that make room are changed", '.startswith("clear_thinking")', '.startswith("clear")'),
        ),
    ),
    (
        "sessions/state.py",
        "tests/sessions/test_cached_summary.py",
        (("a full window is asked in the conversation", "sent.used <= room", "sent.used"),),
    ),
    (
        "gateway/fit/added_sections.py",
        _SECTIONS,
        (
            (
                "the system prompt of the client is replaced",
                "return [wire.append(first, text), *messages[1:]]",
                "return [{'role': 'system', 'content': text}, *messages[1:]]",
            ),
            ("sections are not counted", "tokens=_tokens(made.system, given, count)", "tokens=0"),
            (
                "sections of an earlier request keep their count",
                "return replace(added, tokens=_tokens(added.text, given, count))",
                "return added",
            ),
            ("a budget in the file is ignored", "if key not in _TAKEN:", "if False:"),
        ),
    ),
    (
        "gateway/fit/held_sections.py",
        _SECTIONS,
        (("sections are chosen for each request", "return last.added", "return None"),),
    ),
    (
        "gateway/recall/offer.py",
        _PROVIDERS,
        (
            ("binary frames are offered recalls", "return not is_stream_path(path)", "return True"),
            ("functions stand beside other tools", "return not tools or any(", "return True or any("),
            ("the functions of Gemini are two lists", "if place is not None:", "if False:"),
        ),
    ),
    (
        "gateway/http/admitted.py",
        "tests/gateway/test_keys.py",
        (
            ("keys of the gateway are passed on", "if pair[0] not in own] if own", "] if own"),
            ("any header opens the gateway", 'found.get("x-api-key") or', "next(iter(found.values()), None) or"),
        ),
    ),
    (
        "gateway/upstream/client.py",
        "tests/gateway/test_upstream_client.py",
        (
            ("bytes that follow an answer answer the next request", "not made.protocol.should_close", "True"),
            ("headers have no end", "in answer.pairs) > MOST_HEAD", "in answer.pairs) > MOST_HEAD * 9"),
            ("a free connection is kept for ever", "keepalive_timeout=_IDLE", "keepalive_timeout=60"),
            ("a redirect is followed", "allow_redirects=False", "allow_redirects=True"),
            ("metadata addresses are called", "if _is_server(each", "if True or _is_server(each"),
            ("an unknown coding passes", 'coding not in ("identity", *_CODINGS) and', "False and"),
            ("no proxy is used", "getproxies().get(parts.scheme)", "None"),
            ("a proxy is used for this machine", "None if is_loopback(host) else", ""),
            ("any status is passed back", "if not 200 <= status < 600:", "if False:"),
        ),
    ),
    (
        "gateway/client/body.py",
        "tests/gateway/test_body.py",
        (
            ("commas in strings are values", "parts[inside::2]", "parts"),
            ("a body may be nested too deep", "if is_deep(value):", "if False:"),
            (
                "what msgspec refuses is refused",
                "return json.loads(raw.decode(), parse_int=whole)",
                "raise ValueError",
            ),
        ),
    ),
    (
        "gateway/http/protocol.py",
        "tests/gateway/test_connection.py",
        (
            (
                "headers in one packet have no limit",
                "for name, value in self.headers) > MOST_HEAD",
                "for name, value in ()) > 9e9",
            ),
        ),
    ),
    (
        "gateway/http/connection.py",
        "tests/gateway/test_relay.py",
        (("a client that left is not noticed", "gone = True\n                task.cancel()", "gone = True"),),
    ),
    (
        "gateway/upstream/address.py",
        "tests/gateway/test_keys.py",
        (
            ("keys of the client go with that of the gateway", "if name not in KEY_HEADERS]", "]"),
            ("Anthropic gets a Bearer token", "(named, key) if named else", "(named, key) if False else"),
        ),
    ),
    (
        "gateway/http/app.py",
        _ROUTES,
        (("a WebSocket is a GET", '== "websocket":', '== "never":'),),
    ),
    (
        "gateway/fit/fitted.py",
        "tests/gateway/test_faults.py tests/gateway/test_policy.py",
        (
            ("an estimate is not corrected by its conversation", "alone = exact and not", "alone = not"),
            ("after an error everything is passed on", 'fit" if most > fits else None', 'fit" if False else None'),
            (
                "after an error images count as their text",
                '    if most is None:\n        return "; the',
                '    if False:\n        return "; the',
            ),
            ("after an error a warning is a refusal", "room is None or planned.policy == WARN", "room is None"),
        ),
    ),
    (
        "store/values.py",
        "tests/store/test_store.py",
        (
            ("a key of the caller's own is read as bytes", "if '$bytes\"' in text else text", "if False else text"),
            ("bytes come back as a text", "if values.keys() == {_BYTES}:", "if False:"),
        ),
    ),
    (
        "store/sqlite.py",
        "tests/store/test_sqlite.py",
        (
            ("the words of purged texts stay", "VALUES ('delete', ?, ?)", "VALUES ('rank', NULL, ?2)"),
            ("purged words stay in the file", "VALUES ('optimize')", "VALUES ('merge=0')"),
            (
                "the journal keeps what was purged",
                '        self._wait_for_others(database.BUSY_SECONDS)\n        self._try_mode("delete")',
                "        self._wait_for_others(database.BUSY_SECONDS)",
            ),
        ),
    ),
    (
        "store/texts.py",
        "tests/store/test_store.py",
        (
            ("the parts of a result are not found", "*parts]", "]"),
            ("a dropped turn is not found", "if kind == DROPPED:", "if False:"),
            (
                "a shortened result is recalled as it was sent",
                'yield from _message_texts(body.get("message", body))',
                "yield from _message_texts(sent_message(body))",
            ),
        ),
    ),
    (
        "store/sql.py",
        "tests/store/test_store.py tests/store/test_oracle.py",
        (
            (
                "a handle opens the text of any session",
                "if session is None:\n            return 0, _ALL",
                "if True:\n            return 0, _ALL",
            ),
            (
                "a dropped turn has its messages as they came",
                "sent_message(self._entry(",
                "(lambda body: body.get('message'))(self._entry(",
            ),
            ("the first characters of a hash are enough", "if handle_of(text).startswith(handle):", "if True:"),
            (
                "a text that was said twice is found twice",
                "if rank > 0 and (name :=",
                "if rank > 0 and (name := str(entry.number) +",
            ),
        ),
    ),
    (
        "store/database.py",
        "tests/store/test_store.py",
        (("a task writes into the transaction of another", "if self._current not in _open.get():", "if False:"),),
    ),
    (
        "sessions/log/dropped_texts.py",
        "tests/integrations/test_mcp.py",
        (
            (
                "a session returns texts of others",
                "self._store.text(handle, session=self._session)",
                "self._store.text(handle)",
            ),
        ),
    ),
    (
        "sessions/log/overview.py",
        "tests/integrations/test_mcp.py",
        (
            ("every session may be read", "return row.id in self._names", "return True"),
            ("conversations of a gateway's clients may be read", 'row.meta.get("kind") != GATEWAY and ', ""),
            ("a session without a status may be read", ' and isinstance(row.meta.get("status"), Mapping)', ""),
        ),
    ),
    (
        "gateway/client/owner_tags.py",
        "tests/gateway/test_owner_tags.py",
        (
            ("all clients have one tag", "for key in sorted(set(keys)))", "for key in sorted(set(keys))[:0])"),
            ("the hash has no salt of the store", "self._stored_salt() or self._own", "self._own"),
        ),
    ),
    (
        "gateway/settings.py",
        "tests/gateway/test_paths.py",
        (
            (
                "one key goes to both hosts",
                "shared = self.upstream_key if root(self.base(route)) == root(self.upstream) else None",
                "shared = self.upstream_key",
            ),
            (
                "with a key of its own the gateway reaches all paths",
                'return ("*",) if self.key(route) is None else SAFE',
                'return ("*",)',
            ),
        ),
    ),
    (
        "gateway/client/paths.py",
        "tests/gateway/test_paths.py",
        (
            ("a method is not looked at", 'only in ("", "GET" if method == "HEAD" else method) and ', ""),
            (
                "a path is compared by its start",
                "fnmatchcase(short, shortened(pattern))",
                "fnmatchcase(short, shortened(pattern) + '*')",
            ),
        ),
    ),
    (
        "gateway/http/protocol.py",
        "tests/gateway/test_connection.py",
        (
            (
                "trailers become headers",
                "if self._in_head:\n            super().on_header",
                "if True:\n            super().on_header",
            ),
            ("the body after an offer is lost", "rest = rest[offer.args[0] :]", "rest = rest[:0]"),
        ),
    ),
    (
        "gateway/client/body.py",
        "tests/gateway/test_ambiguous.py",
        (("quotes by their number hide a key", 'if rb"\\u0022" in raw:', "if False:"),),
    ),
    (
        "gateway/fit/planned.py",
        "tests/gateway/test_ambiguous.py",
        (("a key twice escapes a limit", "parsed.check_keys()", "parsed.keys"),),
    ),
    (
        "gateway/fit/rules.py",
        "tests/gateway/test_ambiguous.py",
        (("a rule is for one spelling", "*map(fold, spellings(model))", ""),),
    ),
    (
        "gateway/http/protocol.py",
        "tests/gateway/test_guard.py",
        (("idle connections keep others out", "if oldest is None:", "if True:"),),
    ),
    (
        "gateway/upstream/sent.py",
        "tests/gateway/test_overflow.py",
        (("numbers of a fault are believed", "and answer.status == _FAULT", "and False"),),
    ),
    (
        "gateway/http/admitted.py",
        "tests/gateway/test_guard.py",
        (
            ("parameters of a path pass", "[;\\\\", "[\\\\"),
            ("overlong dots pass", "except UnicodeDecodeError:", "except UnicodeEncodeError:"),
            ("what is normalized passes", " or any(map(_is_like_ascii, text))", ""),
        ),
    ),
    (
        "gateway/http/key_mask.py",
        "tests/gateway/test_key_mask.py",
        (("words are masked", "len(key) >= (_SHORTEST_WORDS if _WORDS.fullmatch(key) else _SHORTEST)", "True"),),
    ),
    (
        "gateway/client/names.py",
        "tests/gateway/test_identity.py tests/gateway/test_metrics.py",
        (("a key in a name is kept", "    if has_key(text, keys):", "    if False:"),),
    ),
    (
        "hosts.py",
        "tests/gateway/test_guard.py tests/studio/test_access.py",
        (
            ("any host is served", 'if not self.is_named(first.get("host", "")):', "if False:"),
            ("pages of other sites are served", "if foreign else None", "if False else None"),
            ("a repeated header is read twice", "if name in first and name in self._once:", "if False:"),
        ),
    ),
    (
        "studio/access.py",
        "tests/studio/test_access.py",
        (
            (
                "the cookie is the token",
                "{self._access.cookie}={self._access.session};",
                "{self._access.cookie}={self._access.token};",
            ),
            ("the cookie of another user is accepted", "is_foreign(*request.client)", "False"),
        ),
    ),
    (
        "observe/uncaught.py",
        "tests/observe/test_uncaught.py",
        (
            (
                "errors of threads show their text",
                'return f"{type(error).__name__}{where}"',
                'return f"{error!r}{where}"',
            ),
        ),
    ),
)
