"""How the fit of a whole request could be wrong: faults for `scripts/faults.py`."""

_REQUESTS = "tests/test_requests.py"
_TOOLS = f"tests/test_tool_relevance.py {_REQUESTS}"
_CUT = f"{_REQUESTS}::test_requests_that_broke_the_promise_once {_REQUESTS}"

AREAS = (
    (
        "requests/fit.py",
        _REQUESTS,
        (
            ("a field with an argument of its own is sent", "        if name in taken:\n", "        if False:\n"),
            (
                "a text of the system prompt may be cut",
                'return (Section(name, given, priority="required"),)',
                "return (Section(name, given),)",
            ),
            (
                "a history and another format are accepted",
                "if meter is not None or format is not None:",
                "if meter is not None:",
            ),
        ),
    ),
    (
        "requests/request_fit.py",
        f"{_REQUESTS} tests/test_tool_relevance.py",
        (
            ("other fields are not counted", "                **other,\n", ""),
            (
                "other fields are not sent",
                "        for name, value in (self.fields or {}).items():\n",
                "        for name, value in ():\n",
            ),
            (
                "other fields take the place of the tools",
                "{**value, **body[name]} if name in body and isinstance(value, Mapping) else value",
                "value",
            ),
            (
                "two messages of the user follow each other",
                "if not turns.wire.pairs or not messages",
                "if True or not messages",
            ),
            ("all tools are sent", " if index in kept]", "]"),
            (
                "tools count as if a system message were there",
                "chat.each_tool(self.tools, system=sure, loaded",
                "chat.each_tool(self.tools, system=True, loaded",
            ),
            ("the system prompt is no part of the topic", "instructions=instructions", 'instructions=""'),
            ("the tools are not in the receipt", "parts = (*system, *tools, *turns", "parts = (*system, *turns"),
            ("ceilings do not count where all fits", "if bids.wanted < bids.total or any(", "if any("),
            (
                "the framing of pages is not counted",
                "sum(chat.frame(page) + chat.text(text)",
                "sum(chat.text(text)",
            ),
        ),
    ),
    (
        "requests/bids.py",
        _CUT,
        (
            ("the ceiling of the history is ignored", "if self.terms.history_ceiling is not None:", "if False:"),
            ("the floor of the history is not held", "min(bids.floor, wanted), self.rank", "0, self.rank"),
            (
                "turns that make thinking unusable are left out",
                "        if not load and (",
                "        if False and (",
            ),
            (
                "a called tool may be missing",
                "return self.tools_of_pinned | self.kept(proposals).called | self.chosen(proposals)",
                "return self.chosen(proposals)",
            ),
        ),
    ),
    (
        "requests/offered_tools.py",
        _TOOLS,
        (
            ("the least relevant tools are offered", "for index in self.order:", "for index in reversed(self.order):"),
            ("tools are offered beyond the grant", "if index not in paid and units <= left:", "if index not in paid:"),
            (
                "what any tools cost is not counted",
                "return self.counts.once + self.cost(kept) if",
                "return self.cost(kept) if",
            ),
        ),
    ),
    (
        "requests/tool_relevance.py",
        _TOOLS,
        (
            ("the newest messages do not count", "[asked, instructions, *newest,", "[asked, instructions,"),
            ("the system prompt does not count", "[asked, instructions, *newest,", "[asked, *newest,"),
            ("a tool that was called is like any other", "_CALLED = 0.5", "_CALLED = 0.0"),
            ("arguments are no words of a tool", "yield from map(str, node)", "pass"),
            ("meaning does not count", "score + best * near", "score"),
            ("the least relevant come first", "(-round(scores[at], 6), at)", "(round(scores[at], 6), at)"),
        ),
    ),
    (
        "requests/terms.py",
        _REQUESTS,
        (
            (
                "the priority of the history is ignored",
                '_rank("history", self.history_priority)',
                '_rank("history", "high")',
            ),
            ("a floor is not checked", 'check_bounds(f"{name}_", ', 'check_bounds(f"{name}_", 0 and '),
        ),
    ),
)
