"""The beginning of a hook: read its event, and end at once if it is a tool call that concerns no memory.

Most calls concern none, and the host waits for each. The names of the files and programs in the memories of a store are
therefore in a file that hooks write (`save_names`), with the state of the store's files. If none of these has changed
since, a call without such a name ends here. This module imports nothing that takes time, regular expressions and `json`
among it: it compares every word of a command, and what it cannot tell is decided by `calls.names_none`, in the daemon
if there is one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

from memotherm.folders import data_folder, own_variables
from memotherm.hooks.tools import AGENTS, COMMANDS, FILES, PATCH_BEGINS, PATH_FIELDS, relative

#: A part of the names of all events of tools.
_EVENTS = (b"ToolUse", b"AfterTool", b"tool.execute")
_PATCH_FIELDS = ("command", "input", "patch")
#: What is between the words of a command and the steps of its paths.
_SEPARATORS = str.maketrans(dict.fromkeys("/'\";|", " "))
#: A large prime, as in `daemon.client`: the remainder distinguishes texts without importing a checksum.
_PRIME = 2**61 - 1


def concerns_nothing(arguments: Sequence[str]) -> bool:
    """Return whether the event on standard input is a tool call whose names are in no memory.

    Otherwise, standard input has the event again.
    """
    data = bytearray()
    while chunk := os.read(0, 1 << 16):
        data += chunk
    if any(name in data for name in _EVENTS):
        try:
            if is_unknown(bytes(data), arguments, exactly=False):
                return True
        except (ImportError, OSError, ValueError, TypeError, AttributeError, KeyError, RecursionError, StopIteration):
            pass  # the hook itself reports what is wrong
    _give_back(bytes(data))
    return False


def is_unknown(data: bytes, arguments: Sequence[str], *, exactly: bool = True) -> bool:
    """Return whether an event is a tool call whose names are in no memory of the store, as far as its words tell.

    To tell it `exactly`, patterns are imported, which takes 10 ms.
    """
    payload = _parsed(data.decode().strip())
    tool, given, folder = payload.get("tool_name"), payload.get("tool_input"), str(payload.get("cwd") or "")
    if isinstance(tool, str) and tool in AGENTS:
        return False
    if not isinstance(given, dict) or tool not in FILES | COMMANDS:
        return True
    names = names_here(arguments, folder)
    if names is None:
        return False
    may_have_failed = "!" in names and tool in COMMANDS and payload.get("hook_event_name") != "PreToolUse"
    words = None if may_have_failed else _words(str(tool), given, folder)
    if words is not None and names.isdisjoint(words):
        return True
    if not exactly:
        return False
    from memotherm.hooks.calls import names_none, tool_call

    call = tool_call(payload, str(payload.get("hook_event_name") or ""))
    return call is None or names_none(call, names)


def _parsed(text: str) -> dict[str, object]:
    """Return the JSON object in a text, by what the module `json` is made of: its import takes 6 ms."""
    import _json

    found, end = _json.make_scanner(_Strict())(text, 0)  # type: ignore[arg-type]
    if not isinstance(found, dict) or end != len(text):
        raise ValueError("an event is a JSON object")
    return found


class _Strict:
    """The options of a scanner of JSON, which reads nothing else of its argument."""

    strict, object_hook, object_pairs_hook = True, None, None
    parse_float, parse_int, parse_constant = float, int, float


def _words(tool: str, given: Mapping[str, object], folder: str) -> set[str] | None:
    """Return all words of a call that may be names; None for a patch."""
    if tool in COMMANDS:
        command = given.get("command") or ""
        text = " ".join(map(str, command)) if isinstance(command, list) else str(command)
        line = text.strip().partition("\n")[0].lower()
        return None if PATCH_BEGINS in text else set(line.replace("&&", " ").translate(_SEPARATORS).split())
    if any(given.get(name) for name in _PATCH_FIELDS):
        return None
    paths = [path for name in PATH_FIELDS if isinstance(path := given.get(name), str)]
    return {step for path in paths for step in relative(path.strip(), folder or os.getcwd()).lower().split("/")}


def _give_back(data: bytes) -> None:
    """Make standard input a file with data that was read from it."""
    if hasattr(os, "memfd_create"):
        handle = os.memfd_create("event")
    else:
        import tempfile

        with tempfile.TemporaryFile() as file:
            handle = os.dup(file.fileno())
    while data:
        data = data[os.write(handle, data) :]
    os.lseek(handle, 0, os.SEEK_SET)
    os.dup2(handle, 0)
    os.close(handle)


# The names in a store


def names_here(arguments: Sequence[str], folder: str) -> frozenset[str] | None:
    """Return the names in the memories of the store of a hook; None if they are not known, or no longer."""
    with open(names_file(arguments, folder), encoding="utf-8") as file:
        saved = _parsed(file.read().strip())
    files, names = saved["files"], saved["names"]
    if not isinstance(files, dict) or not isinstance(names, list):
        return None
    if not files or any(state_of(path) != state for path, state in files.items()):
        return None
    return None if "*" in names else frozenset(names)


def names_file(arguments: Sequence[str], folder: str) -> str:
    """Return the file with the names in the memories of a store: one for each folder and command of a hook."""
    where = repr([list(arguments), own_variables(), folder, os.getcwd()])
    return f"{data_folder()}/names/{int.from_bytes(where.encode()) % _PRIME:x}.json"


def state_of(path: str) -> list[int] | None:
    """Return what changes when a file does; None if there is no file, or an empty one.

    A process that was killed leaves an empty log beside the store.
    """
    try:
        status = os.stat(path)
    except OSError:
        return None
    return [status.st_mtime_ns, status.st_size, status.st_ino] if status.st_size else None


def save_names(
    path: str, files: Iterable[str], names: Iterable[str], seen: Mapping[str, int], scope: Mapping[str, str]
) -> None:
    """Write the names in the memories of a scope up to the events seen, with the state of the files that hold them."""
    import json

    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    states = {file: state_of(file) for file in files}
    saved = {"files": states, "names": sorted(names), "seen": dict(seen), "scope": dict(scope)}
    partial = f"{path}.{os.getpid()}"
    with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        json.dump(saved, file)
    os.replace(partial, path)
