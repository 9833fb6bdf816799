"""What the tests of all integrations share: servers on loopback, and the marker.

Every file here is marked `integrations`, except those that need nothing but the `test` extra. The marked ones are not
even imported unless they are asked for (`-m integrations`), since their frameworks are in an environment of their own.
A framework that is missing there fails its tests.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from integrations.agent_server import AgentServer
from model_server import running

HERE = Path(__file__).parent
LIGHT = ("test_messages.py", "test_wrap.py", "test_last_request.py", "test_mcp.py", "test_pages.py")
"""Tests of the default suite."""


def _asked(config) -> bool:
    chosen = config.getoption("markexpr", "")
    return "integrations" in chosen and "not integrations" not in chosen


def pytest_ignore_collect(collection_path, config):
    if collection_path.parent == HERE and collection_path.name.startswith("test_") and not _asked(config):
        return True if collection_path.name not in LIGHT else None
    return None


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.parent == HERE and item.path.name not in LIGHT:
            item.add_marker("integrations")
            item.add_marker(pytest.mark.filterwarnings("ignore"))  # the frameworks warn of each other


@pytest.fixture
def upstream():
    """Start servers with a hard window, each an `AgentServer` with its `url`: `upstream(window=4_000, calls=30)`."""
    with ExitStack() as stack:

        def start(window: int = 4_000, **asked) -> AgentServer:
            server = AgentServer(window, **asked)
            server.url = stack.enter_context(running(server))
            return server

        yield start
