"""The names under which a model is looked up, by fixed rules and never by similarity.

A new model taken for an old one would overflow silently.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_LONGEST_NAME = 512

_HOST = re.compile(
    "ai21|aihubmix|alibaba|amazon|amazon-bedrock|amazon-nova|anthropic|aws|azure|azure-ai|azure-openai|baseten"
    "|bedrock|bedrock-converse|cerebras|cloudflare|cohere|cohere-chat|coherelabs|converse|crusoe|dashscope"
    "|databricks|deepinfra|deepseek|deepseek-ai|eu|fireworks|fireworks-ai|gateway|gemini|github|github-copilot"
    "|global|global-standard|google|google-genai|google-gla|google-vertex|google-vertexai|groq|heroku|hf|hf-co"
    "|huggingface|hyperbolic|invoke|lambda-ai|litellm|litellm-proxy|lm-studio|meta|meta-llama|microsoft|minimax"
    "|minimaxai|mistral|mistralai|models|moonshot|moonshotai|nebius|novita|nscale|nvidia|nvidia-nim|oci|ollama"
    "|ollama-chat|openai|openai-chat|openai-responses|openrouter|ovhcloud|perplexity|qwen|replicate|responses"
    "|sagemaker|sambanova|snowflake|together|together-ai|unsloth|us|vercel|vercel-ai-gateway|vertex-ai|vertexai"
    "|vllm|wandb|watsonx|x-ai|xai|xai-org|z-ai|zai|zai-org|zhipuai|[a-z]{2}(?:-gov)?-[a-z]+-[0-9]"
)
"""Hosts, publishers and regions that may precede a name with a slash or a colon."""

_ROADS = re.compile(
    r"(?:arn:aws[\w-]*:bedrock:[\w-]*:\d*:(?:foundation-model|inference-profile)/"
    r"|(?:projects/[^/]+/locations/[^/]+/)?publishers/[\w-]+/models/|accounts/fireworks/models/)(.+)"
    r"|ft:([^:]+)(?::.*)?",
    re.ASCII,
)
_BEDROCK = re.compile(
    r"(?:(?:apac|au|ca|eu|global|jp|sa|us|us-gov)\.)?(?:amazon|anthropic|cohere|deepseek|google|meta|minimax"
    r"|mistral|moonshot|moonshotai|openai|qwen|xai|zai)\.(.+?)(?:-v[0-9]+)?"
)
_TAG = re.compile(
    r"(?:[-@]20\d\d(?:-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])|(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01]))"
    r"|-v\d+:\d+|:(?:batch|beta|cloud|exacto|floor|free|latest|nitro|online|thinking)"
    r"|-latest|-maas|@(?:default|latest|\d{3}))\Z",
    re.ASCII,
)
_FRONT = re.compile("([/:])")


def spellings(name: str) -> Iterator[str]:
    """Yield the names under which `name` is looked up, `name` itself first.

    Removed from the front: a known host, publisher or region up to `/` or `:`; the path of a Bedrock ARN, of a Vertex
    publisher or of a Fireworks account; Bedrock's `region.vendor.`; `ft:` and, after it, the id of the copy.
    Removed from the end: a full date; `-latest`, `-maas`, `@default`, `@001`; Bedrock's `-v1:0`; tags like `:free`.
    Letter case is ignored, and a dot or an underscore counts as a dash.
    """
    if len(name) > _LONGEST_NAME:
        return
    front: str | None = name.strip().casefold()
    while front:
        yield front
        rest = front
        while tag := _TAG.search(rest):
            rest = rest[: tag.start()]
            yield rest
        front = _without_front(front)


def _without_front(name: str) -> str | None:
    """Return `name` without its first prefix, or `None` if it has none."""
    if road := _ROADS.fullmatch(name):
        return road[1] or road[2]
    head, mark, rest = _FRONT.split(name, maxsplit=1) if _FRONT.search(name) else (name, "", "")
    if mark and _HOST.fullmatch(fold(head)):
        return rest
    bedrock = _BEDROCK.fullmatch(name)
    return bedrock[1] if bedrock else None


def fold(name: str) -> str:
    """Return the name as a key of the catalogue."""
    return name.strip().casefold().replace(".", "-").replace("_", "-")
