"""Generate the reference pages and the tables of measurements: `make docs`. A test compares them with the files."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import Field
from pathlib import Path
from typing import Any

import click

from memotherm import errors
from memotherm.cli.app import SECTIONS, app
from memotherm.facade.bulk import Bulk
from memotherm.facade.inspection import Inspection, Receipts
from memotherm.facade.keys import Keys
from memotherm.facade.upkeep import Upkeep
from memotherm.memory import Memotherm
from memotherm.model import SCOPE_FIELDS
from memotherm.model.names import known_name
from memotherm.model.reports import Metrics
from memotherm.notes.notes import Notes
from memotherm.operations.operation import Operation
from memotherm.operations.parameters import Parameter, documented
from memotherm.operations.table import OPERATIONS
from memotherm.session import Session
from memotherm.settings import FIELDS
from memotherm.settings.sources import OTHER_NAMES
from memotherm.tiers.policies import Policies
from memotherm.tools import TOOLS

DOCS = Path(__file__).parent
RESULTS = DOCS.parent / "bench" / "results"

#: How the evaluation sets are called in the tables, long and short, in their order there.
_SETS = {
    "locomo": ("LoCoMo turns", "LoCoMo"),
    "agent_notes/question": ("agent notes, as asked", "notes as asked"),
    "agent_notes/requery": ("agent notes, re-queried", "notes re-queried"),
    "longmemeval": ("LongMemEval sessions, 500 characters", "LongMemEval"),
    "longmemeval_oracle": ("LongMemEval full-text turns", "full-text turns"),
    "memoryagentbench_cr/455 facts": ("conflicting facts, 455 facts", "455 facts"),
    "memoryagentbench_cr/2310 facts": ("conflicting facts, 2310 facts", "2310 facts"),
    "precisionmembench": ("PrecisionMemBench beliefs", "PrecisionMemBench"),
    "scifact": ("SciFact abstracts", "SciFact"),
}
_OURS = "memotherm"
_MEASURES = ("any@1", "any@5", "all@5", "any@10", "nDCG@10", "MRR")

#: The settings to look at first.
_ESSENTIAL = (
    *("store", "embedder", "key_file", "tokenizer", "redact", "hot_max_tokens", "recall_max_tokens"),
    *("decision_cold_after_days", "cool_warm_days", "retention"),
)
#: The groups of settings by the first setting of each: its title, and what it is about.
_GROUPS = {
    "store": ("Store", "Where memories are stored, and how safely they are written."),
    "embedder": ("Embedding", "What turns text into vectors, and what counts tokens."),
    "default_tier": ("Memories", "What is accepted as a new memory, and where it starts."),
    "fusion": ("Recall and ranking", "How candidates are found and ranked."),
    "tiering": ("Tiers", "When compaction and recalls move memories between tiers."),
    "recall_max_tokens": ("Context", "What a context contains."),
    "hot_token_limit": (
        "Sessions",
        "The working memory of a session, and the flush before its context is compacted.",
    ),
    "cool_hot_days": (
        "Maintenance and retention",
        "What maintenance moves, hides and erases, in the whole store.",
    ),
    "notes_root": ("Notes", "How Markdown notes and transcripts are indexed and searched."),
    "mcp_tools": ("Interfaces", "What the tools and the server offer, and to whom."),
}

_SETTINGS_HEAD = """\
# Settings

Most users change none of them, or only some of the first ten.
Values come from, in order of precedence:

1. arguments: `memotherm.open(..., settings={"hot_token_limit": 60})`
2. the environment: `MEMOTHERM_HOT_TOKEN_LIMIT=60`
3. the project's file: `memotherm.toml`, or `[tool.memotherm]` in `pyproject.toml`,
   in the working directory or above it
4. your own `config.toml`
5. these defaults

0 means 0, never "the default".
Names in camel case, and [those of other programs](names.md) such as `memoryTiering.hotMaxTokens`, are accepted.
An unknown name is an error.
`memotherm config show --origin` prints every value and where it comes from.

A project's file may come with a cloned repository, so it may set only what the column "project" allows:
how memories are written, ranked, packed and moved between tiers, which the ledger records and `undo` reverts.
It may not set where memories are stored or sent, who can reach them, what is hidden, erased or logged,
what an agent is instructed to do, or the resources of your machine.
A file that does is refused as a whole, with an error that names the settings.
Set `MEMOTHERM_TRUST_PROJECT=1`, or `trust_project = true` in your own `config.toml`, to allow everything.

