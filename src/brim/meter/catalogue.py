"""The catalogue of models: window, vocabulary, prices and cache rules by name.

The shipped table has a source and a date for each model. A project or a user can correct it, or add a model, in a small
YAML file, which is read when a model is looked up and read again when it changes. Names are matched by fixed rules,
never by similarity: a new model mistaken for an old one would overflow unnoticed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any
from unicodedata import normalize

from brim.errors import InvalidType, SourceError, UnknownName, nearest, shown
from brim.files.source import Source, load, place

PROJECT_FILE = "brim.models.yaml"
"""In the current directory."""
USER_FILE = "brim/models.yaml"
"""Under `$XDG_CONFIG_HOME`, by default `~/.config`."""
ADVICE = f"Declare it in {PROJECT_FILE}: models: {{name: {{window: 32768}}}}, with its vocabulary if it is known"

_LONGEST_NAME = 512
_LONGEST_CHAIN = 16
"""Models in a chain of `like`."""


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
    read: float | None = None
    """Price of a cached token, as a factor on the price of input."""
    write: float | None = None
    """Price of caching a token for the shortest lifetime, as a factor on the price of input."""
    ttl: tuple[int, ...] = ()
    """Lifetimes that a request may choose, in seconds, the shortest first; empty if none are published."""
    breakpoints: int | None = None
    """Maximum cache breakpoints in a request; 0 if the provider has none."""
    automatic: bool | None = None
    """Whether prompts are cached without being requested."""


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
    cache: Cache | None = None
    """How prompts are cached; `None` if unknown."""
    prices: Prices | None = None
    """The provider's prices; `None` if they depend on who serves the model."""
    source: str = ""
    """The source of the values: packages with their versions, or the files that declare them."""
    date: str | None = None
    """The date of the values; `None` if a file declares any of them."""
    guessed: bool = False
    """Whether the window is a guess; only a file can say so."""
    aliases: tuple[str, ...] = ()
    """Other names of the same model."""

    @property
    def window_text(self) -> str:
        """The window as text: `200,000`, `32,768 (a guess)` or `unknown`."""
        if self.window is None:
            return "unknown"
        return f"{self.window:,} (a guess)" if self.guessed else f"{self.window:,}"


LONG = "[1m]"
"""The suffix with which Claude Code requests the window of a million tokens."""
LONG_BETA = "context-1m-2025-08-07"
"""The Anthropic beta header that requests the same."""
_LONG_MODELS = ("claude-sonnet-4", "claude-sonnet-4-5")
"""Models that have that window only on request."""
_LONG_WINDOW = 1_000_000


def find(name: str, overrides: Overrides | None = None) -> Model:
    """Return the model of that name, from the shipped table and the declarations.

    `overrides` are declarations; `None` reads those of the project and the user, `{}` uses only the shipped table.

    Raises:
        UnknownName: there is no such model.
        SourceError: a file of declarations is invalid.
        InvalidType: the name is not a string.
    """
    own = declared() if overrides is None else overrides
    model = _find(name, own)
    if model is None:
        raise UnknownName("model", name, known_names(own), ADVICE)
    return model


def with_long_window(model: str, betas: str) -> str:
    """Return the name of the variant with the long window, if a request's beta header asks for it."""
    return model if LONG_BETA not in betas or model.endswith(LONG) else f"{model}{LONG}"


def lookup(name: str | None) -> Model | None:
    """Return the model of that name, or `None` if there is no name or no such model.

    Raises:
        SourceError: a file of declarations is invalid.
        InvalidType: the name is not a string.
    """
    return None if name is None else _find(name, declared())


def _find(name: str, own: Overrides) -> Model | None:
    if not isinstance(name, str):
        raise InvalidType("model", name, "a str")
    plain = name.strip().removesuffix(LONG)
    found = next(_found(spellings(plain), own), None)
    if found is not None and plain != name.strip() and found.id in _LONG_MODELS:
        return replace(found, window=_LONG_WINDOW, max_input=_LONG_WINDOW)
    return found


def models(overrides: Overrides | None = None) -> list[Model]:
    """Return every model once, sorted by its id.

    Raises:
        SourceError: a file of declarations is invalid.
    """
    own = declared() if overrides is None else overrides
    names = [row.id for row in _shipped().values()] + [declaration.name for declaration in own.values()]
    found = {model.id: model for model in (find(name, own) for name in dict.fromkeys(names))}
    return [found[name] for name in sorted(found)]


