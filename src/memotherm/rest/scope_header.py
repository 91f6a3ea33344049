"""The scope of a request: the header `Memotherm-Scope`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import unquote

from memotherm.errors import InvalidInput
from memotherm.model import SCOPE_FIELDS
from memotherm.operations.table import SCOPE_HEADER as HEADER

__all__ = ["HEADER", "PATTERN", "parse_scope", "requested_scope"]

#: The fields of the header; the tenant is that of the API key.
_FIELDS = tuple(name for name in SCOPE_FIELDS if name != "tenant")
#: The plainest form of the header, for the OpenAPI document; `parse_scope` accepts more.
PATTERN = "^" + "".join(f"({name}=[!-$&-:<-~]{{1,200}};?)?" for name in _FIELDS) + "$"
_ENCODED = re.compile("[ -~]*")
_BROKEN = re.compile("%(?![0-9A-Fa-f]{2})")


def requested_scope(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return the fields of the scope headers of a request; a client may send several."""
    lines = [value.decode("latin-1") for name, value in headers if name == HEADER.lower().encode()]
    return parse_scope(";".join(lines))


def parse_scope(header: str) -> dict[str, str]:
    """Return the fields of a scope header, in any order: `project=my shop; user=J%C3%BCrgen`.

    Names are percent-encoded UTF-8; only `;`, `%`, white space at either end and characters other than ASCII
    need to be encoded.
    """
    if not _ENCODED.fullmatch(header) or _BROKEN.search(header):
        raise InvalidInput(f"{HEADER}: percent-encode `%` and characters other than ASCII, as in user=J%C3%BCrgen")
    scope: dict[str, str] = {}
    for part in header.split(";"):
        if not part.strip():
            continue
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if name not in _FIELDS:
            why = "; the tenant is that of the API key" if name == "tenant" else ""
            raise InvalidInput(f"{HEADER}: {name[:50]!r} is not one of its fields, {', '.join(_FIELDS)}{why}")
        if not equals or not value or name in scope:
            raise InvalidInput(f"{HEADER}: {name} needs one name, as in {name}=NAME")
        scope[name] = _decoded(value)
    return scope


def _decoded(value: str) -> str:
    try:
        return unquote(value, errors="strict")
    except UnicodeDecodeError:
        raise InvalidInput(f"{HEADER}: {value[:50]!r} is not percent-encoded UTF-8") from None