"""
_ERRORS_HEAD = """\
# Errors

Every error of Memotherm is a subclass of `MemothermError` and has a stable `code`.
Messages say what to do. Interfaces translate codes, never messages.

"""
_PYTHON_HEAD = """\
# Python

`memotherm.open(url)` returns a `Memotherm`;
`async with memotherm.aopen(url) as mem` returns an `AsyncMemotherm` with the same methods as coroutines.
Values (`Memory`, `Hit`, `Recall`, `Move`, `Event`, `EventPage`, `Page`, `Status`, `ScopeCount`, `Why`, `Problem`,
`Context`, `Receipt`, `TimedRecall`, `KeptReceipt`, `KeptEntry`, `ReceiptAnswer`, `ReceiptPage`, `SentContext`,
`SentPart`, ...) are frozen; change one with `dataclasses.replace`.
`Tier`, `Priority`, `Retention` and `Trust` are string enums: `str(memory.tier) == "hot"`.
`TierName`, `PriorityName` and `FormatName` are the types of the words that arguments take.

"""


_NAMES_HEAD = """\
# Names of other programs

Agents and configurations written for another memory can keep its names; we map them to ours.
The programs are hybrid memory (a plugin of OpenClaw), agent ecology, ctx-sys, MemorySync and OpenClaw.

- Camel case is accepted wherever underscores or dashes are, and vice versa.
- `type` and `category` mean `kind`, and `text` means `content`: in tools, in bodies of REST, as options,
  in `remember_many` and in `import jsonl`.
- Naming a field twice in one call is an error.