def known_names(overrides: Overrides | None = None) -> list[str]:
    """Return every id, alias and declared name, sorted.

    Raises:
        SourceError: a file of declarations is invalid.
    """
    own = declared() if overrides is None else overrides
    shipped = {name for row in _shipped().values() for name in (row.id, *row.aliases)}
    return sorted(shipped | {declaration.name for declaration in own.values()})


@cache
def _shipped() -> dict[str, Model]:
    """Return the rows of the table, by every name in folded form."""
    import json
    from importlib.resources import files

    table = json.loads(files("brim.meter").joinpath("models.json").read_text("utf-8"))
    rows = [_row(raw, table["date"]) for raw in table["models"]]
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


def _found(names: Iterator[str], own: Overrides, seen: tuple[str, ...] = ()) -> Iterator[Model]:
    """Yield the models found under the names, in order."""
    for name in names:
        key = fold(name)
        row = _shipped().get(key)
        keys = (key, *map(fold, (row.id, *row.aliases))) if row else (key,)
        declaration = next((own[each] for each in keys if each in own), None) if own else None
        if declaration:
            yield _built(declaration, row, own, seen)
        elif row:
            yield row


def _built(declaration: Declaration, row: Model | None, own: Overrides, seen: tuple[str, ...]) -> Model:
    """Return a declared model, based on its shipped row or on the model in `like`."""
    key = fold(declaration.name)
    like = declaration.fields.get("like")
    if key in seen or len(seen) > _LONGEST_CHAIN:
        problem = f"`like` must not lead back to the same model, or through more than {_LONGEST_CHAIN} models"
        raise _refusal(declaration, "like", problem)
    if like is not None:
        base = next(_found(spellings(like), own, (*seen, key)), None)
        if base is None:
            near = ", ".join(nearest(like, known_names(own))) or "none"
            raise _refusal(declaration, "like", f"no model is called {shown(like)}; the nearest known: {near}")
    else:
        shorter = (name for name in spellings(declaration.name) if fold(name) != key)
        base = row or next(_found(shorter, own, (*seen, key)), None)
    name, aliases = (row.id, row.aliases) if row else (declaration.name, ())
    return _merged(declaration, base or Model(id=name), name, aliases)


def _merged(declaration: Declaration, base: Model, name: str, aliases: tuple[str, ...]) -> Model:
    fields = dict(declaration.fields)
    fields.pop("like", None)
    guessed = fields.pop("guess", base.guessed and "window" not in fields)
    for key, kind in (("framing", Framing), ("cache", Cache), ("prices", Prices)):
        if fields.get(key) is None:
            continue
        old = getattr(base, key)
        if key == "framing" and old is None and len(fields[key]) < 3:
            raise _refusal(declaration, key, "framing must have all of per_message, per_name and reply")
        # The prices of long prompts are unknown if the ordinary price was changed.
        values = {**fields[key], "tiers": ()} if key == "prices" else fields[key]
        fields[key] = replace(old, **values) if old else kind(**values)
    window = fields.get("window", base.window)
    for key in ("max_input", "max_output"):
        size = fields.get(key, getattr(base, key))
        if window is not None and size is not None and size > window:
            if key in fields:
                raise _refusal(declaration, key, f"{key} must be at most the window of {window:,}, not {size:,}")
            fields[key] = None
            if key == "max_input" and base.shared is False:
                fields.setdefault("shared", None)
    paths = "; ".join(dict.fromkeys(path for path, _ in declaration.places.values()))
    source = f"{paths}, over {base.source}" if base.source else paths
    return replace(base, **fields, id=name, aliases=aliases, guessed=guessed, source=source, date=None)


def _refusal(declaration: Declaration, key: str, problem: str) -> SourceError:
    path, line = declaration.places.get(key) or next(iter(declaration.places.values()))
    return SourceError(path, f"models.{declaration.name}: {problem}", line=line)


