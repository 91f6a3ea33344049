"""Uses that follow a recall: what the caller confirms, and what the agent's answer reflects."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from memotherm.errors import InvalidInput, NotFound
from memotherm.model.clock import from_micros, id_millis
from memotherm.model.memory import SUMMARY
from memotherm.model.recall import Feedback, UseKind
from memotherm.settings import Settings
from memotherm.storage.store import Store
from memotherm.storage.values import LaterUse, LogEntry, Record
from memotherm.text.phrases import is_question, sentences
from memotherm.text.words import reflected
from memotherm.tiers.rules.properties import USE_WEIGHTS

#: How many of the last recalls are looked at for one that returned a memory.
_MOST_RECENT = 20
_RECENT = timedelta(days=1)
#: How long a recall of another process may not be in the log yet, and how often that is looked up, in seconds.
_UNLOGGED = timedelta(seconds=1)
_PAUSE = 0.05


class FeedbackLog:
    """Records uses that follow a recall, each once."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings

    def named(self, spaces: Sequence[int], recall_id: str, now: datetime) -> LogEntry:
        """Return the recall with an id, or raise `NotFound`."""
        found = self._store.logged_recall(spaces, recall_id)
        deadline = time.monotonic() + _UNLOGGED.total_seconds()
        while found is None and now - _made_at(recall_id) < _UNLOGGED and time.monotonic() < deadline:
            # Another process may have made the recall, and write it to the log at any moment.
            time.sleep(_PAUSE)
            found = self._store.logged_recall(spaces, recall_id)
        if found is None:
            raise NotFound(
                f"the recall log has no {recall_id} in this scope: it is written while recall_log is not off (it is "
                f"{self._settings.recall_log}), and stored for log_days ({self._settings.log_days:g})"
            )
        return found

    def last(self, spaces: Sequence[int], now: datetime) -> list[LogEntry]:
        """Return the last recalls in some spaces, newest first, or raise `NotFound`."""
        # In the first days of the calendar there is no day before.
        since = now - _RECENT if now.year > 1 else now
        recalls = self._store.recent_recalls(spaces, since, now, _MOST_RECENT) if spaces else []
        if not recalls:
            raise NotFound("no recall of the last day was logged in this scope: name one by its recall_id")
        return recalls

    def give(
        self, recalls: Sequence[LogEntry], used: Sequence[Record], answer: str, spaces: Sequence[int], now: datetime
    ) -> Feedback:
        """Count the memories that the caller used as confirmed, and those that the answer reflects as reflected.

        The recalls are newest first; the answer may be empty.
        """
        recall_of = {no: recall for recall in reversed(recalls) for no in recall.returned}
        for record in used:
            if record.no not in recall_of:
                raise InvalidInput(
                    f"{record.memory.id} was not returned by {recalls[0].id}: name memories that the recall returned"
                )
        returned = self._store.records(list(recall_of)) if answer else {}
        # The summary of a session repeats what other memories say.
        seen = {
            no: record for no, record in returned.items() if record.space in spaces and record.memory.kind != SUMMARY
        }
        ids = {record.no: record.memory.id for record in (*used, *seen.values())}
        chosen = {
            UseKind.CONFIRMED: [record.no for record in used],
            UseKind.REFLECTED: _reflected(seen, recalls[0].query, answer),
        }
        confirmed, repeated = (self._add(recall_of, strength, nos, now) for strength, nos in chosen.items())
        return Feedback(
            recall_id=recalls[0].id,
            confirmed=tuple(ids[no] for no in confirmed),
            reflected=tuple(ids[no] for no in repeated),
        )

    def _add(
        self, recall_of: Mapping[int, LogEntry], strength: UseKind, nos: Iterable[int], now: datetime
    ) -> list[int]:
        """Record uses in one transaction, and return the memories of those that were not recorded before."""
        later = [self._later(recall_of[no], strength, no, now) for no in dict.fromkeys(nos)]
        if not later:
            return []
        return self._store.transact(lambda transaction: [use.no for use in later if transaction.add_later_use(use)])

    def _later(self, recall: LogEntry, strength: UseKind, no: int, now: datetime) -> LaterUse:
        weight = USE_WEIGHTS[strength]
        return LaterUse(at=now, recall=recall.number, space=recall.space, strength=strength, no=no, weight=weight)


def _reflected(records: Mapping[int, Record], query: str, answer: str) -> list[int]:
    contents = [record.memory.content for record in records.values()]
    asks = any(map(is_question, sentences(query)))
    return [no for no, found in zip(records, reflected(contents, query, answer, asks=asks), strict=True) if found]


def _made_at(recall_id: str) -> datetime:
    return from_micros(id_millis(recall_id) * 1000)
