"""What a person has purged stays away, whatever an agent tries in that scope, around it and below it."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from memotherm import Memotherm, Tier
from memotherm.errors import MemothermError
from memotherm.operations.codec import to_json
from tests.helpers import opened
from tests.siege.limits import SECONDS
from tests.stores import a_store

#: Where a person purges, and where an agent tries to store it again.
_SCOPE = {"project": "p", "user": "u"}
_TRIED: tuple[dict[str, str], ...] = (
    {},
    {"project": "p"},
    {"user": "u"},
    _SCOPE,
    {**_SCOPE, "session": "s"},
    {"project": "q", "user": "u"},
)
_SPELLINGS: tuple[Callable[[str], str], ...] = (
    str, str.upper, str.title,
    lambda text: f"  {text}. ",
    lambda text: text.replace(" ", "  "),
    lambda text: f"By the way, {text}, as we said.",
    lambda text: "".join(f"{letter}\u200b" for letter in text),
    lambda text: text.translate({ord("0") + digit: 0x660 + digit for digit in range(10)}),
)  # fmt: skip


def _shown(view: Memotherm, word: str) -> list[str]:
    """Return where a word is shown in a scope: in listings, recalls and contexts."""
    found = {
        "find": json.dumps([to_json(memory) for memory in view.find(limit=1000)], default=str),
        "recall": json.dumps(
            [to_json(hit.memory) for hit in view.recall(word, limit=50, tiers=list(Tier))], default=str
        ),
        "context": view.context(f"what about {word}?", budget=2000).text,
    }
    return [name for name, text in found.items() if word in text.casefold().replace("\u200b", "")]


def _try(agent: Memotherm, person: Memotherm, text: str, proposal: str, other: str, dice: random.Random) -> None:
    """Let an agent do one thing that would bring the text back."""
    verbs: tuple[Callable[[], object], ...] = (
        lambda: agent.remember(text),
        lambda: agent.remember(text, kind="decision", priority="pinned", tier="hot"),
        lambda: agent.remember_many([{"content": "a heron waits"}, {"content": text}]),
        lambda: agent.capture(text),
        lambda: agent.remember("a heron stands", source=text),
        lambda: agent.remember("a heron flies", tags=[text]),
        lambda: agent.remember("a heron sleeps", metadata={"note": text, text: 1}),
        lambda: agent.remember("a heron eats", key=text),
        lambda: agent.update(other, content=text),
        lambda: agent.amend(other, text),
        lambda: agent.approve(proposal),
        lambda: agent.restore(proposal),
        lambda: agent.rescope(agent.scoped(session="t").remember(text).id, {}),
        lambda: agent.session("s").add(text),
        lambda: agent.session("s").end(summary=text),
        lambda: agent.alias("heron", text),
        lambda: agent.undo(dice.choice(person.events(limit=5).events).seq),
    )
    with suppress(MemothermError, LookupError):
        dice.choice(verbs)()


def test_purged_texts_stay_away(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    """In every spelling and through every verb."""
    until, rounds, tries = time.monotonic() + SECONDS, 0, 0
    with a_store() as place, opened(tmp_path / "memory.db" if place == ":memory:" else place) as mem:
        while rounds == 0 or time.monotonic() < until:
            dice, word = random.Random(rounds), f"zqotter{rounds}x"
            text = f"the {word} sleeps in room {4100 + rounds}"
            person = mem.by("person").scoped(**_SCOPE)
            proposal = mem.scoped(**_SCOPE).remember(f"{text} at night", source="extracted:model").id
            other = mem.scoped(**_SCOPE).remember(f"the badger {rounds} digs").id
            person.purge(person.remember(text).id)
            for _ in range(12):
                tries += 1
                agent = mem.by("agent").scoped(**dice.choice(_TRIED))
                _try(agent, person, dice.choice(_SPELLINGS)(text), proposal, other, dice)
            assert _shown(person, word) == [], f"round {rounds}"
            rounds += 1
        assert mem.check() == []
    record_property("tries", tries)
