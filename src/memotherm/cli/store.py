"""`memotherm store`: check, copy, encrypt, move and divide a whole store; and `memotherm import`."""

from __future__ import annotations

import secrets
import tempfile
import time
from pathlib import Path
from shlex import quote

import click

import memotherm
from memotherm import Memotherm, Trust
from memotherm.cli import exit_codes
from memotherm.cli.options import StoreOptions, memory_option, opened, prints, store_option
from memotherm.cli.output import Output, content_of, progress_bar, timing
from memotherm.cli.parsing import SuggestingGroup
from memotherm.cli.privacy import write_lines
from memotherm.cli.verbs import plain
from memotherm.errors import InvalidInput, NotFound
from memotherm.notes.imports import KINDS
from memotherm.operations.codec import to_json
from memotherm.settings.keys import KEY_BYTES
from memotherm.settings.paths import write_text
from memotherm.text.content import first_line, pluralize

_path = click.argument("path", type=click.Path(path_type=Path))
_key_file = click.option(
    "--key-file", type=click.Path(path_type=Path),
    help="The file with the key; default: MEMOTHERM_KEY, or the setting `key_file`.",
)  # fmt: skip
_create_key = click.option("--create-key", is_flag=True, help="Write a random key to the file first; it must be new.")


@click.group("store", cls=SuggestingGroup)
def store() -> None:
    """Check, copy, encrypt, move or divide a whole store, or make its vectors.

    \b
    memotherm store check
    memotherm store checkpoint backup.db
    """


@store.command("check")
@click.option("--repair", is_flag=True, help="Rebuild the text index from the memories first.")
@memory_option(whole_store=True)
def check(mem: Memotherm, repair: bool) -> Output:
    """Verify the whole store; exit with 1 and print the problems if there are any.

    \b
    memotherm store check --store agent.db
    memotherm store check --repair
    """
    if repair:
        mem.store.repair()
    problems = mem.check()
    data = {"ok": not problems, "problems": to_json(problems)}
    code = exit_codes.FAILURE if problems else exit_codes.OK
    return Output(data, list(map(str, problems)) or ["no problems"], code=code)


@store.command("restore")
@click.argument("path", type=click.Path())
@click.argument("into", type=click.Path())
@click.option("--purged-in", type=click.Path(), help="The store whose purges are repeated; default: the original.")
@click.option("--with-purged", is_flag=True, help="Also restore memories purged since.")
@prints
def restore(path: str, into: str, purged_in: str | None, with_purged: bool) -> Output:
    """Create a store from a checkpoint, without what was purged since it was made.

    \b
    memotherm store restore backup.db agent.db
    memotherm store restore backup.db new.db --purged-in agent.db
    """
    return _file_output(memotherm.restore(path, into, purged_in, repeat_purges=not with_purged))


def _file_output(path: Path, done: str = "") -> Output:
    return Output({"path": str(path), "bytes": path.stat().st_size}, [done] if done else _file_lines(path))


def _file_lines(path: Path) -> list[str]:
    return [f"{path} ({path.stat().st_size / 1e6:.1f} MB)"]


@store.command("move-project")
@click.argument("old")
@click.argument("new")
@click.option("--apply", "applies", is_flag=True, help="Move them; without it, only print what would be moved.")
@prints
@store_option
def move_project(store: StoreOptions, old: str, new: str, applies: bool) -> Output:
    """Move the memories of a project to another one; `doctor` finds those under a former name of this folder.

    Memories that NEW has already and parts of notes are not moved: they are listed with the reason. The command that
    moves all back is printed.

    \b
    memotherm store move-project shop github.com/acme/shop
    memotherm store move-project shop github.com/acme/shop --apply
    """
    with opened(store, dry_run=not applies) as mem:
        outcome = mem.store.move_project(old, new)
        last = next(iter(mem.events(1, include_narrower=True, action="move_project")), None)
    left = {memory_id: why for memory_id, why in outcome.items() if why}
    moved = len(outcome) - len(left)
    line = f"{pluralize(moved, 'memory')} {'' if applies else 'would be '}moved from {old} to {new}"
    notes = [f"{memory_id} stays: {why}" for memory_id, why in left.items()]
    if moved and not applies:
        shown = f"`memotherm list --project {quote(old)} --include-narrower` shows them"
        notes.append(f"nothing was changed: {shown}, and --apply moves them")
    event = last.seq if moved and applies and last is not None else None
    if event is not None:
        notes.append(f"`memotherm undo {event} --run --include-narrower` moves them back")
    data = {"moved": moved, "not_moved": left, "applied": applies, "event": event}
    return Output(data, [line], notes)


store.add_command(
    plain(
        "checkpoint", "memotherm store checkpoint backup.db\nmemotherm store restore backup.db agent.db", _file_lines,
        help="Write a consistent copy of the whole store to a new file; the store stays in use.",
        more=lambda _, __, path: {"bytes": path.stat().st_size},
    )
)  # fmt: skip
store.add_command(
    plain(
        "reembed", "memotherm store reembed",
        lambda embedded: [f"vectors created for {pluralize(embedded, 'memory')}"], progress="vectors",
        help="Create missing vectors; after a change of embedder, all of them.\n\n"
        "The newest memories come first, and an interrupted run continues where it stopped. The old vectors are used "
        "until all new ones exist.",
    )
)  # fmt: skip


