"""A reranker orders the best candidates of a recall."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import memotherm
from memotherm import Memotherm
from memotherm.errors import InvalidInput, PluginNotFound
from memotherm.recall import pipeline
from memotherm.testing import HashEmbedder
from tests.helpers import contents, opened
from tests.stores import located

CONTENTS = [f"otter {'very ' * number}wet" for number in range(30)]


def by_length(query: str, texts: Sequence[str]) -> list[float]:
    """Score the longest text highest."""
    return [float(len(text)) for text in texts]


class Shortest:
    """Scores the shortest text highest, and remembers what it was asked."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, list[str]]] = []

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        self.calls.append((query, list(texts)))
        return [-float(len(text)) for text in texts]


def filled(**arguments: Any) -> Memotherm:
    mem = opened(**arguments)
    mem.remember_many([{"content": content} for content in CONTENTS])
    return mem


@pytest.mark.parametrize("reranker", [by_length, Shortest()])
def test_the_best_candidates_are_ordered_by_the_reranker(reranker: Any) -> None:
    """A function or an object with `score`; its score is part of the explanation."""
    with filled(reranker=reranker) as mem:
        best = mem.recall("otter wet", limit=20, track=False)
        scores = [hit.why.rerank for hit in best if hit.why.rerank is not None]

    assert len(scores) == len(best) == 20
    assert scores == sorted(scores, reverse=True)
    assert f"reranked by {scores[0]:.2f}" in best[0].explain()


def test_without_a_reranker_there_is_no_such_score() -> None:
    """Nothing is called, and nothing is explained."""
    with filled() as mem:
        hit = mem.recall("otter wet")[0]

    assert hit.why.rerank is None
    assert "rerank" not in hit.explain()


def test_only_the_best_candidates_are_scored_and_the_others_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many, whatever the limit of the query is."""
    monkeypatch.setattr(pipeline, "RERANKED", 5)
    reranker = Shortest()
    with filled() as plain:
        before = contents(plain.recall("otter wet", limit=30, track=False))
    with filled(reranker=reranker) as mem:
        after = contents(mem.recall("otter wet", limit=30, track=False))
        mem.recall("otter wet", limit=1, track=False)

    assert [(query, len(texts)) for query, texts in reranker.calls] == [("otter wet", 5), ("otter wet", 5)]
    assert after[:5] == sorted(before[:5], key=len)
    assert after[5:] == before[5:]


def test_the_answer_for_k_begins_the_answer_for_k_plus_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a reranker too."""
    monkeypatch.setattr(pipeline, "RERANKED", 7)
    with filled(reranker=by_length) as mem:
        whole = contents(mem.recall("otter wet", limit=30, track=False))
        assert [contents(mem.recall("otter wet", limit=limit, track=False)) for limit in range(30)] == [
            whole[:limit] for limit in range(30)
        ]


def test_equal_scores_keep_their_order() -> None:
    """A reranker without an opinion changes nothing."""
    with filled() as plain, filled(reranker=lambda query, texts: [0.5] * len(texts)) as mem:
        assert contents(mem.recall("otter wet", track=False)) == contents(plain.recall("otter wet", track=False))


def test_pinned_memories_stay_apart() -> None:
    """They are not reranked."""
    with filled(reranker=by_length) as mem:
        mem.remember("dry", priority="pinned")
        found = mem.recall("otter wet", limit=3)

    assert contents(found.pinned) == ["dry"]
    assert found.pinned[0].why.rerank is None


def raises(query: str, texts: Sequence[str]) -> list[float]:
    raise RuntimeError("the model is gone")


@pytest.mark.parametrize(
    ("reranker", "reason"),
    [
        (raises, "not reranked: the reranker failed: RuntimeError: the model is gone"),
        (lambda query, texts: [1.0], "not reranked: the reranker returned 1 score for 20 texts"),
        (
            lambda query, texts: [float("nan")] * len(texts),
            "not reranked: the reranker returned a score that is not a finite number",
        ),
        (
            lambda query, texts: [float("inf"), *[0.0] * (len(texts) - 1)],
            "not reranked: the reranker returned a score that is not a finite number",
        ),
    ],
)
def test_a_reranker_that_fails_keeps_the_order_and_degrades(reranker: Callable[..., Any], reason: str) -> None:
    """The recall has an answer, and says why it is not reranked."""
    with filled() as plain, filled(reranker=reranker) as mem:
        found = mem.recall("otter wet", track=False)
        assert contents(found) == contents(plain.recall("otter wet", track=False))

    assert len(found.degraded) == 1
    assert found.degraded[0].startswith(reason)


