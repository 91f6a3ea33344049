"""Why a memory was or was not in a context, from the receipt that is kept and from the memory's history."""

from __future__ import annotations

from collections.abc import Sequence

from memotherm.model import Event, Memory, Priority, Retention, Tier
from memotherm.model.reasons import Reason
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
                return _answer(receipt, memory, state, entry.reasons)
    reason = _obstacle(receipt, memory, state_at(memory, history, receipt.at))
    return _answer(receipt, memory, "not_considered", (reason,))


def _answer(receipt: KeptReceipt, memory: Memory, state: str, reasons: tuple[Reason, ...]) -> ReceiptAnswer:
    return ReceiptAnswer(receipt=receipt.number, id=memory.id, state=state, reasons=reasons)  # type: ignore[arg-type]


def _obstacle(receipt: KeptReceipt, memory: Memory, then: Memory | None) -> Reason:
    """Return why the receipt does not name a memory, by what the ledger and the receipt record.

    `then` is what it was at the time of the receipt. What neither of them records is not guessed.
    """
    if then is None:
        return Reason(code="later", details=(f"{memory.created_at:%Y-%m-%d %H:%M:%S}",))
    if not receipt.scope.sees(then.scope):
        return Reason(code="scope", details=(str(then.scope), str(receipt.scope)))
    if then.retention is not Retention.ACTIVE:
        return Reason(code="hidden", details=(str(then.retention),))
    if not then.visible_at(receipt.at):
        return Reason(code="expired", details=(f"{then.expires_at:%Y-%m-%d %H:%M:%S}",))
    if then.priority is Priority.PINNED or then.tier is Tier.HOT:
        return Reason(code="unknown", details=(str(then.tier),))
    hits = [entry.reasons[0] for entry in (*receipt.included, *receipt.left_out) if entry.section == "recalled"]
    if not receipt.query and not hits:
        return Reason(code="unsearched", details=(str(then.tier),))
    if then.tier is Tier.COLD and not any("cold" in reason.details for reason in hits):
        return Reason(code="unsearched_cold")
    return Reason(code="unranked", details=(str(then.tier),))
