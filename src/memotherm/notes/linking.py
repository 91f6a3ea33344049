"""Memories that are linked to list items of notes.

`export` writes a memory into a note, `adopt` stores an item of a note as a memory. A linked item has the
memory's id in a comment. A sync updates the memory when only the item has changed; a change of the memory,
or of both, is a conflict until it is resolved.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from memotherm.errors import InvalidInput, NotFound
from memotherm.model import Memory, Retention
from memotherm.notes.appending import append, rewrite
from memotherm.notes.files import read_file
from memotherm.notes.values import Appended, Conflict
from memotherm.storage.store import Store
from memotherm.storage.values import ChunkRow
from memotherm.text.clean import digest
from memotherm.text.markdown import (
    ListItem,
    decode,
    format_item,
    item_at,
    item_marker,
    linked_items,
    split_lines,
    with_link,
)

__all__ = ["adopt", "conflicts", "export", "write_item"]


def export(file: Path, path: str, memory: Memory) -> Appended:
    """Append a memory to a note as a list item, unless it is there already."""
    if memory.retention is not Retention.ACTIVE:
        raise InvalidInput(f"{memory.id} is {memory.retention}: restore it before you export it")
    item = _linked_items(file).get(memory.id)
    if item is not None:
        return Appended(path=path, start_line=item.start + 1, end_line=item.end, written=False)
    start, end, written = append(file, format_item(memory.content, memory.id))
    return Appended(path=path, start_line=start, end_line=end, written=written)


def adopt(file: Path, path: str, line: int, remember: Callable[[str], Memory]) -> str:
    """Store the list item at a line as a memory, unless it is linked to one; return the memory's id."""
    data = _existing_data(file)
    lines = split_lines(decode(data))
    item = item_at(lines, line)
    if item is None or not item.text:
        raise NotFound(f"there is no list item at {path}#L{line}")
    if item.memory_id:
        return item.memory_id
    memory = remember(item.text)
    linked = next((other for other in linked_items(lines) if other.memory_id == memory.id), None)
    if linked is not None:
        raise InvalidInput(f"{path}#L{linked.start + 1} already says this and is linked to {memory.id}")
    rewrite(file, data, _with_line(data, item.start, with_link(lines[item.start], memory.id)))
    return memory.id


def write_item(file: Path, memory: Memory) -> None:
    """Write the content of a memory to its list item; delete the item of a memory that is not active."""
    data = _existing_data(file)
    lines = split_lines(decode(data))
    item = next((item for item in linked_items(lines) if item.memory_id == memory.id), None)
    if item is None:
        raise NotFound(f"{file.name} has no list item of {memory.id}")
    pieces = data.split(b"\n")
    ending = b"\r" if pieces[item.start].endswith(b"\r") else b""
    hidden = memory.retention is not Retention.ACTIVE
    text = [] if hidden else format_item(memory.content, memory.id, item_marker(lines[item.start])).split("\n")
    encoded = [line.encode() + ending for line in text]
    rewrite(file, data, b"\n".join([*pieces[: item.start], *encoded, *pieces[item.end :]]))


def conflicts(store: Store, space: int, root: Path) -> list[Conflict]:
    """Return every linked item whose text differs from its memory."""
    items: dict[str, dict[str, ListItem]] = {}
    differing = []
    for path, row in store.links(space):
        if row.record.memory.digest == row.digest and row.record.memory.retention is Retention.ACTIVE:
            continue
        if path not in items:
            items[path] = _linked_items(root / path)
        item = items[path].get(row.record.memory.id)
        differing.append(_conflict(path, row, item.text if item is not None else ""))
    return differing


def _conflict(path: str, row: ChunkRow, in_file: str) -> Conflict:
    memory = row.record.memory
    if memory.retention is not Retention.ACTIVE:
        why = f"the memory is {memory.retention} and the note still says it"
    elif digest(in_file) == row.digest:
        why = "the memory was changed and the note was not"
    else:
        why = "both were changed" if row.digest else "they differed when they were linked"
    return Conflict(memory_id=memory.id, path=path, line=row.first, in_file=in_file, in_memory=memory.content, why=why)


def _linked_items(file: Path) -> dict[str, ListItem]:
    content = read_file(file)
    lines = split_lines(decode(content.data)) if content is not None else []
    return {item.memory_id: item for item in linked_items(lines)}


def _with_line(data: bytes, number: int, line: str) -> bytes:
    """Return the bytes with one line replaced; its line break stays."""
    pieces = data.split(b"\n")
    pieces[number] = line.encode() + (b"\r" if pieces[number].endswith(b"\r") else b"")
    return b"\n".join(pieces)


def _existing_data(file: Path) -> bytes:
    content = read_file(file)
    if content is None:
        raise NotFound(f"there is no note {file.name}")
    return content.data
