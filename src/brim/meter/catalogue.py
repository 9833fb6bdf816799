"""The catalogue of models: window, vocabulary, prices and cache rules by name.

The shipped table has a source and a date for each model. A project can correct it, or add a model, in a small YAML
file, which is read when a model is looked up and read again when it changes. Names are matched by fixed rules, never by
similarity: a new model mistaken for an old one would overflow unnoticed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from stat import S_ISDIR, S_ISREG
from typing import Any
from unicodedata import normalize

from brim.errors import InvalidType, SourceError, UnknownName, did_you_mean, nearest, shown
from brim.files.source import Source, load, place

PROJECT_FILE = "brim.models.yaml"
"""In the current directory."""
ADVICE = f"Declare it in {PROJECT_FILE}: models: {{name: {{window: 32768}}}}, with its vocabulary if it is known"

_LONGEST_NAME = 512


@dataclass(frozen=True, kw_only=True, slots=True)
class Framing:
    """The overhead of the chat format, as the provider published it."""

    per_message: int
    """Tokens per message, in addition to its role and text."""
    per_name: int
    """Tokens per name, in addition to its text."""
    reply: int
    """Tokens that start the answer, once per prompt."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Cache:
    """How the provider caches the start of a prompt."""

    minimum: int | None = None
    """The provider does not cache prompts below this number of tokens."""
    ttl: tuple[int, ...] = ()
    """Lifetimes that a request may choose, in seconds, the shortest first; empty if none are published."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Prices:
    """US dollars per million tokens, as the provider lists them; resellers and fine-tuned copies may differ."""

    input: float | None = None
    output: float | None = None
    cached_read: float | None = None
    """Input read from the cache."""
    cache_write: float | None = None
    """Input written to the cache for the shortest lifetime."""
    tiers: tuple[tuple[int, Prices], ...] = ()
    """Pairs of a threshold and the prices of a whole request with more input tokens, in ascending order."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Model:
    """One model. Unknown values are `None`, never zero."""

    id: str
    """The name of the model: in lower case in the shipped table, otherwise as written in the file."""
    provider: str | None = None
    """The provider that made the model."""
    window: int | None = None
    """Tokens of the context window."""
    max_input: int | None = None
    """Maximum tokens of a prompt, even if the answer is short."""
    max_output: int | None = None
    """Maximum tokens of an answer; also `None` if only the window limits it."""
    shared: bool | None = None
    """Whether prompt and answer share the window; if not, `max_input` alone limits the prompt."""
    vocabulary: str | None = None
    """Its vocabulary, or the nearest public one."""
    framing: Framing | None = None
    """The overhead of the chat format; `None` if it is not published."""
    tool_prompt: int | None = None
    """Tokens that the provider adds to requests with tools: the largest published number over all tool choices."""
    cache: Cache | None = None
    """How prompts are cached; `None` if unknown."""
    prices: Prices | None = None
    """The provider's prices; `None` if they depend on who serves the model."""
    source: str = ""
    """The source of the values: packages with their versions, or the file that declares them."""
    date: str | None = None
    """The date of the values; `None` if a file declares any of them."""
    aliases: tuple[str, ...] = ()
    """Other names of the same model."""

    @property
    def window_text(self) -> str:
        """The window as text: `200,000` or `unknown`."""
        return "unknown" if self.window is None else f"{self.window:,}"


LONG = "[1m]"
"""The suffix with which Claude Code requests the window of a million tokens."""
LONG_BETA = "context-1m-2025-08-07"
"""The Anthropic beta header that requests the same."""
_LONG_MODELS = ("claude-sonnet-4", "claude-sonnet-4-5")
"""Models that have that window only on request."""
_LONG_WINDOW = 1_000_000


def find(name: str) -> Model:
    """Return the model of that name, from the shipped table and the declarations of the project.

    Raises:
        UnknownName: there is no such model.
        SourceError: the file of declarations is invalid.
        InvalidType: the name is not a string.
    """
    model = _find(name)
    if model is None:
        raise UnknownName("model", name, known_names(), ADVICE)
    return model


def with_long_window(model: str, betas: str) -> str:
    """Return the name of the variant with the long window, if a request's beta header asks for it."""
    return model if LONG_BETA not in betas or model.endswith(LONG) else f"{model}{LONG}"


