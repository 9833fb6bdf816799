"""A store for the tests of sessions."""

import pytest

import brim


@pytest.fixture
def store(tmp_path):
    with brim.open_store(f"sqlite:///{tmp_path}/brim.db") as made:
        yield made
