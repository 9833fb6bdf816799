"""Refresh src/brim/meter/models.json, the table of models that brim ships, from two packages of model data.

    pip install genai-prices==0.2.1
    pip download --no-deps litellm==1.108.4
    python scripts/catalogue.py --litellm-wheel WHEEL --date 2026-11-15

Sizes and prices are refreshed; litellm's JSON is read out of the wheel, never imported. The rest of a row
is edited in the table by hand, from the makers' own pages: aliases, vocabulary, framing, the prompt for tools
and cache rules, and the vocabularies of families in Ollama. To add a
model, write a row with its `id` and `provider`, and `"shared":true` alone for open weights, which anyone may serve, so
no price is the maker's. The same packages and date give the same bytes; what the packages disagree on is told on the
error stream.

genai-prices gives a window, litellm the longest prompt and the longest answer. Where the first two disagree:
- within 5 %, one of them is rounded (1,000,000 for 1,048,576), and the bigger is exact;
- where the maker caps the prompt apart from the window (OpenAI from GPT-5 on, Qwen), both are kept;
- otherwise the smaller counts: a window believed too big gets the prompt refused, one too small wastes a bit.
An answer limit as big as the window is no limit of its own, and is left out.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path
from typing import Any

from genai_prices import data_snapshot

_TABLE = Path(__file__).parent.parent / "src" / "brim" / "meter" / "models.json"
_JSON = "litellm/model_prices_and_context_window_backup.json"
_KEYS = (
    *("id", "provider", "window", "max_input", "max_output", "shared"),
    *("vocabulary", "framing", "tool_prompt", "cache", "prices", "source", "aliases"),
)

_PLACES = {
    "openai": ("openai:{}", "{} {}-latest"),
    "openai open": ("openai:{}", "deepinfra/openai/{}"),
    "anthropic": ("anthropic:{}", "{} vertex_ai/{} vercel_ai_gateway/anthropic/{} anthropic.{}-20250805-v1:0"),
    "google": ("google:{}", "gemini/{} {}"),
    "google open": (
        "openrouter:google/{} huggingface_nebius:google/{} huggingface_together:google/{}", "deepinfra/google/{}",
    ),
    "x-ai": ("x-ai:{}", "xai/{}"),
    "mistral": ("mistral:{}", "mistral/{}"),
    "mistral open": ("openrouter:mistralai/{}", "deepinfra/mistralai/{} together_ai/mistralai/{}"),
    "deepseek": ("deepseek:{}", "deepseek/{}"),
    "deepseek open": ("", "deepinfra/deepseek-ai/{} novita/deepseek/{}"),
    "meta": ("meta:{}", "meta/{}"),
    "meta open": (
        "", "meta_llama/{}-fp8 deepinfra/meta-llama/meta-{} deepinfra/meta-llama/{} nebius/meta-llama/meta-{}"
        " together_ai/meta-llama/{} novita/meta-llama/{} oci/meta.{}",
    ),
    "qwen": ("openrouter:qwen/{}", "dashscope/{}"),
    "qwen open": (
        "huggingface_nebius:qwen/{} huggingface_nscale:qwen/{} huggingface_novita:qwen/{} openrouter:qwen/{}",
        "deepinfra/qwen/{} hyperbolic/qwen/{} together_ai/qwen/{}",
    ),
    "moonshot": ("moonshotai:{}", "moonshot/{}"),
    "moonshot open": ("", "deepinfra/moonshotai/{}"),
    "z-ai": ("zai:{} zhipuai:{}", "zai/{}"),
    "minimax": ("minimax:{}", "minimax/{}"),
    "cohere": ("cohere:{}", "{} cohere/{}"),
    "amazon": ("aws:amazon.{}-v1:0 aws:global.amazon.{}-v1:0", "amazon.{}-v1:0 amazon.{}-20251202-v1:0"),
    "microsoft open": ("openrouter:microsoft/{}", "deepinfra/microsoft/{}"),
}  # fmt: skip
"""Where genai-prices (`provider:name`) and litellm have the models of a provider; {} is the id, the first counts."""

_CAPPED = r"gpt-[56](?!-pro$)(?!.*-chat)|qwen3"
"""Makers that cap the prompt apart from the window."""

_OUTDATED = r"deepseek-(?:chat|reasoner)$"
"""Of these, genai-prices has the window of an earlier version."""


def sizes(model: str, window: int | None, prompt: int | None) -> tuple[int | None, int | None]:
    """Return the window and the longest prompt, by the rules on top."""
    if window is None or prompt is None:
        return window or prompt, prompt
    if re.match(_OUTDATED, model):
        return prompt, prompt
    if re.match(_CAPPED, model):
        return max(window, prompt), prompt
    if min(window, prompt) * 1.05 >= max(window, prompt):
        return max(window, prompt), max(window, prompt)
    print(f"{model}: window {window:,}, prompt {prompt:,}: the smaller is kept", file=sys.stderr)
    return min(window, prompt), min(window, prompt)


def limits(provider: str, model: str, window: int | None, row: dict[str, Any]) -> dict[str, Any]:
    """Return window, max_input, max_output and shared."""
    size, prompt = sizes(model, window, row.get("max_input_tokens"))
    answer = row.get("max_output_tokens") if row.get("mode") != "embedding" else None
    unlimited = answer is not None and size is not None and answer >= size
    answer = None if unlimited else answer
    if re.match(_CAPPED, model) and provider == "openai" and size and answer:
        prompt = min(prompt or size, size - answer)
    shared = True if unlimited or provider in ("anthropic", "openai", "qwen") else None
    if "embed" in model or provider == "google":  # Google gives two limits and does not say how they meet
        shared = None
    elif re.match(_CAPPED, model) and provider == "openai":
        shared = False if prompt and answer else None
    return {"window": size, "max_input": prompt, "max_output": answer, "shared": shared}


def prices(record: Any, row: dict[str, Any], moment: datetime) -> dict[str, Any] | None:
    """Return US dollars a million tokens, by genai-prices or else by litellm."""
    asked = vars(record.get_prices(moment)) if record else {}
    names = {
        "input": ("input_mtok", "input_cost_per_token"),
        "output": ("output_mtok", "output_cost_per_token"),
        "cached_read": ("cache_read_mtok", "cache_read_input_token_cost"),
        "cache_write": ("cache_write_mtok", "cache_creation_input_token_cost"),
    }
    found: dict[str, Any] = {}
    tiers: dict[int, dict[str, float]] = {}
    for name, (mtok, per_token) in names.items():
        price: Any = asked.get(mtok)
        if price is None and not asked and row.get(per_token):  # litellm writes 0 for unknown
            price = Decimal(str(row[per_token])) * 1_000_000
        if hasattr(price, "tiers"):
            for tier in price.tiers:
                tiers.setdefault(tier.start, {})[name] = plain(tier.price)
            price = price.base
        if price is not None:
            found[name] = plain(price)
    if tiers:
        found["tiers"] = sorted(tiers.items())
    return found or None


def plain(value: Decimal) -> float | int:
    """Return the shortest number that says the same."""
    return int(value) if value == int(value) else float(value)


def refreshed(rows: list[dict[str, Any]], wheel: str, date: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of the table with the data of the packages.

    Raises:
        LookupError: neither package knows a size of a model.
    """
    with zipfile.ZipFile(wheel) as archive:
        litellm = {key.lower(): row for key, row in json.loads(archive.read(_JSON)).items()}
    providers = {provider.id: provider.models for provider in data_snapshot.get_snapshot().providers}
    versions = (f"genai-prices {version('genai-prices')}", f"litellm {Path(wheel).name.split('-')[1]}")
    moment = datetime.fromisoformat(f"{date}T12:00").replace(tzinfo=UTC)
    for known in rows:
        model, provider = known["id"], known["provider"]
        is_open = known.get("shared", False) and not {"prices", "max_input"} & known.keys()
        genai, keys = (places.split() for places in _PLACES[f"{provider} open" if is_open else provider])
        records = [
            record
            for place in genai
            for source, _, name in [place.format(model).partition(":")]
            for record in sorted(providers[source], key=lambda each: each.id.lower() != name.lower())
            if record.id.lower() == name.lower() or record.is_match(name)
        ]
        row: dict[str, Any] = next(
            (litellm[key] for key in (each.format(model) for each in keys) if key in litellm), {}
        )
        window = next((record.context_window for record in records if record.context_window), None)
        if is_open:
            asked, found = None, {"window": row.get("max_input_tokens") or window, "shared": True}
            records = [] if row.get("max_input_tokens") else records
        else:
            own = records if records and "openrouter" not in genai[0] else [None]
            asked, found = prices(own[0], row, moment), limits(provider, model, window, row)
        if not found["window"]:
            raise LookupError(f"{model}: no size in either package")
        source = "; ".join(each for each, used in zip(versions, (records, row), strict=True) if used)
        yield {**known, **found, "prices": asked, "source": source}


def main() -> None:
    """Write the table: one model a line, sorted, without what is not known."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--litellm-wheel", required=True)
    parser.add_argument("--date", required=True)
    options = parser.parse_args()
    table = json.loads(_TABLE.read_text("ascii"))
    rows = sorted(refreshed(table["models"], options.litellm_wheel, options.date), key=lambda row: str(row["id"]))
    told = [{key: row[key] for key in _KEYS if row.get(key) is not None} for row in rows]
    lines = ",\n".join(json.dumps(row, separators=(",", ":")) for row in told)
    families = json.dumps(table["families"], separators=(",", ":"))
    _TABLE.write_text(f'{{"date":"{options.date}","families":{families},"models":[\n{lines}\n]}}\n', "ascii")


if __name__ == "__main__":
    main()
