"""The document about Markdown notes (O): index, search and reading."""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import ClassVar, cast

import numpy as np
from numpy.typing import NDArray

import memotherm
from memotherm import InvalidInput, Memotherm
from memotherm.testing import HashEmbedder
from tests.spec.audit.interfaces import Cli, Mcp, NotesMcp, Python, refusal
from tests.spec.audit.table import audit


class _Down(HashEmbedder):
    """An embedder whose service does not answer."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise ConnectionError("no route to host")


def _workspace(folder: Path, files: dict[str, str]) -> Path:
    root = folder / "workspace"
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, "utf-8")
    return root


@audit(O10="D43")
def the_notes_of_an_agent_are_its_own(cli: Cli, python: Python) -> None:
    told = {"ada": "- The bell rings at six.\n", "ben": "- The well is dry.\n"}
    shared = python.locate()
    roots = {agent: _workspace(cli.folder / agent, {"MEMORY.md": text}) for agent, text in told.items()}
    for own in (False, True):
        places = {agent: str(cli.folder / f"{agent}.sqlite") if own else shared for agent in told}
        for agent, root in roots.items():
            code, _, err = cli.run("notes", "sync", "--root", root, "--store", places[agent], "--agent", agent)
            assert code == 0, err
        for agent, root in roots.items():
            where = ("--store", places[agent], "--agent", agent)
            for other, text in told.items():
                found = cli.run("notes", "search", text, "--root", root, *where)[1]
                assert (text.strip() in found) == (agent == other)
                assert (text.strip() in cli.run("list", *where, "--json")[1]) == (agent == other)
    for agent, text in told.items():
        with contextlib.closing(sqlite3.connect(cli.folder / f"{agent}.sqlite")) as file:
            assert [content for (content,) in file.execute("SELECT content FROM memories")] == [text.strip()]


@audit("O11", "O14", "O16", "O25")
def notes_are_discovered_when_searched(notes: NotesMcp, python: Python) -> None:
    notes.write("memory/2026-01-20.md", "# Tuesday\n\nThe deployment process needs two keys.\n\nLunch was fine.\n")
    notes.write("memory/projects/atlas.md", "# Atlas\n\nAtlas is written in Fortran.\n")
    notes.write("README.md", "The deployment process is not described here: xylophone.\n")
    found = notes.search("deployment process")
    assert found[0]["path"] == "memory/2026-01-20.md"
    assert notes.search("Fortran")[0]["path"] == "memory/projects/atlas.md"
    assert notes.search("xylophone") == []
    lines = found[0]["endLine"] - found[0]["startLine"] + 1
    read = notes("memory_get", path=found[0]["path"], **{"from": found[0]["startLine"]}, lines=lines)
    cited = notes("memory_get", path=found[0]["citation"])
    assert read["text"] == cited["text"]
    assert found[0]["snippet"].strip() in read["text"]
    notes.write("MEMORY.md", "- The lighthouse code is kiwi.\n")
    assert "kiwi" in notes("memory_context")["text"]
    notes.write("MEMORY.md", "- The lighthouse code is mango.\n")
    text = notes("memory_context", query="lighthouse code")["text"]
    assert "mango" in text
    assert "kiwi" not in text
    words = python.open(embedder="none").notes(notes.root)
    assert [hit.path for hit in words.search("Fortran")] == ["memory/projects/atlas.md"]


@audit("O12")
def chunks_have_400_tokens_and_overlap(python: Python) -> None:
    lines = [f"Line {number} says that buoy {number} is painted in colour {number}." for number in range(1, 201)]
    mem = python.open()
    notes = mem.notes(_workspace(python.folder, {"memory/buoys.md": "\n".join(lines) + "\n"}))
    notes.sync()
    chunks = list(mem.find(limit=50))
    assert 300 < max(chunk.tokens for chunk in chunks) <= 400
    numbers = [[int(number) for number in re.findall(r"Line (\d+) says", chunk.content)] for chunk in chunks]
    places = sorted((found[0], found[-1]) for found in numbers)
    assert (places[0][0], places[-1][1]) == (1, 200)
    assert len(places) > 5
    assert all(later[0] <= earlier[1] for earlier, later in pairwise(places)), places
    assert all(later[0] > earlier[0] for earlier, later in pairwise(places))
    (hit,) = notes.search(lines[99], max_results=1)
    shown = [int(number) for number in re.findall(r"Line (\d+) says", hit.snippet)]
    assert (hit.start_line, hit.end_line) == (shown[0], shown[-1])


class _Service(BaseHTTPRequestHandler):
    """The embedding services of OpenAI and Gemini, as far as they are asked here."""

    #: By the port of each server: the stores are audited at the same time.
    asked: ClassVar[defaultdict[int, list[tuple[str, str]]]] = defaultdict(list)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        requests = body.get("requests", [body])
        self.asked[cast("ThreadingHTTPServer", self.server).server_port].append((self.path, requests[0]["model"]))
        if "requests" in body:
            answer: object = {"embeddings": [{"values": [1.0] + [0.0] * 3071} for _ in requests]}
        else:
            vectors = [{"index": n, "embedding": [1.0] + [0.0] * 1535} for n in range(len(body["input"]))]
            answer = {"data": vectors, "model": body["model"]}
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *arguments: object) -> None:
        """Print nothing."""


@audit("O13")
def three_embedders_can_be_chosen(cli: Cli, python: Python) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Service)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        for name in ("openai", "gemini", "local"):
            chosen = name if name == "local" else f"{name}?base_url=http://127.0.0.1:{server.server_port}"
            store = python.locate()
            code, _, err = cli.run("remember", f"Embedded by {name}", "--store", store, embedder=chosen)
            assert code == 0, err
            with contextlib.closing(memotherm.open(store, embedder=chosen)) as mem:
                assert mem.recall(f"Embedded by {name}")[0].why.vector is not None
    finally:
        server.shutdown()
        server.server_close()
    assert list(dict.fromkeys(_Service.asked.pop(server.server_port))) == [
        ("/embeddings", "text-embedding-3-small"),
        ("/models/gemini-embedding-001:batchEmbedContents", "models/gemini-embedding-001"),
    ]


@audit("O15")
def a_session_start_synchronises(python: Python) -> None:
    root = _workspace(python.folder, {"MEMORY.md": "- The bell rings at six.\n"})
    mem = python.open(sync_on_search=False)
    notes = mem.notes(root)
    notes.sync()
    (root / "MEMORY.md").write_text("- The bell rings at nine.\n")
    assert "six" in notes.search("bell rings")[0].snippet
    mem.session("s").session_start()
    assert "nine" in notes.search("bell rings")[0].snippet
    fresh = python.open(notes_root=str(root), sync_on_search=False).session("t")
    assert "nine" in fresh.session_start().text


@audit("O17", "O26")
def the_watcher_indexes_what_the_flush_asked_for(notes: NotesMcp) -> None:
    prompt = notes.prompt("flush")
    named = re.search(r"memory/\d{4}-\d\d-\d\d\.md", prompt)
    assert named, prompt
    notes.search("whatever was written before")
    before = _chunks(notes)
    notes.write(named[0], "# Today\n\nThe zeppelin lands on pier nine.\n")
    deadline = time.monotonic() + 60
    # A status synchronises nothing: only the watcher can have indexed the file.
    while _chunks(notes) == before and time.monotonic() < deadline:
        time.sleep(0.2)
    assert _chunks(notes) > before
    assert notes.search("zeppelin lands")[0]["citation"].startswith(f"{named[0]}#L")


def _chunks(notes: NotesMcp) -> int:
    held = notes("memory_status")
    return sum(int(held[tier]["items"]) for tier in ("hot", "warm", "cold"))


@audit("O18", "O20", "O21", "O22")
def memory_search_has_its_defaults_and_citations(notes: NotesMcp, mcp: Mcp, python: Python) -> None:
    schema = mcp.schema("memory_search")
    assert schema["required"] == ["query"]
    assert schema["properties"]["maxResults"]["default"] == 6
    assert schema["properties"]["minScore"]["default"] == 0.35
    for number in range(9):
        notes.write(f"memory/lamps/{number}.md", f"The lamp of street {number} is broken.\n")
    assert len(notes.search("Which street lamp is broken?")) == 6
    assert len(notes.search("Which street lamp is broken?", maxResults=2)) == 2
    hit = notes.search("lamp of street 4", maxResults=1)[0]
    assert hit["citation"] == f"{hit['path']}#L1"
    words = ["anchor", "ballast", "capstan", "davit", "ensign", "fender", "gunwale", "halyard"]
    root = _workspace(python.folder, {f"memory/{word}.md": " ".join(words[place:]) for place, word in enumerate(words)})
    own = python.open().notes(root)
    every = own.search(" ".join(words), max_results=8, min_score=0.0)
    # Words that are matched suffice, too.
    enough = [hit.path for hit in every if max(hit.score, hit.why.text or 0) >= 0.35]
    assert 0 < len(enough) < len(every) == 8
    assert [hit.path for hit in own.search(" ".join(words), max_results=8)] == enough


def _order(python: Python, **weights: float) -> list[str]:
    """Return the paths of notes in the order of a search with weights of vectors and words."""
    root = python.folder / "workspace"
    mem = python.open(embedder="local", **weights)
    return [hit.path for hit in mem.notes(root).search("Where does the cat nap?", min_score=0.0)]


@audit(O19="D39")
def the_weights_of_vectors_and_words_act(python: Python) -> None:
    _workspace(python.folder, {
        "memory/word.md": "The nap of the carpet was cut by a machine.\n",
        "memory/meaning.md": "Our kitten is sleeping on the sofa.\n",
    })  # fmt: skip
    assert _order(python, vector_weight=0.0, text_weight=1.0)[0] == "memory/word.md"
    assert _order(python, vector_weight=1.0, text_weight=0.0)[0] == "memory/meaning.md"
    for weights in ({}, {"vector_weight": 1.4, "text_weight": 0.6}):
        notes = python.open(embedder="local", **weights).notes(python.folder / "workspace")
        # A note without any relevance is no result.
        for query, least in (("Where does the cat nap?", 2), ("carpet machine", 1), ("Which planet is largest?", 0)):
            for _ in range(2):
                hits = notes.search(query, min_score=0.0)
                assert len(hits) >= least
                for hit in hits:
                    assert abs(hit.score - (0.7 * (hit.why.vector or 0) + 0.3 * (hit.why.text or 0))) < 1e-6, hit.why


@audit(O23="D31")
def citations_are_hidden_in_groups(notes: NotesMcp) -> None:
    notes.write("memory/2026-04-04.md", "The weathercock points west.\n")
    direct = notes.search("weathercock", chat="direct")[0]
    group = notes.search("weathercock", chat="group")[0]
    assert direct["citation"] == "memory/2026-04-04.md#L1"
    assert "citation" not in group
    assert group["path"] == "memory/2026-04-04.md"


@audit("O24", "O33", "O34")
def memory_get_reads_exact_lines_inside_the_folder(notes: NotesMcp) -> None:
    lines = [f"Entry {number}" for number in range(1, 101)]
    notes.write("memory/2026-01-21.md", "\n".join(lines) + "\n")
    read = notes("memory_get", path="memory/2026-01-21.md", **{"from": 40}, lines=30)
    assert read["text"].splitlines() == lines[39:69]
    assert (read["startLine"], read["endLine"]) == (40, 69)
    notes.refused("memory_get", path="../../etc/passwd")
    notes.refused("memory_get", path="/etc/passwd")
    secret = notes.root.parent / "secret.md"
    secret.write_text("The combination is 31-7-12.\n")
    (notes.root / "memory" / "link.md").symlink_to(secret)
    notes.refused("memory_get", path="memory/link.md")
    outside = notes.root.parent / "outside"
    outside.mkdir(exist_ok=True)
    (outside / "secret.md").write_text("The combination of the other safe is 4-8-15.\n")
    (notes.root / "memory" / "linked").symlink_to(outside, target_is_directory=True)
    for path in ("memory/linked/secret.md", "memory/linked/../linked/secret.md", "memory/../../outside/secret.md"):
        notes.refused("memory_get", path=path)
    assert notes.search("combination") == []
    assert notes("memory_get", path="memory/1999-12-31.md")["text"] == ""


@audit("O28", "O43", "O44")
def transcripts_are_indexed_when_enabled(python: Python) -> None:
    root = _workspace(python.folder, {"MEMORY.md": "- The bell rings at six.\n"})
    transcript = python.folder / "talk.jsonl"
    _say(transcript, "The password of the wifi is heron", 1)
    options = {"transcript_paths": (str(transcript),)}
    off = python.open(**options).notes(root)
    assert not [hit for hit in off.search("wifi password heron") if hit.source == "sessions"]
    notes = python.open(**options, experimental_session_memory=True).notes(root)
    assert [hit.source for hit in notes.search("wifi password heron")] == ["sessions"]
    _say(transcript, "The new code of the garage is cormorant", 1)
    waiting = notes.search("garage code cormorant")
    assert waiting.stale
    assert any("talk" in note for note in waiting.degraded), waiting.degraded
    assert not [hit for hit in waiting if "cormorant" in hit.snippet]
    _say(transcript, "Another remark about the tide", 50)
    assert [hit for hit in notes.search("garage code cormorant") if "cormorant" in hit.snippet]


def _say(transcript: Path, text: str, times: int) -> None:
    with transcript.open("a", encoding="utf-8") as file:
        for number in range(times):
            file.write(json.dumps({"role": "user", "content": f"{text} ({number})" if times > 1 else text}) + "\n")


@audit("O36", "O50", O35="D33")
def keyword_hits_are_scored_and_survive_the_floor(python: Python) -> None:
    root = _workspace(python.folder, {
        "memory/one.md": "The invoice QX-7731 is paid, invoice QX-7731 is closed.\n",
        "memory/two.md": "Once upon a time somebody mentioned " + "many other things " * 60 + "and QX-7731.\n",
        "memory/three.md": "The kitten sleeps on the sofa.\n",
    })  # fmt: skip
    notes = python.open(embedder="none").notes(root)
    hits = notes.search("QX-7731")
    assert hits[0].path == "memory/one.md"
    scores = {hit.path: hit.why.text for hit in notes.search("QX-7731 invoice", min_score=0.0)}
    assert 1 >= (scores["memory/one.md"] or 0) > (scores["memory/two.md"] or 0) > 0, scores
    assert "memory/three.md" not in scores
    both = python.open().notes(root)
    found = {hit.path: hit.score for hit in both.search("QX-7731")}
    assert list(found) == ["memory/one.md", "memory/two.md"]
    assert found["memory/one.md"] > 0.35 > found["memory/two.md"]
    assert len(both.search("zxqv wobblefrotz")) == 0


@audit("O37", "O45")
def vectors_are_cached_and_deleted_files_vanish(python: Python) -> None:
    embedder = HashEmbedder(record=True)
    root = _workspace(python.folder, {"memory/a.md": "The crane lifts crates.\n", "memory/b.md": "Rain at noon.\n"})
    mem = python.open(embedder=embedder)
    notes = mem.notes(root)
    notes.sync()
    before = len(embedder.texts)
    (root / "memory" / "a.md").rename(root / "memory" / "c.md")
    (root / "memory" / "b.md").touch()
    notes.sync()
    assert len(embedder.texts) == before
    (root / "memory" / "copy.md").write_text((root / "memory" / "b.md").read_text("utf-8"))
    notes.sync()
    assert (len(embedder.texts), _sizes(mem)) == (before, 3)
    for name in ("c.md", "copy.md"):
        (root / "memory" / name).unlink()
    notes.sync()
    assert not [hit for hit in notes.search("crane lifts crates", min_score=0.0) if "crane" in hit.snippet]
    assert not [hit for hit in mem.recall("crane lifts crates", tiers=("hot", "warm", "cold"))
                if "crane" in hit.memory.content]  # fmt: skip
    assert mem.check() == []
    assert _sizes(mem) == 1


def _sizes(mem: Memotherm) -> int:
    return sum(count.memories for count in mem.status().tiers.values())


@audit("O38")
def the_old_vectors_serve_until_the_new_ones_are_complete(python: Python) -> None:
    place = python.locate()
    first = python.open(at=place, embedder="local")
    stored = first.remember("The organ of the church has nine stops")
    second = python.open(at=place, embedder=HashEmbedder())
    hit = second.recall("organ stops")[0]
    assert hit.memory.id == stored.id
    assert hit.why.vector is not None, second.status().degraded
    second.maintain()
    assert second.status().pending_vectors == 0
    assert second.recall("organ stops")[0].why.vector is not None


def _drop_text_index(place: str) -> None:
    if place.startswith("postgresql"):
        import psycopg

        with psycopg.connect(place) as server:
            server.execute("DROP TABLE memotherm.texts")
        return
    with contextlib.closing(sqlite3.connect(place)) as file, file:
        file.execute("DROP TABLE text_live")


@audit("O39", "O40")
def a_failing_embedder_degrades_and_says_so(python: Python) -> None:
    mem = python.open(embedder=_Down())
    stored = mem.remember("The ferry leaves at noon")
    found = mem.recall("When does the ferry leave?")
    assert [hit.memory.id for hit in found] == [stored.id]
    assert found.degraded
    assert mem.status().pending_vectors == 1
    place = python.locate()
    words = python.open(place)
    words.remember("The ferry leaves at noon")
    words.close()
    _drop_text_index(place)
    words = python.open(place)
    found = words.recall("The ferry leaves at noon")
    assert found[0].memory.content == "The ferry leaves at noon"
    assert "text" in str(found.degraded)
    assert words.check()[0].code.startswith("text_")
    words.store.repair()
    assert words.check() == []
    assert words.recall("ferry").degraded == ()
    saved = python.open(embedder=_Down(), fallback_embedder="local")
    saved.remember("Our feline companion sleeps on the sofa")
    saved.maintain()
    assert [hit.why.vector is not None for hit in saved.recall("Where does the cat nap?")] == [True]


@audit("O41")
def older_notes_decay_and_repeated_ones_are_dropped(python: Python) -> None:
    day = python.clock.now.date()
    before = day - timedelta(days=30)
    root = _workspace(python.folder, {
        f"memory/{day}.md": "The well is dry this week.\n",
        f"memory/{before}.md": "The well is dry this month.\n",
        "memory/wells.md": "The well is dry every summer.\n",
    })  # fmt: skip
    notes = python.open().notes(root)
    plain = {hit.path: hit.score for hit in notes.search("well is dry", min_score=0.0, decay=False)}
    aged = {hit.path: hit.score for hit in notes.search("well is dry", min_score=0.0, decay=True)}
    old = f"memory/{before}.md"
    assert abs(aged[old] / plain[old] - 0.5) < 0.03, (aged, plain)
    assert aged["memory/wells.md"] == plain["memory/wells.md"]
    for number in range(4):
        (root / "memory" / f"copy{number}.md").write_text("The well is dry every summer.\n")
    repeated = {"memory/wells.md", *(f"memory/copy{number}.md" for number in range(4))}
    plain_hits = notes.search("well is dry", max_results=3, min_score=0.0, diversity=False)
    diverse_hits = notes.search("well is dry", max_results=3, min_score=0.0, diversity=True)
    assert len(repeated & {hit.path for hit in diverse_hits}) == 1, diverse_hits
    assert len(repeated & {hit.path for hit in plain_hits}) > 1, plain_hits


@audit("O42")
def extra_paths_are_indexed(python: Python) -> None:
    root = _workspace(python.folder, {"docs/guide.md": "The lift is out of order.\n", "MEMORY.md": "- Nothing.\n"})
    mem = python.open()
    assert len(mem.notes(root).search("lift out of order")) == 0
    found = mem.notes(root, extra_paths=["docs"]).search("lift out of order")
    assert [hit.path for hit in found] == ["docs/guide.md"]
    refusal(InvalidInput, mem.notes, root, extra_paths=["../outside"])


@audit("O46")
def text_without_latin_letters_is_searchable(notes: NotesMcp, python: Python) -> None:
    notes.write("memory/languages.md", "会議は金曜日の午後に東京で行われます。\n\n")
    notes.write("memory/russian.md", "Встреча состоится в пятницу в Москве.\n")
    assert notes.search("金曜日の会議")[0]["path"] == "memory/languages.md"
    assert notes.search("встреча пятницу")[0]["path"] == "memory/russian.md"
    # By words alone: vectors may find a text whose words are not indexed.
    words = python.open(embedder="none").notes(notes.root)
    for query, path in (("金曜日", "languages"), ("東京", "languages"), ("Москве", "russian")):
        assert [hit.path for hit in words.search(query)] == [f"memory/{path}.md"], query
