"""The MCP server.

Over HTTP the memory is that of the request (`scope["memotherm"]`, set by `Checks.key`); over stdio it is the
memory that the server was started with.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from itertools import islice
from typing import Any

import anyio.to_thread
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
from mcp.server.mcpserver.tools.base import Tool as SdkTool
from mcp.server.mcpserver.utilities.func_metadata import FuncMetadata, func_metadata
from mcp.types import CallToolResult, TextContent, ToolAnnotations

from memotherm import Memotherm, __version__, tools
from memotherm.errors import InvalidInput, MemothermError, NotFound
from memotherm.hooks.hosts.host import HOOK_TOOL
from memotherm.mcp.hooks import answer_hook
from memotherm.mcp.results import bounded, concise, encoded
from memotherm.mcp.schemas import input_schema, output_schema, selected
from memotherm.model import Memory
from memotherm.model.clock import system_clock
from memotherm.text.content import title
from memotherm.tools.prompts import flush_prompt

Json = dict[str, Any]

INSTRUCTIONS = (
    "Long-term memory in three tiers: hot is in front of you (memory_context), warm is found by memory_recall, "
    "cold only with includeCold. Recall before you answer about earlier work, people, preferences or decisions. "
    "Store what should outlive this conversation, one fact at a time; pin only what must never be missed. "
    "A move or a deletion loses nothing: memory_undo reverts it."
)
_RECALL = "Before you answer, read what is remembered about: {topic}\n\n{text}"
_NOTHING = "(nothing is remembered about this yet)"
_HOT_BUDGET = 2000
#: Tokens of a tool result: hosts cut or refuse results of some 10,000 tokens.
RESULT_TOKENS = 8000
#: How many errors of arguments are compared for the one to report.
_MOST_ERRORS = 20
_NO_PARAMETERS = func_metadata(lambda: None, structured_output=False).arg_model

#: The memory of the current request.
_current: ContextVar[Memotherm | None] = ContextVar("memotherm_memory", default=None)


def build(mem: Memotherm, tool_names: Sequence[str] | None = None) -> MCPServer:
    """Return a server that offers the named tools; None uses the setting `mcp_tools`."""
    names = tuple(tool_names or mem.settings.mcp_tools)
    offered: list[SdkTool] = (
        [_single_tool(mem)] if names == ("one",) else [_tool(mem, tool) for tool in selected(names)]
    )
    # The SDK would configure the root logger if it has no handler.
    if not logging.getLogger().handlers:
        logging.getLogger().addHandler(logging.NullHandler())
    server = MCPServer(
        "memotherm",
        title="Memotherm memory",
        instructions=INSTRUCTIONS,
        version=__version__,
        tools=offered,
        log_level="WARNING",
        middleware=[_bind, functools.partial(_answer_hooks, mem)],
    )
    _add_resources(server, mem)
    _add_prompts(server, mem)
    return server


async def _bind(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Set the memory of the request, if the transport has one."""
    request = ctx.request
    token = _current.set(None if request is None else request.scope.get("memotherm"))
    try:
        return await call_next(ctx)
    finally:
        _current.reset(token)


