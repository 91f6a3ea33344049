"""Answers of a bounded size: what does not fit is cut or left out, and the answer says so."""

from __future__ import annotations

import json
from typing import Any

from thermocline.text.cutting import first_characters
from thermocline.text.tokens import counter

__all__ = ["bounded", "written"]

Json = dict[str, Any]

#: Where an answer has its long lists, and where its long texts.
_LISTS = ("items", "results", "moved", "included", "leftOut", "suggestions")
_TEXTS = ("content", "text", "snippet")
_SHORTEST = 200
_ITEM_CHARS = 4000


def written(value: Json) -> str:
    """Return an answer as the text that a model reads."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def bounded(answer: Json, most: int, tokenizer: str) -> Json:
    """Return an answer of at most so many tokens: long texts are cut first, then the last items go."""
    count = counter(tokenizer).count
    if _small(answer, most) or count(written(answer)) <= most:
        return answer
    longest = max(_SHORTEST, min(_ITEM_CHARS, most))
    answer = _cut(answer, longest)
    name = next((each for each in _LISTS if isinstance(answer.get(each), list) and answer[each]), None)
    if name is not None:
        answer = _shortened(answer, name, most, count)
    while count(written(answer)) > most and longest > _SHORTEST:
        longest //= 2
        answer = _cut(answer, longest)
    return answer


def _small(answer: Json, most: int) -> bool:
    """Tell without counting: a token has at least one byte."""
    return len(written(answer).encode("utf-8", "replace")) <= most


def _shortened(answer: Json, name: str, most: int, count: Any) -> Json:  # noqa: ANN401 - a counting function
    """Return the answer with as many of the first items as fit, and the number of the others."""
    items = answer[name]
    kept, spent = [], count(written({**answer, name: [], "leftOut": len(items)}))
    for item in items:
        spent += count(written(item) if isinstance(item, dict) else str(item)) + 1
        if spent > most:
            break
        kept.append(item)
    if len(kept) == len(items):
        return answer
    scores = {key: value for key, value in answer.items() if key == "relevanceScores"}
    ids = {item["id"] for item in kept if isinstance(item, dict) and "id" in item}
    scores = {key: {each: value[each] for each in value if each in ids} for key, value in scores.items()}
    return {**answer, **scores, name: kept, "leftOut": len(items) - len(kept)}


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
