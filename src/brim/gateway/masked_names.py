"""The names of a request as they may be stored and shown: a name that is a key, or contains one, is replaced."""

from __future__ import annotations

from brim.gateway.client_request import ClientRequest
from brim.gateway.guard import IncomingRequest
from brim.gateway.identity import HEADER, LONGEST, cleaned, has_key, names_of
from brim.gateway.metrics import model_name
from brim.gateway.state import GatewayState
from brim.sessions.learning.models import known


def masked(state: GatewayState, incoming: IncomingRequest, ask: ClientRequest) -> None:
    """Note the keys in the names of a request, and give its model an alias if the name contains one."""
    shown = incoming.shown
    state.seen.see(shown)
    public = known(ask.model) is not None or state.conversations.windows.is_served(ask.model)
    # A name that the catalogue or the server lists is public, whatever other clients send as their key.
    # For some routes the path names the model, and not the body.
    names = {*names_of(incoming.header(HEADER), ask.values), ask.model} - ({ask.model} if public else set())
    incoming.foreign = state.seen.found(names)
    shown = [*shown, *incoming.foreign]
    incoming.model = model_name(ask.model, shown)
    if incoming.model != ask.model and (len(ask.model) > LONGEST or has_key(ask.model, shown)):
        ask.model = cleaned(ask.model, shown)
