"""The types of settings: how a setting is declared, and how a value of it is read and shown."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import Field, field
from typing import Any, NamedTuple

from memotherm.errors import SettingsError

#: The longest time window, about a hundred years.
MAX_DAYS = 36_525

_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"0", "false", "no", "off"}

#: The user and password in an address, and its parameters for a password, key, token or signature.
_CREDENTIALS = re.compile(
    r"(?<=://)[^/?#]*@|(?<=[?&])[\w.-]{0,40}(?:password|passwd|pwd|key|token|secret|sig|signature|auth)=[^&#]*",
    re.IGNORECASE,
)


class Boosts(NamedTuple):
    """What each priority adds to the score of a memory."""

    pinned: float = 1.0
    critical: float = 0.3
    important: float = 0.15
    normal: float = 0.0
    low: float = -0.1


class Secret(str):
    """A setting that stays in the process: it is not printed, hashed, sent or written to a file."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(public(self))


class Address(str):
    """The address of a store or service; it is printed and hashed without the credentials in it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(public(self))


def public(value: Any) -> Any:  # noqa: ANN401 - the value of any setting
    """Return the value of a setting as others may see it: "(set)" for a secret, an address without credentials."""
    if isinstance(value, Secret):
        return "(set)" if value else ""
    return _CREDENTIALS.sub("", value) if isinstance(value, Address) else value


def setting(
    default: Any,  # noqa: ANN401 - the type is that of the annotated field
    description: str,
    *,
    low: float = 0,
    high: float = float("inf"),
    choices: tuple[str, ...] = (),
    project: bool | tuple[object, ...] = False,
    files: bool = True,
) -> Any:  # noqa: ANN401
    """Declare a setting.

    Args:
        default: The default value; its type decides how a value is read.
        description: One sentence for the reference page.
        low: The minimum of a number.
        high: The maximum of a number.
        choices: The allowed words; empty allows any text.
        project: Whether a project's settings file may set it without trust; a tuple allows only these values.
        files: Whether a settings file may set it.
    """
    metadata = {
        "description": description,
        "low": low,
        "high": high,
        "choices": choices,
        "project": project,
        "files": files,
    }
    return field(default=default, metadata=metadata)


def project_may_set(declared: Field[Any], value: object) -> bool:
    """Return whether a project's settings file may give a setting this value without trust."""
    allowed: bool | tuple[object, ...] = declared.metadata["project"]
    return allowed if isinstance(allowed, bool) else value in allowed


def checked(declared: Field[Any], value: object) -> object:
    """Return the value in the type of the setting, or raise `SettingsError`."""
    name, default = declared.name, declared.default
    if isinstance(default, bool):
        return as_bool(name, value)
    if isinstance(default, int | float):
        return _as_number(declared, value)
    if isinstance(default, Boosts):
        return _as_boosts(declared, value)
    if isinstance(default, tuple):
        return _as_words(name, value)
    if not isinstance(value, str):
        # A number can be a secret as well.
        given = f"a {type(value).__name__}" if isinstance(default, Secret) else repr(value)
        raise SettingsError(f"{name} must be text, not {given}")
    choices = declared.metadata["choices"]
    if choices and value not in choices:
        raise SettingsError(f"{name} must be one of {', '.join(choices)}, not {value!r}")
    if name == "retention":
        retention_days(value)
    kind = type(default) if isinstance(default, str) else str
    return kind(value)


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


def _as_boosts(declared: Field[Any], value: object) -> Boosts:
    """Return numbers by priority, from a table or from text such as `critical=0.5, low=-0.2`; the others stay."""
    if isinstance(value, Boosts):
        value = value._asdict()
    if isinstance(value, str):
        value = {name: number for name, _, number in (entry.partition("=") for entry in value.split(","))}
    names = Boosts._fields
    if not isinstance(value, Mapping) or not {str(name).strip() for name in value} <= set(names):
        raise SettingsError(f"{declared.name} must be numbers by priority ({', '.join(names)}), not {value!r}")
    return Boosts(**{str(name).strip(): _as_number(declared, number) for name, number in value.items()})


def _as_words(name: str, value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        value = [word.strip() for word in value.split(",") if word.strip()]
    if not isinstance(value, list | tuple) or not all(isinstance(word, str) for word in value):
        raise SettingsError(f"{name} must be a list of words, not {value!r}")
    return tuple(value)


_RETENTION = {"off": "0/0/7", "standard": "90/60/7"}


@functools.lru_cache(maxsize=16)
def retention_days(text: str) -> list[float]:
    """Return the three windows that a value of `retention` means."""
    try:
        days = [float(window) for window in _RETENTION.get(text, text).split("/")]
    except ValueError:
        days = []
    if len(days) != 3 or not all(0 <= window <= MAX_DAYS for window in days):
        raise SettingsError(
            f"retention must be off, standard, or the days until a memory is archived, deleted and purged, such as "
            f"90/60/7 (each at most {MAX_DAYS}), not {text!r}"
        )
    return days
