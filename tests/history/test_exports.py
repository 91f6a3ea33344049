"""Exports of ChatGPT and of Claude."""

from __future__ import annotations

import json
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.history.reading import read

Json = dict[str, Any]
SECONDS = 1_793_523_600.0
ROOT = "00000000-0000-4000-8000-000000000000"


def node(parent: str | None, role: str = "", *parts: Any, kind: str = "text", **fields: Any) -> Json:
    content = {"content_type": kind, "parts": list(parts)}
    message = {"author": {"role": role}, "recipient": "all", "create_time": SECONDS, "content": content, **fields}
    return {"message": message if role else None, "parent": parent, "children": []}


def chat(name: str = "x", current: str = "c", **nodes: Json) -> Json:
    return {"title": "T", "create_time": SECONDS, "conversation_id": name, "current_node": current, "mapping": nodes}


def claude_chat(*messages: Json, name: str = "y") -> Json:
    return {"uuid": name, "name": "T", "created_at": "2026-11-01T09:00:00Z", "chat_messages": list(messages)}


def message(name: str, sender: str, said: str, parent: str | None = ROOT, minute: int = 0, **fields: Any) -> Json:
    time = f"2026-11-01T09:{minute:02}:00Z"
    found = {"uuid": name, "sender": sender, "text": "", "content": [{"type": "text", "text": said}],
             "created_at": time, "attachments": [{"extracted_content": "file"}], **fields}  # fmt: skip
    return found if parent is None else {**found, "parent_message_uuid": parent}


CHAT = chat(a=node(None), b=node("a", "user", "kept"), c=node("b", "assistant", "answer"))
CLAUDE_CHAT = claude_chat(message("p", "human", "kept"), message("q", "assistant", "answer", "p", 1))


def write(root: Path, *conversations: Json, name: str = "conversations.json") -> Path:
    root.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(json.dumps(list(conversations)), "utf-8")
    return root


def test_the_branch_up_to_the_current_message_is_read(tmp_path: Path) -> None:
    """A regenerated answer or an edited prompt is not."""
    nodes = {"a": node(None), "d": node("a", "user", "discarded"), "b": node("a", "user", "kept"),
             "e": node("b", "assistant", "discarded"), "c": node("b", "assistant", "answer")}  # fmt: skip

    found = read("chatgpt", write(tmp_path, chat(**nodes)))

    assert found.told() == [("user", "kept"), ("assistant", "answer")]
    assert {(record.session, record.time) for record in found.records} == {("x", datetime.fromtimestamp(SECONDS, UTC))}


@pytest.mark.parametrize(
    "noise",
    [
        node("b", "assistant", "hmm", kind="thoughts"), node("b", "assistant", "hmm", kind="reasoning_recap"),
        node("b", "assistant", "print(1)", kind="code"), node("b", "tool", "1", kind="execution_output"),
        node("b", "user", "I am Ann", kind="user_editable_context"), node("b", "system", "You are"),
        node("b", "assistant", "search(x)", recipient="browser"),
        node("b", "user", "hidden", metadata={"is_visually_hidden_from_conversation": True}),
    ],
)  # fmt: skip
def test_messages_that_nobody_sees_are_left_out(tmp_path: Path, noise: Json) -> None:
    """Thoughts, code, results of tools, instructions and hidden messages."""
    found = read(
        "chatgpt", write(tmp_path, chat(b=node(None, "user", "kept"), n=noise, c=node("n", "assistant", "ok")))
    )

    assert found.told() == [("user", "kept"), ("assistant", "ok")]


def test_images_and_marks_of_citations_are_removed(tmp_path: Path) -> None:
    """A message may have no time."""
    cited = "Otters\ue200cite\ue202turn0search1\ue201 swim.\ue203"
    image = {"content_type": "image_asset_pointer", "asset_pointer": "file://x"}
    nodes = {"b": node(None, "user", image, "what is it?", kind="multimodal_text", create_time=None),
             "c": node("b", "assistant", cited)}  # fmt: skip

    found = read("chatgpt", write(tmp_path, chat(**nodes)))

    assert found.told() == [("user", "what is it?"), ("assistant", "Otters swim.")]
    assert found.records[0].time is None


def test_a_circle_of_parents_ends(tmp_path: Path) -> None:
    """Each message is read once."""
    found = read("chatgpt", write(tmp_path, chat(b=node("c", "user", "one"), c=node("b", "assistant", "two"))))

    assert [record.text for record in found.records] == ["one", "two"]


def test_of_the_branches_of_claude_the_newest_is_read(tmp_path: Path) -> None:
    """Thoughts, calls and attachments are left out."""
    thinking = [
        {"type": "thinking", "thinking": "no"},
        {"type": "tool_use", "name": "x"},
        {"type": "text", "text": "new"},
    ]
    found = read(
        "claude-export",
        write(
            tmp_path,
            claude_chat(
                message("p", "human", "kept"),
                message("q", "assistant", "old", "p", 1),
                message("s", "human", "old too", "q", 2),
                message("r", "assistant", "", "p", 3, content=thinking),
            ),
        ),
    )

    assert found.told() == [("user", "kept"), ("assistant", "new")]


