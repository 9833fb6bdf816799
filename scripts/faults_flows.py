"""How a requirement of the flow or session document could be broken: faults for `scripts/faults.py`.

The name of each begins with the requirements whose own tests catch it.
"""

_FLOW = "tests/authors/test_flow.py"
_SESSION = "tests/authors/test_session.py"
_HANDOVER = "tests/sessions/test_handover.py"
_LOOP = f"{_SESSION} {_HANDOVER} tests/sessions/test_loop.py"
_PACKS = f"{_FLOW} tests/flows/test_curator.py tests/flows/test_run.py"
_DOCTOR = f"{_FLOW} tests/doctor/test_diagnosis.py"

AREAS = (
    (
        "settings/budgets.py",
        f"{_DOCTOR} tests/settings/test_budgets.py",
        (
            (
                "S2.1: the lean preset has other limits",
                "Budgets(100_000, 30_000, 5_000)",
                "Budgets(100_000, 30_000, 9_000)",
            ),
            (
                "S2.2: a row of the window table is off",
                "128_000: Budgets(125_000, 40_000, 7_500)",
                "128_000: Budgets(128_000, 40_000, 7_500)",
            ),
            ("S2.14: older steps get twice as much", "chars * 125 // 10_000", "chars * 250 // 10_000"),
            ("S2.23: heavy is not v2.3", "Budgets(400_000, 120_000, 20_000)", "Budgets(400_000, 120_000, 10_000)"),
            ("S2.24: what is below the minimum stays", "        if size < least:\n", "        if False:\n"),
            (
                "S2.25: a part may be more than the whole",
                "        if found[key].value > whole:\n",
                "        if False:\n",
            ),
        ),
    ),
    (
        "doctor/diagnosis.py",
        _DOCTOR,
        (("S2.3: tiny prompts are not told", "_TINY = 4\n", "_TINY = 4_000\n"),),
    ),
    (
        "flows/pack.py",
        _PACKS,
        (
            ("S2.4: a pack may exceed its window", "page.prompt.text)) > most:", "page.prompt.text)) < 0:"),
            (
                "S2.5: artifacts stand before the history",
                '"history", "artifacts", "scent_trail", "files")',
                '"artifacts", "scent_trail", "files", "history")',
            ),
            ("S2.5: earlier flows leave no artifacts", "in self.artifacts:\n", "in ():\n"),
        ),
    ),
    (
        "flows/curator.py",
        _PACKS,
        (
            ("S2.6: the notes do not rank the files", "codebase.ranked(task.query)", 'codebase.ranked("")'),
            ("S2.7: curator_enabled is not read", 'if not settings.value("curator.enabled"):', "if False:"),
            (
                "S2.8: a curator that fails is fatal",
                "            used, reason = False,",
                "            raise\n            used, reason = False,",
            ),
        ),
    ),
    (
        "flows/stages.py",
        _FLOW,
        (
            ("S2.9: a stage has another tier", 'scope="narrow", tier="medium"', 'scope="narrow", tier="cheap"'),
            ("S2.9: a tier that is passed is not used", "    if known.tier in models:\n", "    if False:\n"),
        ),
    ),
    (
        "flows/run.py",
        _PACKS,
        (
            (
                "S2.11: a receipt has the start of the output",
                '"output": output,',
                '"output": output[:1000],',
            ),
            ("S2.12: a cut answer is good", "    if reply.complete:\n", "    if True:\n"),
            ("S2.13: no time limit", 'seconds = settings.value("timeout_seconds")', "seconds = 3_600.0"),
        ),
    ),
    (
        "llm.py",
        "tests/test_llm.py",
        (
            (
                "S2.10: answers are limited",
                '            return {"model": self.model, "messages": [*first, *messages], **more}\n',
                '            return {"model": self.model, "max_tokens": 9, "messages": [*first, *messages], **more}\n',
            ),
        ),
    ),
    (
        "settings/resolved.py",
        "tests/settings/test_budgets.py tests/settings/test_effects.py tests/requirements/test_flow.py",
        (("S2.15: a budget of the window is fine", "_WIDE = Fraction(1, 2)", "_WIDE = Fraction(50)"),),
    ),
    (
        "settings/loader.py",
        _FLOW,
        (
            ("S2.13, S2.19: the runtime file is not read", "files.add_runtime(found.root) if found.root else {}", "{}"),
            (
                "S2.21: files of flows are not read",
                '        for name, path in project.files_in(root, "flow"):\n',
                "        for name, path in ():\n",
            ),
        ),
    ),
    (
        "settings/resolved.py",
        f"{_FLOW} tests/settings/test_config.py",
        (("S2.16, S2.20: replace merges", '        if mode.value == "merge":\n', "        if True:\n"),),
    ),
    (
        "settings/overrides.py",
        _FLOW,
        (
            (
                "S2.17: the short name of a budget is unknown",
                "        key = BARE.get(key, key)\n        setting = SETTINGS",
                "        setting = SETTINGS",
            ),
            ("S2.17: SWARM variables are ignored", "startswith((PREFIX, SWARM))", "startswith(PREFIX)"),
        ),
    ),
    (
        "settings/config.py",
        f"{_FLOW} {_SESSION}",
        (
            ("S2.28: flows select by recency", 'Value("priority", "defaults")', 'Value("recency", "defaults")'),
            ("S2.27: the agents of the document are unknown", 'Value("flow", "defaults")', 'Value("none", "defaults")'),
            (
                "S2.19: a shipped profile wins over the project",
                "(*own, *self._written, *shipped,",
                "(*own, *shipped, *self._written,",
            ),
        ),
    ),
    (
        "flows/pack.py",
        f"{_PACKS} tests/requirements/test_flow.py",
        (
            (
                "S2.18: the newest step has the limit of older ones",
                '[settings.value("history_max_recent_chars")]',
                '[settings.value("history_max_older_chars")]',
            ),
            ("S2.26: no note", "note=note(*numbers, _UNIT, shares) if noted", 'note="" if noted'),
            (
                "S2.29: the steps are shown backwards",
                "in zip(history, kinds, texts, strict=True))\n    included",
                "in reversed([*zip(history, kinds, texts, strict=True)]))\n    included",
            ),
            (
                "S2.31: the distribution is not in the receipt",
                "truncation(*numbers, shares,",
                "truncation(*numbers, None,",
            ),
            ("S2.33: another marker", 'MARKER = "\\n... (truncated)"', 'MARKER = "\\n... (cut)"'),
            ("S2.34: a step that was only cut is no truncation", "cut=any(step.cut for step in included)", "cut=False"),
        ),
    ),
    (
        "settings/changes.py",
        "tests/settings/test_changes.py tests/studio/views/test_flows.py",
        (("S2.22: a change is checked after it is written", "check_text(", "(lambda *_: None)("),),
    ),
    (
        "history/priority.py",
        "tests/history/test_priority.py",
        (
            (
                "S2.30: words of a step id match anywhere",
                'known = _highest(self._steps, words(step or ""))',
                'known = max((self._steps[w] for w in self._steps if w in (step or "").lower()), default=None)',
            ),
        ),
    ),
    (
        "flows/receipts.py",
        _PACKS,
        (("S2.32: receipts have other names", 'safe(flow), "receipts"', 'safe(flow), "receipt"'),),
    ),
    (
        "history/history_fit.py",
        "tests/requirements/test_flow.py tests/authors/test_flow.py tests/history",
        (
            (
                "S2.35: the selector of engines counts no note",
                "left = self._left(room, need, share) - self._note_room()",
                "left = self._left(room, need, share) + 40",
            ),
        ),
    ),
    (
        "doctor/diagnosis.py",
        _DOCTOR,
        (("S2.36: the mistakes of the document are not told", "    if 2 * tokens > size:\n", "    if False:\n"),),
    ),
    (
        "settings/authors.py",
        _SESSION,
        (
            ("S3.1: percent are shares", 'f"{value}%" if', 'f"{value / 2}%" if'),
            (
                "S3.6: the tick's word is another setting",
                '"loop.max_context_pct", "loop.tick_cap"',
                '"loop.max_context_pct", "loop.handoff_share"',
            ),
        ),
    ),
    (
        "sessions/session.py",
        f"{_SESSION} tests/sessions",
        (
            (
                "S3.2, S3.13: the estimate forgets memory",
                "self._state.estimate(self.parts(system, tools, memory, fields))",
                "self._state.estimate(self.parts(system, tools, None, fields))",
            ),
        ),
    ),
    (
        "sessions/learning/model_meter.py",
        "tests/sessions",
        (("S3.3: usage teaches nothing", "self.calibration is not None and self.calibration.calls:", "False:"),),
    ),
    (
        "sessions/compaction.py",
        f"{_SESSION} tests/sessions",
        (
            ("S3.4: no turns stay verbatim", "keep_turns=keep_turns", "keep_turns=1"),
            ("S3.5: another notice", "This thread is getting long", "This thread is long"),
        ),
    ),
    (
        "sessions/loop/loop.py",
        _LOOP,
        (
            (
                "S3.7: a context goes on beyond its share",
                "return used if used >= session.budget else None",
                "return None",
            ),
            (
                "S3.9: a sub-tick uses an iteration",
                "        progress.sub_ticks += 1\n",
                "        progress.sub_ticks += 1\n        progress.iterations += 1\n",
            ),
            (
                "S3.10: unread results are left behind",
                "first = [self._say(text), *going_over]",
                "first = [self._say(text)]",
            ),
        ),
    ),
    (
        "sessions/loop/brief.py",
        _LOOP,
        (
            ("S3.8: the goal is not handed over", 'text=f"{goal}\\n\\n{text}".rstrip', 'text=f"{text}".rstrip'),
            (
                "S3.8: only the newest result is handed over",
                "    for result in reversed(results):\n",
                "    for result in list(reversed(results))[:1]:\n",
            ),
            (
                "S3.14: the notice counts what is known as shown",
                "sum(made.shown.get(kind, 0) for kind in kinds):,}",
                "known:,}",
            ),
        ),
    ),
    (
        "history/compact/lines.py",
        f"{_LOOP} tests/history/compact",
        (
            (
                "S3.7: plain findings are not kept",
                "plain >= _LEAST_PROSE and",
                "False and",
            ),
            (
                "S3.7: what a user was printed is said by the user",
                "if command is not None and turns.printed(at):",
                "if False:",
            ),
            ("X8: a sentence has a secret", "    safe = clipped(redact(text))\n", "    safe = clipped(text)\n"),
        ),
    ),
    (
        "history/compact/picker.py",
        f"{_LOOP} tests/history/compact",
        (
            (
                "S3.7: outcomes of calls are left out",
                "            self.chosen[id(line)] = replace(line, outcome=outcome)\n",
                "            pass\n",
            ),
            (
                "S3.7: the same is said twice",
                "return line.text.rstrip(_STOPS) in self.text",
                "return False",
            ),
            (
                "S3.7: what tells least comes first",
                "(_SENTENCES, sorted(rest, key=lambda line: -worth_now(line))),",
                "(_SENTENCES, sorted(rest, key=worth_now)),",
            ),
        ),
    ),
    (
        "history/compact/running.py",
        _LOOP,
        (
            (
                "S3.14: processes are not handed over",
                "                    found.setdefault(number, line[:_LINE])\n",
                "                    pass\n",
            ),
            (
                "S3.14: what was ended still runs",
                "                    found.pop(number, None)\n",
                "                    pass\n",
            ),
        ),
    ),
    (
        "sessions/log/overview.py",
        f"{_SESSION} tests/sessions tests/cli/test_status.py",
        (
            (
                "S3.11: a session that warned twice counts twice",
                'sum(row.status["warnings"] > 0 for row',
                'sum(row.status["warnings"] for row',
            ),
        ),
    ),
    (
        "sessions/memory/working_memory.py",
        "tests/sessions/memory tests/requirements/test_session.py",
        (("S3.12: one line more", "LINES = 75", "LINES = 76"),),
    ),
    (
        "sessions/loop/limits.py",
        _LOOP,
        (
            (
                "S3.15: no warning where the tick ends",
                "        warn = None if window.warn is None else",
                "        warn = None if True else",
            ),
        ),
    ),
)
