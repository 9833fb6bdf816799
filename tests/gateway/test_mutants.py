"""Whatever bytes come, from a client or from upstream, they are read or refused; nothing else happens."""

from gateway.mutants import fuzzed


def test_bodies_and_streams_that_were_hit_by_random_bytes_are_read_or_refused():
    read, wrong = fuzzed(1_500)
    assert not wrong
    assert 200 < read < 1_300  # Some can still be read, and some cannot.
