"""Whatever bytes come, from a client or from upstream, they are read or refused; nothing else happens."""

import pytest

from gateway.mutants import fuzzed


@pytest.mark.slow
def test_bodies_and_streams_that_were_hit_by_random_bytes_are_read_or_refused():
    read, wrong = fuzzed(600)
    assert not wrong
    assert 80 < read < 520  # Some can still be read, and some cannot.
