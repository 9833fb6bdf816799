"""Each line of the promise on generated fits; `make prove` runs 200,000 of them."""

import pytest

import promise

_FITS = 240
_BLOCKS = 4


@pytest.mark.parametrize("block", range(_BLOCKS))
def test_generated_fits_keep_the_promise(block):
    for seed in range(block * _FITS // _BLOCKS, (block + 1) * _FITS // _BLOCKS):
        try:
            promise.check(promise.Case.of(seed))
        except Exception as error:
            raise AssertionError(f"seed {seed}: run scripts/prove.py --seed {seed}") from error


def test_the_generator_provokes_cuts_refusals_and_every_state():
    """A property is worth what its inputs can provoke."""
    ends, states = set(), set()
    for seed in range(_FITS):
        try:
            receipt = promise.Case.of(seed).fit().receipt
        except promise.brim.DoesNotFit:
            ends.add("refused")
            continue
        ends.add("cut" if receipt.truncated else "whole")
        states |= {part.state for part in receipt.parts}
    assert ends == {"whole", "cut", "refused"}
    assert states == {"whole", "cut", "form", "dropped", "empty", "disabled"}