def test_a_context_and_a_session_are_reranked_too() -> None:
    """All recalls take the same way."""
    with filled(reranker=Shortest()) as mem:
        mem.scoped(session="s").remember("otter wet", tier="warm")
        entries = [entry.memory.content for entry in mem.context("otter wet").included]
        assert entries == sorted(entries, key=len)
        assert mem.session("s").recall("otter")[0].why.rerank is not None


#: Different facts, of which few are relevant to any question about one of them.
FACTS = [
    f"{who} {does} the {what} {when}"
    for who, when in [("Ana", "on Mondays"), ("Bob", "in Paris"), ("Carla", "at night"), ("Deng", "every spring")]
    for does, what in [
        ("reviews", "payment service"), ("paints", "garden fence"), ("deploys", "search index"), ("feeds", "old otter"),
        ("writes", "release notes"), ("repairs", "coffee machine"), ("audits", "backup keys"),
    ]
]  # fmt: skip


@pytest.mark.parametrize(
    "question", ["who repairs the coffee machine at night?", "what does Ana deploy?", "otters in Paris"]
)
@pytest.mark.parametrize("budget", [0, 40, 400, 4000])
def test_a_context_of_different_facts_is_reranked(question: str, budget: int) -> None:
    """The reranker gets as many texts as for a recall, although fewer are relevant enough for the context."""
    reranker = Shortest()
    with opened(reranker=reranker) as mem:
        mem.remember_many([{"content": content} for content in FACTS])
        context = mem.context(question, budget=budget)
        mem.recall(question, limit=1)

    assert context.receipt.degraded == ()
    assert context.tokens <= budget
    asked = [set(texts) for _, texts in reranker.calls]
    assert asked == [asked[0]] * 2
    assert len(asked[0]) > len(context.included)


def test_notes_are_reranked_too(tmp_path: Path) -> None:
    """After their age was taken into account."""
    folder = tmp_path / "notes"
    (folder / "memory").mkdir(parents=True)
    for number in range(5):
        text = f"The otter is {'very ' * number}wet.\n"
        (folder / "memory" / f"{number}.md").write_text(text, encoding="utf-8")
    with opened(tmp_path / "a.db", reranker=by_length) as mem:
        results = mem.notes(folder).search("otter wet", min_score=0, track=False)

    assert [hit.path for hit in results] == [f"memory/{number}.md" for number in (4, 3, 2, 1, 0)]


PLUGIN = """
class Longest:
    def score(self, query, texts):
        return [float(len(text)) for text in texts]


def shortest(query, texts):
    return [-float(len(text)) for text in texts]
"""


def install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a package with two rerankers on the path, as pip would."""
    (folder / "sorrel.py").write_text(PLUGIN, encoding="utf-8")
    info = folder / "sorrel-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: sorrel\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(
        "[memotherm.rerankers]\nlongest = sorrel:Longest\nshortest = sorrel:shortest\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "sorrel", raising=False)


@pytest.mark.parametrize(
    "arguments",
    [{"reranker": "longest"}, {"settings": {"reranker": "longest"}}, {"reranker": "shortest"}],
)
def test_a_plugin_is_chosen_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: dict[str, Any]
) -> None:
    """By the argument or by the setting; a class is called without arguments, a function is used as it is."""
    install(tmp_path, monkeypatch)
    with filled(**arguments) as mem:
        found = contents(mem.recall("otter wet", limit=20, track=False))

    assert found == sorted(found, key=len, reverse="shortest" not in arguments.values())


def test_an_unknown_name_is_refused_with_the_known_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before a store is opened."""
    install(tmp_path, monkeypatch)
    with pytest.raises(PluginNotFound, match=r"No reranker is called 'longes'. Known: longest, shortest."):
        opened(tmp_path / "a.db", reranker="longes")


@pytest.mark.parametrize("wrong", [3, Shortest, ["longest"]])
def test_what_is_no_reranker_is_refused(wrong: Any) -> None:
    """With what it must have."""
    with pytest.raises(InvalidInput, match=r"score\(query, texts\)"):
        opened(reranker=wrong)


def test_an_async_memory_takes_a_reranker(tmp_path: Path) -> None:
    """With the same argument."""

    async def main() -> float | None:
        store = located(tmp_path / "a.db")
        async with memotherm.aopen(store, embedder=HashEmbedder(), settings={}, reranker=by_length) as mem:
            await mem.remember("otter wet")
            return (await mem.recall("otter"))[0].why.rerank

    assert asyncio.run(main()) == len("otter wet")
