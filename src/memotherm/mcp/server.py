"""The MCP server, with the JSON schemas of its tools.

Over HTTP the memory is that of the request (`scope["memotherm"]`, set by `Checks.key`); over stdio it is the
memory that the server was started with.
"""

from __future__ import annotations

import functools
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from itertools import islice
from typing import Any, get_origin

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
from memotherm.errors import InvalidInput, MemothermError, NotFound, SettingsError
from memotherm.hooks import log
from memotherm.hooks.events import answer, parse_event
from memotherm.hooks.hosts.host import HOOK_TOOL
from memotherm.hooks.recall import call_of, told_at_call
from memotherm.hooks.subagents import note_task
from memotherm.hooks.tools import AGENTS
from memotherm.mcp.results import bounded, concise, encoded
from memotherm.model import Memory
from memotherm.model.clock import system_clock
from memotherm.notes.flush import flush_prompt
from memotherm.text.content import title
from memotherm.tools import TOOLS, Parameter, Tool

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
        parameters=input_schema(tool),
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


# Schemas


Schema = dict[str, Any]

#: The tools that most agents need.
CORE = (
    "memory_recall",
    "memory_context",
    "memory_get",
    "memory_status",
    "store_memory",
    "set_memory_tier",
    "memory_forget",
    "memory_undo",
)
#: The sets of tools: by default the tools of the sources; core has fewer.
SETS = {
    "standard": (*CORE, "memory_search", "memory_add", "memory_spill", "pin_memory", "unpin_memory"),
    "core": CORE,
    "all": tuple(TOOLS),
}

_TEXT: Schema = {"type": "string"}
_TYPES: dict[Any, Schema] = {
    str: _TEXT,
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    list: {"type": "array", "items": _TEXT},
    list[int]: {"type": "array", "items": {"type": "integer"}},
    Sequence: {"type": "array", "items": _TEXT},
    dict: {"type": "object"},
}
#: Descriptions of parameters whose name does not suffice.
_DESCRIPTIONS = {
    "types": "kinds",
    "since": "date, or 7d (ago)",
    "where": 'metadata, {"n": {"$gte": 3}}',
    "retention": "or any",
    "includeNarrower": "with narrower scopes",
}
#: Parameters whose default depends on whether there is a session.
_BY_SESSION: dict[str, Schema] = {
    "limit": {"default": 10, "description": "3 with sessionId"},
    "autoPromote": {"default": False, "description": "true with sessionId"},
}
#: What the schema says about a parameter beside its type, by tool and parameter.
_MORE: dict[tuple[str, str], Schema] = {
    # It matters whether it was given, so that the function has no default.
    ("store_memory", "kind"): {"default": "fact"},
    ("memory_add", "type"): {
        "examples": ["message", "fact", "decision", "rule", "entity", "context", "preference", "task", "note"]
    },
}

_MEMORY = ("id", "tier", "version")
#: Tools whose result is not always a memory.
_NOT_ALWAYS = ("store_memory", "memory_get")


def selected(names: Sequence[str]) -> tuple[Tool, ...]:
    """Return tools in the order of the table, by their names or those of sets."""
    chosen: set[str] = set()
    for name in names:
        if name not in (*TOOLS, *SETS):
            raise SettingsError(f"unknown tool {name!r}: use {', '.join(SETS)}, one, or some of {', '.join(TOOLS)}")
        chosen.update(SETS.get(name, (name,)))
    if not chosen:
        raise SettingsError(f"no tools are selected: use {', '.join(SETS)}, one, or names of tools")
    return tuple(tool for name, tool in TOOLS.items() if name in chosen)


def input_schema(tool: Tool) -> Schema:
    """Return the schema of a tool's parameters."""
    return {
        "type": "object",
        "properties": {
            parameter.name: _parameter(parameter) | _MORE.get((tool.name, parameter.name), {})
            for parameter in tool.parameters
        },
        **({"required": list(tool.required)} if tool.required else {}),
    }


def output_schema(tool: Tool) -> Schema:
    """Return the schema of a tool's result, limited to the fields that an agent can rely on."""
    if tool.name in _NOT_ALWAYS:
        return {"type": "object"}
    return {"type": "object", "required": list(tool.result or _MEMORY)}


def _parameter(parameter: Parameter) -> Schema:
    schema = dict(_TYPES.get(parameter.type) or _TYPES.get(get_origin(parameter.type), _TEXT))
    if parameter.choices:
        schema["enum"] = [str(choice) for choice in parameter.choices if not str(choice).isdigit()]
    if parameter.default is not None:
        schema["default"] = list(parameter.default) if parameter.default == () else parameter.default
    elif not parameter.required:
        schema |= _BY_SESSION.get(parameter.name, {})
    if parameter.name in _DESCRIPTIONS:
        schema["description"] = _DESCRIPTIONS[parameter.name]
    return schema


# Hooks that call this server


def answer_hook(mem: Memotherm, fields: Mapping[str, Any]) -> str:
    """Return the answer to an event of a tool call or a subagent as JSON; empty if no memory concerns it.

    An error is logged for `doctor`: the call of the agent goes on.
    """
    try:
        return _answer(mem, fields)
    except Exception as error:  # noqa: BLE001 - the host must never see a failure
        log.add(log.ERROR, " ".join(str(error).split()) or type(error).__name__)
        return ""


def _answer(mem: Memotherm, fields: Mapping[str, Any]) -> str:
    given = fields.get("tool_input")
    event = parse_event({**fields, "tool_input": json.loads(given) if isinstance(given, str) and given else given})
    if event is None or event.moment not in ("tool", "agent"):
        return ""
    if event.call is not None and event.call.tool in AGENTS:
        note_task(event)
        return ""
    call = call_of(event, mem.settings)
    if call is None:
        return ""
    session = mem.in_folder(event.folder or ".").session(event.session)
    told = answer(event, told_at_call(session, event, call, mem.settings))
    return "" if told is None else json.dumps(told)