"""
#: A call of another program: its parameters there, and our method, command, tool, route and operation.
_CALLS: dict[str, tuple[str, Any, str, str, str, str]] = {
    "store_memory": (
        "content text tier type category tags metadata ttl_minutes sessionId",
        Memotherm.remember, "remember", "store_memory", "POST /memories", "remember",
    ),
    "memory_recall": (
        "query limit includeCold category types minScore autoPromote sessionId",
        Memotherm.recall, "recall", "memory_recall", "POST /recall", "recall",
    ),
    "memory_recall with a session": (
        "sessionId query limit autoPromote types",
        Session.recall, "session recall", "memory_recall", "POST /sessions/{id}/recall", "session_recall",
    ),
    "memory_add": (
        "sessionId content type metadata",
        Session.add, "session add", "memory_add", "POST /sessions/{id}/memories", "session_add",
    ),
    "memory_spill": (
        "sessionId count itemIds",
        Session.spill, "session spill", "memory_spill", "POST /sessions/{id}/spill", "session_spill",
    ),
    "memory_status": (
        "sessionId", Session.status, "session status", "memory_status", "GET /sessions/{id}/status", "",
    ),
    "set_memory_tier": (
        "memory_id tier", Memotherm.move, "move", "set_memory_tier", "POST /memories/{id}/move", "move",
    ),
    "pin_memory": ("memory_id", Memotherm.pin, "pin", "pin_memory", "POST /memories/{id}/pin", ""),
    "unpin_memory": ("memory_id", Memotherm.unpin, "unpin", "unpin_memory", "POST /memories/{id}/unpin", ""),
    "POST /memory/query": (
        "query tier limit k filters",
        Memotherm.recall, "recall", "memory_recall", "POST /memory/query", "query",
    ),
    "memory_search": (
        "query maxResults minScore", Notes.search, "notes search", "memory_search", "", "",
    ),
    "memory_get": ("path from lines", Notes.get, "notes get", "memory_get", "", ""),
}  # fmt: skip
#: Where a parameter is not one of ours under any name: what gives it.
_OTHERWISE = {
    "sessionId": ("`scoped`, `session`", "", "", "the path"),
    "memory_id": ("", "", "", "the path"),
    "includeCold": ("`tiers`", "", "", ""),
    "ttl_minutes": ("`ttl`", "`--ttl`", "", ""),
    "tier": ("`tiers`", "", "`includeCold`", ""),
    "tags": ("", "`--tag`", "", ""),
    "k": ("`limit`", "`--limit`", "`limit`", ""),
    "filters": ("`kinds`, `tags`", "`--kind`, `--tag`", "`types`, `tags`", ""),
    "itemIds": ("", "`--id`", "", ""),
    "from": ("`from_line`", "", "", ""),
}
#: Methods, commands, events, words and fields of other programs, and ours.
_OTHERS = {
    "Methods": {
        "addToHot": "`session.add`", "getHot": "`session.hot`", "spillToWarm": "`session.spill`",
        "promoteToHot": "`session.promote`", "getStatus": "`session.status`",
        "get_relevant_memories": "`get_relevant_memories`", "get_pinned_memories": "`pinned`",
        "search": "`recall`", "add": "`remember`", "syncMemoryFiles": "`notes.sync`",
        "runMemoryFlushIfNeeded": "`session.flush_due`",
    },
    "Commands and events": {
        "openclaw hybrid-mem compact": "`memotherm compact`", "search with a tier filter": "`memotherm search --tier`",
        "before_agent_start": "`session.session_start` and `session.before_turn`",
        "agent_end": "`session.run_ended`; at the end of the session `session.session_end`",
    },
    "Fields of a memory": {
        "sessionId": "`scope.session`", "accessCount": "`access_count`", "usage_count": "`access_count`",
        "decay_score": "`decay` of `mem.inspect.heat`, and of a memory that is read by its id",
        "lastAccessedAt": "`last_accessed_at`: `accessed_at`, or `created_at` before the first use",
        "createdAt": "`created_at`", "created_tick": "`created_at`, or `metadata`",
        "relevanceScore": "`relevance`", "token_count": "`tokens`", "retention_status": "`retention`",
        "agent_id": "`scope.agent`", "user_id": "`scope.user`", "a number or priority as `tier`": "`priority`",
        "project_id": "`scope.project`", "environment": "`scope.environment`", "expires_at": "`expires_at`",
        "boosted_score": "`score` of a hit", "sizeLimit": "`hot.limit` of the status",
        "currentSize": "`hot.tokens` of the status",
    },
    "Fields of results": {
        "`items`, `promoted`, `relevanceScores`": "the same, in JSON",
        "`sessionId`, `type`, `accessCount`, `lastAccessedAt`, `createdAt`, `relevanceScore`":
            "the same, in the JSON of a session's memories, beside our names",
        "`spilledCount`, `spilledIds`, `targetTier`": "the same, in JSON",
        "`hot`, `warm`, `cold`, `items`, `tokens`, `limit`, `utilizationPercent`": "the same, in JSON",
        "`suggestions`, `type`, `reason`, `itemIds`": "the same, in JSON",
    },
    "Files and words": {
        "memory/YYYY-MM-DD.md": "the same", "MEMORY.md": "the same", "¿¿silent": "accepted beside `silent_token`",
        "tags `blocker`, `task`": "the same", "ReserveTokens": "20,000, fixed",
        "SoftThreshold": "4,000, fixed", "DEFAULT_MAX_RESULTS": "`max_results` of `notes.search`",
        "DEFAULT_MIN_SCORE": "`min_score` of `notes.search`",
    },
}  # fmt: skip
#: The metric of a program -> ours at `/metrics`.
_PROMETHEUS = {
    "memory_hot_utilization": "memotherm_hot_utilization_ratio",
    "memory_spill_count": "memotherm_spills_total",
    "memory_recall_count": "memotherm_recalls_total",
    "memory_promotion_count": "memotherm_promotions_total",
    "memory_recall_latency_ms": "memotherm_recall_duration_seconds",
    "memory_hit_rate": "memotherm_hit_rate_ratio",
}


def names_page() -> str:
    """Return the names of other programs, and ours, from the tables that map them."""
    sections = [_calls_section()]
    for title, names in _OTHERS.items():
        rows = [(theirs if "`" in theirs else f"`{theirs}`", ours) for theirs, ours in names.items()]
        sections.append(_table(f"## {title}", "theirs", "ours", rows))
    settings = [(f"`{theirs}`", f"`{ours}`") for theirs, ours in OTHER_NAMES.items()]
    sections.append(_table("## Settings", "theirs, in a settings file", "ours", settings))
    empty = Metrics(**dict.fromkeys(_REQUIRED_METRICS, 0), moves={})
    metrics = [(f"`{name}`", f"the same; `{_PROMETHEUS[name]}` at `/metrics`") for name in empty.as_dict()]
    sections.append(_table("## Metrics", "theirs", "ours: `mem.metrics().as_dict()`", metrics))
    return _NAMES_HEAD + "\n".join(sections)


_REQUIRED_METRICS = (
    "hot_utilization", "spill_count", "recall_count", "promotion_count", "recall_latency_ms", "recall_latency_p95_ms",
    "cold_recall_latency_ms", "hit_rate",
)  # fmt: skip


def _calls_section() -> str:
    head = "| call | theirs | Python | command line | MCP | REST |\n|---|---|---|---|---|---|"
    lines = ["## Tools and their parameters", "", head]
    for call, (parameters, method, command, tool, route, body) in _CALLS.items():
        offered = f"`{route}`" if route else "not offered"
        lines.append(f"| `{call}` | | `{method.__qualname__}` | `{command}` | `{tool}` | {offered} |")
        for name in parameters.split():
            ours = " | ".join(_ours(name, method, command, tool, body))
            lines.append(f"| | `{name}` | {ours} |")
    return "\n".join(lines) + "\n"


def _ours(name: str, method: Any, command: str, tool: str, operation: str) -> Iterator[str]:  # noqa: ANN401
    """Yield our name of a parameter in Python, on the command line, in MCP and in REST."""
    interfaces = (
        {each: each for each in inspect.signature(method).parameters},
        _command_parameters(command),
        {parameter.name: parameter.name for parameter in TOOLS[tool].parameters},
        _body_fields(operation),
    )
    for index, parameters in enumerate(interfaces):
        ours = parameters.get(known_name(name, parameters))
        yield _OTHERWISE.get(name, ("", "", "", ""))[index] or "-" if ours is None else f"`{ours}`"


def _body_fields(operation: str) -> dict[str, str]:
    """Return the fields of the body of an operation, by name."""
    if operation == "query":  # of a source, beside the table
        names: Iterable[str] = ("query", "tier", "limit", "k", "filters", "track", "session")
    else:
        found = OPERATIONS.get(operation)
        names = () if found is None else [each for each in found.by_wire if f"{{{each}}}" not in found.path]
    return {name: name for name in names}


def _command_parameters(command: str) -> dict[str, str]:
    """Return how the arguments and options of a command are written, by their names."""
    context = click.Context(app)
    found: Any = app
    for word in command.split():
        found = found.get_command(context, word)
    options, arguments = {}, {}
    for parameter in found.params:
        if isinstance(parameter, click.Argument):
            metavar = parameter.metavar or str(parameter.name).upper()
            arguments |= {str(parameter.name): metavar, metavar.lower(): metavar}
        else:
            names = [option for option in parameter.opts if option.startswith("--")]
            options |= {option.removeprefix("--").replace("-", "_"): names[0] for option in names}
    # An argument takes precedence over the option of the same name.
    return {name: option for name, option in options.items() if option.removeprefix("--") not in arguments} | arguments


def cli_page() -> str:
    """Return the page on the command line with the commands of each section; the text around them stays."""
    page = (DOCS / "reference" / "cli.md").read_text("utf-8")
    context = click.Context(app, info_name="memotherm")
    for title, names in SECTIONS.items():
        commands = [text for name in names for text in _commands(app.get_command(context, name), context, name)]
        page = _filled(page, title, "\n".join(commands))
    return page


#: The options that many commands have; the page explains them once.
_COMMON_OPTIONS = {"--store", "--json", "--help", "--everywhere", *(f"--{name}" for name in SCOPE_FIELDS)}


def _commands(command: Any, parent: click.Context, name: str) -> Iterator[str]:  # noqa: ANN401
    """Yield the usage, the description and the options of a command, and those of the commands below it."""
    context = click.Context(command, info_name=name, parent=parent)
    words = [word for word in command.collect_usage_pieces(context) if word != "[OPTIONS]"]
    help_text = (command.help or "").split("\b\n")[0]
    yield f"### `{' '.join([context.command_path, *words])}`\n\n{_paragraphs(help_text)}"
    options = [_option(each, context) for each in command.params if isinstance(each, click.Option)]
    if any(options):
        yield "\n".join(filter(None, options)) + "\n"
    for below in command.list_commands(context) if isinstance(command, click.Group) else ():
        yield from _commands(command.get_command(context, below), context, below)


def _option(option: click.Option, context: click.Context) -> str:
    record = option.get_help_record(context)
    if record is None or _COMMON_OPTIONS & set(option.opts):
        return ""
    return f"- `{record[0]}`: {' '.join(record[1].split())}"


def _table(title: str, theirs: str, ours: str, rows: list[tuple[str, str]]) -> str:
    body = "\n".join(f"| {left} | {right} |" for left, right in rows)
    return f"{title}\n\n| {theirs} | {ours} |\n|---|---|\n{body}\n"


def settings_page() -> str:
    """Return a table of settings for each group, from their declarations."""
    first = _settings_table([FIELDS[name] for name in _ESSENTIAL])
    sections = [f"## The ten that matter most\n\n{first}\n"]
    names = list(FIELDS)
    starts = [place for place, name in enumerate(names) if name in _GROUPS]
    for start, end in zip(starts, [*starts[1:], len(names)], strict=True):
        title, about = _GROUPS[names[start]]
        others = [FIELDS[name] for name in names[start:end] if name not in _ESSENTIAL]
        sections.append(f"## {title}\n\n{about}\n\n{_settings_table(others)}\n")
    return _SETTINGS_HEAD + "\n".join(sections)


def _settings_table(settings: Iterable[Field[Any]]) -> str:
    rows = [
        f"| `{declared.name}` | {_default(declared.default)} | {_allowed(declared.metadata['project'])} "
        f"| {declared.metadata['description']} |"
        for declared in settings
    ]
    return "| setting | default | project | description |\n|---|---|---|---|\n" + "\n".join(rows)


def _allowed(project: bool | tuple[object, ...]) -> str:
    """Return what a project's settings file may set without trust."""
    if isinstance(project, bool):
        return "yes" if project else "no"
    return ", ".join(f"`{json.dumps(value).strip(chr(34))}`" for value in project if value != "") + " only"


