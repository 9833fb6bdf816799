"""Counts the tokens of an image, by the rule that the provider publishes for the model.

If a rule does not define rounding, numbers are rounded up. A model without a published rule uses the rule of the most
similar model, and `published` is false. Sources and dates are in docs/design/requests.md.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Callable
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
Units = Callable[[Size | None, str | None], int]
"""Returns the tokens of an image by its size and its level of detail; for no size, the maximum over all images."""


class ImageRule(NamedTuple):
    """The rule of one family of models."""

    units: Units
    published: bool = True
    """Whether the provider publishes this rule for the model."""
    per_second: int = 10
    """Tokens per second of sound: by OpenAI, or by Gemini's older and newer rule."""


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


def _tiles(base: int, tile: int) -> Units:
    """Return OpenAI's older rule: a base cost, plus a constant for each square of 512 pixels, at most eight."""

    def units(size: Size | None, detail: str | None) -> int:
        if detail == "low":
            return base
        long, short = (max(size), min(size)) if size else (2048, 768)
        # Both steps keep the proportions, so if the second applies, the first does not matter.
        if short * 2048 > 768 * max(2048, long):
            long, short = long * 768 // short, 768
        elif long > 2048:
            long, short = 2048, _ceil(short * 2048, long)
        return base + tile * _ceil(long, 512) * _ceil(short, 512)

    return units


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


def _patches(
    hundredths: int = 120, low: Limit = _LOW, high: Limit = _HIGH, original: Limit = _ORIGINAL, auto: str = "original"
) -> Units:
    """Return OpenAI's newer rule: patches of 32 pixels within the limit of the level of detail, times a factor.

    An unknown level counts as the highest; `auto` is the default level.
    """
    levels = {"low": low, "high": high, "original": original}

    def units(size: Size | None, detail: str | None) -> int:
        level = levels.get(detail or auto)
        return max(_ceil(limit.covered(size) * hundredths, 100) for limit in ([level] if level else levels.values()))

    return units


def _blocks(edge: int, blocks: int) -> Units:
    """Return Anthropic's rule: blocks of 28 pixels, after scaling down until the longer side and their number fit."""

    def units(size: Size | None, _: str | None) -> int:
        if size is None:
            return blocks
        long, short = max(size), min(size)

        def grid(side: int) -> tuple[int, int]:
            return _ceil(side, 28), _ceil(max(1, round(side * short / long)), 28)

        def too_big(side: int) -> bool:
            across, down = grid(side)
            return across * 28 > edge or across * down > blocks

        # All sides up to the result fit and none above it does, so the result is the number of sides that fit.
        across, down = grid(bisect_left(range(1, long + 1), True, key=too_big) if too_big(long) else long)
        return across * down

    return units


def _crops(size: Size | None, _: str | None) -> int:
    """Return the cost by Gemini's rule up to 2.5: 258 for a small image, or for each crop of a larger one.

    Crops are two thirds of the shorter side, from 256 up to 768 pixels. Two pages of the documentation differ, and this
    is the larger number, so the rule is not `published`.
    """
    if size is None:
        return 258 * 24
    (width, height), long = size, max(size)
    if long <= 384:
        return 258
    if long > 3072:
        width, height = _ceil(width * 3072, long), _ceil(height * 3072, long)
    side = min(768, max(256, min(width, height) * 2 // 3))
    return 258 * _ceil(width, side) * _ceil(height, side)


_LEVELS = {None: 1_120, "low": 280, "medium": 560, "high": 1_120, "ultra_high": 2_240}


def _levels(_: Size | None, detail: str | None) -> int:
    """Return the cost by Gemini's rule from 3 on: a number for each level, whatever the size.

    The documentation calls the numbers approximate, so the rule is not `published`.
    """
    return _LEVELS.get(detail, max(_LEVELS.values()))


_OMNI = _tiles(85, 170)
_BIG = Limit(2_048, 6_144)
_WIDE = Limit(6_000, 10_000)


def _unlimited(hundredths: int) -> ImageRule:
    """Return the rule of a deprecated model: its factor is published, its limits no longer are."""
    return ImageRule(_patches(hundredths, _BIG, _BIG, _BIG), published=False)


_GPT6 = ImageRule(_patches(high=Limit(65_535, 2_500)))
_STANDARD, _FINE = ImageRule(_blocks(1_568, 1_568)), ImageRule(_blocks(2_576, 4_784))

OTHER = ImageRule(_blocks(16_384 * 28, 16_384), published=False)
"""For models without a known rule: the finest published grid and the largest default limit."""

_GROUPS: tuple[tuple[str, ImageRule], ...] = (
    ("openai gpt-3-5 gpt-4 chatgpt-4o", ImageRule(_OMNI, published=False)),
    ("anthropic", _FINE._replace(published=False)),
    ("google gemini", ImageRule(_levels, published=False, per_second=25)),
    ("gemini-1 gemini-1-5 gemini-2 gemini-2-0 gemini-2-5", ImageRule(_crops, published=False, per_second=32)),
    ("gpt", _GPT6._replace(published=False)),
    ("gpt-4o gpt-4-1 gpt-4-5 gpt-4-5-preview", ImageRule(_OMNI)),
    ("gpt-4o-mini", ImageRule(_tiles(2_833, 5_667))),
    ("gpt-4-1-mini", ImageRule(_patches(162, _BIG, _BIG, _BIG))),
    ("gpt-4-1-nano", _unlimited(246)),
    ("gpt-5 gpt-5-chat gpt-5-1", ImageRule(_tiles(70, 140))),
    ("gpt-5-mini gpt-5-codex-mini gpt-5-1-codex-mini gpt-5-3", _unlimited(120)),
    ("gpt-5-nano", _unlimited(150)),
    ("gpt-5-2", ImageRule(_patches(120, _BIG, _BIG, _BIG))),
    ("gpt-5-4 gpt-5-4-mini gpt-5-4-nano", ImageRule(_patches(low=_BIG, original=_WIDE, auto="high"))),
    ("gpt-5-5", ImageRule(_patches(original=_WIDE))),
    ("gpt-5-6 gpt-5-6-sol gpt-5-6-terra gpt-5-6-luna", ImageRule(_patches())),
    ("gpt-6-astra", _GPT6),
    ("o1 o1-pro o3", ImageRule(_tiles(75, 150))),
    ("o4-mini codex-mini", _unlimited(172)),
    ("computer-use-preview", ImageRule(_tiles(65, 129))),
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
            return _RULES[max(begins, key=len)]._replace(published=False)
    return OTHER


def _claude(name: str) -> ImageRule:
    """Return the rule of a Claude model: the finer one from 4.7 on, or if the name has no version."""
    version = _VERSION.search(name)
    if version is None:
        return _FINE._replace(published=False)
    return _FINE if (int(version[1]), int(version[2] or 0)) >= (4, 7) else _STANDARD


def _ceil(size: int, part: int) -> int:
    return -(-size // part)
