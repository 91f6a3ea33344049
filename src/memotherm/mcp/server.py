"""The MCP server over one memory: every tool call is one call of the table of tools.

On HTTP the request itself carries whose memory it is (`scope["memotherm"]`, set behind the key check);
on stdio it is the memory that the server was started with.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

import anyio.to_thread
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
from mcp.server.mcpserver.tools.base import Tool as OfferedTool
from mcp.server.mcpserver.utilities.func_metadata import FuncMetadata, func_metadata
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field

from memotherm import Memotherm, __version__, tools
from memotherm.errors import InvalidInput, MemothermError, NotFound
from memotherm.mcp.results import bounded, written
from memotherm.mcp.schemas import input_schema, output_schema, selected
from memotherm.model import Memory
from memotherm.text.truncation import title

__all__ = ["build"]

Json = dict[str, Any]

INSTRUCTIONS = (
    "Long-term memory in three tiers: hot is in front of you (memory_context), warm is found by memory_recall, "
    "cold only with includeCold. Recall before you answer about earlier work, people, preferences or decisions. "
    "Store what should outlive this conversation, one fact at a time; pin only what must never be missed. "
    "Nothing is lost by a move or a forgetting: memory_undo takes it back."
)
_FLUSH = (
    "This conversation will soon be cut. Save what should outlive it (decisions, facts, preferences, open tasks) "
    "with store_memory, one fact per call; do not repeat what memory_recall already finds. "
    "If there is nothing to save, reply with {token}."
)
_RECALL = "Before you answer, read what is remembered about: {topic}\n\n{text}"
_NOTHING = "(nothing is remembered about this yet)"
_HOT_BUDGET = 2000
_NO_PARAMETERS = func_metadata(lambda: None, structured_output=False).arg_model

#: Whose memory the current request is about.
_current: ContextVar[Memotherm | None] = ContextVar("memotherm_memory", default=None)


def build(mem: Memotherm, wanted: Sequence[str] | None = None) -> MCPServer:
    """Return a server that offers a set of tools; None takes the setting `mcp_tools`."""
    names = tuple(wanted or mem.settings.mcp_tools)
    offered: list[OfferedTool] = [_one(mem)] if names == ("one",) else [_offered(mem, tool) for tool in selected(names)]
    # The SDK configures the root logger when nobody has: logs belong to the program, not to a library.
    if not logging.getLogger().handlers:
        logging.getLogger().addHandler(logging.NullHandler())
    server = MCPServer(
        "memotherm",
        title="Memotherm memory",
        instructions=INSTRUCTIONS,
        version=__version__,
        tools=offered,
        log_level="WARNING",
        middleware=[_bind],
    )
    _add_resources(server, mem)
    _add_prompts(server, mem)
    return server


async def _bind(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Let the request's own memory answer it, where the transport brings one."""
    request = ctx.request
    token = _current.set(None if request is None else request.scope.get("memotherm"))
    try:
        return await call_next(ctx)
    finally:
        _current.reset(token)


# Tools


class _Tool(OfferedTool):
    """A tool of the table: arguments are checked against the very schema that hosts are shown."""

    call: Callable[[Json], Json]
    #: Names that are understood without being told to hosts.
    aliases: dict[str, str] = Field(default_factory=dict)

    async def run(self, arguments: Json, context: Any, convert_result: bool = False) -> Any:  # noqa: ANN401, ARG002
        """Check, call on a thread of its own, and return both forms of the answer."""
        given = {self.aliases.get(key, key): value for key, value in arguments.items() if value is not None}
        wrong = best_match(Draft202012Validator(self.parameters).iter_errors(given))
        if wrong is not None:
            where = ".".join(str(part) for part in wrong.path)
            raise ToolError(f"{where + ': ' if where else ''}{wrong.message[:300]} [invalid_input]")
        try:
            answer = await anyio.to_thread.run_sync(functools.partial(self.call, given))
        except MemothermError as exc:
            raise ToolError(f"{exc} [{exc.code}]") from exc
        return CallToolResult(content=[TextContent(type="text", text=written(answer))], structured_content=answer)


