"""Shared by all tests: one hypothesis profile, the same on every machine."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "brim", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("brim")

pytest_plugins = ["projects"]
