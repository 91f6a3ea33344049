"""How hot and recalled memories share the tokens that pinned memories leave."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import product

import pytest

from memotherm import Memory
from memotherm.context.formats import FULL, SHORTENED, TITLE, format_of
from memotherm.context.forms import Candidate
from memotherm.context.groups import min_rest_for_hot, min_rest_for_recalled, split
from memotherm.context.packer import Limits, Packed, pack
from memotherm.text.content import OPEN
from memotherm.text.tokens import counter

SIZES = range(6)
LIMITS = Limits(budget=2000, hot_tokens=1000, hot_memories=10, reserve=300)
MakeMemory = Callable[..., Memory]


def hot(*memories: Memory) -> list[Candidate]:
    return [Candidate(memory, "hot", (place,), "hot") for place, memory in enumerate(memories)]


def packed(listed: list[Candidate], limits: Limits = LIMITS, recalled: Iterable[Candidate] = ()) -> Packed:
    # In this format a section has lines of its own, which cost something.
    return pack(listed, recalled, format_of("xml"), counter().count, limits)


@pytest.mark.parametrize(
    ("rest", "hot", "recalled", "reserve", "expected"),
    [
        (100, 80, 80, 30, (70, 30)),  # both need more than there is: recalled memories get the reserve
        (100, 80, 80, 60, (50, 50)),  # the reserve is at most half
        (100, 80, 20, 30, (80, 20)),  # what the reserve does not need goes to hot memories
        (100, 80, 30, 30, (70, 30)),
        (100, 60, 30, 30, (70, 30)),
        (100, 60, 80, 30, (60, 40)),  # what hot memories do not need goes to recalled ones
        (100, 70, 80, 30, (70, 30)),
        (7, 9, 9, 9, (4, 3)),
        (0, 5, 5, 5, (0, 0)),
    ],
)
def test_recalled_memories_have_a_reserve(
    rest: int, hot: int, recalled: int, reserve: int, expected: tuple[int, int]
) -> None:
    """The reserve is theirs if they need it; neither group keeps tokens that only the other one can use."""
    assert split(rest, hot, recalled, reserve) == expected


def test_the_smallest_rest_is_the_first_that_gives_enough() -> None:
    """For all small sizes, counted up from 0."""
    for needed, other, reserve in product(range(1, 6), SIZES, SIZES):
        # A group that needs more than `needed` in all: the memory in question is one of several.
        total = needed + 5
        for_hot = next(rest for rest in range(40) if split(rest, total, other, reserve)[0] >= needed)
        for_recalled = next(rest for rest in range(40) if split(rest, other, total, reserve)[1] >= needed)

        assert min_rest_for_hot(needed, other, reserve) == for_hot
        assert min_rest_for_recalled(needed, other, reserve) == for_recalled


def test_one_memory_may_cost_exactly_what_its_limit_says(a_memory: MakeMemory) -> None:
    """With a token less it is shortened; the lines of the section do not count for the limit of a memory."""
    listed = hot(a_memory("The ferry leaves at nine. The harbour opens at eight. The museum is closed on Mondays."))
    cost = packed(listed).included[0].tokens
    exact, less = (packed(listed, replace(LIMITS, entry_tokens=most)).included[0] for most in (cost, cost - 1))

    assert (exact.form, exact.tokens) == (FULL, cost)
    assert less.form != FULL
    assert less.tokens < cost


def test_a_shortened_memory_has_as_many_of_its_first_sentences_as_fit(a_memory: MakeMemory) -> None:
    """Every number of sentences is used at some limit, and more of them at a higher one."""
    names = ("Alpha", "Bravo", "Charlie", "Delta", "Echo", "Foxtrot", "Golf", "Hotel")
    listed = hot(a_memory(" ".join(f"{name} was the first ship of that morning to leave." for name in names)))
    cost = packed(listed).included[0].tokens
    entries = [packed(listed, replace(LIMITS, entry_tokens=most)).included for most in range(cost + 1)]
    counts = [sum(name in entry[0].lines for name in names) for entry in entries if entry]

    assert [entry[0].form for entry in entries if entry][:1] == [TITLE]
    assert {entry[0].form for entry in entries if entry} == {TITLE, SHORTENED, FULL}
    assert counts == sorted(counts)
    assert set(counts) == {1, 2, 3, 4, 5, 6, 7, 8}
    assert all("Alpha" in entry[0].lines for entry in entries if entry)


def test_a_recalled_memory_has_a_part_of_the_space_where_others_need_it(a_memory: MakeMemory) -> None:
    """A third for the first, a sixth for the second and a fifteenth for each later one."""
    text = " ".join(f"Sentence {number} is about otters." for number in range(120))
    found = [
        Candidate(a_memory(text, id=f"mem_{place}"), "recalled", (place,), "found", score=0.5) for place in range(40)
    ]
    costs = [entry.tokens for entry in packed([], replace(LIMITS, entry_tokens=1000), found).included]
    # Of a budget of 2,000 tokens; a sentence has about 8, and what one memory leaves goes to the next.
    parts = [2000 // 3, 2000 // 6, 2000 // 15, 2000 // 15]

    assert [abs(cost - part) <= 30 for cost, part in zip(costs, parts, strict=False)] == [True] * 4


def test_the_last_memories_that_fit_are_shortened_so_that_more_do(a_memory: MakeMemory) -> None:
    """A memory has at most a quarter of what those before it leave of the space."""
    text = " ".join(f"Sentence {number} is about otters." for number in range(12))
    found = [
        Candidate(a_memory(text, id=f"mem_{place}"), "recalled", (place,), "found", score=0.5) for place in range(60)
    ]
    included = packed([], replace(LIMITS, entry_tokens=1000), found).included
    whole = [entry for entry in included if entry.form == FULL]

    # A budget of 2,000 tokens has room for 18 of them in full.
    assert 13 <= len(whole) < 18
    assert [entry.form for entry in included[: len(whole)]] == [FULL] * len(whole)
    assert len(included) > 20


def test_a_text_in_a_message_costs_no_more_than_the_budget_without_its_message(a_memory: MakeMemory) -> None:
    """A tokenizer may count more without the message; the budget holds for what a host extracts, too."""
    listed = hot(*(a_memory(f"the ferry {place} leaves at nine", id=f"mem_{place}") for place in range(8)))

    def count(text: str) -> int:
        return len(text.split()) + 20 * text.startswith(OPEN)

    for budget in range(90):
        text = pack(listed, (), format_of("messages"), count, replace(LIMITS, budget=budget)).text
        assert count(json.loads(text)[0]["content"] if text else "") <= budget


def test_the_pinned_memories_are_whole_in_a_budget_that_has_room_for_them_and_their_section(
    a_memory: MakeMemory,
) -> None:
    """With a token less the oldest is shortened; one that is left out says from which budget on it is not."""
    contents = (f"The {name} opens at nine. " + "It is seldom closed. " * 9 for name in ("ferry", "harbour"))
    listed = [
        Candidate(a_memory(content, id=f"mem_{place}"), "pinned", (place,), "pinned")
        for place, content in enumerate(contents)
    ]
    whole = next(budget for budget in range(500) if not packed(listed, replace(LIMITS, budget=budget)).pinned_cut)
    forms = [
        [entry.form for entry in packed(listed, replace(LIMITS, budget=budget)).included]
        for budget in (whole, whole - 1)
    ]

    assert forms[0] == [FULL, FULL]
    assert len(forms[1]) == 2
    assert forms[1][0] != FULL
    left_out = {budget: packed(listed, replace(LIMITS, budget=budget)).left_out.value for budget in range(whole)}
    least = max(budget for budget, entries in left_out.items() if entries)
    assert [entry.fits_at for entry in left_out[least]] == [least + 1]


def test_long_memories_enter_at_the_budget_that_their_receipt_names(a_memory: MakeMemory) -> None:
    """Where all memories before one are shortened to their parts of the space, and each token more helps it little."""
    words = " ".join(f"Boat {number} left the harbour at dawn and came back with fish." for number in range(12))
    found = [
        Candidate(a_memory(f"Log {place}. {words}", id=f"mem_{place}"), "recalled", (place,), "found", score=0.5)
        for place in range(25)
    ]

    def included(budget: int) -> set[str]:
        return {entry.id for entry in packed([], replace(LIMITS, budget=budget), found).included}

    left_out = packed([], replace(LIMITS, budget=300), found).left_out.value
    assert len(left_out) > 10
    for entry in left_out:
        assert entry.fits_at is not None
        assert entry.id in included(entry.fits_at)
        assert entry.id not in included(entry.fits_at - 1)
