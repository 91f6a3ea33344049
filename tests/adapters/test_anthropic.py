"""The memory tool of Anthropic: the answers of the SDK's own tool, and what ours adds."""

from __future__ import annotations

import asyncio
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from anthropic.lib.tools import ToolError
from anthropic.lib.tools._beta_builtin_memory_tool import BetaLocalFilesystemMemoryTool

from memotherm import Memotherm
from memotherm.adapters.anthropic import AsyncMemothermMemoryTool, MemothermMemoryTool

PATHS = (
    "/memories", "/memories/", "/memories/a.md", "/memories/b.md", "/memories/./a.md", "/memories/dir",
    "/memories/dir/",
    "/memories/dir/b.txt", "/memories/dir/.hidden", "/memories/dir/sub", "/memories/dir/sub/c.md", "/memories/new/d.md",
    "/memories/dir/../b.md", "/memories/../x", "/elsewhere",
)  # fmt: skip
TEXTS = ("", "\n", "one\ntwo\nthree", "one\r\ntwo\r\n", "aaa\n", "one\none\n", "ünï twö\n", "x" * 2000)


@pytest.fixture
def tool() -> Iterator[MemothermMemoryTool]:
    opened = MemothermMemoryTool(":memory:", settings={"embedder": "none"})
    yield opened
    opened.close()


def answer(tool: Any, command: dict[str, Any]) -> str:
    """Return the result of a command, or its error, without the sizes of directories."""
    try:
        result = str(tool.call(command))
    except ToolError as exc:
        return "error: " + str(exc.content)
    except OSError:
        # The SDK's tool does not translate all errors of the file system.
        return "error: of the file system"
    own = re.escape(str(command.get("path", "")))
    return re.sub(rf"^[\d.]+[BKMG]\t(.*/|{own})$", r"*\t\1", result, flags=re.MULTILINE)


def random_command(chance: random.Random) -> dict[str, Any]:
    path, text = chance.choice(PATHS), chance.choice(TEXTS)
    return chance.choice(
        [
            {"command": "view", "path": path},
            {"command": "view", "path": path, "view_range": [chance.randint(-1, 4), chance.randint(-1, 4)]},
            {"command": "create", "path": path, "file_text": text},
            {"command": "create", "path": path, "file_text": text},
            {
                "command": "str_replace",
                "path": path,
                "old_str": chance.choice(("one", "two", "aa", "")),
                "new_str": text,
            },
            {"command": "insert", "path": path, "insert_line": chance.randint(-1, 4), "insert_text": text},
            {"command": "delete", "path": path},
            {"command": "rename", "old_path": path, "new_path": chance.choice(PATHS)},
        ]
    )


def remove_empty_folders(root: Path) -> None:
    for folder in sorted((path for path in root.rglob("*") if path.is_dir()), reverse=True):
        if not any(folder.iterdir()):
            folder.rmdir()


@pytest.mark.parametrize("seed", range(2))
def test_random_commands_have_the_answers_of_the_sdks_own_tool(
    tool: MemothermMemoryTool, tmp_path: Path, seed: int
) -> None:
    """Results, messages of errors and all texts agree; empty directories exist on the disk only."""
    chance = random.Random(seed)
    theirs = BetaLocalFilesystemMemoryTool(str(tmp_path))
    for _ in range(150):
        command = random_command(chance)
        expected = answer(theirs, command)
        remove_empty_folders(theirs.memory_root)
        found = answer(tool, command)
        assert found == expected or (expected == "error: of the file system" and found.startswith("error")), command
    for path in PATHS:
        assert answer(tool, {"command": "view", "path": path}) == answer(theirs, {"command": "view", "path": path})
    assert tool.memory.check() == []


def test_every_edit_can_be_undone(tool: MemothermMemoryTool) -> None:
    """The history of a file has its former texts, and a deleted file can be restored."""
    path = {"path": "/memories/plan.md"}
    tool.call({"command": "create", **path, "file_text": "Ship on Friday\n"})
    tool.call({"command": "str_replace", **path, "old_str": "Friday", "new_str": "Monday"})
    tool.call({"command": "insert", **path, "insert_line": 0, "insert_text": "# Plan"})
    memory = tool.memory.get(key="memories/plan.md")
    assert memory.content == "# Plan\nShip on Monday\n"
    for text in "Ship on Monday\n", "Ship on Friday\n":
        edits = [event for event in tool.memory.history(memory.id) if event.action == "update"]
        undone = {event.rule for event in tool.memory.history(memory.id)}
        last = next(event for event in reversed(edits) if f"undo:{event.seq}" not in undone)
        tool.memory.undo(last.seq)
        assert tool.memory.get(memory.id).content == text
    tool.call({"command": "delete", **path})
    tool.memory.restore(memory.id)
    assert "Ship on Friday" in str(tool.call({"command": "view", **path}))


