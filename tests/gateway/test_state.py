"""What a gateway keeps from request to request, and for whom."""

from brim.gateway.http import server
from brim.gateway.http.app import GatewayApp
from brim.gateway.report.traffic import KIND as TRAFFIC
from brim.gateway.settings import GatewaySettings, RequestRule
from gateway.conftest import asked, conversation, post
from model_server import running


def test_a_store_that_only_workers_share_is_not_asked_for_a_small_request(served_model, upstream, tmp_path):
    """Two workers served hardly more than one: each small request waited for the store."""
    settings = GatewaySettings(
        upstream=served_model[1] + "/v1", default=RequestRule(policy="fit", window=2_000, meter="o200k_base")
    )
    app = GatewayApp(settings, 1, f"sqlite:///{tmp_path}/brim.db")
    with running(app, server.config(app, settings)) as url:
        store = app.state.store
        assert post(url, asked(conversation(2)))[0] == 200
        assert store.sessions() == []
        assert post(url, asked(conversation(200)))[0] == 200
        assert len(store.sessions()) == 1
        app.state.traffic.write()
        assert store.ids(TRAFFIC) == []  # Nobody will read it.
