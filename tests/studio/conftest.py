"""A real studio on loopback, on an empty folder and on the recorded demo."""

import pytest

from brim.studio.desk import Desk
from studio.serving import Served


@pytest.fixture(scope="session")
def served(tmp_path_factory):
    """One studio for tests that only read, or that write to the demo."""
    folder = tmp_path_factory.mktemp("studio")
    mine = Desk(name="mine", url=f"sqlite:///{folder}/brim.db", config=str(folder), runs=str(folder / "runs"))
    with Served(mine) as made:
        yield made


@pytest.fixture
def alone(tmp_path):
    """A studio of one test's own, on an empty folder."""
    mine = Desk(name="mine", url=f"sqlite:///{tmp_path}/brim.db", config=str(tmp_path), runs=str(tmp_path / "runs"))
    with Served(mine) as made:
        made.folder = tmp_path
        yield made
