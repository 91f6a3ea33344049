"""Files of requests: one key per line, plain or compressed by gzip."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

from memotherm.errors import InvalidInput, NotFound

__all__ = ["read_trace"]


def read_trace(path: str | os.PathLike[str]) -> list[int]:
    """Return the keys of a trace as numbers, in order; equal lines have equal numbers."""
    numbers: dict[str, int] = {}
    file = Path(path).expanduser()
    try:
        with gzip.open(file, "rt") if file.suffix == ".gz" else file.open() as lines:
            keys = [numbers.setdefault(key, len(numbers)) for line in lines if (key := line.strip())]
    except FileNotFoundError:
        raise NotFound(f"there is no trace {file}: pass a file with one key per line") from None
    except (OSError, UnicodeDecodeError, EOFError) as exc:
        raise InvalidInput(f"cannot read the trace {file}: {exc}") from exc
    if not keys:
        raise InvalidInput(f"the trace {file} has no requests: pass a file with one key per line")
    return keys
