"""A real studio on loopback, on an empty folder and on the recorded demo."""

import pytest

from brim.studio.workspace import Workspace
from studio.browser import STUDIO, found_chromium
from studio.serving import Served


@pytest.fixture(scope="session")
def served(tmp_path_factory):
    """One studio for tests that only read, or that write to the demo."""
    folder = tmp_path_factory.mktemp("studio")
    mine = Workspace(name="mine", url=f"sqlite:///{folder}/brim.db", config=str(folder), runs=str(folder / "runs"))
    with Served(mine) as made:
        yield made


@pytest.fixture
def alone(tmp_path):
    """A studio of one test's own, on an empty folder."""
    mine = Workspace(
        name="mine", url=f"sqlite:///{tmp_path}/brim.db", config=str(tmp_path), runs=str(tmp_path / "runs")
    )
    with Served(mine) as made:
        made.folder = tmp_path
        yield made


@pytest.fixture(scope="session")
def chromium():
    """A real Chromium, for the tests of `make test-ui`."""
    from playwright.sync_api import sync_playwright

    found = found_chromium()
    if found is None or not (STUDIO / "static" / "studio.js").is_file():
        pytest.fail("needs Chromium and the built page: apt-get install chromium, make studio")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found)
        yield browser
        browser.close()


@pytest.fixture
def workspace(tmp_path):
    """The workspace of a user who has nothing yet."""
    made = Workspace(
        name="mine", url=f"sqlite:///{tmp_path}/brim.db", config=str(tmp_path), runs=str(tmp_path / "runs")
    )
    yield made
    made.close()
