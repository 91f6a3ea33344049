"""The manifest: the sources of the training questions, their licences, and the weights with which they are drawn."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

__all__ = ["MANIFEST", "Source", "read_sources"]

MANIFEST = Path(__file__).parent / "sources.toml"


@dataclass(frozen=True, slots=True)
class Source:
    """A published collection of texts from which questions were made, or that has questions itself."""

    name: str
    url: str
    licence: str
    #: How often a question is drawn from the sources of this family, relative to the other families.
    family: str
    weight: float
    questions: int


def read_sources(path: Path = MANIFEST) -> dict[str, Source]:
    """Return the sources by name."""
    manifest = tomllib.loads(path.read_text("utf-8"))
    weights: dict[str, float] = manifest["weights"]
    return {
        name: Source(
            name=name,
            url=entry["url"],
            licence=entry["licence"],
            family=entry["family"],
            weight=weights[entry["family"]],
            questions=entry["questions"],
        )
        for name, entry in manifest["sources"].items()
    }
