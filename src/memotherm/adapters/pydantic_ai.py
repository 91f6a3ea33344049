"""Memotherm as a capability of Pydantic AI: `Agent(model, capabilities=[MemothermCapability(mem)])`."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import Any, Literal

try:
    from pydantic_ai import AgentRunResult, FunctionToolset, ModelRetry, RunContext
    from pydantic_ai.capabilities import AbstractCapability
except ImportError as exc:
    raise ImportError("this adapter needs Pydantic AI: pip install 'memotherm[pydantic-ai]'") from exc

from memotherm.adapters.conversation import BUDGET, Conversation
from memotherm.errors import InvalidInput
from memotherm.memory import Memotherm


@dataclass
class MemothermCapability(AbstractCapability[Any]):
    """Adds memories for each prompt, offers tools, and captures the prompt and the reply of each run.

    The conversation is the `conversation_id` of the run.

    Args:
        memory: An open memory; its scope says whose memories they are.
        mode: "message" adds the context as a message of the user, which stays in the history, so that the prefix of
            the prompt can be cached; "instructions" replaces it in the instructions of each run.
        budget: The most tokens of the context of a run.
        tools: Whether to offer the tools `recall` and `remember`.
        capture: Whether to store the prompt and the reply after the run.
    """

    memory: Memotherm
    mode: Literal["message", "instructions"] = "message"
    budget: int = BUDGET
    tools: bool = True
    capture: bool = True
    _context: str = field(default="", init=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse an unknown mode."""
        if self.mode not in ("message", "instructions"):
            raise InvalidInput(f"mode is 'message' or 'instructions', not {self.mode!r}")

    @classmethod
    def get_serialization_name(cls) -> None:
        """Return None: an open memory cannot be written in a specification."""

    async def for_run(self, ctx: RunContext[Any]) -> MemothermCapability:  # noqa: ARG002 - the name is the framework's
        """Return a capability with the state of one run."""
        return replace(self)

    async def before_run(self, ctx: RunContext[Any]) -> None:
        """Bring the context of the prompt."""
        again = self.mode == "instructions"
        context = await asyncio.to_thread(
            _conversation(self.memory, ctx).context, _text_of(ctx.prompt), self.budget, repeat=again
        )
        self._context = context.text
        if self._context and self.mode == "message":
            ctx.enqueue(self._context)

    def get_instructions(self) -> Any:  # noqa: ANN401 - a function of the run, or None
        """Return the context of the run as instructions, in that mode."""
        return (lambda: self._context or None) if self.mode == "instructions" else None

    def get_toolset(self) -> FunctionToolset[Any] | None:
        """Return the tools."""
        return _toolset(self.memory) if self.tools else None

    async def after_run(self, ctx: RunContext[Any], *, result: AgentRunResult[Any]) -> AgentRunResult[Any]:
        """Store the prompt and the reply."""
        if self.capture:
            conversation = _conversation(self.memory, ctx)
            reply = result.output if isinstance(result.output, str) else ""
            for role, text in (("user", _text_of(ctx.prompt)), ("assistant", reply)):
                await asyncio.to_thread(conversation.capture, role, text)
        return result


def _conversation(memory: Memotherm, ctx: RunContext[Any]) -> Conversation:
    return Conversation(memory, ctx.conversation_id or ctx.run_id or "run", "pydantic-ai")


def _text_of(prompt: object) -> str:
    """Return the texts of a prompt, without images and files."""
    parts = prompt if isinstance(prompt, list | tuple) else [prompt]
    return "\n".join(part for part in parts if isinstance(part, str))


def _toolset(memory: Memotherm) -> FunctionToolset[Any]:
    """Return the tools; errors are returned to the model, which may try again."""

    def recall(query: str, limit: int = 5) -> list[str]:
        """Search long-term memory for what is known about a subject.

        Args:
            query: The question, in words.
            limit: The most memories.
        """
        try:
            return [hit.memory.content for hit in memory.recall(query, limit)]
        except InvalidInput as exc:
            raise ModelRetry(str(exc)) from exc

    def remember(content: str, kind: str = "fact") -> str:
        """Store a fact, preference, decision or task in long-term memory.

        Args:
            content: The statement, understandable on its own.
            kind: fact, preference, decision or task.
        """
        try:
            return f"stored as {memory.remember(content, kind=kind).id}"
        except InvalidInput as exc:
            raise ModelRetry(str(exc)) from exc

    return FunctionToolset([recall, remember])
