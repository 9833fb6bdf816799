"""Histories with what providers compact and defer; `make prove` tries 10,000 of them."""

import pytest

from compacted_histories import check


@pytest.mark.parametrize("first", range(0, 90, 30))
def test_no_compaction_is_lost_and_nothing_before_it_counts(first):
    for seed in range(first, first + 30):
        check(seed)
