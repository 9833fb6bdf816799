"""One model: window, vocabulary, framing, cache and prices. Whatever is not known is `None`, never zero."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Framing:
    """The overhead of the chat format, as the provider published it."""

    per_message: int
    """Tokens for each message, in addition to its role and text."""
    per_name: int
    """Tokens for each name, in addition to its text."""
    reply: int
    """Tokens that start the answer, once for each prompt."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Cache:
    """How the provider caches the start of a prompt."""

    minimum: int | None = None
    """Tokens below which a prompt is not cached."""
    read: float | None = None
    """Price of a cached token, as a factor on the price of input."""
    write: float | None = None
    """Price of caching a token for the shortest time, as a factor on the price of input."""
    ttl: tuple[int, ...] = ()
    """Lifetimes that a request may choose, in seconds, the shortest first; empty if none are published."""
    breakpoints: int | None = None
    """Cache breakpoints that a request may have; 0 if the provider has none."""
    automatic: bool | None = None
    """Whether prompts are cached without a request for it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Prices:
    """US dollars for a million tokens by the provider's list: resellers and fine-tuned copies may differ."""

    input: float | None = None
    output: float | None = None
    cached_read: float | None = None
    """Input read from the cache."""
    cache_write: float | None = None
    """Input written to the cache for the shortest time."""
    tiers: tuple[tuple[int, Prices], ...] = ()
    """Prices of the whole request if its input exceeds so many tokens, in ascending order."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Model:
    """One model. Whatever is not known is `None`, never zero."""

    id: str
    """The name of the model, in lower case if shipped, as written if a file declares it."""
    provider: str | None = None
    """The provider that made the model."""
    window: int | None = None
    """Tokens of the context window."""
    max_input: int | None = None
    """Maximum tokens of a prompt, however short the answer."""
    max_output: int | None = None
    """Maximum tokens of an answer; also `None` if only the window limits it."""
    shared: bool | None = None
    """Whether prompt and answer share the window; if not, `max_input` alone limits the prompt."""
    vocabulary: str | None = None
    """The vocabulary of its tokens, or the nearest public one."""
    framing: Framing | None = None
    """The overhead of the chat format; `None` if it is not published."""
    cache: Cache | None = None
    """How prompts are cached; `None` if unknown."""
    prices: Prices | None = None
    """The provider's prices; `None` if they depend on who serves the model."""
    source: str = ""
    """The source of the facts: packages with their versions, or the files that declare them."""
    date: str | None = None
    """The date of the facts; `None` if a file declares any of them."""
    guessed: bool = False
    """Whether the window is a guess, which only a file can state."""
    aliases: tuple[str, ...] = ()
    """Other names of the same model."""

    @property
    def window_text(self) -> str:
        """The window as text: `200,000`, `32,768 (a guess)` or `unknown`."""
        if self.window is None:
            return "unknown"
        return f"{self.window:,} (a guess)" if self.guessed else f"{self.window:,}"