def _default(value: object) -> str:
    if value == "" or value == ():
        return "(none)"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def errors_page() -> str:
    """Return the tree of errors and what each one means."""
    tree = inspect.getdoc(errors) or ""
    drawn = "\n".join(line for line in tree.splitlines() if line.startswith("    "))
    classes = [getattr(errors, name) for name in errors.__all__]
    rows = [
        f"| `{each.__name__}` | `{each.code}` | {(inspect.getdoc(each) or '').splitlines()[0]} |" for each in classes
    ]
    table = "| error | code | when |\n|---|---|---|\n" + "\n".join(rows)
    return f"{_ERRORS_HEAD}```text\n{inspect.cleandoc(drawn)}\n```\n\n{table}\n"


def python_page() -> str:
    """Return every public verb with its signature and its first sentence."""
    sections = []
    owners = {
        "The memory": Memotherm, "`mem.bulk`": Bulk, "`mem.inspect`": Inspection, "`mem.keys`": Keys,
        "`mem.policies`": Policies, "`mem.receipts`": Receipts, "`mem.store`": Upkeep, "A session": Session,
        "Notes": Notes,
    }  # fmt: skip
    for title, owner in owners.items():
        entries = [_entry(name, method) for name, method in _verbs(owner)]
        about = (inspect.getdoc(owner) or "").splitlines()[0]
        sections.append(f"## {title}\n\n{about}\n\n" + "\n".join(entries))
    return _PYTHON_HEAD + "\n".join(sections)


