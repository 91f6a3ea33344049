"""The calibration of an embedder that has none of its own, estimated from its vectors and kept in the store."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, datetime

from memotherm.embed.calibration import DEFAULT, Calibration, estimate
from memotherm.errors import StoreError
from memotherm.storage.store import Store
from memotherm.storage.values import Identity

__all__ = ["stored_calibration"]

_NAMESPACE = "calibrations"
#: How many vectors an estimate looks at, and how many it needs.
_SAMPLE = 2000
_ENOUGH = 64
#: Values without an end never expire, so any moment will do.
_ANY_TIME = datetime(2000, 1, 1, tzinfo=UTC)


def stored_calibration(store: Store, identity: Identity) -> Calibration:
    """Return what the cosines of an embedder mean, the same for every process that uses the store.

    The first query that finds 64 vectors estimates the calibration and stores it. It is estimated again when
    the number of events in the ledger reaches the next power of four: 256, 1024, 4096 and so on.
    Of several processes that estimate at once, the first one to store its estimate decides.
    """
    reader = store.for_recall()
    generation = (max(1, reader.seq()).bit_length() - 1) // 2
    key = f"{generation}:{identity.name}"
    value = reader.get_values(_NAMESPACE, _ANY_TIME, key).get(key)
    if value is None:
        sample = reader.sample_vectors(_SAMPLE, identity)
        if sample is None or len(sample) < _ENOUGH:
            return DEFAULT
        value = json.dumps(estimate(sample).points)
        # A store that cannot be written now answers with its own estimate, and stores one later.
        with suppress(StoreError):
            value = store.put_value(_NAMESPACE, key, value, _ANY_TIME, None, replace=False) or value
    return Calibration(tuple((cosine, relevance) for cosine, relevance in json.loads(value)))
