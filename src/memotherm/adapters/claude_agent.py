"""Memotherm as hooks of the Claude Agent SDK: `ClaudeAgentOptions(hooks=hooks(mem))`."""

from __future__ import annotations

import asyncio
from typing import Any, cast

try:
    from claude_agent_sdk import HookContext, HookMatcher
    from claude_agent_sdk.types import HookEvent, HookInput, HookJSONOutput
except ImportError as exc:
    raise ImportError("this adapter needs the Claude Agent SDK: pip install 'memotherm[claude-agent]'") from exc

from memotherm.adapters.conversation import BUDGET, Conversation
from memotherm.memory import Memotherm

__all__ = ["hooks"]

_SOURCE = "claude-agent"


def hooks(memory: Memotherm, *, budget: int = BUDGET, capture: bool = True) -> dict[HookEvent, list[HookMatcher]]:
    """Return hooks that bring the context of each prompt, and capture the prompts and the replies.

    Args:
        memory: An open memory, whose scope says whose memories they are.
        budget: The most tokens of the context of a prompt.
        capture: Whether to store prompts and replies.
    """
    memory_hooks = _Hooks(memory, budget, capture)
    return {
        "UserPromptSubmit": [HookMatcher(hooks=[memory_hooks.prompt_submitted])],
        "Stop": [HookMatcher(hooks=[memory_hooks.stopped])],
        "PreCompact": [HookMatcher(hooks=[memory_hooks.compacting])],
    }


class _Hooks:
    """The hooks of one memory; each event works on another thread."""

    def __init__(self, memory: Memotherm, budget: int, capture: bool) -> None:
        self._memory = memory
        self._budget = budget
        self._capture = capture

    async def prompt_submitted(
        self,
        given: HookInput,
        tool_use_id: str | None,  # noqa: ARG002 - the names are the SDK's
        context: HookContext,  # noqa: ARG002
    ) -> HookJSONOutput:
        """Return the context of a prompt, and capture the prompt."""
        text = await asyncio.to_thread(self._begin_turn, given)
        if not text:
            return {}
        return {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": text}}

    async def stopped(self, given: HookInput, tool_use_id: str | None, context: HookContext) -> HookJSONOutput:  # noqa: ARG002
        """Capture the reply."""
        await asyncio.to_thread(self._end_turn, given)
        return {}

    async def compacting(self, given: HookInput, tool_use_id: str | None, context: HookContext) -> HookJSONOutput:  # noqa: ARG002
        """Record that the contexts of earlier turns are about to be summarised."""
        await asyncio.to_thread(self._forget_contexts, given)
        return {}

    def _begin_turn(self, given: HookInput) -> str:
        prompt = _text_in(given, "prompt")
        text = self._conversation(given).context(prompt, self._budget).text
        if self._capture:
            self._conversation(given).capture("user", prompt)
        return text

    def _end_turn(self, given: HookInput) -> None:
        if self._capture:
            self._conversation(given).capture("assistant", _text_in(given, "last_assistant_message"))
        self._conversation(given).session.run_ended()

    def _forget_contexts(self, given: HookInput) -> None:
        self._conversation(given).session.context_compacted()

    def _conversation(self, given: HookInput) -> Conversation:
        return Conversation(self._memory, given["session_id"], _SOURCE)


def _text_in(given: HookInput, name: str) -> str:
    return str(cast("dict[str, Any]", given).get(name) or "")
