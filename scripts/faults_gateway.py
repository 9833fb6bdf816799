"""How the gateway could be wrong: faults for `scripts/faults.py`."""

_START = "tests/gateway/test_stream_start.py"
_RECALL = "tests/gateway/test_recall_answer.py"
_SECTIONS = "tests/gateway/test_added_sections.py"
_PROVIDERS = "tests/gateway/test_recall_providers.py"
_ROUTES = "tests/gateway/test_routes.py"

AREAS = (
    (
        "gateway/exchange.py",
        "tests/gateway/test_metrics.py",
        (
            ("a broken stream ended well", '"broken" if passed.broken else ending', "ending"),
            ("a client that left saw a broken answer", 'ended = "left"', 'ended = "broken"'),
        ),
    ),
    (
        "gateway/state.py",
        "tests/gateway/test_metrics.py",
        (("a gateway without upstream is ready", "            return problem.message", '            return ""'),),
    ),
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
            ("an event ends with its piece", 'b"".join((*self._pieces, piece)), [], 0', "piece, [], 0"),
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
        "gateway/added_sections.py",
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
        "gateway/held_sections.py",
        _SECTIONS,
        (("sections are chosen for each request", "return last.added", "return None"),),
    ),
    (
        "gateway/recall_offer.py",
        _PROVIDERS,
        (
            ("binary frames are offered recalls", "return not is_stream_path(path)", "return True"),
            ("functions stand beside other tools", "return not tools or any(", "return True or any("),
            ("the functions of Gemini are two lists", "if place is not None:", "if False:"),
        ),
    ),
    (
        "gateway/recall_answer.py",
        _PROVIDERS,
        (
            ("a signature leaves with its call", 'signature = part.get("thoughtSignature", signature)', "pass"),
            ("a thought of Gemini is an answer", ' or part.get("thought"):', ":"),
            ("a message of Bedrock ends empty", 'kept.append({"text": EMPTY})\n    calls', "pass\n    calls"),
        ),
    ),
    (
        "gateway/recall_stream.py",
        _PROVIDERS,
        (
            ("an empty candidate ends empty", 'kept = [*kept, {"text": EMPTY}]', "pass"),
            ("events of nothing are passed on", "if not kept and not ends:", "if False:"),
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
        "gateway/upstream_client.py",
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
        "gateway/body.py",
        "tests/gateway/test_body.py",
        (
            ("commas in strings are values", "parts[inside::2]", "parts"),
            ("a body may be nested too deep", "if is_deep(value):", "if False:"),
            (
                "what msgspec refuses is refused",
                "value = json.loads(raw.decode(), parse_int=whole)",
                "raise ValueError",
            ),
        ),
    ),
    (
        "gateway/connection.py",
        "tests/gateway/test_connection.py tests/gateway/test_relay.py",
        (
            (
                "headers in one packet have no limit",
                "for name, value in self.headers) > MOST_HEAD",
                "for name, value in ()) > 9e9",
            ),
            ("a client that left is not noticed", "                task.cancel()", "                pass"),
        ),
    ),
    (
        "gateway/upstream.py",
        "tests/gateway/test_keys.py",
        (
            ("keys of the client go with that of the gateway", "if name not in KEY_HEADERS]", "]"),
            ("Anthropic gets a Bearer token", "(named, key) if named else", "(named, key) if False else"),
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
        "gateway/decision.py",
        "tests/gateway/test_faults.py tests/gateway/test_policy.py",
        (
            (
                "a request that stays whole is counted without its conversation",
                "made = None if small else self._continued(replace(plan, room=None))",
                "made = None",
            ),
            ("after an error everything is passed on", "if most > fits:", "if False:"),
            ("after an error images count as their text", "if most is None:", "if False:"),
            ("after an error a warning is a refusal", "if room is None or policy == WARN:", "if room is None:"),
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
        "sessions/log/readable_sessions.py",
        "tests/integrations/test_mcp.py",
        (
            ("every session may be read", "return row.id in self._names", "return True"),
            ("conversations of a gateway's clients may be read", 'row.meta.get("kind") != GATEWAY and ', ""),
            ("a session without a status may be read", ' and isinstance(row.meta.get("status"), Mapping)', ""),
        ),
    ),
    (
        "integrations/mcp_access.py",
        "tests/integrations/test_mcp.py",
        (
            ("the token is not compared", "if self._digest is not None and not hmac", "if False and not hmac"),
            ("any host is served", 'if host_name(headers.get("host", "")) not in self._hosts:', "if False:"),
            ("pages are served", 'if "origin" in headers or', "if False and"),
            ("other machines need no token", "if token is None and not is_loopback(host):", "if False:"),
        ),
    ),
    (
        "gateway/owner_tags.py",
        "tests/gateway/test_owner_tags.py",
        (
            ("all clients have one tag", "for key in sorted(set(keys)))", "for key in sorted(set(keys))[:0])"),
            ("the hash has no salt of the store", "salt=salt, n=", "salt=self._own, n="),
            (
                "the hash is quick",
                "found = scrypt(told, salt=salt, n=_COST, r=_BLOCK, p=1, dklen=_BYTES).hex()",
                "found = blake2b(salt + told).hexdigest()",
            ),
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
        "gateway/paths.py",
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
        "gateway/connection.py",
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
        "gateway/guard.py",
        "tests/gateway/test_guard.py",
        (
            ("parameters hide dot segments", "(?:;[^/]*)?", ""),
            ("overlong dots pass", "except UnicodeDecodeError:", "except UnicodeEncodeError:"),
            ("what is normalized passes", ' or _AMBIGUOUS.search(normalize("NFKC", text))', ""),
        ),
    ),
    (
        "gateway/masked_names.py",
        "tests/hostile/test_canaries.py",
        (("a key as a model is stored", "        ask.model = cleaned(ask.model, shown)\n", "        pass\n"),),
    ),
    (
        "gateway/key_mask.py",
        "tests/gateway/test_key_mask.py",
        (("keys of other clients are names", "        return found\n", "        return []\n"),),
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
