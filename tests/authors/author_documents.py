"""Copy the tests and files of the authors' documents into a folder, word for word, so that they can be run.

python tests/authors/author_documents.py ../shared/sources FOLDER
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

_BLOCK = re.compile(r"```(?:python|yaml)\n(.*?)```", re.DOTALL)
_FILES = {
    "tests/test_token_budget.py": "**File**: `tests/test_token_budget.py`",
    "swarm/config/runtime.yaml": "From `swarm/config/runtime.yaml`:",
    "swarm/profiles/heavy-context.swarm_profile.yaml": "Set budget overrides in your profile YAML",
    "swarm/config/flows/build.yaml": "Set budget overrides in flow config",
    "restore.yaml": "To restore v2.3 budget behavior,",
    "phantom.yaml": "Add to phantom.yaml:",
}
"""Each file with the words before its block in a document."""


def copy(sources: Path, folder: Path) -> list[Path]:
    """Write the files that the documents have, and return their paths."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(sources.glob("*.txt"))]
    made = []
    for name, words in _FILES.items():
        after = next((text.partition(words)[2] for text in texts if words in text), "")
        block = _BLOCK.search(after)
        content = block[1] if block else "\n".join(after.strip("\n").split("\n\n")[0].splitlines())
        if after:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content.rstrip() + "\n", encoding="utf-8")
            made.append(path)
    return made


if __name__ == "__main__":
    for written in copy(Path(sys.argv[1]), Path(sys.argv[2])):
        print(written)
