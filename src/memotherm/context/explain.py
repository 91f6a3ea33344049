"""Why a memory was or was not in a context, from the receipt that is kept and from the memory's history."""

from __future__ import annotations

from collections.abc import Sequence

from memotherm.model import Event, Memory, Priority, Retention, Tier
from memotherm.model.receipts import KeptReceipt, ReceiptAnswer
from memotherm.recall.as_of import state_at


def explain(receipt: KeptReceipt, memory: Memory, history: Sequence[Event]) -> ReceiptAnswer:
    """Return whether a memory was in the context of a receipt, and why.

    Args:
        receipt: The receipt.
        memory: The memory as it is now.
        history: Its events, oldest first.
    """
    for state, entries in (("included", receipt.included), ("left_out", receipt.left_out)):
        for entry in entries:
            if entry.id == memory.id:
                return _answer(receipt, memory, state, entry.reason)
    then = state_at(memory, history, receipt.at)
    return _answer(receipt, memory, "not_considered", _obstacle(receipt, memory, then))


def _answer(receipt: KeptReceipt, memory: Memory, state: str, reason: str) -> ReceiptAnswer:
    return ReceiptAnswer(receipt=receipt.number, id=memory.id, state=state, reason=reason)  # type: ignore[arg-type]


def _obstacle(receipt: KeptReceipt, memory: Memory, then: Memory | None) -> str:
    """Return why a memory was not considered; `then` is what it was at the time of the receipt."""
    if then is None:
        return f"it was stored later, at {memory.created_at:%Y-%m-%d %H:%M:%S} UTC"
    if not receipt.scope.sees(then.scope):
        return f"its scope ({then.scope}) cannot be seen from the scope of the context ({receipt.scope})"
    if then.retention is not Retention.ACTIVE:
        return f"it was {then.retention} then: restore it to have it considered"
    if not then.visible_at(receipt.at):
        return f"it had expired at {then.expires_at:%Y-%m-%d %H:%M:%S} UTC"
    if then.priority is Priority.PINNED or then.tier is Tier.HOT:
        return "it was hot then, and more important memories of its section spent the space"
    if not receipt.query and not any(entry.section == "recalled" for entry in (*receipt.included, *receipt.left_out)):
        return f"it was {then.tier} then, and the context had no question: it had pinned and hot memories only"
    if then.tier is Tier.COLD:
        return "it was cold then, and contexts search cold memories only with include_cold"
    return f"it was {then.tier} then, and not among the first memories that the search found for the question"