def lookup(name: str | None) -> Model | None:
    """Return the model of that name, or `None` if there is no name or no such model.

    Raises:
        SourceError: the file of declarations is invalid.
        InvalidType: the name is not a string.
    """
    return None if name is None else _find(name)


def _find(name: str) -> Model | None:
    if not isinstance(name, str):
        raise InvalidType("model", name, "a str")
    plain = name.strip().removesuffix(LONG)
    found = _found(plain)
    if found is not None and plain != name.strip() and found.id in _LONG_MODELS:
        return replace(found, window=_LONG_WINDOW, max_input=_LONG_WINDOW)
    return found


def models() -> list[Model]:
    """Return every model once, sorted by its id.

    Raises:
        SourceError: the file of declarations is invalid.
    """
    names = [row.id for row in _shipped().values()] + [declaration.name for declaration in _declared().values()]
    found = {model.id: model for model in map(find, dict.fromkeys(names))}
    return [found[name] for name in sorted(found)]


def known_names() -> list[str]:
    """Return every id, alias and declared name, sorted.

    Raises:
        SourceError: the file of declarations is invalid.
    """
    shipped = {name for row in _shipped().values() for name in (row.id, *row.aliases)}
    return sorted(shipped | {declaration.name for declaration in _declared().values()})


def family_vocabulary(name: str) -> str | None:
    """Return the vocabulary of an Ollama name such as `gemma3:4b`, which all sizes of a family share.

    The result is `None` if the family is unknown.
    """
    family, colon, tag = name.casefold().partition(":")
    return _table()["families"].get(family) if colon and tag else None


@cache
def _table() -> dict[str, Any]:
    import json
    from importlib.resources import files

    table: dict[str, Any] = json.loads(files("brim.meter").joinpath("models.json").read_text("utf-8"))
    return table


@cache
def _shipped() -> dict[str, Model]:
    """Return the rows of the table, by every name in folded form."""
    rows = [_row(dict(raw), _table()["date"]) for raw in _table()["models"]]
    return {fold(name): row for row in rows for name in (row.id, *row.aliases)}


def _row(raw: dict[str, Any], date: str) -> Model:
    if "framing" in raw:
        raw["framing"] = Framing(**raw["framing"])
    if "cache" in raw:
        raw["cache"] = Cache(**{**raw["cache"], "ttl": tuple(raw["cache"].get("ttl", ()))})
    if "prices" in raw:
        tiers = tuple((above, Prices(**prices)) for above, prices in raw["prices"].get("tiers", ()))
        raw["prices"] = Prices(**{**raw["prices"], "tiers": tiers})
    return Model(**{**raw, "aliases": tuple(raw.get("aliases", ()))}, date=date)


def _row_of(name: str) -> Model | None:
    """Return the row of the shipped table to which a name leads."""
    return next((row for spelling in spellings(name) if (row := _shipped().get(fold(spelling)))), None)


def _found(name: str) -> Model | None:
    own = _declared()
    for spelling in spellings(name):
        row = _shipped().get(fold(spelling))
        names = (spelling, row.id, *row.aliases) if row else (spelling,)
        if own and (declaration := next((own[key] for key in map(fold, names) if key in own), None)):
            return declaration.over(row)
        if row:
            return row
    return None


