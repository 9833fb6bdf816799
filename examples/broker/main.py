"""Households that decide, year after year, with prompts of any size: python examples/broker/main.py."""

from __future__ import annotations

import logging
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import brim
from brim.testing import Scripted

HERE = Path(__file__).parent
AGENTS, YEARS = 24, 5
PERCENT = {"prompt": "40%", "memory": "25%", "social": "15%", "institutional": "10%", "reserve": "10%"}
MENU = "1. Do nothing\n2. Buy insurance\n3. Raise the house\n4. Move away"


@dataclass
class Household:
    """One agent, and what it has lived through."""

    name: str
    kind: str
    """What there is too much of: nothing, gossip, news, institutions, memory, everything, or the menu."""
    memory: list[str] = field(default_factory=list)
    choices: list[str] = field(default_factory=list)

    def sections(self, year: int) -> dict[str, str | list[str]]:
        """Return the prompt of a year in its sections."""
        gossip = [
            f"Neighbour {i} says that the water came to step {i % 9} in year {year}."
            for i in range(self.much("gossip", 4))
        ]
        news = [f"The river stood at {3 + i % 5} metres on day {i}." for i in range(self.much("news", 2))]
        policy = "The office grants subsidies for raised houses to those who apply in time.\n" * self.much(
            "institutions", 6
        )
        return {
            "prompt": f"You are {self.name}, a household near the river.\n" + "You weigh costs and dangers.\n" * 40,
            "memory": self.memory or ["Nothing yet."],
            "social": "\n".join(gossip),
            "news": "\n".join(news),
            "institutional": policy,
            "options": MENU * (4_000 if self.kind == "menu" else 1),
        }

    def much(self, kind: str, usual: int) -> int:
        """Return how many lines there are of something."""
        return 1_500 if self.kind in (kind, "everything") else usual

    def live(self, year: int, choice: str) -> None:
        """Remember a year; some remember too much."""
        self.choices.append(choice)
        told = f"In year {year} I chose {choice}. " + "It rained for weeks. " * (
            1_200 if self.kind in ("memory", "everything") else 2
        )
        self.memory.append(told.strip())


@dataclass
class Year:
    """What one year of the simulation came to."""

    prompts: int = 0
    over: int = 0
    hard: int = 0
    fullest: int = 0
    stages: Counter[str] = field(default_factory=Counter)
    chosen: Counter[str] = field(default_factory=Counter)


def decide(prompt: str) -> str:
    """Answer with a number of the menu that stands in the prompt."""
    offered = re.findall(r"^(\d)\. ", prompt[prompt.rfind("## Choose one") :], re.MULTILINE)
    return offered[len(prompt) % len(offered)] if offered else "nothing was offered"


def simulate(agents: int = AGENTS, years: int = YEARS) -> list[Year]:
    """Run the simulation, and return its years."""
    settings = brim.load_config(HERE / "brim.yaml", environ={}).resolve()
    kinds = ("usual", "usual", "gossip", "news", "institutions", "memory", "everything", "menu")
    people = [Household(f"household-{i}", kinds[i % len(kinds)]) for i in range(agents)]
    model = Scripted(decide)
    told = []
    for number in range(years):
        year = Year()
        for person in people:
            prompt = settings.fit(person.sections(number), agent=person.name)
            choice = model.complete(prompt.text).text
            person.live(number, choice)
            note(year, prompt.receipt, choice)
        told.append(year)
    return told


def note(year: Year, receipt: brim.Receipt, choice: str) -> None:
    """Add one prompt to a year."""
    year.prompts += 1
    year.over += bool(receipt.stages)
    year.hard += any(stage.startswith("hard cut") for stage in receipt.stages)
    year.fullest = max(year.fullest, receipt.used)
    year.stages.update(stage.partition(":")[0] for stage in receipt.stages)
    year.chosen[choice] += 1


def main() -> None:
    """Print what happened."""
    shares = brim.Shares(16_384, PERCENT)
    print("share          tokens")
    for name in PERCENT:
        print(f"{name:<14} {shares.of(name):>6,}")
    lines: list[str] = []
    seen = logging.Handler(logging.WARNING)
    seen.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("brim").addHandler(seen)
    years = simulate()
    print("\nyear  prompts  over  hard cut  fullest  stages that were needed")
    for number, year in enumerate(years):
        stages = ", ".join(f"{name} {count}" for name, count in sorted(year.stages.items()))
        print(f"{number:>4}  {year.prompts:>7}  {year.over:>4}  {year.hard:>8}  {year.fullest:>7,}  {stages}")
    print(f"\nchosen: {dict(sorted(sum((year.chosen for year in years), Counter()).items()))}")
    print(f"{len(lines)} lines were logged, such as:")
    for line in dict.fromkeys(line for line in lines if "household-6:" in line or "Still" in line):
        print(f"  {line}")
        if "Still" in line:
            break


if __name__ == "__main__":
    main()
