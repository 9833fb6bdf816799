"""The kind of a sentence by its form: a question, an open task or a report of work done.

The kind decides under which heading a hand-over lists a sentence. Tasks and reports are recognised in English. A
sentence that no cue matches is listed under its author, so the cues are few and certain: a report that is missed is
harmless, an open task under "Done" is not.
"""

from __future__ import annotations

import re


def _cues(text: str) -> re.Pattern[str]:
    """Return a pattern of cues, each a regular expression for whole words of casefolded text."""
    cues = "|".join(cue.strip() for cue in re.split(r"[;\n]", text) if cue.strip())
    return re.compile(rf"(?<!\w)(?:{cues})(?!\w)")


_TODO = _cues(r"""
todo:?; to do:; fixme; still; not \w{1,20} yet; not yet; yet to; nobody has \w{1,20}; next steps?; next[:,]
next i; remaining; remains; left to do; ha(?:ve|s) to; needs?; must; should; missing; pending; unclear; open; undecided
unresolved; will be; plan to; once we; once the; waiting for""")
_DONE = _cues(
    r"""
(?:i|we|i['’]ve|we['’]ve|have|has been|was|were|is|are|all|and)(?: now)? (?:VERBS); ^(?:VERBS); is complete
in place; now works; works now; tests? (?:\w{1,20} )?pass(?:ed)?; (?:is|are) green; done[:.!]""".replace(
        "VERBS",
        r"(?:fix|creat|add|implement|complet|finish|updat|remov|delet|merg|deploy|resolv|verifi|renam|refactor|install"
        r"|migrat|test|clos|committ|push|replac|mov|correct|check)e?d|wrote|rewrote|done",
    )
)
_UNSURE = _cues(r"""
not; never; no; nobody; none; without; until; unless; before; once; when; if; whether; after; will; would
could; can; may; might; to be; going to; later; tomorrow; half; partly; almost; but; except; only; tried
\w{2,8}n['’]t""")
"""Denial, condition, future, doubt or a part: a report has none of these."""


def sentence_kind(role: str, sentence: str) -> str:
    """Return the kind of a sentence of a person or a model.

    It is a `question`, what the user `told`, and of a model `todo`, `done` or what it `said`.
    """
    text = sentence.casefold()
    if text.endswith(("?", "？")):
        return "question"
    if text.startswith(("todo", "fixme", "[ ]")):
        return "todo"
    if role == "user":
        return "told"
    if _TODO.search(text):
        return "todo"
    return "done" if _DONE.search(text) and not _UNSURE.search(text) else "said"