async def _answer_hooks(mem: Memotherm, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Answer the hooks of the client that has started this server: they call a tool that is not listed."""
    parameters = ctx.params if isinstance(ctx.params, Mapping) else {}
    if ctx.request is not None or ctx.method != "tools/call" or parameters.get("name") != HOOK_TOOL:
        return await call_next(ctx)
    text = await anyio.to_thread.run_sync(answer_hook, mem, parameters.get("arguments") or {})
    return CallToolResult(content=[TextContent(type="text", text=text)] if text else [])


# Tools


class _Tool(SdkTool):
    """A tool of the table; its arguments are validated with the schema that hosts receive."""

    call: Callable[[Json], Json]
    #: Returns the arguments under the names and in the types of the schema.
    read: Callable[[Json], Json]

    async def run(self, arguments: Json, context: Any, convert_result: bool = False) -> Any:  # noqa: ANN401, ARG002
        """Validate the arguments and call the tool in a thread, and return the result as text and as JSON."""
        try:
            result = await anyio.to_thread.run_sync(self._called, arguments)
        except MemothermError as exc:
            raise ToolError(f"{exc} [{exc.code}]") from exc
        return CallToolResult(content=[TextContent(type="text", text=encoded(result))], structured_content=result)

    def _called(self, arguments: Json) -> Json:
        values = self.read({key: value for key, value in arguments.items() if value is not None})
        errors = Draft202012Validator(self.parameters).iter_errors(values)
        error = best_match(islice(errors, _MOST_ERRORS))
        if error is not None:
            path = ".".join(str(part) for part in error.path)
            raise ToolError(f"{path + ': ' if path else ''}{error.message[:300]} [invalid_input]")
        return self.call(values)


def _call(mem: Memotherm, name: str, arguments: Mapping[str, Any]) -> Json:
    result = tools.call(_current.get() or mem, name, arguments)
    changed = not tools.TOOLS[name].reads_only
    return bounded(concise(result, changed=changed), RESULT_TOKENS, mem.settings.tokenizer)


def _tool(mem: Memotherm, tool: tools.Tool) -> _Tool:
    return _Tool(
        fn=tool.function,
        name=tool.name,
        title=tool.title,
        description=" ".join(tool.description.split()),
        parameters=input_schema(tool, mem.settings.kinds),
        fn_metadata=FuncMetadata(arg_model=_NO_PARAMETERS, output_schema=output_schema(tool)),
        is_async=False,
        context_kwarg=None,
        annotations=hints(tool),
        call=functools.partial(_call, mem, tool.name),
        read=tool.read,
    )


def hints(tool: tools.Tool) -> ToolAnnotations:
    """Return the annotations of a tool."""
    return ToolAnnotations(
        read_only_hint=tool.reads_only,
        destructive_hint=tool.hides,
        idempotent_hint=tool.repeatable,
        open_world_hint=False,
    )


def _single_tool(mem: Memotherm) -> _Tool:
    """Return all tools as one, for hosts with few tools."""
    actions = list(tools.TOOLS)

    def call(values: Json) -> Json:
        return _call(mem, values["action"], values.get("arguments", {}))

    signatures = "; ".join(
        f"{tool.name}({', '.join(parameter.name for parameter in tool.parameters)})" for tool in tools.TOOLS.values()
    )
    return _Tool(
        fn=call,
        name="memory",
        title="Memory",
        description=f"Long-term memory. Actions and their arguments: {signatures}",
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
        read=dict,
    )


# Resources and prompts


def _add_resources(server: MCPServer, mem: Memotherm) -> None:
    @server.resource("memory://hot", title="Hot memories", mime_type="text/markdown")
    def hot() -> str:
        """Return the pinned and hot memories."""
        return (_current.get() or mem).context(None, _HOT_BUDGET, track=False).text

    @server.resource("memory://{id}", title="A memory", mime_type="text/markdown")
    def memory(id: str) -> str:  # noqa: A002 - the variable of the template
        """Return a memory by its id, with its tier, priority and date."""
        try:
            return _as_markdown((_current.get() or mem).get(id))
        except (NotFound, InvalidInput) as exc:
            raise ResourceNotFoundError(str(exc)) from exc


def _add_prompts(server: MCPServer, mem: Memotherm) -> None:
    @server.prompt(title="Recall")
    def recall(topic: str) -> str:
        """Read the memories about a topic before answering."""
        text = (_current.get() or mem).context(topic, _HOT_BUDGET).text
        return _RECALL.format(topic=topic, text=text or _NOTHING)

    @server.prompt(title="Flush")
    def flush() -> str:
        """Store what should outlive this conversation before it is compacted."""
        return flush_prompt(mem.settings, system_clock())


def _as_markdown(memory: Memory) -> str:
    fields = {
        "id": memory.id,
        "kind": memory.kind,
        "tier": memory.tier,
        "priority": memory.priority,
        "retention": memory.retention,
        "tags": ", ".join(memory.tags),
        "created": f"{memory.created_at:%Y-%m-%d %H:%M}",
    }
    head = "\n".join(f"- {name}: {value}" for name, value in fields.items() if value)
    return f"# {title(memory.content)}\n\n{memory.content}\n\n{head}\n"
