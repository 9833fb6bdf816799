"""Counts the tokens of an image, by the rule that the provider publishes for the model.

If a rule does not define rounding, numbers are rounded up. A model without a published rule uses the rule of the most
similar model, and `published` is false. Sources and dates are in docs/design/requests.md.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from brim.errors import InvalidType
from brim.meter.catalogue import fold, spellings


class MediaCount(NamedTuple):
    """The tokens of an image, a recording or a document."""

    units: int
    exact: bool
    """Whether the provider publishes the rule for this model, and the size was known."""


Size = tuple[int, int]
"""Width and height in pixels."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageRule(ABC):
    """The rule of one family of models."""

    published: bool = True
    """Whether the provider publishes this rule for the model."""

    @abstractmethod
    def units(self, size: Size | None, detail: str | None) -> int:
        """Return the tokens of an image of that size; for `None`, the maximum over all accepted images."""


def detail_level(detail: str | None) -> str | None:
    """Return a level of detail in lower case, without Gemini's prefix; `None` for the default.

    Raises:
        InvalidType: it is not a string.
    """
    if detail is None:
        return None
    if not isinstance(detail, str):
        raise InvalidType("detail", detail, "a string such as low or high, or None")
    level = detail.strip().casefold().removeprefix("media_resolution_")
    return None if level in ("", "auto", "unspecified") else level


@dataclass(frozen=True, kw_only=True, slots=True)
class Tiles(ImageRule):
    """OpenAI's older rule: a base cost, plus a constant for each square of 512 pixels."""

    base: int
    tile: int

    def units(self, size: Size | None, detail: str | None) -> int:
        """Return the cost after fitting into 2048 by 2048 and the shorter side into 768: at most eight squares."""
        if detail == "low":
            return self.base
        long, short = (max(size), min(size)) if size else (2048, 768)
        # Both steps keep the proportions, so if the second applies, the first does not matter.
        if short * 2048 > 768 * max(2048, long):
            long, short = long * 768 // short, 768
        elif long > 2048:
            long, short = 2048, _ceil(short * 2048, long)
        return self.base + self.tile * _ceil(long, 512) * _ceil(short, 512)


_REFUSED = 30_000
"""Patches above which OpenAI refuses an image."""


class Limit(NamedTuple):
    """The size to which an image is scaled down."""

    edge: int
    """Maximum pixels of the longer side."""
    patches: int = _REFUSED
    """Maximum number of patches."""

    def covered(self, size: Size | None) -> int:
        """Return the number of patches of an image after scaling it down to this limit."""
        if size is None:
            return min(self.patches, _ceil(self.edge, 32) ** 2)
        (width, height), long = size, max(size)
        if long > self.edge:  # The guide says "to integer pixels"; rounding up adds at most one row of patches.
            width, height = _ceil(width * self.edge, long), _ceil(height * self.edge, long)
        patches = _ceil(width, 32) * _ceil(height, 32)
        if patches <= self.patches or self.patches == _REFUSED:
            return min(patches, self.patches)
        factor = math.sqrt(32 * 32 * self.patches / (width * height))
        across, down = width * factor / 32, height * factor / 32
        factor *= min(math.floor(across) / across, math.floor(down) / down)
        if not factor:  # The guide's formula gives zero for an image thinner than a patch.
            return self.patches
        return min(self.patches, _ceil(math.floor(width * factor), 32) * _ceil(math.floor(height * factor), 32))


_LOW, _HIGH, _ORIGINAL = Limit(512), Limit(2_048, 2_500), Limit(65_535)


