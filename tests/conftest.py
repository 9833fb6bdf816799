"""Shared by all tests: one hypothesis profile, the same on every machine."""

import gc

from hypothesis import HealthCheck, settings

settings.register_profile(
    "brim", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("brim")

pytest_plugins = ["projects"]


def pytest_collection_finish():
    """Leave what was collected out of every search for cycles: 8,000 tests are many objects, and they stay."""
    gc.collect()
    gc.freeze()
