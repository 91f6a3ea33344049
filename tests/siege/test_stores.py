"""Random stores: an export that is imported is equal, and an erased user leaves no word behind."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from memotherm import Memotherm
from memotherm.errors import MemothermError
from memotherm.testing import FakeClock
from tests.helpers import opened
from tests.interfaces.served import served
from tests.properties.test_export import test_an_import_of_an_export_is_equal_or_says_what_differs as round_trip
from tests.siege.limits import LONG, SECONDS
from tests.stores import a_store
from tests.test_erasing import WORD, _life_of_ana, _texts


@contextmanager
def opening(clock: FakeClock) -> Iterator[Callable[..., Memotherm]]:
    """Open new stores, and give them back at the end."""
    with ExitStack() as stack:

        def open_mem(path: Path, **arguments: Any) -> Memotherm:
            place = stack.enter_context(a_store())
            found = path if place == ":memory:" else place
            return stack.enter_context(opened(found, clock=clock, **arguments))

        yield open_mem


def test_round_trips(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    """Export, import into an empty store, import again, with histories that nobody has seen yet."""
    until, seed = time.monotonic() + SECONDS, 1000
    while seed == 1000 or time.monotonic() < until:
        folder, clock = tmp_path / str(seed), FakeClock()
        folder.mkdir()
        with opening(clock) as open_mem:
            round_trip(seed, open_mem, clock, folder)
        seed += 1
    record_property("tries", seed - 1000)


def test_erased_users(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    """After a random life, no column and no file has a word of hers, and nobody else has lost anything."""
    until, seed = time.monotonic() + SECONDS, 0
    while seed == 0 or time.monotonic() < until:
        folder, clock = tmp_path / str(seed), FakeClock()
        folder.mkdir()
        with opening(clock) as open_mem:
            mem = open_mem(folder / "memory.db")
            _life_of_ana(mem)
            _random_life(mem.scoped(user="ana"), clock, random.Random(seed))
            kept = {memory.id: memory.content for memory in _bobs(mem)}
            mem.scoped(user="ana").erase()
            assert not [text for text in _texts(mem, folder) if WORD in text], f"seed {seed}"
            assert {memory.id: memory.content for memory in _bobs(mem)} == kept
            assert mem.check() == []
        seed += 1
    record_property("tries", seed)


def _bobs(mem: Memotherm) -> Any:
    bob = mem.scoped(user="bob")
    bob.remember("Bob keeps a wombat")
    bob.recall("wombat")
    return bob.find(retention="any", limit=100)


def _random_life(ana: Memotherm, clock: FakeClock, dice: random.Random) -> None:
    """Let random things happen to memories that all have the word."""
    ids = [memory.id for memory in ana.find(retention="any", include_narrower=True)]
    for number in range(40):
        clock.advance(hours=dice.randrange(30))
        view = ana.scoped(**dice.choice(({}, {"project": "zoo"}, {"session": "s1"}, {"agent": "keeper"})))
        with suppress(MemothermError):  # such as a memory that is purged, or that this scope cannot see
            _something(view, f"{dice.choice(('A', 'The', 'No'))} {WORD} {number}", ids, dice)


def _something(view: Memotherm, text: str, ids: list[str], dice: random.Random) -> None:
    pick, one, session = dice.choice, dice.choice(ids), view.session("s2")
    verbs: tuple[Callable[[], Any], ...] = (
        lambda: ids.append(view.remember(text, tags=[WORD], metadata={WORD: [WORD]}, key=pick((None, WORD))).id),
        lambda: ids.append(view.remember(text, supersedes=one, tier=pick(("hot", "cold"))).id),
        lambda: view.update(one, content=text, why=text),
        lambda: view.move(one, pick(("hot", "warm", "cold")), why=text),
        lambda: view.purge(one),
        lambda: view.forget(one, why=text),
        lambda: view.restore(one),
        lambda: view.archive(one),
        lambda: view.undo(view.history(one)[-1].seq),
        lambda: view.recall(text),
        lambda: view.context(text, budget=300),
        lambda: view.feedback(text),
        lambda: view.capture(text),
        lambda: session.add(text),
        lambda: session.recall(text),
        session.end,
        view.compact,
        view.maintain,
    )
    pick(verbs)()


@LONG
@pytest.mark.sqlite
def test_users_erased_through_a_server(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    """Answers kept for repeated requests and the log have nothing of hers, while it runs and afterwards."""
    rounds, until = 0, time.monotonic() + SECONDS
    (tmp_path / "store").mkdir()
    with served(tmp_path / "store" / "memory.db", MEMOTHERM_SERVER_RATE_PER_MINUTE="0") as server:
        while rounds == 0 or time.monotonic() < until:
            word, scope = f"{WORD}{rounds}x", {"memotherm-scope": f"user=ana{rounds}"}
            for number, (path, body) in enumerate(_requests(word)):
                headers = {**scope, "idempotency-key": f"{rounds}-{number}"}
                for _ in range(2):
                    status, told = server.ask("POST", path, body, headers)
                    assert status < 300, (path, status, told)
            status, told = server.ask("POST", "/erase", {"confirm": f"user=ana{rounds}"}, scope)
            assert status == 200, told
            assert told["memories"] > 0
            assert _files_with(word, tmp_path) == []
            assert not [line for line in server.log if word in line]
            rounds += 1
        assert server.end() == 0
    assert _files_with(WORD, tmp_path) == []
    record_property("tries", rounds)


def _requests(word: str) -> tuple[tuple[str, dict[str, Any]], ...]:
    return (
        ("/memories", {"content": f"Ana keeps a {word}", "tags": [word], "metadata": {"pet": word}, "key": word}),
        ("/memories:batch", {"memories": [{"content": f"The {word} sleeps"}, {"content": f"The {word} eats"}]}),
        ("/memories:capture", {"content": f"We saw the {word}"}),
        ("/sessions/s1/memories", {"content": f"We talk of the {word}"}),
        ("/recall", {"query": f"where is the {word}"}),
        ("/context", {"query": f"the {word}", "budget": 300}),
        ("/policy/replay", {"policies": [{"name": "builtin"}]}),
    )


def _files_with(word: str, folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and word.encode() in path.read_bytes()]