@dataclass(frozen=True, kw_only=True, slots=True)
class Patches(ImageRule):
    """OpenAI's newer rule: patches of 32 pixels within the limits of the level of detail, times a factor."""

    hundredths: int = 120
    """The factor, in hundredths."""
    low: Limit = _LOW
    high: Limit = _HIGH
    original: Limit = _ORIGINAL
    auto: str = "original"
    """The level for `auto`, and if none is set."""

    def units(self, size: Size | None, detail: str | None) -> int:
        """Return the tokens; for an unknown level, the highest of all levels."""
        levels = {"low": self.low, "high": self.high, "original": self.original}
        level = levels.get(detail or self.auto)
        return max(
            _ceil(limit.covered(size) * self.hundredths, 100) for limit in ([level] if level else levels.values())
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class PixelBlocks(ImageRule):
    """Anthropic's rule: blocks of 28 pixels, after scaling down until the longer side and their number fit."""

    edge: int
    blocks: int

    def units(self, size: Size | None, detail: str | None) -> int:  # noqa: ARG002 - the rule has one level
        """Return the number of blocks."""
        if size is None:
            return self.blocks
        long, short = max(size), min(size)

        def grid(edge: int) -> tuple[int, int]:
            return _ceil(edge, 28), _ceil(max(1, round(edge * short / long)), 28)

        def too_big(edge: int) -> bool:
            across, down = grid(edge)
            return across * 28 > self.edge or across * down > self.blocks

        # All edges up to the result fit and none above it does, so the result is the number of edges that fit.
        across, down = grid(bisect_left(range(1, long + 1), True, key=too_big) if too_big(long) else long)
        return across * down


@dataclass(frozen=True, kw_only=True, slots=True)
class Crops(ImageRule):
    """Gemini's rule up to 2.5: 258 for a small image, or for each crop of a larger one.

    It is not `published`: two pages of the documentation differ, and this is the larger number.
    """

    def units(self, size: Size | None, detail: str | None) -> int:  # noqa: ARG002 - the rule has no levels
        """Return the cost of crops that are two thirds of the shorter side, from 256 up to 768 pixels."""
        if size is None:
            return 258 * 24
        (width, height), long = size, max(size)
        if long <= 384:
            return 258
        if long > 3072:
            width, height = _ceil(width * 3072, long), _ceil(height * 3072, long)
        side = min(768, max(256, min(width, height) * 2 // 3))
        return 258 * _ceil(width, side) * _ceil(height, side)


@dataclass(frozen=True, kw_only=True, slots=True)
class Levels(ImageRule):
    """Gemini's rule from 3 on: a maximum for each level, whatever the size.

    It is not `published`: the documentation calls the numbers approximate.
    """

    levels: Mapping[str, int]
    usual: str
    """The default level."""

    def units(self, size: Size | None, detail: str | None) -> int:  # noqa: ARG002 - the size does not matter
        """Return the cost of the level; for an unknown level, the highest."""
        return self.levels.get(detail or self.usual, max(self.levels.values()))


_OMNI = Tiles(base=85, tile=170)
_GPT5 = Tiles(base=70, tile=140)
_O_SERIES = Tiles(base=75, tile=150)
_GPT6 = Patches(high=Limit(65_535, 2_500))
_GPT56 = Patches()
_GPT55 = Patches(original=Limit(6_000, 10_000))
_GPT54 = replace(_GPT55, low=Limit(2_048, 6_144), auto="high")
_GPT52 = Patches(low=Limit(2_048, 6_144), high=Limit(2_048, 6_144), original=Limit(2_048, 6_144))
_NO_SIZES = replace(_GPT52, published=False)
"""Deprecated models: their factor is published, their limits no longer are."""
_STANDARD = PixelBlocks(edge=1_568, blocks=1_568)
_FINE = PixelBlocks(edge=2_576, blocks=4_784)
_GEMINI3 = Levels(levels={"low": 280, "medium": 560, "high": 1_120, "ultra_high": 2_240}, usual="high", published=False)

OTHER = PixelBlocks(edge=16_384 * 28, blocks=16_384, published=False)
"""For models without a known rule: the finest published grid and the largest default limit."""

_GROUPS: tuple[tuple[str, ImageRule], ...] = (
    ("openai gpt-3-5 gpt-4 chatgpt-4o", replace(_OMNI, published=False)),
    ("anthropic", replace(_FINE, published=False)),
    ("google gemini", _GEMINI3),
    ("gemini-1 gemini-1-5 gemini-2 gemini-2-0 gemini-2-5", Crops(published=False)),
    ("gpt", replace(_GPT6, published=False)),
    ("gpt-4o gpt-4-1 gpt-4-5 gpt-4-5-preview", _OMNI),
    ("gpt-4o-mini", Tiles(base=2_833, tile=5_667)),
    ("gpt-4-1-mini", replace(_GPT52, hundredths=162)),
    ("gpt-4-1-nano", replace(_NO_SIZES, hundredths=246)),
    ("gpt-5 gpt-5-chat gpt-5-1", _GPT5),
    ("gpt-5-mini gpt-5-codex-mini gpt-5-1-codex-mini gpt-5-3", _NO_SIZES),
    ("gpt-5-nano", replace(_NO_SIZES, hundredths=150)),
    ("gpt-5-2", _GPT52),
    ("gpt-5-4 gpt-5-4-mini gpt-5-4-nano", _GPT54),
    ("gpt-5-5", _GPT55),
    ("gpt-5-6 gpt-5-6-sol gpt-5-6-terra gpt-5-6-luna", _GPT56),
    ("gpt-6-astra", _GPT6),
    ("o1 o1-pro o3", _O_SERIES),
    ("o4-mini codex-mini", replace(_NO_SIZES, hundredths=172)),
    ("computer-use-preview", Tiles(base=65, tile=129)),
)
"""The rules, each with the folded names of its models or its provider."""
_RULES = {name: rule for names, rule in _GROUPS for name in names.split()}

_VERSION = re.compile(r"-(\d{1,2})(?:-(\d{1,2}))?(?![0-9])")


def image_rule(model: str | None) -> ImageRule:
    """Return the rule of a model, or of a provider.

    `None` has the rule of gpt-4o. The name of a model that is not listed is matched by the longest listed name that it
    begins with; that rule is not `published` for it.

    Raises:
        InvalidType: the name is not a string.
    """
    if model is None:
        return _RULES["openai"]
    if not isinstance(model, str):
        raise InvalidType("model", model, "a str or None")
    names = [fold(name) for name in spellings(model)]
    for name in names:
        if name in _RULES:
            return _RULES[name]
    for name in names:
        if name.startswith("claude"):
            return _claude(name)
        begins = [known for known in _RULES if name.startswith(f"{known}-")]
        if begins:
            return replace(_RULES[max(begins, key=len)], published=False)
    return OTHER


def _claude(name: str) -> ImageRule:
    """Return the rule of a Claude model: the finer one from 4.7 on, or if the name has no version."""
    version = _VERSION.search(name)
    if version is None:
        return replace(_FINE, published=False)
    return _FINE if (int(version[1]), int(version[2] or 0)) >= (4, 7) else _STANDARD


def _ceil(size: int, part: int) -> int:
    return -(-size // part)
