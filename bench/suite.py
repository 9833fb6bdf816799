"""The conformance suite's own parts, for the benchmarks that judge by them, and the writers of provider formats.

They live among the tests, which are no installed package. At run time they are found by their folder, because a
package called `tests` is what some libraries install beside themselves.
"""

from __future__ import annotations

import sys
from pathlib import Path

# Last, since a folder of tests may have the name of a library, as `agents` does.
sys.path.append(str(Path(__file__).parents[1] / "tests"))

from conformance import judge
from conformance.adapter import Message, NotAsked
from conformance.case import Case, Verdict
from conformance.cases import CASES
from conformance.judge import Judge
from conformance.runner import SECONDS
from conformance.runner import run as put_through
from provider_formats import to_bedrock, to_gemini

__all__ = [
    "CASES", "SECONDS", "Case", "Judge", "Message", "NotAsked", "Verdict",
    "judge", "put_through", "to_bedrock", "to_gemini",
]  # fmt: skip