@store.command("migrate")
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@prints
def migrate(source: str, target: str) -> Output:
    """Copy a whole store with all its events to another file or database.

    FROM and TO are paths or URLs. After an interruption, TO is empty. At the end both
    stores are compared row by row.

    \b
    memotherm store migrate agent.db postgresql://memotherm@db.example/memotherm
    memotherm store migrate postgresql://memotherm@db.example/memotherm copy.db --json
    """
    with progress_bar("rows") as progress:
        migration = memotherm.migrate(source, target, progress=progress)
    return Output(to_json(migration), [str(migration)])


@store.command("distribute")
@click.argument("url")
@click.option("--shards", type=click.IntRange(1, 1024), default=32, show_default=True, help="The number of shards.")
@prints
def distribute(url: str, shards: int) -> Output:
    """Distribute the tables of a store over the nodes of a Citus cluster by tenant, and verify every row.

    URL is the store's on the coordinator. The store cannot be used until the end. If the command is interrupted, run
    it again: it resumes where it stopped.

    \b
    memotherm store distribute postgresql://memotherm@coordinator.example/memotherm --shards 64
    """
    distribution = memotherm.distribute(url, shards)
    return Output(to_json(distribution), [str(distribution)])


@store.command("encrypt")
@_path
@_key_file
@_create_key
@prints
def encrypt(path: Path, key_file: Path | None, create_key: bool) -> Output:
    """Encrypt the file of a store that no process has open.

    The old file is replaced when the encrypted one is complete and verified.

    \b
    memotherm store encrypt agent.db --key-file agent.key --create-key
    """
    if create_key:
        _write_key(key_file)
    return _file_output(memotherm.encrypt(path, key_file), f"{path} is encrypted")


@store.command("decrypt")
@_path
@_key_file
@prints
def decrypt(path: Path, key_file: Path | None) -> Output:
    """Decrypt the file of a store that no process has open.

    \b
    memotherm store decrypt agent.db --key-file agent.key
    """
    return _file_output(memotherm.decrypt(path, key_file), f"{path} is decrypted")


@store.command("rekey")
@_path
@click.option("--new-key-file", type=click.Path(path_type=Path), required=True, help="The file with the new key.")
@_key_file
@_create_key
@prints
def rekey(path: Path, new_key_file: Path, key_file: Path | None, create_key: bool) -> Output:
    """Encrypt the file of a store with a new key.

    Checkpoints keep the key that they were written with.

    \b
    memotherm store rekey agent.db --key-file agent.key --new-key-file new.key --create-key
    """
    if create_key:
        _write_key(new_key_file)
    return _file_output(memotherm.rekey(path, new_key_file, key_file), f"{path} is encrypted with the new key")


def _write_key(path: Path | None) -> None:
    if path is None:
        raise click.UsageError("--create-key needs the name of the file: --key-file FILE")
    if path.exists():
        raise InvalidInput(f"{path} already exists: name a new file, or leave out --create-key")
    write_lines(str(path), [secrets.token_hex(KEY_BYTES)])


#: The length of a line about an entry; JSON has all of it.
_LINE_CHARS = 160


@click.command("import")
@click.argument("kind", type=click.Choice([*KINDS]))
@click.argument("path", type=click.Path())
@click.option(
    "--trust",
    type=click.Choice([str(each) for each in Trust]),
    help="The highest trust of the memories; default: import, and for an export what it says.",
)
@memory_option(creates=True, dry_run=True, whole_store=True)
def import_(mem: Memotherm, kind: str, path: str, trust: str | None) -> Output:
    """Import the memories of another program, or of an export, from PATH; a second import stores nothing twice.

    --dry-run lists the memories that would be stored, whole with --json.

    PATH may be `-` for standard input.

    \b
    memotherm import claude-code ~/.claude --dry-run
    memotherm import jsonl memories.jsonl
    """
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="memotherm-import-") as folder, progress_bar("entries") as progress:
        source = Path(path)
        if path == "-":
            source = Path(folder) / "stdin"
            write_text(source, content_of(path))
        imported = mem.store.import_(kind, source, progress, trust)
    if not imported.stored + imported.duplicates + imported.forgotten:
        first = f" (skipped: {imported.skipped[0]})" if imported.skipped else ""
        raise NotFound(f"{path} has no memories{first}: `import {kind}` reads {KINDS[kind]}")
    took = timing(time.monotonic() - started, mem.store.embedding_seconds)
    data, lines = to_json(imported), [first_line(str(entry), _LINE_CHARS) for entry in imported.entries]
    if not click.get_current_context().params["dry_run"]:
        data.pop("entries")  # they are in the store
        lines = []
    return Output(data, [*lines, str(imported)], [*map(str, imported.skipped), took])
