"""Shared by all tests: the examples of hypothesis, the same on every machine, or new ones by `make prove`."""

import gc
import os
import tempfile

from hypothesis import HealthCheck, settings

settings.register_profile("base", deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", settings.get_profile("base"), derandomize=True, max_examples=45)
settings.register_profile("long", settings.get_profile("base"), max_examples=1000)
settings.load_profile("quick")

# Every server of the tests is on loopback: a client reads no authorities, which takes longer than most tests.
os.environ.pop("SSL_CERT_FILE", None)
os.environ["SSL_CERT_DIR"] = os.path.dirname(__file__)

# The projects of the tests are trusted; `tests/settings/test_trust.py` has those that are not.
os.environ["BRIM_TRUST"] = os.pathsep.join([tempfile.gettempdir(), os.path.dirname(os.path.dirname(__file__))])

pytest_plugins = ["projects"]


SLOW = ("agent_programs", "bench", "examples", "hostile")
"""Folders whose tests are all slow: the workshop, whole programs, and what only an attacker sends."""


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.parent.name in SLOW:
            item.add_marker("slow")


def pytest_collection_finish():
    """Leave what was collected out of every search for cycles: 8,000 tests are many objects, and they stay."""
    gc.collect()
    gc.freeze()
