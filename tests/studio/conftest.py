"""A real studio on loopback, on an empty folder and on the recorded demo."""

import shutil

import pytest

from brim.studio import demo
from brim.studio.workspace import Workspace
from studio.browser import STUDIO, found_chromium
from studio.serving import Served


def empty(folder):
    """Return a workspace in an empty folder."""
    url = f"sqlite:///{folder}/brim.db"
    return Workspace(url=url, config=str(folder))


@pytest.fixture(scope="session")
def demo_once(tmp_path_factory):
    """The folder of the demo, which is recorded once."""
    folder = tmp_path_factory.mktemp("demo")
    demo.record(str(folder)).close()
    return folder


@pytest.fixture(scope="session")
def served(demo_once):
    """A studio on the demo, for tests that only read."""
    with Served(demo.workspace(str(demo_once))) as made:
        yield made


@pytest.fixture
def own_demo(tmp_path, demo_once):
    """A studio on a copy of the demo, for one test that writes."""
    shutil.copytree(demo_once, tmp_path, dirs_exist_ok=True)
    with Served(demo.workspace(str(tmp_path))) as made:
        yield made


@pytest.fixture
def alone(tmp_path):
    """A studio of one test's own, on an empty folder."""
    with Served(empty(tmp_path)) as made:
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
    made = empty(tmp_path)
    yield made
    made.close()
