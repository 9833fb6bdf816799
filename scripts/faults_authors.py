"""How a requirement of the forge, ecology or broker document could be broken: faults for `scripts/faults.py`.

The name of each begins with the requirements whose own tests catch it.
"""

_FORGE = "tests/requirements/test_forge.py"
_ECOLOGY = "tests/requirements/test_ecology.py"
_BROKER = "tests/requirements/test_broker.py"
_ALL = f"{_FORGE} {_ECOLOGY} {_BROKER}"

AREAS = (
    (
        "sections/fit.py",
        _FORGE,
        (("S0.1: the budget is some tokens more", "budget_of(budget, model),", "budget_of(budget, model) + 9,"),),
    ),
    (
        "meter/units.py",
        _ALL,
        (
            ("S0.2: nothing is added to a quarter", "// 4 + self._plus if size else 0", "// 4 if size else 0"),
            ("S4.5: a third of the characters", "// 4 + self._plus if size else 0", "// 3 + self._plus if size else 0"),
        ),
    ),
    (
        "sections/prompt_fit.py",
        _ALL,
        (
            ("S0.3: the page is in the order of the input", 'self.options["order"] == "priority"', "False"),
            (
                "S0.4, S4.12: what fits exactly does not fit",
                "if self._longest_count(kept_texts(proposals)) <= self.budget else None",
                "if self._longest_count(kept_texts(proposals)) < self.budget else None",
            ),
            (
                "S0.7: ties are in any order",
                "key=lambda draft: draft.rank) if by_rank",
                'key=lambda draft: (draft.rank, __import__("random").random())) if by_rank',
            ),
            ("S1.20: the page is always by priority", "if by_rank else self.drafts", "if True else self.drafts"),
        ),
    ),
    (
        "settings/profiles/forge.yaml",
        _FORGE,
        (
            ("S0.5: a cut needs 103 tokens", "floor: 101,", "floor: 103,"),
            (
                "S0.9: four lessons",
                "lessons: {priority: 3, keep: newest, most: 3}",
                "lessons: {priority: 3, keep: newest, most: 4}",
            ),
            (
                "S0.9: the directive is cut",
                "directive: {priority: 1, required: true, floor: 1}",
                "directive: {priority: 1, required: true, floor: 1, ceiling: 50}",
            ),
            ("S0.20: more is reserved", "reserve: 2000\n", "reserve: 4000\n"),
            ("S0.24: other sections come first", '"*": {priority: 7,', '"*": {priority: -1,'),
        ),
    ),
    ("sections/allocation.py", _FORGE, (("S0.6: nothing stops", 'stops = policy.endswith("stop")', "stops = False"),)),
    (
        "meter/window.py",
        _FORGE,
        (
            (
                "S0.8: one token more than the window",
                "bounds = [self.size - self.reserve]",
                "bounds = [self.size - self.reserve + 1]",
            ),
        ),
    ),
    (
        "settings/profiles/forge-architect.yaml",
        _FORGE,
        (
            (
                "S0.10: the first five",
                "failing: {priority: 1, keep: best, most: 10}",
                "failing: {priority: 1, keep: best, most: 5}",
            ),
            (
                "S0.10: the newest of the best",
                "lessons: {priority: 3, keep: best,",
                "lessons: {priority: 3, keep: newest,",
            ),
            ("S0.10: a list is off", "escalated: {priority: 5,", "escalated: {enabled: false, priority: 5,"),
        ),
    ),
    (
        "settings/profiles/forge-reflector.yaml",
        _FORGE,
        (
            ("S0.11: the first lessons", "lessons: {priority: 2, keep: newest,", "lessons: {priority: 2, keep: best,"),
            ("S0.11: history is off", "history: {priority: 4,", "history: {enabled: false, priority: 4,"),
            ("S0.11: the directive comes after the history", "directive: {priority: 3}", "directive: {priority: 5}"),
        ),
    ),
    (
        "sessions/memory/lessons.py",
        f"{_FORGE} tests/sessions/memory/test_lessons.py",
        (
            ("S0.13: a lesson ends with its line", 'text, last = f"{text} {line}", line', "break"),
            ("S0.14: the log has the start of the approach", '"approach": approach,', '"approach": approach[:200],'),
            ("S0.15: attempts are counted from two", "Attempt {self.number}:", "Attempt {self.number + 1}:"),
            ("S0.16: the lesson is the whole reply", "text=_bounded(found[-1], _MOST)", 'text=" ".join(reply.split())'),
        ),
    ),
    (
        "settings/resolved.py",
        f"{_FORGE} {_ECOLOGY}",
        (
            ("S0.17: calls within a turn emit nothing", "emit(fitted.receipt.event(agent, **(about or {})))", "pass"),
            ("S1.6: the answer has no room", 'made["budget"] -= reserve', "pass"),
            ("S1.14: an agent may lock itself out", "or is_readable(prompt, page):", "or True:"),
            ("S1.17: budgets cannot be switched off", 'if not self.value("prompt.enabled"):', "if False:"),
            (
                "S1.5, S1.22: nothing is dropped by policy",
                'options["overflow"] = self.value("prompt.overflow")',
                "pass",
            ),
        ),
    ),
    (
        "flows/receipts.py",
        _FORGE,
        (
            (
                "S0.18: refusals are not counted",
                'refused += _REFUSED in (item.get("http_status"), item.get("status"))',
                "refused += 0",
            ),
        ),
    ),
    (
        "settings/resolved.py",
        "tests/settings/test_exchange.py",
        (("S0.19: both strategies are one", 'self.value("history.strategy") == "B"', "False"),),
    ),
    (
        "settings/resolved.py",
        f"tests/examples/test_forge.py {_ECOLOGY}",
        (
            (
                "S0.21, S0.22, S1.15: a budget that is passed is ignored",
                'budget = budget_of(made.get("budget"), made.get("model"))',
                "budget = 16_384",
            ),
            (
                "S1.10: an unknown model is always refused",
                "            if other == _ERROR:\n                raise\n",
                "            raise\n",
            ),
        ),
    ),
    (
        "settings/prompt.py",
        f"{_FORGE} {_BROKER}",
        (
            ("S0.23: the frame of the message is not counted", '[*before, {"role": "user", "content": ""}]', "before"),
            (
                "S4.14: the log says the other thing",
                'if options.get("stages") else "Hard truncating."',
                'if not options.get("stages") else "Hard truncating."',
            ),
        ),
    ),
    (
        "settings/authors.py",
        f"{_ECOLOGY} tests/settings/test_ecology.py",
        (
            (
                "S1.1: the total is the reserve",
                '"context_budget.total_tokens", "prompt.total"',
                '"context_budget.total_tokens", "window.limit"',
            ),
            (
                "S1.4: any other priority is one",
                'for name in ("required", "high"',
                'for name in ("required", "urgent", "high"',
            ),
            ("S1.9: a limit may be nothing", "amount(least=1)", "amount()"),
        ),
    ),
    (
        "settings/profiles/ecology.yaml",
        _ECOLOGY,
        (
            (
                "S1.2: another limit",
                "recent_events: {priority: low, ceiling: 300}",
                "recent_events: {priority: low, ceiling: 200}",
            ),
            ("S1.7: required sections shrink unseen", "required_overflow: error", "required_overflow: shrink"),
            ("S1.11: the oldest actions stay", "ceiling: 400, keep: newest", "ceiling: 400, keep: best"),
            ("S1.12: the least relevant stay", "ceiling: 600, keep: best", "ceiling: 600, keep: newest"),
            ("S1.13: another marker", r'marker: "\n[...truncated]"', r'marker: "\n[...cut]"'),
            (
                "S1.23: a section is on no page",
                "  subscribed_artifacts: {",
                "  undocumented: {priority: low}\n  subscribed_artifacts: {",
            ),
        ),
    ),
    (
        "amounts.py",
        f"{_ECOLOGY} {_BROKER}",
        (
            ("S1.3: a share is half of it", "return amount * budget if", "return amount * budget / 2 if"),
            (
                "S4.2: shares are rounded up",
                "return int(fraction(name, self.shares[name]) * self.total)",
                "return round(fraction(name, self.shares[name]) * self.total)",
            ),
            (
                "S4.3: the reserve has everything",
                "self.total - sum(self._rounded",
                "self.total - 0 * sum(self._rounded",
            ),
            ("S4.4: shares may be more than all", "if abs(whole - 1) > _TOLERANCE:", "if whole > 9:"),
        ),
    ),
    (
        "settings/reader.py",
        "tests/settings/test_ecology.py",
        (
            (
                "S1.8: unknown words are ignored",
                "(self.ignore if is_open else self.unknown)(name, known, keys)",
                "pass",
            ),
        ),
    ),
    ("sections/budget_section.py", _ECOLOGY, (("S1.16: 90 percent are near", "_NEAR = 90", "_NEAR = 80"),)),
    (
        "sections/draft.py",
        _ALL,
        (
            (
                "S0.12: what `most` leaves of a text is whole",
                "if section.most is not None and text",
                "if False and text",
            ),
            (
                "S1.19: a section that is off is used",
                'text = section.text if section.enabled else ""',
                "text = section.text",
            ),
            ("S1.18: a limit is no limit", "self.wanted = self.ceiling if usable else 0", "self.wanted = self.size"),
            (
                "S1.5: what is over its limit is dropped while there is room",
                "or (grant >= self.wanted and not self.section.stable)",
                "or False",
            ),
        ),
    ),
    (
        "sessions/memory/working_memory.py",
        f"{_ECOLOGY} tests/sessions/memory/test_working_memory.py",
        (
            ("S1.21: a page that was restored has no budget", "reversed([*_found(text)])", "()"),
            ("S1.14: a wrong key loses the others", "        problems.append(str(error))", "        raise"),
            ("S1.14: the first budget of a page counts", "found in reversed([*_found(", "found in ([*_found("),
        ),
    ),
    (
        "settings/profiles/broker.yaml",
        _BROKER,
        (
            ("S4.1: another total", "total: 16384", "total: 16000"),
            ("S4.8: what is required is an error", "required_overflow: shrink", "required_overflow: error"),
            ("S4.9: four lines of gossip", "{section: social, last: 3}", "{section: social, last: 4}"),
            (
                "S4.11: the oldest memories stay",
                "memory: {priority: high, keep: newest",
                "memory: {priority: high, keep: best",
            ),
            (
                "S4.13: memory is the first to go",
                "{section: news, last: 2}",
                '{section: memory, to: "5%"}\n    - {section: news, last: 2}',
            ),
            ("S4.15: the page is by priority", "order: given", "order: priority"),
        ),
    ),
    (
        "settings/profiles/broker-base.yaml",
        _BROKER,
        (("S4.10: the base has stages", "prompt: {stages: []}", "prompt: {log: true}"),),
    ),
    (
        "meter/vocabularies.py",
        _BROKER,
        (
            (
                "S4.6: only tiktoken counts",
                '[("toktok", partial(_toktok, name)), ("tiktoken", partial(TiktokenEngine, name))]\n    if name in',
                '[("tiktoken", partial(TiktokenEngine, name))]\n    if name not in',
            ),
        ),
    ),
    ("truncate/lines.py", _BROKER, (("S4.7: a cut has no suffix", "else kept) + marker", "else kept)"),)),
    (
        "truncate/records.py",
        _BROKER,
        (
            (
                "S4.8, S4.16: a memory that is too long is dropped",
                "    if limit < least:\n",
                "    if limit:\n",
            ),
        ),
    ),
)
