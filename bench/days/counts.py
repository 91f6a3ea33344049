"""Count what a week injected, stored and kept hot, and what became of its corrections, rules and tasks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bench.days.host import Asked, Held, Week
from bench.days.lines import Line, entries, has, hit_line, injected_lines, plain, standing
from bench.days.starts import counts_at_starts
from memotherm.text.tokens import count_tokens

__all__ = ["WAYS", "summary"]

#: The ways to ask: the hooks, `recall` in Python, and the MCP tool `memory_recall`.
WAYS = ("hooks", "recall", "mcp")
#: The kinds of questions that are counted by themselves.
_KINDS = ("profile", "rules", "tasks", "time")


def summary(week: Week, held: Held) -> dict[str, Any]:
    """Return the counts of a week, the prompts that went wrong, and each question with what was injected for it."""
    questions = [_judged(asked) for asked in held.asked]
    answerable = [each for each in questions if each["answered"] is not None]
    changed = [each for each in questions if each["old_first"] is not None]
    idle = [each for each in questions if each["needs_nothing"]]
    turns = [turn for session in week["sessions"] for turn in session["turns"]]
    filler = _filler(turns)
    contents = [memory.content for memory in held.memories]
    start_tokens = [count_tokens(start.text) for start in held.starts]
    return {
        "language": week["language"],
        "about": week["about"],
        "prompts": len(questions),
        "answerable": len(answerable),
        "answered": sum(each["answered"] for each in answerable),
        "lines": sum(each["lines"] for each in questions),
        "relevant_lines": sum(each["relevant_lines"] for each in questions),
        "line_tokens": sum(each["line_tokens"] for each in questions),
        "relevant_tokens": sum(each["relevant_tokens"] for each in questions),
        "tokens": sum(each["tokens"] for each in questions),
        "changed": len(changed),
        "old_first": sum(each["old_first"] for each in changed),
        "need_nothing": len(idle),
        "silent": sum(not each["injected"] for each in idle),
        "turns": len(turns),
        "corrections": sum("corrects" in turn for turn in turns),
        "filler": len(filler),
        "filler_stored": sum(_is_stored(texts, contents) for texts in filler),
        "memories": len(held.memories),
        "starts": len(held.starts),
        "start_tokens": sum(start_tokens),
        "most_start_tokens": max(start_tokens),
        "last_start_tokens": count_tokens(held.asked[-1].start.text) if held.asked else start_tokens[-1],
        **_topics(questions),
        **counts_at_starts(week, held),
        "hot_after_sessions": [len(hot) for hot in held.hot],
        "hot": _hot(held.hot[-1], filler),
        "hot_most": _hot(max(held.hot, key=len), filler),
        "unanswered": [each["prompt"] for each in answerable if not each["answered"]],
        "old_value_first": [each["prompt"] for each in changed if each["old_first"]],
        "not_current": {way: _failed(questions, f"current_{way}") for way in WAYS},
        "not_kept": {way: _failed(questions, f"kept_{way}") for way in WAYS},
        "not_silent": [each["prompt"] for each in idle if each["injected"]],
        "questions": questions,
    }


def _topics(questions: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return the counts of corrected topics, of topics with a wrong value beside the right one, and of the kinds."""
    names = [f"{what}_{way}" for what in ("first", "current", "kept") for way in WAYS]
    found = {name: sum(bool(each[name]) for each in questions) for name in names}
    found["corrected"] = sum(each["current_hooks"] is not None for each in questions)
    found["beside"] = sum(each["kept_hooks"] is not None for each in questions)
    for kind in _KINDS:
        of_kind = [each for each in questions if each["asks"] == kind]
        found[f"{kind}_asked"] = len(of_kind)
        found[f"{kind}_answered"] = sum(each["answered"] for each in of_kind)
    running = [each for each in questions if each["terminal"]]
    return {
        **found,
        "terminal_asked": len(running),
        "terminal_answered": sum(bool(each["first_hooks"]) for each in running),
    }