def _verbs(owner: type) -> Iterator[tuple[str, object]]:
    for name, method in vars(owner).items():
        if not name.startswith("_") and inspect.isfunction(method):
            yield name, method


def _entry(name: str, method: object) -> str:
    shown = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in inspect.signature(method).parameters.values()  # type: ignore[arg-type]
        if parameter.name != "self"
    ]
    signature = str(inspect.Signature(shown)).replace("<Priority.NORMAL: 'normal'>", "'normal'")
    signature = re.sub(r"<\w+\.\w+: ('\w+')>", r"\1", signature)
    doc = inspect.getdoc(method) or ""
    lines = [f"### `{name}{signature}`", "", _paragraphs(doc)]
    lines += [f"- `{argument}`: {text}" for argument, text in documented(method)[1].items()]  # type: ignore[arg-type]
    return "\n".join([*lines, ""])


def _paragraphs(doc: str) -> str:
    description = doc.partition("Args:\n")[0].strip()
    return "\n\n".join(" ".join(part.split()) for part in description.split("\n\n")) + "\n"


_REST_HEAD = """\
# REST

Every operation of the server; the Python client and the MCP tools come from the same table.
`GET /openapi.json` describes them as OpenAPI 3.1, together with the routes of the server itself: logins, keys,
health, metrics, jobs and the event stream.
A scope is given in the header `Memotherm-Scope`; errors are `application/problem+json` with a stable `code`.
A `POST` that is marked "once" is carried out once for each `Idempotency-Key`.
Names in camel case, and [those of other programs](names.md), are accepted in bodies and query strings.

"""
_MCP_HEAD = """\
# MCP tools

The tools an agent can call; [MCP](../how-to/mcp.md) explains how to choose among them.
Results are those of REST without fields that agents do not need, shortened to 8,000 tokens.

"""


