"""Change one setting in the text of a settings file; comments and the order of lines stay as they are."""

from __future__ import annotations

import json
import re
import tomllib

from memotherm.errors import SettingsError
from memotherm.settings.declaration import checked
from memotherm.settings.loading import known
from memotherm.settings.settings import FIELDS

__all__ = ["with_setting", "without_setting"]

_TABLE = re.compile(r"^\s*\[", re.MULTILINE)


def with_setting(text: str, name: str, value: object) -> str:
    """Return a settings file in which a setting has a value, given as text or in its own type."""
    known({name: value}, "the arguments")
    line = f"{name} = {_toml(checked(FIELDS[name], value))}\n"
    others = without_setting(text, name)
    position = _line_of(text, name)
    if position is None:
        table = _TABLE.search(others)
        position = table.start() if table else len(others)
    before, after = others[:position], others[position:]
    return f"{before}{'' if not before or before.endswith(chr(10)) else chr(10)}{line}{after}"


def without_setting(text: str, name: str) -> str:
    """Return a settings file that does not set a setting."""
    changed = _assignment(name).sub("", text, count=1)
    try:
        before, after = tomllib.loads(text), tomllib.loads(changed)
    except tomllib.TOMLDecodeError as exc:
        raise SettingsError(f"the settings file cannot be changed ({exc}): edit it yourself") from exc
    before.pop(name, None)
    if before != after:
        raise SettingsError(f"{name} is not on a line of its own in the settings file: edit it yourself")
    return changed


def _assignment(name: str) -> re.Pattern[str]:
    return re.compile(rf"^{re.escape(name)}[ \t]*=.*(?:\n|\Z)", re.MULTILINE)


def _line_of(text: str, name: str) -> int | None:
    match = _assignment(name).search(text)
    return match.start() if match else None


def _toml(value: object) -> str:
    """Return a value as TOML; it writes numbers, texts, words and truth values as JSON does."""
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)
