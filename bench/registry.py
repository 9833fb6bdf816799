"""The list of all history trimmers that are measured: brim, the references and the peers."""

from __future__ import annotations

from bench.frameworks import LangChain, LangChainSummary, LlamaMemory
from bench.trimmers import Brim, BrimHistory, Cleared, LiteLLM, PopOldest, SessionBrim, Trimmer, WrappedBrim

OWN: tuple[type[Trimmer], ...] = (Brim, BrimHistory, WrappedBrim, SessionBrim)
"""The ways to use brim."""
REFERENCES: tuple[type[Trimmer], ...] = (PopOldest, Cleared)
"""The hand-written trimmers that the others are compared with."""
PEERS: tuple[type[Trimmer], ...] = (LangChain, LangChainSummary, LlamaMemory, LiteLLM)
EVERY = {kind.name: kind for kind in (*OWN, *REFERENCES, *PEERS)}
READERS: dict[str, type[Trimmer]] = {
    "plain": BrimHistory,
    "wrap": WrappedBrim,
    "session": SessionBrim,
    "clear": Cleared,
}
"""What is compared as text, by short names."""
