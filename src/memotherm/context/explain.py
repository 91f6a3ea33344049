"""Why a memory was or was not in a context, from the receipt that is kept and from the memory's history."""

from __future__ import annotations

from collections.abc import Sequence

from memotherm.model import Event, Memory, Priority, Retention, Tier
from memotherm.model.receipts import KeptReceipt, ReceiptAnswer
from memotherm.recall.past import state_at


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
                return _answer(receipt, memory, state, entry.rule, entry.reason)
    rule, reason = _obstacle(receipt, memory, state_at(memory, history, receipt.at))
    return _answer(receipt, memory, "not_considered", rule, reason)


def _answer(receipt: KeptReceipt, memory: Memory, state: str, rule: str, reason: str) -> ReceiptAnswer:
    return ReceiptAnswer(receipt=receipt.number, id=memory.id, state=state, rule=rule, reason=reason)  # type: ignore[arg-type]


def _obstacle(receipt: KeptReceipt, memory: Memory, then: Memory | None) -> tuple[str, str]:
    """Return why the receipt does not name a memory, by what the ledger and the receipt record.

    `then` is what it was at the time of the receipt. What neither of them records is not guessed.
    """
    if then is None:
        return "later", f"it was stored later, at {memory.created_at:%Y-%m-%d %H:%M:%S} UTC"
    if not receipt.scope.sees(then.scope):
        return "scope", f"its scope ({then.scope}) cannot be seen from the scope of the context ({receipt.scope})"
    if then.retention is not Retention.ACTIVE:
        return "hidden", f"it was {then.retention} then: restore it to have it considered"
    if not then.visible_at(receipt.at):
        return "expired", f"it had expired at {then.expires_at:%Y-%m-%d %H:%M:%S} UTC"
    if then.priority is Priority.PINNED or then.tier is Tier.HOT:
        return "unknown", f"it was {then.tier} then, and the receipt does not record why it was not in the context"
    found = [entry.reason for entry in (*receipt.included, *receipt.left_out) if entry.section == "recalled"]
    if not receipt.query and not found:
        return (
            "unsearched",
            f"it was {then.tier} then, and contexts without a question search nothing",
        )
    if then.tier is Tier.COLD and not any("found in cold" in reason for reason in found):
        return "unsearched", "it was cold then, and contexts search cold memories only with include_cold"
    return (
        "unranked",
        f"it was {then.tier} then, and not among the first hits of the search for the question",
    )
