"""The training questions: stores of texts, and for each question the texts that answer it.

A line of the file is one store as JSON: `src` (a source of the manifest), `lic` (its licence), `texts`, and
`qs`, a list of [question, indices of the texts that answer it].
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from training.sources import Source

__all__ = ["Questions", "read_questions"]


@dataclass(slots=True)
class Questions:
    """All stores in one list of texts and one list of questions; a question searches the texts of its store."""

    texts: list[str] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    #: For each question, the texts that answer it.
    answers: list[list[int]] = field(default_factory=list)
    #: For each question, its store.
    store_of: list[int] = field(default_factory=list)
    #: For each store, its source, its texts and its questions.
    sources: list[Source] = field(default_factory=list)
    store_texts: list[range] = field(default_factory=list)
    store_questions: list[range] = field(default_factory=list)

    def add(self, source: Source, texts: list[str], asked: Iterable[tuple[str, list[int]]]) -> None:
        """Add a store."""
        first_text, first_question = len(self.texts), len(self.questions)
        self.texts.extend(texts)
        for question, answers in asked:
            self.questions.append(question)
            self.answers.append([first_text + index for index in answers])
            self.store_of.append(len(self.sources))
        self.sources.append(source)
        self.store_texts.append(range(first_text, len(self.texts)))
        self.store_questions.append(range(first_question, len(self.questions)))


def read_questions(path: Path, sources: Mapping[str, Source], *, every: int = 1) -> Questions:
    """Read the file, or one store in `every`; each source must be in the manifest with the same licence."""
    found = Questions()
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            if number % every:
                continue
            store: dict[str, Any] = json.loads(line)
            source = sources.get(store["src"])
            if source is None or source.licence != store["lic"]:
                raise ValueError(
                    f"{path}, line {number + 1}: the source {store['src']!r} with the licence {store['lic']!r} is not "
                    "in sources.toml; add it with its licence, or remove its questions"
                )
            found.add(source, store["texts"], ((question, answers) for question, answers in store["qs"]))
    return found
