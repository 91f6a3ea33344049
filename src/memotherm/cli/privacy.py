"""Hide, erase and hand out memories: `memotherm forget`, `restore`, `purge`, `erase` and `export`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memotherm import Memory, Memotherm
from memotherm.cli.memories import all_scopes, is_below_root, whereabouts
from memotherm.cli.options import (
    StoreOptions,
    dry_run_option,
    folder_option,
    located,
    narrower_option,
    opened,
    prints,
    show,
    store_option,
    yes_option,
)
from memotherm.cli.output import Output, confirm, progress_bar
from memotherm.cli.parsing import MemoryId, TextCommand
from memotherm.cli.verbs import ID, given, operation_options
from memotherm.errors import InvalidInput
from memotherm.model import Retention
from memotherm.model.results import Match
from memotherm.operations.codec import to_json
from memotherm.settings.paths import write_text
from memotherm.text.content import first_line, pluralize

if TYPE_CHECKING:
    from rich.text import Text

_PAGE = 1000
#: The retention of the memories that a verb finds, where that is not active.
_FOUND = {"restore": "deleted", "approve": "proposed", "reject": "proposed", "purge": "any"}


def _command(verb: str, help: str, question: str, done: str, examples: str) -> click.Command:
    """Return the command of a verb that changes one memory by its id, or many by a filter."""

    @operation_options(f"{verb}_many", left_out="count dry_run include_narrower ids retention")
    @click.argument("memory_id", metavar="[ID]", type=MemoryId(), required=False)
    @yes_option
    @dry_run_option
    @prints
    @folder_option
    def command(
        store: StoreOptions,
        memory_id: str | None,
        yes: bool,
        dry_run: bool,
        why: str,
        **filters: Any,  # noqa: ANN401
    ) -> Output:
        wanted = given(filters)
        if (memory_id is None) == (not wanted):
            raise click.UsageError(
                "name a memory by its id, or several with --mentions, --where, --since, --until, --kind or --tag"
                if memory_id is None
                else "give either the id of a memory or filters, not both"
            )
        if memory_id is not None:
            with opened(store, dry_run=dry_run) as opened_mem:
                mem, whole_id = located(opened_mem, memory_id)
                if verb == "purge":
                    content = mem.get(whole_id).content[:200]
                    confirm(question.format(repr(content)), "purge erases permanently", yes=yes or dry_run)
                memory: Memory | None = getattr(mem, verb)(whole_id, why)
            if memory is not None:
                return Output(to_json(memory), [memory]).after_dry_run(dry_run)
            data = {"id": whole_id, "retention": "purged"}
            return Output(data, [f"{whole_id} was erased"]).after_dry_run(dry_run)
        with opened(store) as mem:
            change: Callable[..., list[Memory]] = getattr(mem.bulk, verb)
            count = len(change(dry_run=True, **wanted))
            memories = pluralize(count, "memory")
            # From below the root, wider scopes are seen, so that the difference says nothing.
            inner, found = 0, {"retention": _FOUND.get(verb, "active"), **wanted}
            if not count or not is_below_root(mem):
                inner = mem.count(**found, include_narrower=True) - count
            if count and not dry_run:
                confirm(question.format(memories), f"{memories} match", yes=yes)
                change(why, count=count, **wanted)
        notes = [f"{pluralize(inner, 'memory')} of narrower scopes match: name the scope"] * bool(inner)
        lines = [f"{memories} {'would be ' if dry_run else ''}{done}"]
        return Output({"count": count, "dry_run": dry_run}, lines, notes)

    return click.command(verb, help=f"{help}\n\n\b\n{examples}")(command)


forget = _command(
    "forget", "Delete a memory, or all that a filter selects; `restore` undoes it within 7 days.",
    "Forget {}?", "forgotten",
    f'memotherm forget {ID}\nmemotherm forget --where sprint=12 --why "the sprint is over"',
)  # fmt: skip
restore = _command(
    "restore", "Restore an archived or deleted memory, or all deleted ones that a filter selects.",
    "Restore {}?", "restored", f"memotherm restore {ID}\nmemotherm restore --where sprint=12",
)  # fmt: skip
approve = _command(
    "approve", "Approve a proposal, or all that a filter selects: they become active.",
    "Approve {}?", "approved", f"memotherm approve {ID}\nmemotherm approve --since 7d",
)  # fmt: skip
reject = _command(
    "reject", "Reject a proposal, or all that a filter selects: they do not come back.",
    "Reject {}?", "rejected", f"memotherm reject {ID}\nmemotherm reject --contains password",
)  # fmt: skip
purge = _command(
    "purge", "Erase a memory permanently, or all that a filter selects; only the events remain.",
    "Erase {} permanently?", "erased", f"memotherm purge {ID} --yes\nmemotherm purge --mentions 123-45-6789",
)  # fmt: skip


@click.command("select", cls=TextCommand)
@operation_options("select", arguments="request")
@click.option("--forget", "verb", flag_value="forget", help="Delete what it names; `restore` undoes it.")
@click.option("--purge", "verb", flag_value="purge", help="Erase what it names permanently.")
@click.option("--proposed", is_flag=True, help="With what is only proposed; --yes does not purge that.")
@yes_option
@prints
@folder_option
def select(store: StoreOptions, verb: str | None, proposed: bool, yes: bool, **values: Any) -> Output:  # noqa: ANN401
    """Show which memories a request in words concerns, and forget or purge them.

    A name or an identifier selects the memories that mention it; other requests those with most of their words.
    Memories that have fewer of them or are only close in meaning are listed apart, as proposed.

    \b
    memotherm select "everything about Frank the engineer"
    memotherm select "the old phone number" --forget
    memotherm select "everything about Ana" --everywhere --purge
    """
    with opened(store) as mem:
        selection = mem.select(**given(values))
        chosen = [*selection.matches, *(selection.proposed if proposed else ())]
        rows = [_match_row(match) for match in chosen]
        lines: list[object] = [*rows]
        if verb and chosen:
            memories = pluralize(len(chosen), "memory")
            for each in rows:
                click.echo(each.plain, err=True)
            if verb == "purge" and yes and proposed and selection.proposed:
                raise click.UsageError(
                    "--yes does not purge what is only proposed: leave it out, or purge it by its id"
                )
            confirm(f"{verb.capitalize()} {memories}?", f"{memories} match", yes=yes)
            ids, narrower = [match.memory.id for match in chosen], values["include_narrower"]
            getattr(mem.bulk, verb)(values["request"], ids=ids, count=len(ids), include_narrower=narrower)
            lines = [f"{memories} {'erased' if verb == 'purge' else 'forgotten'}"]
    notes = [] if proposed else [f"proposed: {_match_row(match).plain}" for match in selection.proposed]
    if selection.left_out is not None:
        notes.append(f"first left out: {_match_row(selection.left_out).plain}")
    return Output(to_json(selection), lines or ["no memory matches"], notes)


def _match_row(match: Match) -> Text:
    from rich.text import Text

    from memotherm.cli.formatting import row, shown_id

    return row(Text(shown_id(match.memory.id)), Text(f"{first_line(match.memory.content, 72)} ({match.why})"))


@click.command("erase")
@yes_option
@dry_run_option
@prints
@store_option
def erase(store: StoreOptions, yes: bool, dry_run: bool) -> Output:
    """Erase everything at and below a scope permanently, such as all memories of a user.

    Memories of any retention, vectors, words, former contents, recall log, receipts, sessions and the jobs of hooks
    are erased. Checkpoints, exports and files of notes are not.

    \b
    memotherm erase --user ana --dry-run
    memotherm erase --user ana --yes
    """
    if not store.scope.items():
        raise click.UsageError("name the scope to erase, such as --user ana")
    with opened(store, dry_run=dry_run) as mem:
        if not dry_run and not yes:
            if not sys.stdin.isatty():
                raise click.UsageError("erase is permanent and standard input is not a terminal: pass --yes")
            for count in mem.inspect.scopes():
                click.echo(f"{count.scope}: {pluralize(count.memories, 'memory')}", err=True)
            if click.prompt(f"Type {str(mem.scope)!r} to erase all of it", err=True) != str(mem.scope):
                raise InvalidInput("that is not the scope: nothing was erased")
        erased = mem.erase(jobs=not dry_run)
    data = to_json(erased)
    counts = ", ".join(f"{name} {count}" for name, count in data.items() if isinstance(count, int))
    notes = [f"the notes in {folder} are files: delete them yourself" for folder in erased.folders]
    return Output(data, [f"{store.scope}: {counts}"], notes).after_dry_run(dry_run)


@click.command("export")
@click.argument("path", type=click.Path(), default="-")
@click.option("--all", "hidden", is_flag=True, help="Include archived memories, and proposals that wait.")
@narrower_option
@click.option(
    "--everything", is_flag=True, help="All at and below the scope: any retention, events, receipts, recall log."
)
@click.option("--force", is_flag=True, help="Replace an existing file.")
@folder_option
def export(path: str, hidden: bool, include_narrower: bool, everything: bool, force: bool, store: StoreOptions) -> None:
    """Write memories as JSON lines, oldest first; `import jsonl` reads them.

    With --everything, each line has a `type`: memory, event, receipt or recall. That answers a request of access.

    \b
    memotherm export memories.jsonl --project shop
    memotherm import jsonl memories.jsonl --store other.db
    """
    if path != "-" and not force and Path(path).expanduser().is_file():
        raise InvalidInput(f"{path} exists: name another file, or replace it with --force")
    with opened(store) as mem:
        if everything:
            from memotherm.tools.results import everything_json

            lines = [json.dumps(entry, ensure_ascii=False) for entry in everything_json(mem.inspect.everything())]
        else:
            lines = exported_lines(mem, include_narrower=include_narrower, hidden=hidden)
        status = mem.status(include_narrower=include_narrower or everything)
        others = sum(count.memories for count in all_scopes(mem, store))
        others -= sum(count.memories for count in status.tiers.values())
        elsewhere = [] if lines else whereabouts(mem, store, status.hint)
    write_lines(path, lines)
    written = f"{pluralize(len(lines), 'line' if everything else 'memory')} written to {path}"
    if path != "-":
        click.echo(written, err=True)
    notes = [*["no memory to export"] * (path == "-" and not lines), *elsewhere]
    if lines and others > 0:
        notes.append(f"left out: {pluralize(others, 'memory')} of other scopes; --everywhere exports all")
    for retention, name in (Retention.ARCHIVED, "archived memories"), (Retention.PROPOSED, "proposals"):
        if not hidden and not everything and status.retention[retention]:
            notes.append(f"left out: {name} ({status.retention[retention]}); --all includes them")
    show(Output(None, notes=notes))


def write_lines(path: str, lines: list[str]) -> None:
    """Write lines to a file that only the user can read, or to standard output for `-`."""
    if path == "-":
        for line in lines:
            click.echo(line)
        return
    try:
        write_text(Path(path).expanduser(), "".join(f"{line}\n" for line in lines))
    except OSError as exc:
        raise InvalidInput(f"cannot write {path}: {exc.strerror or exc}") from exc


def exported_lines(mem: Memotherm, *, include_narrower: bool, hidden: bool) -> list[str]:
    """Return the memories as JSON, each retention oldest first; of a local store in one snapshot.

    With `hidden`, archived memories come first, and proposals, which may replace the others, last.
    """
    retentions = [Retention.ARCHIVED, Retention.ACTIVE, Retention.PROPOSED] if hidden else [Retention.ACTIVE]
    counts = mem.status(include_narrower=include_narrower).retention
    total = sum(counts[retention] for retention in retentions)
    lines: list[str] = []
    snapshot = mem.store.snapshot(include_narrower=include_narrower) if hasattr(mem, "store") else nullcontext()
    with progress_bar("memories", keeps=False) as progress, snapshot:
        for retention in retentions:
            own: list[str] = []
            page, cursor = None, None
            while page is None or cursor is not None:
                page = mem.find(retention=retention, limit=_PAGE, cursor=cursor, include_narrower=include_narrower)
                own += [json.dumps(to_json(memory), ensure_ascii=False) for memory in page]
                progress(len(lines) + len(own), total)
                cursor = page.cursor
            lines += reversed(own)
    return lines