def _answered(mem: Memotherm, name: str, arguments: Mapping[str, Any]) -> Json:
    view = _current.get() or mem
    answer = tools.call(view, name, arguments)
    return bounded(answer, mem.settings.tool_result_tokens, mem.settings.tokenizer)


def _offered(mem: Memotherm, tool: tools.Tool) -> _Tool:
    return _Tool(
        fn=tool.function,
        name=tool.name,
        title=tool.title,
        description=" ".join(tool.description.split()),
        parameters=input_schema(tool),
        fn_metadata=FuncMetadata(arg_model=_NO_PARAMETERS, output_schema=output_schema(tool)),
        is_async=False,
        context_kwarg=None,
        annotations=hints(tool),
        aliases=dict(tool.aliases),
        call=functools.partial(_answered, mem, tool.name),
    )


def hints(tool: tools.Tool) -> ToolAnnotations:
    """Return the four hints of a tool."""
    return ToolAnnotations(
        read_only_hint=tool.reads_only,
        destructive_hint=tool.hides,
        idempotent_hint=tool.repeatable,
        open_world_hint=False,
    )


def _one(mem: Memotherm) -> _Tool:
    """Return all tools as one, for hosts that want a narrow surface."""
    actions = list(tools.TOOLS)

    def call(given: Json) -> Json:
        return _answered(mem, given["action"], given.get("arguments", {}))

    told = "; ".join(f"{each.name}({', '.join(one.name for one in each.parameters)})" for each in tools.TOOLS.values())
    return _Tool(
        fn=call,
        name="memory",
        title="Memory",
        description=f"Long-term memory. Actions and their arguments: {told}",
        parameters={
            "type": "object",
            "properties": {"action": {"enum": actions}, "arguments": {"type": "object"}},
            "required": ["action"],
        },
        fn_metadata=FuncMetadata(arg_model=_NO_PARAMETERS, output_schema={"type": "object"}),
        is_async=False,
        context_kwarg=None,
        annotations=ToolAnnotations(
            read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False
        ),
        call=call,
    )


# Resources and prompts


def _add_resources(server: MCPServer, mem: Memotherm) -> None:
    @server.resource("memory://hot", title="Hot memories", mime_type="text/markdown")
    def hot() -> str:
        """Return what is in front of the agent: pinned and hot memories."""
        return (_current.get() or mem).context(None, _HOT_BUDGET, track=False).text

    @server.resource("memory://{id}", title="A memory", mime_type="text/markdown")
    def memory(id: str) -> str:  # noqa: A002 - the variable of the template
        """Return one memory by its id, with where it is kept and since when."""
        try:
            return _page((_current.get() or mem).get(id))
        except (NotFound, InvalidInput) as exc:
            raise ResourceNotFoundError(str(exc)) from exc


def _add_prompts(server: MCPServer, mem: Memotherm) -> None:
    @server.prompt(title="Recall")
    def recall(topic: str) -> str:
        """Read what is remembered about a topic before answering."""
        text = (_current.get() or mem).context(topic, _HOT_BUDGET).text
        return _RECALL.format(topic=topic, text=text or _NOTHING)

    @server.prompt(title="Flush")
    def flush() -> str:
        """Save what should outlive this conversation before it is cut."""
        return _FLUSH.format(token=mem.settings.silent_token)


def _page(memory: Memory) -> str:
    facts = {
        "id": memory.id,
        "kind": memory.kind,
        "tier": memory.tier,
        "priority": memory.priority,
        "retention": memory.retention,
        "tags": ", ".join(memory.tags),
        "created": f"{memory.created_at:%Y-%m-%d %H:%M}",
    }
    head = "\n".join(f"- {name}: {value}" for name, value in facts.items() if value)
    return f"# {title(memory.content)}\n\n{memory.content}\n\n{head}\n"
