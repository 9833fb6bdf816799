"""The list of all history trimmers that are measured: brim, the references and the peers."""

from __future__ import annotations

from bench.frameworks import agent_framework, autogen, langchain, llama_index, openai_agents, semantic_kernel, strands
from bench.trimmers import (
    Brim,
    BrimHistory,
    Cleared,
    CtxBudgeter,
    Groups,
    Headroom,
    HeldGroups,
    LiteLLM,
    Peer,
    PopOldest,
    PromptBudget,
    SessionBrim,
    StableBrimHistory,
    Trimmer,
    WrappedBrim,
)

LEFT_OUT = (
    "inspect_ai is left out: it asks for some forty packages, among them an fsspec older than what other peers use.",
    "vscode-prompt-tsx is left out: it is no Python.",
    "The package called headroom is another program; the trimmer is headroom-ai. Its text model is not downloaded.",
)
"""A sentence on each peer that is known and not measured, or not in full."""


_PROPORTION = "it counts messages, and is told how many the budget holds at their mean size"
_PEERS: tuple[tuple[type[Trimmer], str, str], ...] = (
    (langchain.LangChain, "langchain-core", "strategy last, start_on human, include_system, exact counter"),
    (langchain.LangChainApproximate, "langchain-core", "the same with its own estimate"),
    (langchain.LangChainClearing, "langchain", "the trigger is the budget, keep 3, its own estimate"),
    (
        langchain.LangChainSummary,
        "langchain",
        "the trigger is the budget, half is kept, exact counter; a canned summary, whose own cost is not counted",
    ),
    (llama_index.LlamaBuffer, "llama-index-core", "the system message is counted in by initial_token_count"),
    (
        llama_index.LlamaMemory,
        "llama-index-core",
        "told of each message as it comes, limit is the budget less the system message",
    ),
    (agent_framework.AgentFramework, "agent-framework-core", "compact_to is the budget, tiktoken"),
    (agent_framework.AgentFrameworkTask, "agent-framework-core", "the same with preserve_first_user_group"),
    (agent_framework.AgentFrameworkWindow, "agent-framework-core", "the window is the budget, tiktoken"),
    (semantic_kernel.SemanticKernel, "semantic-kernel", _PROPORTION),
    (strands.Strands, "strands-agents", _PROPORTION),
    (strands.StrandsReactive, "strands-agents", "each reduction stands for a call that the model refused"),
    (autogen.AutoGen, "autogen-core", "the OpenAI client's own count"),
    (openai_agents.OpenAIAgents, "openai-agents", "its defaults; it has no budget"),
    (LiteLLM, "litellm", "max_tokens is the budget, model gpt-4o"),
    (Headroom, "headroom-ai", "model_limit is the budget"),
    (
        PromptBudget,
        "promptbudget",
        "tiktoken, 3 tokens a message; its messages have a role and a text, so calls are lost on the way",
    ),
    (CtxBudgeter, "ctxbudgeter", "an item for each message, newer is better"),
)
"""Each peer: its class, the distribution whose version is reported, and how it was set up."""


_BRIM = (Brim, BrimHistory, StableBrimHistory, WrappedBrim, SessionBrim)
_REFERENCES = (PopOldest, Groups, HeldGroups, Cleared)


def own() -> list[Peer]:
    """Return the ways to use brim."""
    return [Peer(name=kind.name, make=kind) for kind in _BRIM]


def references() -> list[Peer]:
    """Return the hand-written trimmers that the others are compared with."""
    return [Peer(name=kind.name, make=kind) for kind in _REFERENCES]


def readers() -> dict[str, Peer]:
    """Return what is compared as text, by short names."""
    kinds = {"plain": BrimHistory, "wrap": WrappedBrim, "session": SessionBrim, "clear": Cleared}
    return {name: Peer(name=name, make=kind) for name, kind in kinds.items()}


def others(seconds: float = 60) -> list[Peer]:
    """Return the peers, each with `seconds` of CPU time for a replay."""
    return [
        Peer(name=kind.name, make=kind, package=package, note=note, seconds=seconds) for kind, package, note in _PEERS
    ]


def every(seconds: float = 60) -> dict[str, Peer]:
    """Return all trimmers by name: brim, the references, the peers."""
    return {peer.name: peer for peer in (*own(), *references(), *others(seconds))}