def test_a_deletion_includes_what_the_file_was_called_before(tool: MemothermMemoryTool) -> None:
    """No readable copy of a renamed file is left when it is deleted."""
    tool.call({"command": "create", "path": "/memories/a.md", "file_text": "a secret"})
    tool.call({"command": "rename", "old_path": "/memories/a.md", "new_path": "/memories/b.md"})
    tool.call({"command": "rename", "old_path": "/memories/b.md", "new_path": "/memories/c/d.md"})
    tool.call({"command": "delete", "path": "/memories/c"})

    assert len(tool.memory.find(retention="deleted")) == 3
    assert [*tool.memory.find(), *tool.memory.find(retention="archived")] == []


@pytest.mark.parametrize(
    "command",
    [
        {"command": "create", "path": "/memories/a\x00b", "file_text": "x"},
        {"command": "create", "path": "/memories/" + "long/" * 100, "file_text": "x"},
        {"command": "create", "path": "/memories/a.md", "file_text": "half \ud800 a character"},
    ],
)
def test_what_cannot_be_stored_is_an_error_for_the_model(tool: MemothermMemoryTool, command: dict[str, Any]) -> None:
    """The error is a `ToolError` with the reason, and nothing is stored."""
    with pytest.raises(ToolError):
        tool.call(command)
    assert tool.memory.inspect.keys() == []


def test_two_tools_lose_no_edit_of_the_same_file(tmp_path: Path) -> None:
    """An edit that meets another one is made again on the new text."""

    async def run() -> str:
        first, second = (AsyncMemothermMemoryTool(tmp_path / "agent.db", settings={"embedder": "none"}) for _ in "ab")
        await first.call({"command": "create", "path": "/memories/log.md", "file_text": ""})
        lines = (f"line {number}" for number in range(8))
        insert = {"command": "insert", "path": "/memories/log.md", "insert_line": 0}
        pairs = ((first, line) if int(line[-1]) % 2 else (second, line) for line in lines)
        for edits in zip(*[pairs] * 2, strict=True):
            await asyncio.gather(*(tool.call({**insert, "insert_text": line}) for tool, line in edits))
        text = str(await first.call({"command": "view", "path": "/memories/log.md"}))
        for tool in first, second:
            await tool.close()
        return text

    text = asyncio.run(run())
    assert all(f"line {number}" in text for number in range(8))


def test_a_file_is_created_once_however_many_try(tmp_path: Path) -> None:
    """Of tools that create or move to the same path at once, one succeeds; the others are told that it exists."""

    async def run() -> list[str]:
        tools = [AsyncMemothermMemoryTool(tmp_path / "agent.db", settings={"embedder": "none"}) for _ in range(4)]
        results: list[str] = []

        async def attempt(tool: AsyncMemothermMemoryTool, command: dict[str, str]) -> None:
            try:
                results.append(str(await tool.call(command)))
            except ToolError as exc:
                results.append(str(exc))

        for number in range(3):
            path = f"/memories/{number}.md"
            creations = [{"command": "create", "path": path, "file_text": f"by {place}"} for place in range(4)]
            await asyncio.gather(*map(attempt, tools, creations))
        for tool in tools:
            await tool.close()
        return results

    results = Counter(asyncio.run(run()))
    created = {f"File created successfully at: /memories/{number}.md": 1 for number in range(3)}
    assert results == {**created, **{f"File /memories/{number}.md already exists": 3 for number in range(3)}}


def test_files_of_a_scope_are_hidden_from_others(open_mem: Callable[..., Memotherm], tmp_path: Path) -> None:
    """Two users have files with the same path, and see their own."""
    mem = open_mem(tmp_path / "memory.db")
    ada, bob = (MemothermMemoryTool(mem.scoped(user=user)) for user in ("ada", "bob"))
    ada.call({"command": "create", "path": "/memories/seat.md", "file_text": "window"})
    assert "seat.md" not in str(bob.call({"command": "view", "path": "/memories"}))
    bob.call({"command": "create", "path": "/memories/seat.md", "file_text": "aisle"})
    bob.clear_all_memory()
    assert "window" in str(ada.call({"command": "view", "path": "/memories/seat.md"}))
