"""Read settings from arguments, the environment and files; no other module reads the environment.

Order of precedence: arguments, environment (`MEMOTHERM_*`), the project's file
(`memotherm.toml`, or `[tool.memotherm]` in `pyproject.toml`, in the working directory
or above it), the user's file, defaults. An unknown name is an error, so that a misspelt
setting is never ignored. A project's file may come with a cloned repository: it may set
only what is declared with `project`, unless the user trusts it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from memotherm.errors import SettingsError
from memotherm.settings.paths import PREFIX, create_folder, user_file, write_text
from memotherm.settings.schema import FIELDS, Settings
from memotherm.settings.types import Address, Boosts, Secret, as_bool, checked, project_may_set, public

#: Environment variables with the prefix that are not settings.
_RESERVED = {"HOME", "DATA", "VECTORS"}
#: The variables with the API keys of embedders, by the embedder's name.
_KEY_VARIABLES = {"openai": ("OPENAI_API_KEY",), "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY")}


def load(
    overrides: Settings | Mapping[str, Any] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    folder: Path | None = None,
    project: bool = True,
    problems: list[str] | None = None,
) -> Settings:
    """Return the settings; a `Settings` instance is returned as it is.

    Args:
        overrides: Settings by name, which take precedence.
        environ: The environment; None uses that of the process.
        folder: The folder of the project; None uses the working directory.
        project: Whether to read the project's file.
        problems: If given, a file that cannot be used is left out, and what is wrong with it is added here.
    """
    if isinstance(overrides, Settings):
        return overrides
    values: dict[str, Any] = {}
    for _, layer in reversed(list(_layers(overrides or {}, environ, folder, project=project, problems=problems))):
        values.update(layer)
    return Settings(**values)


def origins(
    overrides: Mapping[str, Any] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    folder: Path | None = None,
    problems: list[str] | None = None,
) -> dict[str, str]:
    """Return the origin of every setting's value; `problems` as in `load`."""
    sources = dict.fromkeys(FIELDS, "default")
    for origin, layer in reversed(list(_layers(overrides or {}, environ, folder, problems=problems))):
        sources.update(dict.fromkeys(layer, origin))
    return sources


def embedder_keys() -> dict[str, str]:
    """Return the API keys of embedders that the environment has, by the embedder's name; empty if there is none."""
    return {
        name: next((key for variable in variables if (key := os.environ.get(variable))), "")
        for name, variables in _KEY_VARIABLES.items()
    }


