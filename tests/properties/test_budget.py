"""A context never costs more than its budget, whatever is stored.

4,000 generated cases by default; `make budget` runs a million.
"""

from __future__ import annotations

import functools
import json
import os
import random
import re
from collections.abc import Callable
from xml.etree import ElementTree

import pytest
import splintr

import memotherm
from memotherm.context.formats import FULL, Format, format_of
from memotherm.context.forms import Candidate
from memotherm.context.packer import Limits, Packed, pack
from memotherm.model import Priority
from memotherm.testing import FakeClock, HashEmbedder
from memotherm.text.content import CLOSE, OPEN
from memotherm.text.tokens import Counter, counter
from tests.properties import texts

CASES = int(os.environ.get("BUDGET_CASES", "4000"))
PARTS = 4
FORMATS = ("markdown", "xml", "messages", "index")
#: Counters beside the default, which takes most cases: other vocabularies, and the upper bound.
OTHERS = ("cl100k_base", "gpt-oss", "llama3", "mistral_v1", "claude-sonnet-4-5")

_EXACT = splintr.Tokenizer.from_pretrained("o200k_base")
_END = re.compile(r"<\s*/?\s*memotherm-memory", re.IGNORECASE)
_CONTROL = re.compile(r"<\|[^\s<>]+\|>")


def candidates_of(dice: random.Random) -> list[Candidate]:
    """Return some memories that ask for a place, in order of importance."""
    found: list[Candidate] = []
    for section, most in (("pinned", 3), ("hot", 4), ("recalled", 6)):
        for place in range(dice.randint(0, most)):
            memory = texts.memory(dice, len(found))
            if section != "pinned" and memory.priority is Priority.PINNED:
                continue
            found.append(
                Candidate(
                    memory=memory,
                    section=section,
                    order=(memory.priority is Priority.LOW, place),
                    reason=section,
                    score=0.5 if section == "recalled" else None,
                )
            )
    return found


def packed_of(
    candidates: list[Candidate], form: Format, count: Callable[[str], int], limits: Limits, *, by_line: bool = False
) -> Packed:
    listed = [candidate for candidate in candidates if candidate.section != "recalled"]
    recalled = (candidate for candidate in candidates if candidate.section == "recalled")
    return pack(listed, recalled, form, count, limits, by_line=by_line)


def limits_of(dice: random.Random, budget: int) -> Limits:
    return Limits(
        budget=budget,
        hot_tokens=dice.choice((2000, 2000, 150, 60, 0)),
        hot_memories=dice.choice((50, 2, 0)),
        reserve=dice.choice((800, 800, 50, 0)),
        recalled_tokens=dice.choice((None, None, 100, 0)),
        entry_tokens=dice.choice((500, 500, 60, 20)),
    )


def budget_of(dice: random.Random) -> int:
    return dice.choice((dice.randint(0, 60), dice.randint(30, 200), dice.randint(100, 2000)))


def require_sound(packed: Packed, candidates: list[Candidate], budget: int, name: str) -> None:
    """What must hold of any text, whatever counted it."""
    assert packed.tokens <= budget
    assert bool(packed.text) == bool(packed.included)
    ids = [entry.id for entry in (*packed.included, *packed.left_out.value)]
    assert sorted(ids) == sorted(candidate.memory.id for candidate in candidates)
    if packed.text:
        assert len(_END.findall(packed.text)) == 2
        assert not _CONTROL.search(packed.text)
        text = json.loads(packed.text)[0]["content"] if name == "messages" else packed.text
        assert text.startswith(OPEN + "\n")
        assert text.endswith("\n" + CLOSE)
        packed.text.encode()
        if name == "xml":
            assert len(ElementTree.fromstring(packed.text).findall(".//memory")) == len(packed.included)


def require_exact(packed: Packed, budget: int, name: str) -> None:
    """What must hold where lines add up: the real tokenizer agrees with every sum."""
    tokens = len(_EXACT.encode_ordinary(packed.text))
    assert tokens == packed.tokens <= budget
    if name == "messages":
        return
    assert sum(packed.shares.values()) == tokens
    # Nothing in the text is a control token, so that a careless server counts the same.
    assert len(_EXACT.encode(packed.text)) == tokens


