"""Answers of a bounded size: what does not fit is cut or left out, and the answer says so."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from memotherm.text.tokens import counter
from memotherm.text.truncation import first_characters

__all__ = ["bounded", "written"]

Json = dict[str, Any]

#: Where an answer has its long lists, and where its long texts.
_LISTS = ("items", "results", "moved", "included", "leftOut", "suggestions")
_TEXTS = ("content", "text", "snippet")
_SHORTEST = 200
_ITEM_CHARS = 4000
#: How many items are shown in short rather than fewer at length.
_FEWEST = 5


def written(value: Json) -> str:
    """Return an answer as the text that a model reads."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def bounded(answer: Json, most: int, tokenizer: str) -> Json:
    """Return an answer of at most so many tokens: long texts are cut first, then the last items go."""
    count = counter(tokenizer).count
    if _small(answer, most) or count(written(answer)) <= most:
        return answer
    name = next((each for each in _LISTS if answer.get(each) and isinstance(answer[each], list)), None)
    longest = max(_SHORTEST, min(_ITEM_CHARS, most))
    while True:
        shown = _cut(answer, longest)
        if name is not None:
            shown = _shortened(shown, name, most, count)
        enough = name is None or len(shown[name]) >= min(_FEWEST, len(answer[name]))
        if longest <= _SHORTEST or (enough and count(written(shown)) <= most):
            return shown
        longest = max(_SHORTEST, longest // 2)


def _small(answer: Json, most: int) -> bool:
    """Tell without counting: a token has at least one byte."""
    return len(written(answer).encode("utf-8", "replace")) <= most


def _shortened(answer: Json, name: str, most: int, count: Callable[[str], int]) -> Json:
    """Return the answer with as many of the first items as fit, and the number of the others."""
    items = answer[name]
    low, high = 0, len(items)
    while low < high:
        middle = (low + high + 1) // 2
        if count(written(_first(answer, name, middle))) <= most:
            low = middle
        else:
            high = middle - 1
    return _first(answer, name, low)


def _first(answer: Json, name: str, kept: int) -> Json:
    items = answer[name]
    if kept == len(items):
        return answer
    ids = {item["id"] for item in items[:kept] if isinstance(item, dict) and "id" in item}
    scores = {key: value for key, value in answer.get("relevanceScores", {}).items() if key in ids}
    told = {"relevanceScores": scores} if "relevanceScores" in answer else {}
    return {**answer, **told, name: items[:kept], "leftOut": len(items) - kept}


def _cut(value: Json, longest: int) -> Json:
    """Return an answer whose texts are at most so long; `cut` says how many characters are missing."""
    found: Json = {}
    missing = 0
    for key, each in value.items():
        if key in _TEXTS and isinstance(each, str) and len(each) > longest:
            found[key] = first_characters(each, longest)
            missing += len(each) - len(found[key])
        elif key in _LISTS and isinstance(each, list):
            found[key] = [_cut(item, longest) if isinstance(item, dict) else item for item in each]
        else:
            found[key] = each
    if missing:
        found["cut"] = missing + int(value.get("cut", 0))
    return found
