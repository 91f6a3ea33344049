"""Store, search and read memories: `remember`, `recall`, `context`, `get`, `list`, `status`, `scopes`, `feedback`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
from click.core import ParameterSource

import memotherm
from memotherm import Memotherm, Scope
from memotherm.cli.options import StoreOptions, folder_option, memory_option, narrower_option, opened, prints
from memotherm.cli.output import Output
from memotherm.cli.parsing import MemoryId, TextCommand
from memotherm.cli.verbs import given, operation_options, plain
from memotherm.model import Recall, Tier
from memotherm.model.marks import ANCHORS, ENDS
from memotherm.model.recall import SEARCH_COLD
from memotherm.model.results import Page, ScopeCount
from memotherm.operations.codec import to_json
from memotherm.text.conditions import opposite, parse_condition
from memotherm.text.content import pluralize

_MOST_NAMED = 5
#: What says which page of a list is meant, and not what is in it.
_OF_PAGES = ("limit", "cursor", "order", "skip")


@click.command("remember", cls=TextCommand)
@operation_options("remember", defaults={"source": "cli"}, left_out="version")
@click.option("--force", is_flag=True, help='Store it even if it has nothing to remember, such as "ok".')
@click.option("--until", metavar="CONDITION", help="What ends it: a date, or a condition such as `tag at least 2.0`.")
@click.option("--while", "while_", metavar="CONDITION", help="What it depends on, such as `branch release/2.1 exists`.")
@click.option(
    "--about", metavar="FILE:LINES", multiple=True, help="A file that it is about, or lines of it (repeatable)."
)
@memory_option(creates=True)
def remember(
    mem: Memotherm,
    about: tuple[str, ...],
    force: bool,
    until: str | None,
    while_: str | None,
    **options: Any,  # noqa: ANN401
) -> Output:
    """Store a memory; `-` reads its content from standard input.

    A content that has nothing to remember, such as "ok", is skipped, unless a kind or a key is given.

    \b
    memotherm remember "Deploys are frozen until Friday" --tag blocker --tier hot
    git log -1 --format=%B | memotherm remember - --kind decision --project shop
    memotherm remember "Ship on Monday" --key plans/release
    memotherm remember "Use the workaround" --until 'file pyproject.toml contains "3.13"'
    memotherm remember "The retries are on purpose" --about src/client.py:40-52
    memotherm remember "The schema is frozen" --while 'branch release/2.1 exists'

    The conditions that end a memory are checked in the repository of this folder when it is recalled:

    \b
    branch NAME exists | is gone | is merged
    tag at least 2.0, version at least 2.0, version of NAME at least 3.13
    file PATH exists | is gone | contains "TEXT" | lacks "TEXT"
    commit ID is in BRANCH
    """
    from memotherm.tools.results import secret_warnings, skipped

    arguments = given({**options, **_end(until, while_, options["valid_until"])})
    if about:
        arguments["metadata"] = {**arguments.get("metadata", {}), ANCHORS: list(about)}
    source = click.get_current_context().get_parameter_source("kind")
    named = source is not ParameterSource.DEFAULT or "key" in arguments
    if (answer := skipped(arguments["content"], asked=force or named)) is not None:
        return Output(answer, [], [f"not stored: {answer['why'].replace('use force', 'use --force')}"])
    memory = mem.remember(**arguments)
    warnings = secret_warnings(arguments["content"], mem.settings)
    return Output({**to_json(memory), "warnings": warnings}, [memory], warnings)


def _end(until: str | None, while_: str | None, valid_until: str | None) -> dict[str, str]:
    """Return the end of a memory that options name; what it depends on ends it when it is not true any more."""
    if sum(each is not None for each in (until, while_, valid_until)) > 1:
        raise click.UsageError("--until, --while and --valid-until name the end of a memory: give one of them")
    if while_ is not None:
        condition = parse_condition(while_)
        ends = None if condition is None else opposite(condition)
        if ends is None:
            raise click.UsageError(f"--while takes a branch or a file that exists, or contains a text, not {while_!r}")
        return {"valid_until": str(ends)}
    return {} if until is None else {"valid_until": until}


@click.command("recall", cls=TextCommand)
@operation_options("recall")
@click.option("--include-cold", is_flag=True, help="Also search cold memories.")
@prints
@folder_option
def recall(store: StoreOptions, include_cold: bool, tiers: tuple[str, ...], **options: Any) -> Output:  # noqa: ANN401
    """Search memories by meaning and words, best first, with reasons.

    \b
    memotherm recall "can I ship today?"
    memotherm recall "which database?" --tier cold --kind decision --json
    memotherm recall "open questions" --since 30d --where status=open --include-narrower
    """
    named = {Tier.of(tier) for tier in tiers} or {Tier.HOT, Tier.WARM}
    searched = [tier for tier in Tier if tier in named or (include_cold and tier is Tier.COLD)]
    with opened(store) as mem:
        found = mem.recall(tiers=searched, **given(options))
        in_cold = [found.hint.replace(SEARCH_COLD, "(--include-cold)")] if SEARCH_COLD in found.hint else []
        elsewhere = in_cold or ([] if found.hits else whereabouts(mem, store, found.hint))
        if not found.hits and not elsewhere and not options["include_narrower"]:
            elsewhere = _not_searched(mem)
    return recalled(found, options["limit"], elsewhere)


def _not_searched(mem: Memotherm) -> list[str]:
    """Return the note on how many memories a search from the root has left out."""
    if is_below_root(mem):
        return []
    left_out = mem.count(include_narrower=True) - mem.count()
    memories = pluralize(left_out, "memory")
    return [f"left out: {memories} of narrower scopes; --include-narrower searches them"] * bool(left_out)


def recalled(found: Recall, limit: int, elsewhere: list[str] | None = None) -> Output:
    """Return the output of a recall, with the limit that took effect, and where better matches are."""
    none = [*["no memory matches"] * (not found.hits), *(elsewhere or [])]
    promoted = [f"{memory_id} moved to hot" for memory_id in found.promoted]
    data = {**to_json(found), "limit": limit}
    lines = [
        *found.hits,
        *([""] if found.hits and found.pinned else []),
        *(["Pinned:", *found.pinned] if found.pinned else []),
    ]
    return Output(data, lines, [*none, *found.degraded, *promoted])


@click.command("context", cls=TextCommand)
@operation_options("context", arguments="query")
@click.option("--receipt", is_flag=True, help="Print on standard error what is included, what is not, and why.")
@memory_option()
def context(mem: Memotherm, receipt: bool, **options: Any) -> Output:  # noqa: ANN401
    """Print pinned, hot and recalled memories within a token budget.

    Pinned memories come first, then hot ones, then the hits of the query.

    \b
    memotherm context "deploy the shop" --budget 800
    memotherm context --receipt
    """
    found = mem.context(**given(options))
    if receipt:
        from memotherm.cli.formatting import receipt_rows

        for line in receipt_rows(found.receipt):
            click.echo(line.plain, err=True)
    notes = [] if receipt else [*found.receipt.notes, *found.degraded]
    return Output(
        to_json(found), [found.text] * bool(found.text), [*["the context is empty"] * (not found.text), *notes]
    )


feedback = plain(
    "feedback",
    "memotherm feedback --used mem_01J8ZQ4X0000000000000000\n"
    'memotherm feedback rec_01J8ZQ4X0000000000000000 --answer "The port is 5433."',
    lambda found: [
        *(f"{memory_id} confirmed" for memory_id in found.confirmed),
        *(f"{memory_id} reflected" for memory_id in found.reflected),
        *["nothing new"] * (not found.confirmed and not found.reflected),
    ],
    help="Say which memories of a recall were of use, so that tiers follow what helps.\n\n"
    "RECALL_ID is in the JSON of a recall or context; without it, the last recalls of the scope are meant.",
    arguments="recall",
)


@click.command("get")
@click.argument("memory_id", metavar="ID", type=MemoryId(), required=False)
@click.option("--key", help="The key of the memory, instead of its id.")
@memory_option()
def get(mem: Memotherm, memory_id: str | None, key: str | None) -> Output:
    """Show a memory with all its fields, by its id or its key.

    \b
    memotherm get mem_01J8ZQ4X0000000000000000
    memotherm get --key plans/release
    """
    memory = mem.get(memory_id, key=key)
    heat = mem.inspect.heat(memory)
    values = {**to_json(memory), "heat": round(heat.heat, 4), "decay": round(heat.decay, 4)}
    return Output(values, [values])


@click.command("review")
@operation_options("find", defaults={"limit": 50}, left_out="ids retention order skip")
@prints
@folder_option
def review(store: StoreOptions, **options: Any) -> Output:  # noqa: ANN401
    """List the proposals that wait for `approve` or `reject`, newest first; `update` edits one.

    \b
    memotherm review
    memotherm approve --contains harbour
    memotherm reject --since 7d --why "the model invented them"
    """
    with opened(store) as mem:
        page = mem.find(**given(options), retention="proposed")
        notes = _narrower_of_page(mem, page, "no proposal waits here", given(options) | {"retention": "proposed"})
    return Output(to_json(page), [page.memories] * bool(page.memories), [*more_note(page.cursor), *notes])


def _narrower_of_page(mem: Memotherm, page: Page, nothing: str, arguments: dict[str, Any]) -> list[str]:
    """Return the notes on narrower scopes for a page of memories: the first one of a list without these has them."""
    filters = {name: value for name, value in arguments.items() if name not in _OF_PAGES}

    def count(include_narrower: bool) -> int:
        return mem.count(**filters | {"include_narrower": include_narrower})

    is_first = not arguments.get("include_narrower") and not arguments.get("cursor")
    return narrower_notes(mem, len(page.memories), nothing, count if is_first else None)


@click.command("list")
@operation_options("find", left_out="ids", defaults={"limit": 50})
@click.option("--ids", is_flag=True, help="Print only the ids, one per line.")
@click.option("--count", is_flag=True, help="Print only how many memories match.")
@click.option("--keys", is_flag=True, help="Print the keys of all visible memories in order, one per line.")
@click.option("--fused", is_flag=True, help="Only memories that end, or may end, by a condition.")
@click.option("--depth", type=click.IntRange(min=1), help="With --keys: cut keys behind that many slashes, once each.")
@prints
@folder_option
def list_(
    store: StoreOptions,
    ids: bool,
    count: bool,
    keys: bool,
    fused: bool,
    depth: int | None,
    **options: Any,  # noqa: ANN401
) -> Output:
    """List memories, newest first unless another order is given, a page at a time.

    \b
    memotherm list --tier hot
    memotherm list --retention deleted --json
    memotherm list --since 7d --where status=open --include-narrower
    memotherm list --tag sprint-12 --ids | xargs -n 1 memotherm archive
    memotherm list --keys --prefix plans/ --depth 1
    memotherm list --contains deploy --order largest
    memotherm list --fused
    """
    if depth is not None and not keys:
        raise click.UsageError("--depth is an option of --keys: add it")
    arguments = given(options)
    if fused:
        arguments["where"] = {**arguments.get("where", {}), ENDS: {"$exists": True}}
    with opened(store) as mem:
        if keys:
            found_keys = mem.inspect.keys(options["prefix"] or "", depth, options["limit"], options["cursor"])
            # A full page may be the last one.
            cursor = found_keys[-1] if found_keys and len(found_keys) == options["limit"] else None
            none = ["no key matches"] * (not found_keys)
            return Output({"keys": found_keys, "cursor": cursor}, found_keys, [*none, *more_note(cursor)])
        if count:
            found = mem.count(**{name: value for name, value in arguments.items() if name not in _OF_PAGES})
            return Output({"count": found}, [str(found)])
        page = mem.find(**arguments)
        if page.memories:
            elsewhere = _narrower_of_page(mem, page, "", arguments)
        else:
            elsewhere = ["no memory matches", *whereabouts(mem, store, page.hint)]
    lines = [memory.id for memory in page] if ids else [page.memories] * bool(page.memories)
    return Output(to_json(page), lines, [*more_note(page.cursor), *elsewhere])


def more_note(cursor: str | None) -> list[str]:
    """Return the note on how to get the next page."""
    return [f"more with --cursor {cursor}"] if cursor else []


def narrower_notes(
    mem: Memotherm, found: int, nothing: str, count: Callable[[bool], int] | None, most: int | None = None
) -> list[str]:
    """Return the notes of a list on narrower scopes: how many are there, if it found none or is one of the root.

    Args:
        mem: The memory.
        found: How many the list has found.
        nothing: What to say if it has found none.
        count: Returns how many there are, with or without narrower scopes; None for a list that includes these.
        most: Where the count ends.
    """
    if count is None or (found and is_below_root(mem)):
        return [nothing] * (not found)
    everywhere = count(True)
    inner = everywhere - (count(False) if found else 0)
    number = f"{inner:,}{' or more' if everywhere == most else ''}{' more' if found else ''}"
    told = f"{number} in narrower scopes: --include-narrower"
    return [told] * bool(inner) if found else [f"{nothing}; {told}" if inner else nothing]


def is_below_root(mem: Memotherm) -> bool:
    """Return whether the scope of a memory has more than a tenant."""
    return any(name != "tenant" for name, _ in mem.scope.items())


stale = plain(
    "stale", "memotherm stale\nmemotherm verify mem_01J8ZQ4X0000000000000000", iter,
    help="List memories whose files have changed or are gone, newest first; `verify` says that one still holds.",
    notes=lambda found: ["no memory is about a file that has changed"] * (not found),
)  # fmt: skip


@click.command("status")
@narrower_option
@prints
@folder_option
def status(store: StoreOptions, include_narrower: bool) -> Output:
    """Show how much each tier holds, and how it can be searched.

    \b
    memotherm status --project shop
    memotherm status --include-narrower
    """
    from memotherm.tools.results import metrics_json

    with opened(store) as mem:
        current = shown = mem.status(include_narrower=include_narrower)
        elsewhere = whereabouts(mem, store, current.hint)
        inside: list[ScopeCount] = []
        if current.hint:
            # None is visible, but there are some in narrower scopes: a person sees these.
            shown, inside = mem.status(include_narrower=True), mem.inspect.scopes()
        here = sum(count.memories for count in current.tiers.values())
        if here and not include_narrower:
            elsewhere += narrower_notes(mem, here, "", lambda inner: mem.count(include_narrower=inner))
        metrics = metrics_json(mem.metrics())
    lines = [shown, *(["", inside] if inside else [])]
    return Output({**to_json(current), "metrics": metrics}, lines, [*current.degraded, *elsewhere])


scopes = plain(
    "scopes", "memotherm scopes\nmemotherm scopes --project shop --json", lambda counts: [counts] * bool(counts),
    help="List the scopes at and below the given one that hold memories, with counts and sizes.",
    notes=lambda counts: ["no scope holds memories"] * (not counts), whole_store=True,
)  # fmt: skip


def whereabouts(mem: Memotherm, store: StoreOptions, hint: str) -> list[str]:
    """Return notes about where memories are if `mem` can see none; its own `hint` knows only narrower scopes."""
    if hint:
        return [f"{hint}; --include-narrower includes them"]
    if not mem.scope.items() or any(count.memories for count in mem.status().tiers.values()):
        return []
    counts = all_scopes(mem, store)
    if not counts:
        return []
    total = pluralize(sum(count.memories for count in counts), "memory")
    named = ", ".join(f"{count.scope} ({count.memories})" for count in counts[:_MOST_NAMED])
    return [f"{total} of this store in other scopes: {named}; `memotherm scopes` lists all"]


def all_scopes(mem: Memotherm, store: StoreOptions) -> list[ScopeCount]:
    """Return all scopes of the tenant that hold memories, the largest first."""
    with memotherm.open(store.url, scope=Scope(tenant=mem.scope.tenant)) as outer:
        counts = [count for count in outer.inspect.scopes() if count.memories]
    return sorted(counts, key=lambda count: -count.memories)
