"""What one tenant teaches a gateway changes no byte of what another sends: pairs of tenants over HTTP."""

import time

import pytest

from brim.gateway.state import GatewayState
from hostile.neighbours import differing


@pytest.mark.parametrize("pairs", [8, pytest.param(2_000, marks=pytest.mark.hostile)])
def test_no_byte_of_a_tenant_depends_on_what_another_teaches(pairs, tmp_path):
    begun = time.monotonic()
    found = differing(range(pairs), str(tmp_path))
    print(f"neighbours: {pairs:,} pairs, {len(found)} differ, {time.monotonic() - begun:,.0f} s")
    assert found == []


def test_pairs_would_differ_if_all_clients_were_one(monkeypatch):
    monkeypatch.setattr(GatewayState, "owner", lambda self, admitted, route: ("", route))
    assert differing(range(4))
