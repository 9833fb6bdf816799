"""Requests of which the provider holds a part."""

import pytest

from brim.wire.base import is_stateful


@pytest.mark.parametrize(
    ("values", "held"),
    [
        ({"previous_response_id": "resp_1"}, True),
        ({"previous_interaction_id": "v1_1"}, True),
        ({"conversation": {"id": "conv_1"}}, True),
        ({"conversation": "conv_1"}, True),
        ({"prompt": {"id": "pmpt_1"}}, True),
        ({"thread": {"type": "continue", "id": "t"}}, True),
        ({"thread": {"type": "create"}}, False),
        ({"prompt": "a plain text of the old completions"}, False),
        ({"previous_response_id": None, "conversation": None, "prompt": None, "thread": None}, False),
        ({"messages": []}, False),
    ],
)
def test_a_body_that_goes_on_from_what_the_provider_has_is_told_apart(values, held):
    assert is_stateful(values) is held