def _layers(
    overrides: Mapping[str, Any],
    environ: Mapping[str, str] | None,
    folder: Path | None,
    *,
    project: bool = True,
    problems: list[str] | None = None,
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (origin, values) from the highest precedence to the lowest."""
    environ = os.environ if environ is None else environ
    user = user_file(environ)
    given, variables = known(overrides, "the arguments"), _from_environment(environ)
    own = _from_file(user, problems) if user.is_file() else {}
    yield "argument", given
    yield "environment", variables
    project_file = _project_file(folder or Path.cwd()) if project else None
    if project_file is not None:
        # A project's own file cannot say that it is trusted.
        trusted = as_bool("trust_project", {**own, **variables, **given}.get("trust_project", False))
        yield str(project_file), _from_file(project_file, problems, trusted=trusted)
    yield str(user), own


def _from_file(path: Path, problems: list[str] | None, *, trusted: bool = True) -> dict[str, Any]:
    """Return the settings of a file; if it cannot be used and `problems` are collected, none."""
    try:
        values = _from_toml(path)
        if not trusted:
            _require_allowed(values, path)
        if problems is not None:
            Settings(**values)
    except SettingsError as exc:
        if problems is None:
            raise
        problems.append(f"{exc} (the file is left out here; other commands refuse it)")
        return {}
    return values


def _require_allowed(values: Mapping[str, Any], path: Path) -> None:
    """Raise an error if a project's file sets something that only the user may set."""
    refused = [name for name, value in values.items() if not project_may_set(FIELDS[name], value)]
    if refused:
        raise SettingsError(
            f"{path} sets {', '.join(refused)}, which a project may not set by itself: set MEMOTHERM_TRUST_PROJECT=1 "
            "(or trust_project = true in your own config.toml) if you trust this project with your memories"
        )


def _from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    values = {
        key.removeprefix(PREFIX).lower(): value
        for key, value in environ.items()
        if key.startswith(PREFIX) and key.removeprefix(PREFIX) not in _RESERVED
    }
    return known(values, "the environment")


def _from_toml(path: Path) -> dict[str, Any]:
    import tomllib  # most users have no file

    text = ""
    try:
        text = path.read_text("utf-8")
        data = tomllib.loads(text)
        if path.name == "pyproject.toml":
            data = data.get("tool", {}).get("memotherm", {})
        values = known(data, str(path))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as exc:
        lines = as_toml(text) if path.name != "pyproject.toml" else []
        instead = f"; it is TOML, so write {'; '.join(lines)}" if lines else ""
        raise SettingsError(f"cannot read the settings in {path}: {exc}{instead}") from exc
    except RecursionError:
        raise SettingsError(f"cannot read the settings in {path}: its values are nested too deeply") from None
    for name in values:
        if not FIELDS[name].metadata["files"]:
            raise SettingsError(f"{path} sets {name}, which only the environment may: use {PREFIX}{name.upper()}")
    return values


#: A line of YAML, of JSON or of a list in Markdown: indentation, name, value.
_ENTRY = re.compile(r"""^(\s*)(?:[-*]\s+)?["'`]?([A-Za-z_][\w.]*)["'`]?\s*:\s*(.*?)\s*(?:[#(].*)?$""")
_BARE = re.compile(r"true|false|[+-]?\d[\d_]*(?:\.\d+)?|\".*\"|\[.*\]")


def as_toml(text: str) -> list[str]:
    """Return the settings in the YAML or JSON of another program as lines of TOML; none if there are no such lines.

    A value that is not one of a setting, or a secret one, is "...".
    """
    try:
        loaded = json.loads(text)
        return [_line(name, json.dumps(value)) for name, value in flat(loaded)] if isinstance(loaded, dict) else []
    except (ValueError, RecursionError):
        pass
    blocks: list[tuple[int, str]] = []
    found = []
    for entry in filter(None, map(_ENTRY.match, text.splitlines())):
        indent, name, value = len(entry[1]), entry[2], entry[3].rstrip(",")
        while blocks and blocks[-1][0] >= indent:
            blocks.pop()
        if value in ("", "{"):
            blocks.append((indent, name))
        else:
            bare = value if _BARE.fullmatch(value) else json.dumps(value.strip("'\""), ensure_ascii=False)
            found.append(_line(".".join([*(block for _, block in blocks), name]), bare))
    return found


def _line(name: str, value: str) -> str:
    table = name.rpartition(".")[0]
    ours = OTHER_NAMES.get(name) or OTHER_NAMES.get(table) or snake_case(name)
    shown = ours in FIELDS and not isinstance(FIELDS[ours].default, Secret | Address)
    return f"{name} = {value}" if shown else f'{name} = "..."'


def _project_file(folder: Path) -> Path | None:
    """Return the nearest settings file of a project, in a folder or above it."""
    for parent in (folder, *folder.parents):
        own = parent / "memotherm.toml"
        if own.is_file():
            return own
        shared = parent / "pyproject.toml"
        if shared.is_file() and "[tool.memotherm]" in shared.read_text("utf-8", errors="replace"):
            return shared
    return None


def known(values: Mapping[str, Any], source: str) -> dict[str, Any]:
    """Return settings by our names; camel case and the names of other programs are accepted."""
    settings: dict[str, Any] = {}
    for name, value in flat(values):
        ours = OTHER_NAMES.get(name) or snake_case(name)
        if ours not in FIELDS:
            import difflib

            close = difflib.get_close_matches(ours, FIELDS, n=1)
            hint = f": did you mean {close[0]!r}?" if close else ""
            raise SettingsError(f"unknown setting {name!r} in {source}{hint}")
        if ours in settings:
            raise SettingsError(f"{source} sets {ours} twice, once as {name}: keep one of them")
        settings[ours] = value
    return settings


#: The name of a setting in another program, with its blocks, and ours.
OTHER_NAMES = {
    "memoryTiering.enabled": "tiering",
    "memoryTiering.hotMaxTokens": "hot_max_tokens",
    "memoryTiering.hotMaxFacts": "hot_max_facts",
    "memoryTiering.compactionOnSessionEnd": "compaction_on_session_end",
    "memoryTiering.inactivePreferenceDays": "inactive_preference_days",
    "memory.max_pinned": "max_pinned",
    "memory.tier_boosts": "priority_boosts",
    "agent.memory.hotTokenLimit": "hot_token_limit",
    "agent.memory.warmAccessThreshold": "warm_access_threshold",
    "agent.memory.promoteThreshold": "promote_threshold",
    "agent.memory.maxColdItems": "max_cold_items",
    "agent.memory.autoSpillEnabled": "auto_spill",
    "agent.memory.autoPromoteEnabled": "auto_promote",
    "chunking.tokens": "chunk_tokens",
    "sync.onSessionStart": "sync_on_session_start",
    "sync.onSearch": "sync_on_search",
    "sync.watch": "watch_notes",
    "sync.watchDebounceMs": "watch_debounce_ms",
    "query.hybrid.vectorWeight": "vector_weight",
    "query.hybrid.textWeight": "text_weight",
    "experimental.sessionMemory": "experimental_session_memory",
}

#: The settings that are tables of numbers, by all their names.
_TABLES = {"priority_boosts", "memory.tier_boosts"}
_CAPITAL = re.compile(r"(?<=[a-z0-9])[A-Z]")


def snake_case(name: str) -> str:
    """Return a name in camel case with underscores: `hot_max_tokens` for `hotMaxTokens`."""
    return _CAPITAL.sub(lambda match: f"_{match[0]}", name).lower()


def flat(values: Mapping[str, Any], block: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the names and values of a configuration; names in blocks are dotted."""
    for name, value in values.items():
        if isinstance(value, Mapping) and f"{block}{name}" not in _TABLES:
            yield from flat(value, f"{block}{name}.")
        else:
            yield f"{block}{name}", value


def described_settings(
    settings: Settings | None = None, *, changed: bool = False, problems: list[str] | None = None
) -> dict[str, dict[str, Any]]:
    """Return every setting with its value and origin, without secrets.

    Args:
        settings: The settings in use; None for those of the files and the environment.
        changed: Only settings that differ from their default.
        problems: As in `load`.
    """
    loaded, sources = load(problems=problems), origins(problems=None if problems is None else [])
    used = loaded if settings is None else settings
    found = {
        name: {
            "value": _listed(public(getattr(used, name))),
            "origin": sources[name] if getattr(used, name) == getattr(loaded, name) else "the program or the policy",
        }
        for name in FIELDS
    }
    return {name: entry for name, entry in found.items() if not changed or entry["origin"] != "default"}


def _listed(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, Boosts):
        return value._asdict()
    return list(value) if isinstance(value, tuple) else value


_TABLE = re.compile(r"^\s*\[", re.MULTILINE)


def change_user_file(change: Callable[[str], str]) -> Path:
    """Change the text of the user's settings file, and return its path."""
    file = user_file()
    text = file.read_text("utf-8") if file.is_file() else ""
    changed = change(text)
    if changed != text:
        create_folder(file.parent)
        write_text(file, changed)
    return file


def with_setting(text: str, name: str, value: object) -> str:
    """Return the text of a settings file with a setting changed or added; comments and the order of lines stay."""
    known({name: value}, "the arguments")
    valid = checked(FIELDS[name], value)
    # TOML writes these types like JSON, and a table with equals signs.
    text_of_value = json.dumps(_listed(valid), ensure_ascii=False)
    line = f"{name} = {text_of_value.replace(': ', ' = ') if isinstance(valid, Boosts) else text_of_value}\n"
    others = without_setting(text, name)
    place = _assignment(name).search(text) or _TABLE.search(others)
    position = place.start() if place else len(others)
    before, after = others[:position], others[position:]
    return f"{before}{'' if not before or before.endswith(chr(10)) else chr(10)}{line}{after}"


def without_setting(text: str, name: str) -> str:
    """Return the text of a settings file without a setting."""
    changed = _assignment(name).sub("", text, count=1)
    import tomllib

    try:
        before, after = tomllib.loads(text), tomllib.loads(changed)
    except (tomllib.TOMLDecodeError, RecursionError) as exc:
        raise SettingsError(f"the settings file cannot be changed ({exc}): edit it yourself") from exc
    before.pop(name, None)
    if before != after:
        raise SettingsError(f"{name} is not on a line of its own in the settings file: edit it yourself")
    return changed


def _assignment(name: str) -> re.Pattern[str]:
    return re.compile(rf"^{re.escape(name)}[ \t]*=.*(?:\n|\Z)", re.MULTILINE)
