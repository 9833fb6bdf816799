"""What one tenant teaches a gateway changes no byte of what another sends: pairs of tenants over HTTP."""

from brim.gateway.state import GatewayState
from hostile.neighbours import differing


def test_no_byte_of_a_tenant_depends_on_what_another_teaches(tmp_path):
    assert differing(range(12), str(tmp_path)) == []


def test_pairs_would_differ_if_all_clients_were_one(monkeypatch):
    monkeypatch.setattr(GatewayState, "owner", lambda self, admitted, route: ("", route))
    assert differing(range(4))
