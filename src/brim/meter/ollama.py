"""The vocabularies of models under the names that Ollama gives them: a family, a colon, and the size or a tag."""

from __future__ import annotations

_FAMILIES = {
    "codellama": "codellama",
    "gemma2": "gemma2",
    "gemma3": "gemma3",
    "gemma3n": "gemma3",
    "gemma4": "gemma4",
    "glm4": "glm4",
    "gpt-oss": "o200k_harmony",
    "llama2": "llama2",
    "llama3": "llama3",
    "llama3.1": "llama3",
    "llama3.2": "llama3",
    "llama3.3": "llama3",
    "mistral": "mistral_v3",
    "mistral-nemo": "tekken",
    "mistral-small": "tekken",
    "mixtral": "mistral_v1",
    "olmo2": "olmo2",
    "phi4": "phi4",
    "qwen2.5": "qwen3",
    "qwen2.5-coder": "qwen3",
    "qwen3": "qwen3",
    "qwen3-coder": "qwen3",
    "qwen3.5": "qwen3.5",
}
"""The vocabulary of each family; all sizes of a family share it."""


def family_vocabulary(name: str) -> str | None:
    """Return the vocabulary of a name such as `gemma3:4b`; `None` if it is no name of Ollama that is known."""
    family, colon, tag = name.casefold().partition(":")
    return _FAMILIES.get(family) if colon and tag else None
