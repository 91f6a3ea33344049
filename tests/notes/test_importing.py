"""Importing what other programs keep: entries as memories, nothing twice, nothing silently dropped."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memotherm import Memotherm
from memotherm.errors import InvalidInput, NotFound
from memotherm.notes.imports import KINDS
from memotherm.testing import FakeClock


def told(mem: Memotherm) -> dict[str, str]:
    return {memory.content: memory.kind for memory in mem.find(limit=500)}


def test_an_openclaw_workspace(mem: Memotherm, tmp_path: Path) -> None:
    """Items and paragraphs of the curated file, the user's file and the days; old days are cold."""
    (tmp_path / "memory").mkdir()
    (tmp_path / "MEMORY.md").write_text("# Memory\n\n- Uses uv\n  for everything\n- Ships on Tuesday\n\nA paragraph.\n")
    (tmp_path / "USER.md").write_text("- Likes short answers\n")
    (tmp_path / "memory" / "2025-06-01.md").write_text("## 10:00\n\n- Fixed the port\n")
    (tmp_path / "memory" / "2026-01-04.md").write_text("```sh\n# a comment\nmake\n```\n")
    done = mem.store.import_("openclaw", tmp_path)

    assert told(mem) == {
        "Uses uv\nfor everything": "fact",
        "Ships on Tuesday": "fact",
        "A paragraph.": "fact",
        "Likes short answers": "preference",
        "Fixed the port": "fact",
        "```sh\n# a comment\nmake\n```": "fact",
    }
    assert (done.files, done.stored, done.duplicates) == (4, 6, 0)
    old = next(memory for memory in mem.find(limit=9) if memory.content == "Fixed the port")
    assert str(old.tier) == "cold"
    assert old.metadata == {
        "path": "memory/2025-06-01.md", "start": 3, "end": 3, "heading": "10:00", "date": "2025-06-01",
    }  # fmt: skip
    assert old.source == "import:openclaw"


def test_importing_again_brings_nothing_twice(mem: Memotherm, tmp_path: Path) -> None:
    """And tells so."""
    (tmp_path / "MEMORY.md").write_text("- One\n- Two of them\n- Two of them\n")
    first, second = mem.store.import_("openclaw", tmp_path), mem.store.import_("openclaw", tmp_path)

    assert (first.stored, first.duplicates) == (2, 1)
    assert (second.stored, second.duplicates) == (0, 3)
    assert str(second) == "0 memories from 1 file (3 known already)"


def test_a_claude_code_memory_folder(mem: Memotherm, tmp_path: Path) -> None:
    """One memory for each file, with what its front matter says; the index only where it says more."""
    folder = tmp_path / "projects" / "-home-me-app" / "memory"
    folder.mkdir(parents=True)
    (folder / "MEMORY.md").write_text("# Index\n\n- [Tests](feedback_tests.md) — run them\n- A loose remark\n")
    (folder / "feedback_tests.md").write_text(
        "---\nname: tests\ndescription: Run the tests before committing\ntype: feedback\n---\nAlways, not just in CI.\n"
    )
    (folder / "plain.md").write_text("Just text.\n")
    (folder.parent / "session.jsonl").write_text('{"type": "summary"}\n{"type": "user", "cwd": "/home/me/my-app"}\n')
    done = mem.store.import_("claude-code", tmp_path)

    about_user = {"Run the tests before committing\n\nAlways, not just in CI.": "preference"}
    assert told(mem) == about_user
    assert told(mem.scoped(project="my-app")) == {**about_user, "A loose remark": "fact", "Just text.": "fact"}
    assert done.files == 3
    assert mem.store.import_("claude-code", folder).stored == 0
    web = mem.scoped(project="web")
    assert web.store.import_("claude-code", tmp_path).stored == 3
    assert set(told(web)) == set(told(mem.scoped(project="my-app")))


def test_skills_and_prompts_of_claude_code_are_no_memories(mem: Memotherm, tmp_path: Path) -> None:
    """Neither beside memory folders, nor without any, nor inside one."""
    home = tmp_path / ".claude"
    for path, text in {
        "CLAUDE.md": "Be brief.",
        "skills/memotherm/SKILL.md": "---\nname: memotherm\ndescription: Remember and recall\n---\n# Memory",
        "skills/memory/SKILL.md": "---\nname: memory\n---\n# Memory",
        "skills/memory/reference.md": "How to remember",
        "commands/review.md": "---\nallowed-tools: Bash\n---\nReview the changes",
        "agents/tester.md": "---\nname: tester\ntools:\n  - Bash\n---\nYou test",
        "plugins/cache/x/README.md": "A plugin",
        "plans/big.md": "First this, then that",
        "prompts/hello.md": "Say hello",
    }.items():
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_text(text)
    assert mem.store.import_("claude-code", home).files == 0
    assert mem.store.import_("codex", home).files == 0
    assert told(mem) == {}

    memory = home / "projects" / "-x" / "memory"
    memory.mkdir(parents=True)
    (memory / "plain.md").write_text("The port is 8077")
    shutil.copytree(home / "skills", memory / "skills")
    shutil.copy(home / "agents" / "tester.md", memory)
    shutil.copy(home / "commands" / "review.md", memory)
    for source in (home, home / "projects", home / "projects" / "-x", memory):
        done = mem.scoped(user=str(source)[-30:]).store.import_("claude-code", source)
        assert [(entry.content, entry.kind) for entry in done.entries] == [("The port is 8077", "fact")]
        assert len(done.skipped) == 5
        assert all("not a memory" in each.why for each in done.skipped)


