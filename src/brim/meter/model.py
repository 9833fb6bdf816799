"""One model: window, vocabulary, framing, cache and prices. Whatever is not known is `None`, never zero."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Framing:
    """What the chat format adds to the texts of a prompt, as its maker published it."""

    per_message: int
    """Units for each message, beyond its role and its text."""
    per_name: int
    """Units for each name, beyond its text."""
    reply: int
    """Units that prime the answer, once for each prompt."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Cache:
    """How the maker keeps the start of a prompt for the next one."""

    minimum: int | None = None
    """Tokens below which a prompt is not kept."""
    read: float | None = None
    """Price of a kept token, as a factor on the price of input."""
    write: float | None = None
    """Price of keeping a token for the shortest time, as a factor on the price of input."""
    ttl: tuple[int, ...] = ()
    """Seconds that may be asked for, the shortest first; empty where none are published."""
    breakpoints: int | None = None
    """Marks that a request may carry; 0 where the maker takes none."""
    automatic: bool | None = None
    """Whether prompts are kept without being asked to."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Prices:
    """US dollars for a million tokens, from the model's maker: resellers and fine-tuned copies may differ."""

    input: float | None = None
    output: float | None = None
    cached_read: float | None = None
    """Input that was found in the cache."""
    cache_write: float | None = None
    """Input that was put into the cache for the shortest time."""
    tiers: tuple[tuple[int, Prices], ...] = ()
    """Prices of the whole request once its input is longer than so many tokens, the fewest first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Model:
    """One model. Whatever is not known is `None`, never zero."""

    id: str
    """The name of the row, in lower case as shipped, as written where a file declares it."""
    provider: str | None = None
    """Who made the model."""
    window: int | None = None
    """Tokens that the model holds in all."""
    max_input: int | None = None
    """Tokens that a prompt may have, however short the answer."""
    max_output: int | None = None
    """Tokens that an answer may have; `None` also where nothing but the window limits it."""
    shared: bool | None = None
    """Whether prompt and answer share the window; if not, `max_input` alone limits the prompt."""
    vocabulary: str | None = None
    """What its tokens are counted with, or the nearest that is public."""
    framing: Framing | None = None
    """What the chat format adds; `None` where it is not published."""
    cache: Cache | None = None
    """How prompts are cached; `None` where nothing is known of it."""
    prices: Prices | None = None
    """What the maker asks; `None` where that depends on who serves the model."""
    source: str = ""
    """Where the facts come from: packages with their versions, or the files that declare them."""
    date: str | None = None
    """The day on which the facts were taken; `None` when a file declares any of them."""
    guessed: bool = False
    """Whether the window is a guess, which only a file can say."""
    aliases: tuple[str, ...] = ()
    """Other names of the same model."""

    @property
    def window_text(self) -> str:
        """The window for a reader: `200,000`, `32,768 (a guess)` or `unknown`."""
        if self.window is None:
            return "unknown"
        return f"{self.window:,} (a guess)" if self.guessed else f"{self.window:,}"
