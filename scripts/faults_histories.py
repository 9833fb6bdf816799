"""How the fitting of histories could be wrong: faults for `scripts/faults.py`."""

_TRAFFIC = "tests/test_traffic.py"
_HISTORY = "tests/history/test_forms.py tests/history/test_receipt.py tests/history/test_turns.py"
_EXCERPTS = "tests/history/test_excerpts.py"
_LADDER = "tests/history/test_ladder.py"

_COMPACTED = "tests/wire/test_compaction.py tests/test_compacted_histories.py"

AREAS = (
    (
        "history/rules.py",
        f"tests/history/test_rules.py tests/history/test_repair.py {_TRAFFIC}",
        (
            ("a result may be parted from its call", "return earliest", "return None"),
            (
                "a result that answers nothing stays",
                "waiting[-1 - before] if before < len(waiting) else None",
                "waiting[-1 - before] if before < len(waiting) else 0",
            ),
            ("an answered call still waits", "                callers.pop()\n", ""),
            (
                "reasoning may be parted from its call",
                "return at - 1 if was and self._speaking else None",
                "return None",
            ),
            ("a cut before the user is allowed", "        return at - 1\n", "        return None\n"),
        ),
    ),
    (
        "history/turns.py",
        f"{_HISTORY} tests/history {_TRAFFIC}",
        (
            (
                "the task is what the user said last",
                "            if self.task is None or (self.spoken == [self.task] and not "
                "is_spoken(self.messages[self.task])):\n                self.task = at\n",
                "            self.task = at\n",
            ),
            (
                "a system message may be left out",
                "            self.system.append(at)\n            return\n",
                "            pass\n",
            ),
            ("a result far from its call stays there", "        if self._late:\n", "        if False:\n"),
            (
                "thinking is not noticed",
                '            self.thinks = message.any("thinking")\n',
                "            self.thinks = False\n",
            ),
            ("reasoning alone is sent", "        if not self.wire.batches:\n", "        if True:\n"),
            ("a bad message is half added", "            self._reread(chosen, source[:had])\n", ""),
        ),
    ),
    (
        "history/fingerprints.py",
        f"{_HISTORY} tests/history {_TRAFFIC}",
        (
            (
                "two histories look alike",
                "\\x1d{message.role}\\x1d{pieces}",
                "\\x1d{message.role}\\x1d{len(pieces)}",
            ),
        ),
    ),
    (
        "history/receipt.py",
        _HISTORY,
        (
            ("what another choice said is kept", "part is None or not part.reason.startswith(how)", "part is None"),
            (
                "a part of a turn counts as all",
                'used = 0 if state == "dropped" else part.size - saved',
                "used = part.size",
            ),
            (
                "what has to stay is as any other",
                "required=turn in stay, reason=reason)",
                "required=False, reason=reason)",
            ),
        ),
    ),
    (
        "history/forms.py",
        f"{_HISTORY} {_EXCERPTS} tests/history/test_repeats.py tests/history/test_thinking.py {_TRAFFIC}",
        (
            ("a cut is one unit over", "else self._cut(piece, level)", "else self._cut(piece, level + 1)"),
            ("a call without a result is sent", "                gone.append(piece)\n", "                pass\n"),
            (
                "arguments are cut to any text",
                "        if self.takes_object(piece):\n            longest",
                "        if False:\n            longest",
            ),
            (
                "the longest text is spared",
                "    for size in sorted(sizes):\n",
                "    for size in sorted(sizes, reverse=True):\n",
            ),
            ("what came again is shown each time", "        if not marks:\n", "        if True:\n"),
            ("the last call loses its thinking", "        if position == self._owed:\n", "        if False:\n"),
            ("a handle is not shown", "        if self.handles and", "        if False and"),
            (
                "what is longer takes the place of a text",
                "            if place and after < before:\n",
                "            if place:\n",
            ),
            ("reasoning that is bound to nothing stays", "and turns.wire.told:", "and False:"),
        ),
    ),
    (
        "history/repeats.py",
        "tests/history/test_repeats.py tests/history/test_forms.py",
        (
            (
                "the oldest of the same is shown",
                "            self.marks.setdefault(position, {})[at] = mark\n",
                "            pass\n",
            ),
            (
                "the same words with another picture are the same",
                'content = "\\0".join(texts)',
                "content = texts[0]",
            ),
        ),
    ),
    (
        "history/names.py",
        "tests/history/test_names.py",
        (
            ("names of the agent are worth no more", "use.worth += _WRITTEN if own else 1", "use.worth += 1"),
            ("every word is a name", " and _TELLING.search(name)", ""),
            ("what a command printed is a person's", " and not answer, body", ", body"),
        ),
    ),
    (
        "history/excerpts.py",
        f"{_EXCERPTS} {_HISTORY} {_TRAFFIC}",
        (
            (
                "paragraphs are lines",
                "if start and (ends or opens or stop - starts[-1] > LONG_LINE):",
                "if start:",
            ),
            ("an agent's last command comes late", "    yield from command\n", ""),
            ("a value is cut inside", 'return f"[{size} omitted, beginning: {start}]"', "return start"),
        ),
    ),
    (
        "history/ladder.py",
        f"{_EXCERPTS} tests/history/test_outliers.py tests/history/test_repeats.py tests/history/test_stable.py"
        f" tests/conformance {_HISTORY} {_TRAFFIC}",
        (
            ("one turn too many is kept", "            if cost <= room:\n", "            if cost <= room + 30:\n"),
            (
                "a huge turn keeps the others out",
                "            elif cost <= huge or room < _ENOUGH:\n",
                "            else:\n",
            ),
            (
                "lines that count more than estimated stay",
                "        if form.units - before.units <= self.left:\n",
                "        if True:\n",
            ),
            (
                "what came again is kept like any",
                "            if self.forms.repeated(turn):\n",
                "            if False:\n",
            ),
        ),
    ),
    (
        "history/history_fit.py",
        f"{_LADDER} tests/history/test_outliers.py {_EXCERPTS} {_HISTORY} tests/requirements/test_flow.py"
        f" tests/history/test_arguments.py tests/history/test_stable.py {_TRAFFIC}",
        (
            ("the newest turn may go", "        if self.weights:\n            stay.add(self.newest)\n", ""),
            ("the task may go", "stay = self.pinned | self.task() | ", "stay = self.pinned | "),
            ("the last instruction may go", "self.task() | self.instruction() | self", "self.task() | self"),
            ("a pinned task is cut", "return self.pinned | self.task() if", "return self.pinned if"),
            (
                "the task is cut before the newest turn",
                "newest_cut = pinned | (task - {self.newest}), _ENOUGH * floor",
                "newest_cut = pinned | {self.newest}, floor",
            ),
            ("nothing is cut to a mark", "(bare, pinned, self.forms.mark, 0)", "(bare, pinned, floor, 0)"),
            ("the task is never left out", "else pinned | set(essential[-1:])", "else every"),
            ("the model speaks first", "older if self.turns.wire.pairs else pinned |", "pinned |"),
            (
                "the sum forgets what was changed",
                "        if self.sent:\n            whole",
                "        if False:\n            whole",
            ),
            (
                "a note is written though nothing is missing",
                "self.options.note and self.left_out() > 0",
                "self.options.note",
            ),
            (
                "the note is not counted",
                "return self.units + (note_units(self.turns, self.kept, self.note) if self.note else 0)",
                "return self.units",
            ),
            ("a refusal tells the wrong sum", "needed, unit = sum(parts.values())", "needed, unit = self.budget"),
            ("caps are ignored", "if total > room or self._too_recent() or self._too_old():", "if total > room:"),
            ("a turn over its cap stays", "units = None if turn in uncut else self._offer", "units = self._offer"),
            ("the state of another history is taken", "held.check != turns.fingerprint(held.length)", "False"),
            ("the cut is not held", "            self._keep_cut(self.last)\n", "            pass\n"),
            (
                "what was cut is sent whole the next time",
                "            if position not in self.edits and",
                "            if False and",
            ),
            ("a call without a result stays without it", " and position not in held.unanswered:\n", ":\n"),
            ("a cut empties the room", "        return max(line - need, ", "        return min(line - need, "),
        ),
    ),
    (
        "history/prompt.py",
        f"tests/history/test_stable.py tests/history {_TRAFFIC}",
        (
            ("the prefix is told too long", "if list(last) != list(messages[:same]):", "if False:"),
            (
                "the note is appended to the user's message but not counted",
                "        out.units[-back] += ",
                "        _ = ",
            ),
        ),
    ),
    (
        "history/history_fit.py",
        f"tests/history/test_thinking.py {_TRAFFIC}",
        (
            (
                "thinking after an edit is sent",
                "range(self._first_change(), self.seen)",
                "range(self._first_change(), 0)",
            ),
            ("thinking before an edit goes too", "range(self._first_change(), self.seen)", "range(self.seen)"),
        ),
    ),
    (
        "history/compact/mark.py",
        "tests/hostile/test_marks.py",
        (
            (
                "a text is a summary without its hash",
                "return found if match[3] == found.check else None",
                "return found",
            ),
            (
                "a summary of another session is believed",
                "        return found if found.is_same(known) else None\n",
                "        return found\n",
            ),
        ),
    ),
    (
        "history/compact/continuation.py",
        "tests/hostile/test_marks.py",
        (
            (
                "what stands behind a mark is not read",
                "else [goal]), *rest])",
                "else [])])",
            ),
        ),
    ),
    (
        "wire/message.py",
        "tests/hostile/test_marks.py",
        (("a tool may speak as the user", '_OTHER_ROLE.sub("\\n ", text)', "text"),),
    ),
    (
        "history/envelopes.py",
        "tests/history/test_envelopes.py tests/sessions/test_conversations.py",
        (
            ("a reminder is a person", "or bool(without(text, found).strip())", "or True"),
            (
                "what a person types by the way is a program's",
                'Envelope("person", _WORKING',
                'Envelope("program", _WORKING',
            ),
            ("the words of agents for summaries are not known", "if words in text)", "if words == text)"),
        ),
    ),
    (
        "history/note.py",
        "tests/history/test_note.py tests/history/test_ranking.py tests/hostile/test_marks.py",
        (
            (
                "a result is a person",
                "if not texts and not message.results:",
                "if not texts:",
            ),
            ("the omitted are the included", "({total - included} omitted", "({included} omitted"),
            (
                "any text with the mark is a note",
                "    if match is None:\n        return False\n",
                "    if match is None:\n        return text.startswith(NOTE_MARK)\n",
            ),
        ),
    ),
    (
        "history/priority.py",
        "tests/history/test_priority.py tests/requirements/test_flow.py",
        (
            (
                "words are found inside words",
                "        for part in _HUMP.split(match[0]):\n",
                '        for part in re.findall(".{6}", match[0]) + _HUMP.split(match[0]):\n',
            ),
        ),
    ),
    (
        "history/ranking.py",
        "tests/history/test_ranking.py tests/requirements/test_flow.py tests/history/test_arguments.py",
        (
            (
                "the lowest class is served first",
                "key=lambda turn: -self.class_of(turn, options)",
                "key=lambda turn: self.class_of(turn, options)",
            ),
            (
                "the second way goes first",
                "self._half(orders[0], orders[1], left)",
                "self._half(orders[1], orders[0], left)",
            ),
            ("the query matches itself", "asked is not None and query == question", "False"),
            ("arguments decide the class", "message.said()", "message.text()"),
            ("the author of a message is not indexed", "if message.name else", "if False else"),
        ),
    ),
    (
        "sessions/conversations/breakpoint.py",
        "tests/sessions/test_breakpoint.py",
        (
            ("a request gets more marks than it may have", ">= _MOST", "> _MOST"),
            ("a client that marks nothing gets a mark", "if not after or ", "if "),
            ("the mark stands on a note, which the next cut writes anew", "        end -= 1\n", "        pass\n"),
        ),
    ),
    (
        "history/relevance.py",
        "tests/history/test_relevance.py",
        (("who speaks does not matter", "scores[number] *= _SPEAKER_NAMED", "pass"),),
    ),
    (
        "wire/gemini.py",
        "tests/wire/test_gemini.py",
        (
            ("a signature leaves with its call", "raw is None or signed is None", "raw is None or True"),
            ("a response is a text", 'return {"output": text}', "return text"),
        ),
    ),
    (
        "wire/bedrock.py",
        "tests/wire/test_bedrock.py",
        (
            (
                "the content of a result is a text",
                'that is only this text."""\n        return [self.part(text)]',
                'that is only this text."""\n        return text',
            ),
            ("a mark for the cache is content", 'if key == "cachePoint":', 'if key == "none":'),
        ),
    ),
    (
        "history/bindings.py",
        "tests/history/test_thinking.py",
        (("the last call loses its thinking", "not in model.casefold() or", "not in model.casefold() and"),),
    ),
    (
        "wire/base.py",
        f"tests/wire tests/history/test_forms.py {_TRAFFIC}",
        (
            ("the caller's own message is changed", "copied: Any = dict(value) if", "copied: Any = value if"),
            (
                "an empty list of calls is sent",
                "whole = isinstance(place[-1], int) and place[:-1] not in left",
                "whole = False",
            ),
            (
                "thinking alone is something to say",
                'bool(piece.text) and piece.kind not in ("thinking", "remainder")',
                'bool(piece.text) and piece.kind != "remainder"',
            ),
            (
                "an unknown field alone is something to say",
                'bool(piece.text) and piece.kind not in ("thinking", "remainder")',
                'bool(piece.text) and piece.kind != "thinking"',
            ),
            (
                "a field that no format knows does not count",
                "return with_remainder(self.parse(raw, index), index)",
                "return self.parse(raw, index)",
            ),
        ),
    ),
    (
        "wire/remainder.py",
        "tests/wire/test_remainder.py",
        (
            (
                "a long name of a field does not count",
                "if state == _EMPTY and keyed and len(str(key)) > LABEL:",
                "if False:",
            ),
            (
                "a label of any length is listed",
                "if not value or (len(value) <= LABEL and field in MESSAGE_LABELS):",
                "if field in MESSAGE_LABELS:",
            ),
            ("a listed field inside another counts", "    if _is_listed(at, BODY_FIELDS):", "    if False:"),
        ),
    ),
    (
        "meter/adapters.py",
        "tests/meter/test_meter.py",
        (
            ("a model keeps counts of its own", "self.memo = inner.memo", "self.memo = type(inner.memo)()"),
            ("a model's upper bound is no model's", "        self.model = inner.model\n", ""),
        ),
    ),
    (
        "meter/chat.py",
        f"tests/meter/test_chat.py {_TRAFFIC}",
        (
            (
                "the arguments of a call cost nothing",
                "return count(piece.text) + count(piece.name) + self.call",
                "return count(piece.name) + self.call",
            ),
            ("ids count with OpenAI", ' != "openai"', ' != ""'),
            ("ids count with no model", "self.ids = self._tuned and ", "self.ids = "),
            ("a role costs nothing", "(self.text(role) if self._tuned else 0)", "0"),
            ("a call is not framed", "self.call = _CALL if self._tuned else 0", "self.call = 0"),
            (
                "a vocabulary primes the reply",
                "PLAIN = Framing(per_message=3, per_name=1, reply=0)",
                "PLAIN = Framing(per_message=3, per_name=1, reply=3)",
            ),
            (
                "a message has no frame",
                "total = self.frame(message.role) + sum(",
                "total = sum(",
            ),
            (
                "a name costs nothing",
                "return total + self.text(message.name) + self.framing.per_name if message.name else total",
                "return total",
            ),
        ),
    ),
    (
        "wire/compaction.py",
        _COMPACTED,
        (
            ("what was compacted is still read", "    if at is None:\n", "    if True:\n"),
            ("the window of a compaction is cut", "        return first  # As", "        return at  # As"),
            ("a call goes that is answered later", "return at if calls.isdisjoint(answers) else start", "return at"),
        ),
    ),
    (
        "wire/anthropic.py",
        _COMPACTED,
        (
            ("a failed compaction counts", "    if not isinstance(content, str) or not content:\n", "    if False:\n"),
            (
                "what stands before a block counts",
                "    if not found:\n        return pieces\n",
                "    return pieces\n",
            ),
        ),
    ),
    (
        "wire/deferred_tools.py",
        "tests/wire/test_deferred_tools.py",
        (
            ("deferred tools count", "return tool.get(_DEFERRED) is True or", "return False and"),
            ("a loaded tool does not count", "            found.update(", "            list("),
        ),
    ),
    (
        "history/ledger.py",
        "tests/history/test_ledger.py",
        (("a value that was corrected counts", "] -= key in self._latest", "] -= 0"),),
    ),
    (
        "history/regret.py",
        "tests/sessions/test_regret.py",
        (
            ("what is shown counts as taken", "frozenset(taken - shown)", "frozenset(taken | shown)"),
            ("the order of arguments matters", ", sort_keys=True", ""),
        ),
    ),
    (
        "history/media_limit.py",
        "tests/history/test_media_limit.py",
        (
            (
                "the number of images is no limit",
                "if images <= limits.images and size <= limits.size:\n            return",
                "if size <= limits.size:\n            return",
            ),
            ("images leave one by one", "gone = min(-(-gone // _STEP) * _STEP, ", "gone = min(gone, "),
        ),
    ),
)
"""A file, the tests that answer for it, and how to break it: a name in words, the old text, the new."""