@pytest.mark.parametrize(
    ("name", "text"),
    [("MEMORY.md", "- The port is 8077\n"), ("port.md", "---\ntype: project\n---\nThe port is 8077\n")],
)
def test_a_copy_of_a_memory_folder_is_recognised_by_its_files(
    name: str, text: str, mem: Memotherm, tmp_path: Path
) -> None:
    """It may have any name."""
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / name).write_text(text)
    (tmp_path / "copy" / "colour.md").write_text("The crane is blue")
    mem.store.import_("claude-code", tmp_path / "copy")
    assert set(told(mem)) == {"The port is 8077", "The crane is blue"}


def test_memories_of_claude_code_go_where_its_hooks_look(mem: Memotherm, tmp_path: Path) -> None:
    """The project is the repository of the folder that the transcripts name."""
    (tmp_path / "app" / ".git").mkdir(parents=True)
    (tmp_path / "app" / ".git" / "config").write_text('[remote "origin"]\nurl = git@github.com:acme/app.git\n')
    folder = tmp_path / "projects" / "-app" / "memory"
    folder.mkdir(parents=True)
    (folder / "plain.md").write_text("Just text.\n")
    (folder.parent / "s.jsonl").write_text(json.dumps({"type": "user", "cwd": str(tmp_path / "app")}))
    mem.store.import_("claude-code", tmp_path)
    assert told(mem.scoped(project="github.com/acme/app")) == {"Just text.": "fact"}


def test_codex_memories(mem: Memotherm, tmp_path: Path) -> None:
    """From the folder, or from the one around it."""
    (tmp_path / "memories").mkdir()
    (tmp_path / "memories" / "MEMORY.md").write_text("# Task Group: api\n\n- The API speaks gRPC\n")
    (tmp_path / "memories" / "memory_summary.md").write_text("The user works on an API.\n")

    assert mem.store.import_("codex", tmp_path).stored == 2
    assert mem.store.import_("codex", tmp_path / "memories").duplicates == 2
    assert set(told(mem)) == {"The API speaks gRPC", "The user works on an API."}


