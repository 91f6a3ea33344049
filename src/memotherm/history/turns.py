"""The turns of past sessions that were read and are to be stored.

They wait in a temporary file, already without secrets, so that a preview can count what would be kept, nothing is
parsed twice, and all of them can be stored in the order in which they were said, in memory that does not depend on
their number.
"""

from __future__ import annotations

import pickle
import tempfile
from array import array
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from memotherm.hooks.turns import Content
from memotherm.settings.paths import create_folder, data_home


class Turn(NamedTuple):
    """A turn of a past session, without secrets."""

    source: str
    #: The id of the record of the prompt.
    id: str
    session: str
    #: When it was said, if that is known, and a moment for its place among the others; when it ended.
    time: datetime | None
    moment: datetime
    end: datetime
    project: str
    #: The working folder, the branch, and the files that were edited, as far as they are known.
    place: dict[str, Any]
    prompt: str
    answer: str
    #: What is found of it by words, if anything, and commands that had failed and succeeded in it.
    words: Content | None
    fixes: list[Content]
    #: Whether its transcript is gone.
    deleted: bool


class Turns:
    """Turns in a temporary file, to be read in the order of their times."""

    def __init__(self) -> None:
        create_folder(data_home())
        self._file = tempfile.TemporaryFile(dir=data_home())  # noqa: SIM115 - closed by `close`
        self._times, self._offsets, self._transcripts = array("d"), array("q"), array("l")
        #: The place of each turn by the hash of its id, and the time at which it ends.
        self._known, self._ends = dict[int, int](), array("d")

    def __len__(self) -> int:
        return len(self._times)

    def add(self, turn: Turn, transcript: int) -> bool:
        """Add a turn of the transcript with a number, and return whether it is new.

        A fork or a replay has the same turns: of each, the copy that goes on for longest is kept.
        """
        place = self._known.setdefault(hash((turn.source, turn.id)), len(self))
        is_new, ends = place == len(self), turn.end.timestamp()
        if is_new:
            for values in (self._times, self._ends, self._transcripts, self._offsets):
                values.append(0)
        elif ends <= self._ends[place]:
            return False
        self._times[place], self._ends[place] = turn.moment.timestamp(), ends
        self._transcripts[place], self._offsets[place] = transcript, self._file.tell()
        pickle.dump(turn, self._file)
        return is_new

    def counts(self) -> Counter[int]:
        """Return how many turns each transcript has, by its number."""
        return Counter(self._transcripts)

    def oldest_first(self) -> Iterator[tuple[Turn, int]]:
        """Yield each turn with the number of its transcript; of one moment, in the order in which they were added."""
        for number in sorted(range(len(self)), key=self._times.__getitem__):
            self._file.seek(self._offsets[number])
            yield pickle.load(self._file), self._transcripts[number]  # noqa: S301 - nobody else can write the file

    def close(self) -> None:
        """Remove the file."""
        self._file.close()
