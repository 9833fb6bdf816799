"""The trimmers of agent frameworks, a file each: chat messages to the framework's classes and back.

A message that comes back with the same role, text and ids is the caller's own again: what a conversion loses is not
held against the trimmer.
"""

from __future__ import annotations

from bench.frameworks import agent_framework, autogen, langchain, llama_index, openai_agents, semantic_kernel, strands
from bench.trimmers import Peer, Trimmer

_PROPORTION = "it counts messages, and is told how many the budget holds at their mean size"
_KINDS: tuple[tuple[type[Trimmer], str, str], ...] = (
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
)


def peers() -> list[Peer]:
    """Return the frameworks' trimmers."""
    return [Peer(name=kind.name, make=kind, package=package, note=note) for kind, package, note in _KINDS]
