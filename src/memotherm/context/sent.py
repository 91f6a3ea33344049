"""The text of a context that was sent, made again from its receipt: receipts name memories and keep no texts."""

from __future__ import annotations

from collections.abc import Mapping

from memotherm.context.formats import format_of
from memotherm.context.forms import Candidate, Form, Item, QueryFocus, Renderer
from memotherm.context.packer import text_of
from memotherm.model import Memory
from memotherm.model.receipts import KeptEntry, KeptReceipt, SentContext, SentPart
from memotherm.text.tokens import counter


def sent_context(
    receipt: KeptReceipt, memories: Mapping[str, tuple[int, Memory]], tokenizer: str, role: str
) -> SentContext:
    """Return the text of a receipt.

    Args:
        receipt: The receipt.
        memories: Its memories, each with its number and as it was at the time of the receipt.
        tokenizer: The name of the tokenizer.
        role: The role in the format `messages`.
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
    """Return the form of an entry; the tokens tell whether it was marked."""

    def marked(mark: str) -> tuple[Item, Form]:
        item = Item(Candidate(memory, entry.section, (), None, entry.score, None, number, mark), renderer)
        whole = {"full": item.full, "title": item.title}.get(entry.form or "")
        return item, whole or item.longest(entry.tokens) or item.title

    plain, *others = map(marked, ("", "outdated", "conflict"))
    return next((each for each in (plain, *others) if each[1].cost == entry.tokens), plain)