def rest_page() -> str:
    """Return the routes of the table by group, with their parameters."""
    groups: dict[str, list[str]] = {}
    for operation in OPERATIONS.values():
        if operation.route:
            groups.setdefault(operation.group, []).append(_route_entry(operation))
    return _REST_HEAD + "\n".join(f"## {group.capitalize()}\n\n" + "\n".join(found) for group, found in groups.items())


def _route_entry(operation: Operation) -> str:
    marks = [
        *(["changes something"] if operation.writes else []),
        *(["once"] if operation.once else []),
        *(["concerns the whole store"] if operation.whole_store else []),
        *(["the session must have begun"] if operation.begun else []),
    ]
    python = {"memory": "mem", "session": "session", "notes": "notes"}.get(operation.owner, f"mem.{operation.owner}")
    lines = [f"### `{operation.route}`", "", operation.summary, ""]
    lines += [f"In Python `{python}.{operation.verb}`" + (f"; {', '.join(marks)}." if marks else "."), ""]
    lines += [_parameter_line(parameter) for parameter in operation.parameters]
    examples = [f"```json\n{json.dumps(example, ensure_ascii=False)}\n```" for example in operation.examples]
    return "\n".join([*lines, *(["", *examples] if examples else []), ""]).replace("\n\n\n", "\n\n")


def _parameter_line(parameter: Parameter) -> str:
    kind = " or ".join(f"`{choice}`" for choice in parameter.choices) or _kind_name(parameter)
    default = "" if parameter.default in (None, "", []) else f", default `{json.dumps(parameter.default)}`"
    required = ", required" if parameter.required else ""
    return f"- `{parameter.wire}` ({kind}{required}{default}): {parameter.help}".rstrip(": ")


def _kind_name(parameter: Parameter) -> str:
    names = {str: "text", int: "integer", float: "number", bool: "true or false"}
    return (
        "list"
        if parameter.multiple
        else names.get(parameter.type, "time" if "datetime" in str(parameter.type) else "object")
    )


def mcp_page() -> str:
    """Return the tools of agents with their parameters."""
    entries = []
    for tool in TOOLS.values():
        listed = ", ".join(f"`{each.name}`" + ("" if each.required else "?") for each in tool.parameters) or "none"
        hints = [*(["reads only"] if tool.reads_only else []), *(["hides something"] if tool.hides else [])]
        marks = f" ({', '.join(hints)})" if hints else ""
        entries.append(f"### `{tool.name}`\n\n{' '.join(tool.description.split())}{marks}\n\nParameters: {listed}\n")
    return _MCP_HEAD + "\n".join(entries)


def evaluation_page() -> str:
    """Return the page on evaluation with the tables of what was measured last; the text around them stays."""
    page = (DOCS / "evaluation.md").read_text("utf-8")
    for name, table in (
        ("results", _quality_table()),
        ("ablation", _ablation_table()),
        ("policies", _policy_table()),
        ("search", _search_table()),
    ):
        page = _filled(page, name, table)
    return page


