"""What a kept receipt tells: why a memory was or was not in a context, and the text that was sent.

Receipts name memories and keep no texts. So a text is made again from them, and what a receipt does not name is
explained by the history of the memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memotherm.context.formats import format_of
from memotherm.context.forms import Candidate, Form, Item, QueryFocus, Renderer
from memotherm.context.packer import text_of
from memotherm.model import Event, Memory, Priority, Retention, Tier
from memotherm.model.receipts import KeptEntry, KeptReceipt, Reason, ReceiptAnswer, SentContext, SentPart
from memotherm.recall.as_of import state_at
from memotherm.text.tokens import counter


def explain(receipt: KeptReceipt, memory: Memory, history: Sequence[Event]) -> ReceiptAnswer:
    """Return whether a memory was in the context of a receipt, and why."""
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
    if then.retention is Retention.PROPOSED:
        return Reason(code="proposed")
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


def sent_context(
    receipt: KeptReceipt, memories: Mapping[str, tuple[int, Memory]], tokenizer: str, role: str
) -> SentContext:
    """Return the text of a receipt.

    Its memories come with their numbers, as they were at the time of the receipt; the role is that in `messages`.
    """
    count = counter(tokenizer)
    focus = QueryFocus(receipt.query) if receipt.query else None
    renderer = Renderer(format_of(receipt.format, role), count.count, focus, by_line=count.by_line)
    forms = {
        entry.id: _form(entry, *memories[entry.id], renderer) for entry in receipt.included if entry.id in memories
    }
    text, tokens, _ = text_of(list(forms.values()), renderer, receipt.budget)
    parts: list[SentPart] = []
    done = 0
    for memory_id, (_, form) in forms.items():
        start = text.find(form.lines, done)
        if start >= 0:
            parts += [SentPart(text=text[done:start])] if start > done else []
            parts.append(SentPart(id=memory_id, text=form.lines))
            done = start + len(form.lines)
    parts += [SentPart(text=text[done:])] if done < len(text) else []
    unchanged = all(memory.updated_at <= receipt.at for _, memory in memories.values())
    exact = unchanged and tokens == receipt.tokens and len(forms) == len(receipt.included)
    return SentContext(parts=tuple(parts), exact=exact)


def _form(entry: KeptEntry, number: int, memory: Memory, renderer: Renderer) -> tuple[Item, Form]:
    """Return the form of an entry."""
    item = Item(Candidate(memory, entry.section, (), None, entry.score, None, number, entry.mark), renderer)
    whole = {"full": item.full, "title": item.title}.get(entry.form or "")
    return item, whole or item.longest(entry.tokens) or item.title