@dataclass(frozen=True, kw_only=True, slots=True)
class Declaration:
    """The declaration of one model."""

    name: str
    """The name as written in the file."""
    fields: Mapping[str, Any]
    """The checked values; `framing`, `cache` and `prices` are mappings."""
    places: Mapping[str, tuple[str, int | None]]
    """The path and the line of each field."""

    def over(self, other: Declaration) -> Declaration:
        """Return two declarations merged field by field; this one takes precedence."""
        fields = dict(other.fields)
        for key, value in self.fields.items():
            old = fields.get(key)
            fields[key] = {**old, **value} if isinstance(old, dict) and isinstance(value, dict) else value
        # The first mapping determines the order, the last one the values.
        places = {**self.places, **other.places, **self.places}
        return Declaration(name=self.name, fields=fields, places=places)


Overrides = Mapping[str, Declaration]


def declared(project: str | None = None, user: str | None = None) -> Overrides:
    """Return the declarations of both files; the project's fields replace the user's, and a missing file has none.

    The paths default to `PROJECT_FILE` and `USER_FILE`.

    Raises:
        SourceError: a file cannot be read or is invalid.
    """
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    merged: dict[str, Declaration] = {}
    for path in (user or os.path.join(home, USER_FILE), project or PROJECT_FILE):
        for key, new in _read(path).items():
            merged[key] = new.over(merged[key]) if key in merged else new
    return merged


_Check = tuple[Callable[[Any], object], str]
_COUNT: _Check = (lambda value: type(value) is int and value > 0, "a whole number of at least 1")
_UNITS: _Check = (lambda value: type(value) is int and value >= 0, "a whole number of at least 0")
_NUMBER: _Check = (lambda value: type(value) in (int, float) and 0 <= value < 1e9, "a number of at least 0")
_FLAG: _Check = (lambda value: type(value) is bool, "true or false")
_TEXT: _Check = (lambda value: type(value) is str and value.strip(), "a text")
_COUNTS: _Check = (lambda value: type(value) is list and all(map(_COUNT[0], value)), "a list of seconds")
_SHAPE: dict[str, _Check | dict[str, _Check]] = {
    "window": _COUNT,
    "max_input": _COUNT,
    "max_output": _COUNT,
    "shared": _FLAG,
    "vocabulary": _TEXT,
    "framing": dict.fromkeys(("per_message", "per_name", "reply"), _UNITS),
    "cache": {
        "minimum": _COUNT,
        "read": _NUMBER,
        "write": _NUMBER,
        "ttl": _COUNTS,
        "breakpoints": _UNITS,
        "automatic": _FLAG,
    },
    "prices": dict.fromkeys(("input", "output", "cached_read", "cache_write"), _NUMBER),
    "like": _TEXT,
    "guess": _FLAG,
}
_NEVER_NULL = {"like", "guess", "ttl", "per_message", "per_name", "reply"}


def _read(path: str) -> Mapping[str, Declaration]:
    """Return the declarations of a file by folded name; the file is parsed again after it changes."""
    try:
        stat = os.stat(path)
        path = os.path.abspath(path)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return {}
    except (OSError, ValueError):  # The reader raises the error with its message.
        return _parsed(path, 0, 0)
    return _parsed(path, stat.st_mtime_ns, stat.st_size)


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
        keys = ("models", name)
        fields = {key: _value(source, _SHAPE[key], *keys, key) for key in _mapping(source, tuple(_SHAPE), *keys)}
        places = {key: (source.path, source.line(*keys, key)) for key in fields}
        if fields:
            found[fold(name)] = Declaration(name=name, fields=fields, places=places)
    return found


def _mapping(source: Source, known: tuple[str, ...], *keys: str) -> dict[str, Any]:
    """Return the mapping at `keys`; null counts as an empty one."""
    return {} if source.at(*keys) is None else source.mapping(known, *keys)


def _value(source: Source, check: _Check | dict[str, _Check], *keys: str) -> Any:
    """Return the value at `keys`, checked."""
    value = source.at(*keys)
    if value is None and keys[-1] not in _NEVER_NULL:
        return None
    if isinstance(check, dict):
        return {key: _value(source, check[key], *keys, key) for key in source.mapping(tuple(check), *keys)}
    accepts, expected = check
    if not accepts(value):
        raise source.error(f"{place(keys)} must be {expected}, not {shown(value)}", *keys)
    return tuple(value) if isinstance(value, list) else value


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
