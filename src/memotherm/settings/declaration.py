"""How a setting is declared, and how a value for it is checked."""

from __future__ import annotations

from dataclasses import Field, field
from typing import Any

from memotherm.errors import SettingsError

__all__ = ["MAX_DAYS", "as_bool", "checked", "project_may_set", "setting"]

#: The longest time window, about a hundred years.
MAX_DAYS = 36_525

_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"0", "false", "no", "off"}


def setting(
    default: Any,  # noqa: ANN401 - the type is that of the annotated field
    description: str,
    *,
    low: float = 0,
    high: float = float("inf"),
    choices: tuple[str, ...] = (),
    project: bool | tuple[str, ...] = False,
    secret: bool = False,
    files: bool = True,
) -> Any:  # noqa: ANN401
    """Declare a setting.

    Args:
        default: The default value; its type decides how a value is read.
        description: One sentence for the reference page.
        low: The least number allowed.
        high: The greatest number allowed.
        choices: The words allowed; empty allows any text.
        project: Whether a project's settings file may set it without trust; a tuple allows only these values.
        secret: Whether the value is left out of everything that is printed.
        files: Whether a settings file may set it.
    """
    metadata = {
        "description": description,
        "low": low,
        "high": high,
        "choices": choices,
        "project": project,
        "secret": secret,
        "files": files,
    }
    return field(default=default, repr=not secret, metadata=metadata)


def project_may_set(declared: Field[Any], value: object) -> bool:
    """Return whether a project's settings file may give a setting this value without trust."""
    allowed: bool | tuple[str, ...] = declared.metadata["project"]
    return allowed if isinstance(allowed, bool) else value in allowed


def checked(declared: Field[Any], value: object) -> object:
    """Return the value in the type of the setting, or raise `SettingsError`."""
    name, default = declared.name, declared.default
    if isinstance(default, bool):
        return as_bool(name, value)
    if isinstance(default, int | float):
        return _as_number(declared, value)
    if isinstance(default, tuple):
        return _as_words(name, value)
    if not isinstance(value, str):
        raise SettingsError(f"{name} must be text, not {value!r}")
    choices = declared.metadata["choices"]
    if choices and value not in choices:
        raise SettingsError(f"{name} must be one of {', '.join(choices)}, not {value!r}")
    return value


def as_bool(name: str, value: object) -> bool:
    """Return a truth value, which the environment gives as text."""
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower()
    if word in _TRUE | _FALSE:
        return word in _TRUE
    raise SettingsError(f"{name} must be true or false, not {value!r}")


def _as_number(declared: Field[Any], value: object) -> float:
    name = declared.name
    whole = declared.type == "int"
    try:
        number = int(str(value)) if whole else float(str(value))
    except ValueError:
        raise SettingsError(f"{name} must be a {'whole ' if whole else ''}number, not {value!r}") from None
    low, high = declared.metadata["low"], declared.metadata["high"]
    if not low <= number <= high:
        bounds = f"at least {low}" if high == float("inf") else f"between {low} and {high}"
        raise SettingsError(f"{name} must be {bounds}, not {value!r}")
    return number


def _as_words(name: str, value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        value = [word.strip() for word in value.split(",") if word.strip()]
    if not isinstance(value, list | tuple) or not all(isinstance(word, str) for word in value):
        raise SettingsError(f"{name} must be a list of words, not {value!r}")
    return tuple(value)