@pytest.mark.parametrize("part", range(PARTS))
def test_no_text_costs_more_than_its_budget(part: int) -> None:
    """The tokens of the final text are counted by the real tokenizer, in every format."""
    dice = random.Random(part)
    # Lines are counted once each; the whole text is counted afresh by `require_exact`.
    count = functools.lru_cache(maxsize=50_000)(counter().count)
    done = 0
    while done < CASES // PARTS:
        candidates = candidates_of(dice)
        for name in FORMATS:
            form = format_of(name)
            for _ in range(3):
                budget = budget_of(dice)
                packed = packed_of(candidates, form, count, limits_of(dice, budget), by_line=counter().by_line)
                require_sound(packed, candidates, budget, name)
                require_exact(packed, budget, name)
                done += 1


@pytest.mark.parametrize("tokenizer", OTHERS)
def test_no_other_tokenizer_is_exceeded_either(tokenizer: str) -> None:
    """Vocabularies that join across lines, and the bound for unknown ones, keep the guarantee as well."""
    dice = random.Random(tokenizer)
    count: Counter = counter(tokenizer)
    for _ in range(max(150, CASES // 400)):
        candidates = candidates_of(dice)
        name, budget = dice.choice(FORMATS), budget_of(dice)
        packed = packed_of(candidates, format_of(name), count, limits_of(dice, budget), by_line=count.by_line)
        require_sound(packed, candidates, budget, name)
        assert count(packed.text) == packed.tokens


@pytest.mark.slow
@pytest.mark.parametrize("name", ["markdown", "xml", "index"])
def test_the_smallest_budget_is_exact_and_a_larger_one_takes_nothing_away(name: str) -> None:
    """At `fits_at` a memory enters, one token earlier it does not, and from there on it stays."""
    dice = random.Random(name)
    form, count = format_of(name), counter()
    checked = 0
    while checked < max(200, CASES // 500):
        candidates = candidates_of(dice)
        limits = limits_of(dice, budget_of(dice))

        def inside(budget: int, candidates: list[Candidate] = candidates, limits: Limits = limits) -> set[str]:
            wanted = Limits(**{**{each: getattr(limits, each) for each in limits.__slots__}, "budget": budget})
            return {entry.id for entry in packed_of(candidates, form, count, wanted).included}

        for entry in packed_of(candidates, form, count, limits).left_out.value:
            if entry.fits_at is None:
                assert entry.id not in inside(1_000_000)
                continue
            assert entry.fits_at > limits.budget
            assert entry.id in inside(entry.fits_at)
            assert entry.id not in inside(entry.fits_at - 1)
            assert inside(limits.budget) <= inside(limits.budget + dice.randint(1, 50)) <= inside(entry.fits_at + 2000)
            checked += 1


def test_everything_is_whole_when_the_budget_allows_it() -> None:
    """No form but the full one is used without need."""
    dice = random.Random(7)
    limits = Limits(budget=10**9, hot_tokens=10**9, hot_memories=50, reserve=800, entry_tokens=10**9)
    for _ in range(100):
        candidates = candidates_of(dice)
        packed = packed_of(candidates, format_of("markdown"), counter(), limits)
        assert {entry.form for entry in packed.included} <= {FULL}
        assert not packed.left_out.value


def test_the_facade_keeps_every_budget() -> None:
    """The same through the front door, with a store, a search and a session underneath."""
    dice = random.Random(11)
    settings = {"max_pinned": 3, "on_tier_limit": "demote_oldest", "max_critical": 5}
    with memotherm.open(":memory:", embedder=HashEmbedder(), settings=settings, clock=FakeClock()) as mem:
        for number in range(60):
            made = texts.memory(dice, number)
            try:
                mem.remember(made.content, tier=made.tier, priority=made.priority, tags=made.tags)
            except memotherm.MemothermError:
                # Some contents are nothing but a forged block, and are not stored.
                continue
        session = mem.session("s")
        for number in range(200):
            budget, name = budget_of(dice), FORMATS[number % 4]
            query = None if number % 5 == 0 else texts.content(dice)[:200].replace("\x00", "")
            if number % 10 == 9:
                context = session.before_turn(query or "", budget=budget, format=name)
                session.context_compacted()
            else:
                context = mem.context(query, budget=budget, format=name, include_cold=number % 3 == 0, track=False)
            assert len(_EXACT.encode_ordinary(context.text)) == context.tokens <= budget
            assert len({entry.id for entry in context.included}) == len(context.included)
