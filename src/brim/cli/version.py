"""What `brim --version` prints: the versions of brim and Python, and the extras whose packages are installed."""

from __future__ import annotations

import sys
from importlib.util import find_spec

from brim import __version__

EXTRAS = {
    "tiktoken": ("tiktoken",),
    "open": ("splintr", "tokenizers"),
    "claude": ("ctok",),
    "embeddings": ("wordllama",),
    "otel": ("opentelemetry",),
    "postgres": ("psycopg",),
    "gateway": ("httptools", "uvicorn"),
    "studio": ("starlette", "uvicorn"),
    "openai": ("openai",),
    "anthropic": ("anthropic",),
    "mcp": ("mcp", "starlette"),
    "litellm": ("litellm",),
    "langchain": ("langchain",),
    "openai-agents": ("agents",),
    "pydantic-ai": ("pydantic_ai",),
    "agent-framework": ("agent_framework",),
    "llama-index": ("llama_index",),
    "google-adk": ("google.adk",),
    "strands": ("strands",),
    "smolagents": ("smolagents",),
}
"""The modules that each extra of `pyproject.toml` brings."""


def text() -> str:
    """Return the lines; the first is the name and the version alone."""
    found = [name for name, modules in EXTRAS.items() if all(map(_installed, modules))]
    python = ".".join(map(str, sys.version_info[:3]))
    return f"brim {__version__}\nPython {python}\nextras: {', '.join(found) or 'none'}"


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the package around it is missing
        return False
