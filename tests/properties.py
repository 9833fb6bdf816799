"""How many examples a property is tried with: a share of what the profile allows, so that `make prove` tries more."""

from hypothesis import settings


def examples(count):
    """Return the settings of a property that is tried `count` times where the profile allows 100."""
    return settings(max_examples=max(5, count * settings.default.max_examples // 100))
