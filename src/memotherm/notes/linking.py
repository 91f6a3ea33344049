"""A memory as a list item of a note, and a list item as a memory: one thing with two faces.

`export` writes a memory into a note, `adopt` makes a memory of an item that a person wrote. From then
on the item carries the memory's id. An edit of the file changes the memory at the next sync; what was
changed in the memory, or in both, is shown as a conflict until somebody decides.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from memotherm.errors import InvalidInput, NotFound
from memotherm.model import Memory, Retention
from memotherm.notes.appending import append, rewrite
from memotherm.notes.files import read
from memotherm.notes.values import Appended, Conflict
from memotherm.storage.contract import Store
from memotherm.storage.values import ChunkRow
from memotherm.text.clean import digest
from memotherm.text.markdown import ListItem, bullet_of, decoded, item_at, lines_of, linked, links, mark_of

__all__ = ["adopt", "conflicts", "export", "write_item"]


def export(file: Path, path: str, memory: Memory) -> Appended:
    """Append a memory to a note as a list item, unless it is there already."""
    if memory.retention is not Retention.ACTIVE:
        raise InvalidInput(f"{memory.id} is {memory.retention}: restore it before it is written down")
    there = _item_of(file, memory.id)
    if there is not None:
        return Appended(path=path, start_line=there.start + 1, end_line=there.end, written=False)
    start, end, written = append(file, bullet_of(memory.content, memory.id))
    return Appended(path=path, start_line=start, end_line=end, written=written)


def adopt(file: Path, path: str, line: int, remember: Callable[[str], Memory]) -> Memory | str:
    """Make a memory of the list item at a line; return the id where it is one already."""
    data = _data(file)
    lines = lines_of(decoded(data))
    item = item_at(lines, line)
    if item is None or not item.text:
        raise NotFound(f"there is no list item at {path}#L{line}")
    if item.memory_id:
        return item.memory_id
    memory = remember(item.text)
    _require_free(lines, path, memory)
    rewrite(file, data, _with_line(data, item.start, linked(lines[item.start], memory.id)))
    return memory


def write_item(file: Path, memory: Memory) -> None:
    """Let the list item of a memory say what the memory says; that of a hidden memory goes."""
    data = _data(file)
    lines = lines_of(decoded(data))
    item = next((each for each in links(lines) if each.memory_id == memory.id), None)
    if item is None:
        raise NotFound(f"{file.name} has no list item of {memory.id}")
    pieces = data.split(b"\n")
    ending = b"\r" if pieces[item.start].endswith(b"\r") else b""
    hidden = memory.retention is not Retention.ACTIVE
    bullet = [] if hidden else bullet_of(memory.content, memory.id, mark_of(lines[item.start])).split("\n")
    told = [line.encode() + ending for line in bullet]
    rewrite(file, data, b"\n".join([*pieces[: item.start], *told, *pieces[item.end :]]))


def conflicts(store: Store, space: int, root: Path) -> list[Conflict]:
    """Return every linked item that does not say what its memory says."""
    texts: dict[str, dict[str, ListItem]] = {}
    found = []
    for path, row in store.links(space):
        if row.record.memory.digest == row.digest and row.record.memory.retention is Retention.ACTIVE:
            continue
        if path not in texts:
            texts[path] = _linked_items(root / path)
        item = texts[path].get(row.record.memory.id)
        found.append(_conflict(path, row, item.text if item is not None else ""))
    return found


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
    content = read(file)
    lines = lines_of(decoded(content.data)) if content is not None else []
    return {each.memory_id: each for each in links(lines)}


def _item_of(file: Path, memory_id: str) -> ListItem | None:
    return _linked_items(file).get(memory_id)


def _require_free(lines: list[str], path: str, memory: Memory) -> None:
    taken = next((each for each in links(lines) if each.memory_id == memory.id), None)
    if taken is not None:
        raise InvalidInput(f"{path}#L{taken.start + 1} already says this and is linked to {memory.id}")


def _with_line(data: bytes, number: int, line: str) -> bytes:
    """Return the bytes with one line replaced, its end as it was."""
    pieces = data.split(b"\n")
    pieces[number] = line.encode() + (b"\r" if pieces[number].endswith(b"\r") else b"")
    return b"\n".join(pieces)


def _data(file: Path) -> bytes:
    content = read(file)
    if content is None:
        raise NotFound(f"there is no note {file.name}")
    return content.data
