"""An agent that manages its own context: four ticks, one budget on its page, one checkpoint."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path

import brim
from brim.testing import Scripted

HERE = Path(__file__).parent

WORLD = {
    "system_prompt": "You tend a garden. Each tick you may read, write or do nothing.",
    "working_memory": "# My page\nThe tomatoes need water every second day.\n",
    "rag_memories": "\n".join(f"memory {i}: what grew well in year {i}" for i in range(90)),
    "action_history": "\n".join(f"tick {i}: watered bed {i % 7}" for i in range(60)),
    "recent_events": "\n".join(f"event {i}: somebody walked by" for i in range(60)),
    "subscribed_artifacts": "The almanac says: " + "frost comes late this year. " * 40,
}

OWN_BUDGET = """\
# My page
Memories are dear, events are not.

```yaml
context_budget:
  sections:
    rag_memories: {max_tokens: 240, priority: high}
    recent_events: {enabled: false}
```
"""

ANSWERS = [
    {"write": {"artifact": "working_memory", "content": OWN_BUDGET}},
    {"do": "nothing"},
    {"write": {"artifact": "working_memory", "content": OWN_BUDGET.replace("240", "plenty")}},
    {"do": "nothing"},
]


def tick(number: int, artifacts: dict[str, str], model: Scripted) -> dict[str, str]:
    """Show the agent its prompt, tell what became of each part, and return the artifacts after its action."""
    print(f"tick {number}")
    settings = brim.load_config(HERE).resolve()
    prompt = settings.fit(artifacts)
    receipt = prompt.receipt
    print(f"  {receipt.used} of {receipt.budget} {receipt.unit}")
    for part in receipt.parts:
        if part.name != "context_budget":
            print(f"  {part.name}: {part.state}, {part.used} of {part.size} ({part.reason})")
    print("  " + prompt.texts["context_budget"].replace("\n", "\n  "))
    action = json.loads(model.complete(prompt.text).text)
    if "write" not in action:
        return artifacts
    written = action["write"]
    print(f"  the agent writes to {written['artifact']}")
    return {**artifacts, written["artifact"]: written["content"]}


def main() -> None:
    """Run four ticks, with a checkpoint after the second."""
    logging.basicConfig(format="  warning: %(message)s", stream=sys.stdout)
    model = Scripted([json.dumps(answer) for answer in ANSWERS])
    artifacts = WORLD
    for number in (1, 2):
        artifacts = tick(number, artifacts, model)
    saved = json.dumps({"artifacts": artifacts})
    print(f"checkpoint: {len(saved):,} characters, the agent's own budget among them")
    artifacts = json.loads(saved)["artifacts"]
    for number in (3, 4):
        artifacts = tick(number, artifacts, model)


if __name__ == "__main__":
    main()
