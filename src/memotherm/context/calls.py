"""Choosing the memories for a tool call: those about its file, command or error, then similar ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memotherm.context.forms import Candidate
from memotherm.model.reasons import Reason
from memotherm.recall.values import Ranking
from memotherm.storage.values import Record
from memotherm.text.tool_calls import ToolCall
from memotherm.text.triggers import names_call_vaguely, reason_for_call

#: The most memories that are shown at one call.
_MOST = 3
#: The least confidence of a search, and relevance of a hit, that is shown because it is similar: nobody has asked, so
#: both are higher than those of a prompt, 0.3 and 0.25.
_CONFIDENCE, _RELEVANCE = 0.995, 0.45


def about_call(
    call: ToolCall, ranking: Ranking, pinned: Sequence[Record], anchored: Sequence[tuple[Record, str]]
) -> Iterator[Candidate]:
    """Yield the memories that concern a call; similar ones only if none names what it is about.

    Anchored are those with an anchor in a file of the call, each with the place.
    """
    hits = [(ranking.records[each.no], each) for each in ranking.ranked if each.no in ranking.records]
    reasons = {record.no: f"it is about {place}" for record, place in anchored}
    found = 0
    for position, record in enumerate((*pinned, *(record for record, _ in (*anchored, *hits)))):
        memory = record.fields
        reason = "" if call.task else reason_for_call(call, memory.kind, memory.content) or reasons.pop(record.no, "")
        if reason and found < _MOST:
            found += 1
            why = Reason(code="call", details=(str(call), reason))
            yield Candidate(memory, "recalled", (position,), why, None, None, record.no)
    if found or ranking.confidence < _CONFIDENCE:
        return
    for position, (record, hit) in enumerate(hits[:_MOST]):
        memory = record.fields
        if hit.relevance >= _RELEVANCE and (call.task or names_call_vaguely(call, memory.kind, memory.content)):
            why = Reason(code="similar_call", details=(str(call), float(hit.relevance)))
            yield Candidate(memory, "recalled", (position,), why, hit.score, hit, record.no)