def _filled(page: str, name: str, text: str) -> str:
    """Return a page with a text between the comments that mark its place."""
    marked = re.compile(f"(<!-- {name} -->\n).*?(<!-- end of {name} -->)", re.DOTALL)
    page, found = marked.subn(lambda match: f"{match[1]}\n{text}\n{match[2]}", page)
    if found != 1:
        raise ValueError(f"the page has no place for {name}")
    return page


def _policy_table() -> str:
    measured = json.loads((RESULTS / "policy.json").read_text("utf-8"))
    lines = [
        "| history | policy | live hits | live, of stored | moves | flaps |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for row in measured["rows"]:
        if "interval" not in row["notes"]:
            continue
        (history, policy), found = row["key"].split("/"), row["notes"]
        low, high = found["interval"]
        lines.append(
            f"| {history} | {policy} | {row['value']:.1%} [{low:.1%}, {high:.1%}] "
            f"| {found['live_mean']:,} of {found['stored_mean']:,} "
            f"| {found['moves']:,} | {found['flaps']:,} |"
        )
    return "\n".join(lines) + "\n"


def _search_table() -> str:
    lines = ["| history | policy | live hits | more than builtin | live |", "|---|---|---:|---:|---:|"]
    for history, name, found in _variants("search"):
        better = found["better_by"]
        more = "" if better is None else f"[{100 * better[0]:+.2f}, {100 * better[1]:+.2f}]"
        lines.append(f"| {history} | {name} | {found['live_hits']:.2%} | {more} | {found['live_mean']:,} |")
    return "\n".join(lines) + "\n"


def _variants(part: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield history, name and numbers of the variants of the built-in policy in one part of the suite `policy`."""
    for row in json.loads((RESULTS / "policy.json").read_text("utf-8"))["rows"]:
        first, *rest = row["key"].split("/")
        if first == part:
            yield rest[0], rest[1], row["notes"]


def _quality_table() -> str:
    measured = json.loads((RESULTS / "quality.json").read_text("utf-8"))
    rows = {row["key"]: row["notes"] for row in measured["rows"]}
    lines = [f"| set | N | ranking | {' | '.join(_MEASURES)} |", "|---|---:|---" + "|---:" * len(_MEASURES) + "|"]
    for key, (title, _) in _SETS.items():
        found = rows[key]
        lines.append(f"| {title} | {found['n']} | **{_OURS}** | {_measures(found['rankings'][_OURS])} |")
        for lead in (found["lead"], found["lead_over_our_words"]):
            best = lead["over"]
            between = f"{lead['nDCG@10']:+.3f} [{lead['low']:+.3f}, {lead['high']:+.3f}]"
            lines += [
                f"| | | best control: {best} | {_measures(found['rankings'][best])} |",
                f"| | | our lead in nDCG@10 | | | | | {between} | |",
            ]
    return "\n".join(lines) + "\n"


def _measures(values: dict[str, float]) -> str:
    return " | ".join(f"{values[name]:.3f}".removeprefix("0") for name in _MEASURES)


def _ablation_table() -> str:
    measured = json.loads((RESULTS / "ablation.json").read_text("utf-8"))
    sets: dict[str, dict[str, Any]] = {each["set"]: each["left_out"] for each in measured["sets"]}
    head = f"| left out | {' | '.join(short for _, short in _SETS.values())} |"
    ideas = next(iter(sets.values()))
    rows = [f"| {idea} | {' | '.join(_change(sets[key][idea]) for key in _SETS)} |" for idea in ideas]
    return "\n".join([head, "|---" + "|---:" * len(_SETS) + "|", *rows]) + "\n"


def _change(found: dict[str, float]) -> str:
    """Return what leaving out an idea changes; a star where that cannot be chance."""
    change = found["nDCG@10"]
    if abs(change) < 0.0005:
        return "0"
    sure = "*" if found["low"] > 0 or found["high"] < 0 else ""
    return f"{change:+.3f}".replace("0.", ".", 1) + sure


#: File -> what it should say.
PAGES = {
    "reference/settings.md": settings_page,
    "reference/errors.md": errors_page,
    "reference/python.md": python_page,
    "reference/names.md": names_page,
    "reference/rest.md": rest_page,
    "reference/mcp.md": mcp_page,
    "reference/cli.md": cli_page,
    "evaluation.md": evaluation_page,
}


def main() -> None:
    """Write every page."""
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), "utf-8")


if __name__ == "__main__":
    main()
