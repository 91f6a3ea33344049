"""Cline, and Roo, which is made from it: one file for each task, which is written anew as a whole."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from memotherm.history.lines import elements, open_regular, read_object
from memotherm.history.listing import VS_CODE, files, head_of, transcript, user_folders
from memotherm.history.reader import Reader, Session, element, without_elements
from memotherm.history.records import Reading, Record, Role, Transcript
from memotherm.history.values import blocks_of, items, mapping, moment, parsed, text
from memotherm.settings.paths import client_home

_HISTORY = "api_conversation_history.json"
#: What the programs add to a prompt, and what is around a prompt.
_ADDED = ("environment_details", "file_content", "explicit_instructions", "system-reminder")
_AROUND = ("user_input", "task", "feedback", "user_message", "answer")
#: Elements of an answer that call tools, in older files, and thoughts.
_CALLS = (
    "execute_command", "write_to_file", "replace_in_file", "apply_diff", "insert_content", "search_and_replace",
    "read_file", "list_files", "search_files", "list_code_definition_names", "browser_action", "use_mcp_tool",
    "access_mcp_resource", "ask_followup_question", "plan_mode_respond", "switch_mode", "new_task", "thinking",
    "update_todo_list", "codebase_search", "task_progress",
)  # fmt: skip
#: Those that run a command or change a file.
_CALLED = re.compile(rf"<({'|'.join(_CALLS[:6])})>")
_RESULT = re.compile(r"\[[^\]\n]{1,2000}\] Result:")


class Cline(Reader):
    """The sessions below ~/.cline, and the tasks in the data of VS Code."""

    name = "cline"
    verified = "3.0.65"
    _extension = "saoudrizwan.claude-dev"

    def __init__(self) -> None:
        #: The folders of tasks, from the list that Cline has beside them.
        self._folders: dict[str, str] = {}

    def _places(self, environment: Mapping[str, str], home: Path) -> Iterator[Path]:
        yield client_home("CLINE_DIR", home / ".cline", environment) / "data"
        yield from self._extensions(environment, home)

    def _extensions(self, environment: Mapping[str, str], home: Path) -> Iterator[Path]:
        programs = ("Cursor", "Windsurf")
        for user in (*user_folders(environment, home, VS_CODE), *user_folders(environment, home, programs)):
            yield user / "globalStorage" / self._extension

    def transcripts(self, root: Path) -> Iterator[Transcript]:
        """List the sessions and tasks."""
        for path in files(root, "state/taskHistory.json"):
            with suppress(OSError), open_regular(path) as file:
                for item in elements(file, Reading()):
                    self._folders[text(item, "id")] = text(item, "cwdOnTaskInitialization")
        for path in files(root, "sessions/*/*.messages.json", f"tasks/*/{_HISTORY}"):
            if _is_roo(path) == (self.name == Roo.name):
                yield transcript(self.name, path, path.parent.name)

    def _records(self, transcript: Transcript, reading: Reading) -> Iterator[Record]:
        name = transcript.session
        if transcript.path.name == _HISTORY:
            item = parsed(head_of(transcript.path.with_name("history_item.json"), 1_000_000)) or {}
            begun = item.get("ts") or name
            task = Session(name, text(item, "workspace") or self._folders.get(name, ""))
            with open_regular(transcript.path) as file:
                for place, message in enumerate(elements(file, reading)):
                    reading.known += text(message, "role") in ("user", "assistant")
                    yield from _records_of(task, str(place), message, begun)
            yield from task.unfinished()
            return
        whole = read_object(transcript.path, reading) or {}
        if text(whole, "agent") in ("lead", "") and isinstance(whole.get("messages"), list):
            about = parsed(head_of(transcript.path.with_name(f"{name}.json"), 1_000_000)) or {}
            task = Session(text(whole, "sessionId") or name, text(about, "cwd") or text(about, "workspace_root"))
            for place, message in enumerate(items(whole, "messages")):
                yield from _records_of(task, text(message, "id") or str(place), message, None)
            yield from task.unfinished()
            reading.version = text(mapping(whole, "origin"), "version")
        reading.known += "messages" in whole


class Roo(Cline):
    """The tasks of Roo in the data of VS Code."""

    name = "roo"
    verified = "3.x"
    _extension = "rooveterinaryinc.roo-cline"

    def _places(self, environment: Mapping[str, str], home: Path) -> Iterator[Path]:
        yield from self._extensions(environment, home)


def _is_roo(path: Path) -> bool:
    """Return whether a task is one of Roo, which has a file of its own for each."""
    return Roo._extension in path.parts or path.with_name("history_item.json").is_file()


def _records_of(task: Session, place: str, message: Mapping[str, Any], begun: object) -> Iterator[Record]:
    """Yield the records of a message, and the calls that it has the results of."""
    name, role = f"{task.name}:{place}", text(message, "role")
    time = message.get("ts") if moment(message.get("ts")) else begun
    blocks = list(blocks_of(message.get("content")))
    said = [text(block, "text") for block in blocks if text(block, "type") == "text"]
    if role == "user":
        for block in blocks:
            yield from _finished(task, block)
        yield task.record(name, time, "user", "\n".join(filter(None, map(_typed, said))))
    elif role == "assistant":
        yield task.record(name, time, "assistant", "\n".join(filter(None, map(_answered, said))))
        for number, action in enumerate(action for each in said for action in _called(each)):
            yield task.record(f"{name}:{number}", time, *action)
        for block in blocks:
            if text(block, "type") == "tool_use":
                call = text(block, "id")
                task.wait_for(call, task.done(f"{name}:{call}", time, text(block, "name"), mapping(block, "input")))


def _finished(task: Session, block: Mapping[str, Any]) -> Iterator[Record]:
    """Yield the calls of a result, which has one object for each command, or one text."""
    calls = task.taken(text(block, "tool_use_id")) if text(block, "type") == "tool_result" else []
    results = items(block, "content")
    for place, call in enumerate(calls):
        result = results[place] if place < len(results) else {}
        output = text(result, "result") or text(result, "text") or text(block, "content") or text(result, "error")
        yield call.with_result(output, failed=result.get("success") is False or block.get("is_error") is True)


def _typed(said: str) -> str:
    """Return what the user typed, without what the program adds and without results of tools."""
    said = without_elements(said, _ADDED).strip()
    inside = next(filter(None, (element(said, name) for name in _AROUND)), "")
    return inside or ("" if _RESULT.match(said) or said.startswith("<environment_details>") else said)


def _answered(said: str) -> str:
    """Return an answer without calls and thoughts; that at the end of a task is inside an element."""
    plain = without_elements(said, (*_CALLS, "attempt_completion")).strip()
    return "\n".join(filter(None, (plain, element(element(said, "attempt_completion"), "result"))))


def _called(said: str) -> Iterator[tuple[Role, str]]:
    place, unclosed = 0, set[str]()
    while call := _CALLED.search(said, place):
        name, place = call[1], call.end()
        end = -1 if name in unclosed else said.find(f"</{name}>", place)
        if end < 0:
            unclosed.add(name)
            continue
        inside, place = said[place:end], end
        yield (
            ("command", element(inside, "command")) if name == "execute_command" else ("edit", element(inside, "path"))
        )