def _failed(questions: Iterable[Mapping[str, Any]], name: str) -> list[str]:
    return [each["prompt"] for each in questions if each[name] is False]


def _hot(hot: Sequence[tuple[str, str]], filler: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Return how many memories are hot, how many of them are filler, and which rules made them hot."""
    stored = (any(_is_stored(texts, [content]) for texts in filler) for content, _ in hot)
    return {
        "memories": len(hot), "filler": sum(stored), "rules": dict(Counter(rule for _, rule in hot).most_common()),
    }  # fmt: skip


def _judged(asked: Asked) -> dict[str, Any]:
    """Return what a question got; an answer counts wherever it was injected, lines and tokens only with the prompt."""
    question = asked.question
    answer, old = question.get("answer", []), question.get("old", [])
    shown, lines = entries(asked.start.text), entries(asked.prompt)
    relevant = [line for line in lines if has(line, [*answer, *question.get("relevant", [])])]
    injected = injected_lines(asked.start.text, asked.prompt)
    first_answer = _first(injected, answer)
    first_old = _first(injected, old)
    return {
        "prompt": question["prompt"],
        "asks": question.get("asks"),
        "terminal": bool(question.get("terminal")),
        "needs_nothing": bool(question.get("needs_nothing")),
        "answered": first_answer is not None if answer else None,
        "old_first": (first_old is not None and (first_answer is None or first_old < first_answer)) if old else None,
        **_standings(asked, injected),
        "lines": len(lines),
        "relevant_lines": len(relevant),
        "line_tokens": sum(map(count_tokens, lines)),
        "relevant_tokens": sum(map(count_tokens, relevant)),
        "tokens": count_tokens(asked.prompt) if asked.prompt else 0,
        "lines_at_start": len(shown),
        "start": asked.start.text,
        "injected": asked.prompt,
        "recall": [hit["content"] for hit in asked.recall],
        "mcp": [hit["content"] for hit in asked.tool],
    }


def _standings(asked: Asked, injected: Sequence[Line]) -> dict[str, bool | None]:
    """Return for each way whether the current value of the topic is first, whether it alone is shown as current, and
    whether it stands before the values that only seem to replace it; None if the question has no such values.
    """
    question = asked.question
    answer, old, wrong = (question.get(name, []) for name in ("answer", "old", "wrong"))
    hits = [[hit_line(hit, asked.start.moment) for hit in hits] for hits in (asked.recall, asked.tool)]
    found: dict[str, bool | None] = {}
    for way, lines in zip(WAYS, [injected, *hits], strict=True):
        ours = standing(lines, answer, old)
        found[f"first_{way}"] = ours.first if old else None
        found[f"current_{way}"] = ours.current if old else None
        found[f"kept_{way}"] = standing(lines, answer, wrong).first if wrong else None
    return found


def _first(lines: Sequence[Line], texts: Iterable[str]) -> int | None:
    texts = list(texts)
    return next((number for number, line in enumerate(lines) if has(line.text, texts)), None)


def _filler(turns: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return the prompt and the reply of each turn of filler, unless they are also said in a turn that is none."""
    texts = [(bool(turn.get("filler")), [_sentences(turn["prompt"]), _sentences(turn["reply"])]) for turn in turns]
    kept = "\n".join(text for is_filler, pair in texts if not is_filler for text in pair)
    return [[text for text in pair if text not in kept] for is_filler, pair in texts if is_filler]


def _is_stored(texts: Sequence[str], contents: Iterable[str]) -> bool:
    """Return whether one of the contents has one of the texts of a turn, as whole sentences."""
    return any(text in content for content in map(_sentences, contents) for text in texts)


def _sentences(text: str) -> str:
    """Return the sentences of a text between bars, so that those of another text are found only whole."""
    parts = (plain(part) for part in re.split(r"[\n.!?¡¿。！？…:;\"“”|→]+|\s[-–—]\s", text))
    return f"|{'|'.join(filter(None, parts))}|"