_Check = tuple[Callable[[Any], object], str]
_COUNT: _Check = (lambda value: value is None or (type(value) is int and value > 0), "a whole number of at least 1")
_TEXT: _Check = (lambda value: type(value) is str and value.strip(), "a text")
_KEYS = {
    "window": _COUNT,
    "max_input": _COUNT,
    "max_output": _COUNT,
    "vocabulary": (
        # The file is read in any project, so it must not open others.
        lambda value: value is None or (_TEXT[0](value) and not value.endswith(".json")),
        "the name of a vocabulary; pass a tokenizer.json as the meter",
    ),
    "like": _TEXT,
}
"""The keys of a declaration, with their values; null means unknown."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Declaration:
    """The declaration of one model."""

    name: str
    """The name as written in the file."""
    fields: Mapping[str, Any]
    source: Source

    def over(self, row: Model | None) -> Model:
        """Return the declared model, based on the model in `like`, on its own row or on that of a shorter name."""
        fields = dict(self.fields)
        like = fields.pop("like", None)
        base = _row_of(like) if like is not None else row or _row_of(self.name)
        if like is not None and base is None:
            hint = did_you_mean(nearest(like, known_names()))
            raise self._refusal("like", f"no model is called {shown(like)}" + (f"; {hint}" if hint else ""))
        name, aliases = (row.id, row.aliases) if row else (self.name, ())
        base = base or Model(id=name)
        window = fields.get("window", base.window)
        for key in ("max_input", "max_output"):
            size = fields.get(key, getattr(base, key))
            if window is not None and size is not None and size > window:
                if key in fields:
                    raise self._refusal(key, f"{key} must be at most the window of {window:,}, not {size:,}")
                fields[key] = None
                if key == "max_input" and base.shared is False:
                    fields["shared"] = None
        source = f"{self.source.path}, over {base.source}" if base.source else self.source.path
        return replace(base, **fields, id=name, aliases=aliases, source=source, date=None)

    def _refusal(self, key: str, problem: str) -> SourceError:
        return self.source.error(f"models.{self.name}: {problem}", "models", self.name, key)


def _declared() -> Mapping[str, Declaration]:
    """Return the declarations of the project by folded name; the file is parsed again after it changes."""
    try:
        stat = os.stat(PROJECT_FILE)
        if not S_ISREG(stat.st_mode) and not S_ISDIR(stat.st_mode):
            raise SourceError(PROJECT_FILE, "not a regular file")  # A pipe would be waited for.
        return _parsed(os.path.abspath(PROJECT_FILE), stat.st_mtime_ns, stat.st_size)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return {}
    except OSError:  # The reader raises the error with its message.
        return _parsed(PROJECT_FILE, 0, 0)


@lru_cache(maxsize=16)
def _parsed(path: str, _mtime_ns: int, _size: int) -> Mapping[str, Declaration]:
    source = load(path)
    found: dict[str, Declaration] = {}
    named = _mapping(source, (), "models") if _mapping(source, ("models",)) else {}
    for name in named:
        if not name.strip():
            raise source.error(f"a key of models must be the name of a model, not {shown(name)}", "models", name)
        if first := found.get(fold(name)):
            raise source.error(f"models.{name} is declared twice, first as {first.name}", "models", name)
        fields = _mapping(source, tuple(_KEYS), "models", name)
        for key, value in fields.items():
            accepts, expected = _KEYS[key]
            if not accepts(value):
                at = ("models", name, key)
                raise source.error(f"{place(at)} must be {expected}, not {shown(value)}", *at)
        if fields:
            found[fold(name)] = Declaration(name=name, fields=fields, source=source)
    return found


def _mapping(source: Source, known: tuple[str, ...], *keys: str) -> dict[str, Any]:
    """Return the mapping at `keys`; null counts as an empty one."""
    return {} if source.at(*keys) is None else source.mapping(known, *keys)


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

_PATHS = re.compile(
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
_SEPARATOR = re.compile("([/:])")


def spellings(name: str) -> Iterator[str]:
    """Yield the names by which `name` is looked up, `name` itself first.

    Removed from the front: a known host, publisher or region up to `/` or `:`; the path of a Bedrock ARN, of a Vertex
    publisher or of a Fireworks account; Bedrock's `region.vendor.`; `ft:` and, after it, the id of the copy.
    Removed from the end: a full date; `-latest`, `-maas`, `@default`, `@001`; Bedrock's `-v1:0`; tags like `:free`.
    Letter case, full width and spaces around a name are ignored, and a dot or an underscore counts as a dash.
    """
    if len(name) > _LONGEST_NAME:
        return
    rest: str | None = normalize("NFKC", name).strip().casefold()
    while rest:
        yield rest
        untagged = rest
        while tag := _TAG.search(untagged):
            untagged = untagged[: tag.start()]
            yield untagged
        rest = _without_prefix(rest)


def _without_prefix(name: str) -> str | None:
    """Return `name` without its first prefix, or `None` if it has none."""
    if path := _PATHS.fullmatch(name):
        return path[1] or path[2]
    host, *rest = _SEPARATOR.split(name, maxsplit=1)
    if rest and _HOST.fullmatch(fold(host)):
        return rest[-1]
    bedrock = _BEDROCK.fullmatch(name)
    return bedrock[1] if bedrock else None


def fold(name: str) -> str:
    """Return the name as a key of the catalogue."""
    return normalize("NFKC", name).strip().casefold().replace(".", "-").replace("_", "-")