def test_skills_and_prompts_of_codex_are_no_memories(mem: Memotherm, tmp_path: Path) -> None:
    """Neither in its folder nor among its memories."""
    for path in ("AGENTS.md", "prompts/hello.md", "memories/skills/x/SKILL.md", "memories/skills/x/more.md"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("Say hello to everybody")
    (tmp_path / "memories" / "raw_memories.md").write_text("- The API speaks gRPC\n")
    done = mem.store.import_("codex", tmp_path)

    assert [entry.content for entry in done.entries] == ["The API speaks gRPC"]
    assert [each.path for each in done.skipped] == ["skills/x/SKILL.md", "skills/x/more.md"]


def test_the_reference_memory_server(mem: Memotherm, tmp_path: Path) -> None:
    """Observations and relations as sentences; a line that is neither is named."""
    file = tmp_path / "memory.jsonl"
    entries = [
        {"type": "entity", "name": "Ada", "entityType": "person", "observations": ["Writes Rust", "Lives in Kyiv"]},
        {"type": "entity", "name": "Acme", "entityType": "company", "observations": []},
        {"type": "relation", "from": "Ada", "to": "Acme", "relationType": "works_at"},
        {"type": "spell"},
    ]
    file.write_text("".join(json.dumps(entry) + "\n" for entry in entries) + "{broken\n")
    done = mem.store.import_("mcp-memory", file)

    assert set(told(mem)) == {"Ada: Writes Rust", "Ada: Lives in Kyiv", "Acme is a company", "Ada works at Acme"}
    assert [each.path for each in done.skipped] == ["memory.jsonl#L4", "memory.jsonl#L5"]
    assert mem.store.import_("mcp-memory", tmp_path).duplicates == 4


def test_lines_that_hold_no_memory_are_named(mem: Memotherm, tmp_path: Path) -> None:
    """What stands in the others is kept."""
    entries: list[object] = [{"content": "kept"}, {"content": 5}, {"content": " "}, {"tier": "hot"}, ["content"]]
    (tmp_path / "all.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    done = mem.store.import_("jsonl", tmp_path / "all.jsonl")

    assert set(told(mem)) == {"kept"}
    assert [each.path for each in done.skipped] == [f"all.jsonl#L{line}" for line in (2, 3, 4, 5)]
    assert "its content is empty, or no text" in done.skipped[0].why


def test_an_entry_that_cannot_be_stored_does_not_end_the_import(mem: Memotherm, tmp_path: Path) -> None:
    """Its line is named with the reason, and all others are stored, before it and after it."""
    entries: list[dict[str, object]] = [{"content": f"fact number {number}"} for number in range(300)]
    entries[10] = {"content": "a fact", "kind": "Not A Kind!"}
    entries[250] = {"content": "x" * 2_000_000}
    (tmp_path / "all.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    done = mem.store.import_("jsonl", tmp_path / "all.jsonl")

    assert (done.stored, done.duplicates) == (298, 0)
    assert [each.path for each in done.skipped] == ["all.jsonl#L11", "all.jsonl#L251"]
    assert "kind" in done.skipped[0].why
    assert str(done) == "298 memories from 1 file (0 known already, 2 skipped)"


def test_front_matter_full_of_spaces_is_read(mem: Memotherm, tmp_path: Path) -> None:
    """A long run of spaces takes no more time than other text, which the time limit of the tests would notice."""
    text = f"---\nname:{' ' * 400_000}x y\ntype: user\nnote: x{' ' * 400_000}y\n---\nPrefers tea\n"
    (tmp_path / "tea.md").write_text(text)
    mem.store.import_("claude-code", tmp_path)

    (memory,) = mem.find()
    assert (memory.content, memory.kind, memory.metadata["name"]) == ("Prefers tea", "preference", "x y")


def test_injected_blocks_are_not_imported(mem: Memotherm, tmp_path: Path) -> None:
    """What was recalled is not remembered again."""
    block = "<memotherm-memory>\n- recalled\n</memotherm-memory>"
    (tmp_path / "MEMORY.md").write_text(f"- kept\n\n{block}\n")
    mem.store.import_("openclaw", tmp_path)

    assert "kept" in told(mem)
    assert all("memotherm-memory" not in content for content in told(mem))


def test_what_cannot_be_imported_says_why(mem: Memotherm, tmp_path: Path) -> None:
    """An unknown kind, a path that is not there."""
    with pytest.raises(InvalidInput, match=f"import one of {', '.join(KINDS)}"):
        mem.store.import_("mem1", tmp_path)
    with pytest.raises(NotFound, match="does not exist"):
        mem.store.import_("codex", tmp_path / "nowhere")
    (tmp_path / "other.json").write_text('{"unknown": true}')
    for kind in ("mem0", "claude-mem", "hindsight"):
        assert mem.store.import_(kind, tmp_path / "other.json").stored == 0


def test_an_import_restores_what_was_archived_as_archived(
    open_mem: Callable[..., Memotherm], clock: FakeClock, tmp_path: Path
) -> None:
    """Archived memories of an export stay archived, none is stored twice, and the expiry follows the given clock."""
    clock.now = datetime(2031, 5, 1, tzinfo=UTC)
    entries = [
        {"content": "an active otter", "retention": "active", "created_at": "2030-01-01T00:00:00+00:00"},
        {"content": "an archived otter", "retention": "archived"},
        {
            "content": "an archived and expired otter",
            "retention": "archived",
            "expires_at": "2031-04-01T00:00:00+00:00",
        },
        {"content": "an expired otter", "expires_at": "2031-04-30T00:00:00+00:00"},
        {"content": "an otter for a day", "expires_at": "2031-05-02T00:00:00+00:00"},
    ]
    export = tmp_path / "all.jsonl"
    export.write_text("".join(json.dumps(entry) + "\n" for entry in entries), "utf-8")
    mem = open_mem(tmp_path / "target.db")
    first, again = mem.store.import_("jsonl", export), mem.store.import_("jsonl", export)

    archived = {"an archived otter", "an archived and expired otter"}
    assert (first.stored, again.stored, again.duplicates, len(first.skipped)) == (4, 0, 4, 1)
    assert {memory.content for memory in mem.find(retention="archived")} == archived
    assert [memory.created_at for memory in mem.find(limit=9)][-1] == datetime(2030, 1, 1, tzinfo=UTC)
    assert {memory.content for memory in mem.find()} == {"an active otter", "an otter for a day"}
    assert {hit.memory.content for hit in mem.recall("otter")} == {"an active otter", "an otter for a day"}
    clock.advance(days=2)
    assert {memory.content for memory in mem.find()} == {"an active otter"}
    restored = mem.restore(next(iter(mem.find(retention="archived"))).id)
    assert restored.content in {hit.memory.content for hit in mem.recall("archived otter")}