def test_older_exports_of_claude_name_no_parents(tmp_path: Path) -> None:
    """And have one text for each message."""
    messages = [
        message("p", "human", "", None, text="kept", content=[]),
        message("q", "assistant", "", None, text="answer", content=[]),
    ]

    found = read("claude-export", write(tmp_path, claude_chat(*messages)))

    assert found.told() == [("user", "kept"), ("assistant", "answer")]


@pytest.mark.parametrize(("source", "conversation"), [("chatgpt", CHAT), ("claude-export", CLAUDE_CHAT)])
class TestFiles:
    """Where conversations may be."""

    def test_each_program_reads_its_own_exports(self, tmp_path: Path, source: str, conversation: Json) -> None:
        """They have the same names."""
        write(tmp_path, conversation)
        other = {"chatgpt": "claude-export", "claude-export": "chatgpt"}[source]

        assert read(source, tmp_path).texts("user") == ["kept"]
        assert read(other, tmp_path).transcripts == []

    def test_a_zip_file_is_read_in_place(self, tmp_path: Path, source: str, conversation: Json) -> None:
        """With a folder in it, several files, and what a Mac adds."""
        path = tmp_path / "export.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for number in range(2):
                name = {"conversation_id": f"n{number}", "uuid": f"n{number}"}
                archive.writestr(f"data/conversations-00{number}.json", json.dumps([{**conversation, **name}]))
            archive.writestr("__MACOSX/data/._conversations-000.json", b"\0\1")
            archive.writestr("data/user.json", "{}")

        for root in (path, tmp_path):
            assert [record.session for record in read(source, root).records if record.role == "user"] == ["n0", "n1"]
        assert [child.name for child in tmp_path.iterdir()] == ["export.zip"]

    def test_a_manifest_names_the_files_beside_it(self, tmp_path: Path, source: str, conversation: Json) -> None:
        """Others are left alone."""
        for name in ("conversations-000.zip", "unrelated.zip"):
            with zipfile.ZipFile(tmp_path / name, "w") as archive:
                archive.writestr("conversations.json", json.dumps([conversation]))
        manifest = tmp_path / "manifest-2026.json"
        manifest.write_text(json.dumps({"files": [{"name": "conversations-000.zip"}, {"name": "users.json"}]}), "utf-8")

        assert [each.path.name for each in read(source, manifest).transcripts] == ["conversations-000.zip"]

    def test_a_broken_conversation_stops_no_other(self, tmp_path: Path, source: str, conversation: Json) -> None:
        """It is counted."""
        tmp_path.joinpath("conversations.json").write_text(
            f'\ufeff[{json.dumps(conversation)}, {{"a": [1,, "]"]}}, 7, {json.dumps(conversation)}]', "utf-8"
        )

        found = read(source, tmp_path)

        assert (found.texts("user"), found.reading.broken) == (["kept", "kept"], 2)

    def test_a_file_that_ends_too_early_is_read_up_to_there(
        self, tmp_path: Path, source: str, conversation: Json
    ) -> None:
        """And says so."""
        data = json.dumps([conversation, conversation])
        (tmp_path / "conversations.json").write_text(data[: len(data) * 3 // 4], "utf-8")

        found = read(source, tmp_path)

        assert found.texts("user") == ["kept"]
        assert (found.reading.broken, found.reading.problem) == (1, "its end is broken")


def test_files_that_are_no_exports_are_not_listed(tmp_path: Path) -> None:
    """A broken zip file, one with other files, and a file of another program."""
    (tmp_path / "broken.zip").write_bytes(b"PK\3\4" + b"x" * 50)
    with zipfile.ZipFile(tmp_path / "photos.zip", "w") as archive:
        archive.writestr("a.jpg", b"x")
    write(tmp_path, {"hello": 1})

    assert read("chatgpt", tmp_path).transcripts == read("claude-export", tmp_path).transcripts == []


@pytest.mark.slow
def test_a_zip_file_that_unpacks_to_gigabytes_is_refused(tmp_path: Path) -> None:
    """Before it is unpacked."""
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive, \
            archive.open("conversations.json", "w", force_zip64=True) as file:  # fmt: skip
        file.write(json.dumps([CHAT]).encode()[:-1])
        for _ in range(300):
            file.write(b" " * 1_000_000)

    found = read("chatgpt", tmp_path)

    assert found.records == []
    assert "much larger" in found.reading.problem


def test_a_cycle_of_parents_is_counted(tmp_path: Path) -> None:
    """What it has is read once, also where no message is the last one."""
    nodes = {"a": node("b", "user", "kept"), "b": node("a", "assistant", "answer")}
    found = read("chatgpt", write(tmp_path / "chatgpt", chat(current="b", **nodes)))
    assert (found.told()[:2], found.reading.broken) == ([("user", "kept"), ("assistant", "answer")], 1)

    said = claude_chat(message("p", "human", "kept", "q"), message("q", "assistant", "answer", "p", 1))
    found = read("claude-export", write(tmp_path / "claude", said))
    assert (found.told()[:2], found.reading.broken) == ([("user", "kept"), ("assistant", "answer")], 1)
