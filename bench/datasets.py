"""Evaluation sets, read from folders of these forms.

    docs + queries               turns or documents; search within `scope` where there is one
    sessions + haystacks + queries   each question searches the sessions of its own haystack
    corpus + questions           notes, with questions in two phrasings
    Conflict_Resolution.json     numbered facts; a later one replaces an earlier one
    beliefs.seed + retrieval.cases   small beliefs with aliases, with questions from several scopes

A set is a list of documents and a list of questions. Prompts that no memory answers are in a folder of their own:

    prompts                      `id`, `type` and `prompt`
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memotherm.errors import InvalidInput

__all__ = ["Document", "EvaluationQuestion", "EvaluationSet", "SilentPrompt", "load", "load_prompts"]

_LEFT_OUT = {"abstention", "no_user_side_evidence"}
#: Questions that have no answer, by number or by name.
_ADVERSARIAL = {"5", "adversarial"}
#: Besides ISO 8601.
_TIMES = ("%Y/%m/%d (%a) %H:%M", "%Y/%m/%d")
#: Larger contexts have the same questions and take long.
_MOST_FACTS = 3000
_FACT = re.compile(r"^(\d+)\.\s+(.+)$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """A text to store."""

    id: str
    content: str
    kind: str = "fact"
    #: Questions of the same scope search it; None = one scope for all.
    scope: str | None = None
    at: datetime | None = None
    metadata: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class EvaluationQuestion:
    """A query, and the documents that answer it."""

    id: str
    text: str
    gold: frozenset[str]
    scope: str | None = None
    category: str = ""
    at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class EvaluationSet:
    """Documents and questions about them."""

    name: str
    documents: tuple[Document, ...]
    questions: tuple[EvaluationQuestion, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class SilentPrompt:
    """A prompt that no memory answers."""

    id: str
    text: str
    #: ack, chat, or command: a memory about software may answer a command.
    type: str


def load(folder: Path) -> list[EvaluationSet]:
    """Return every set with questions to score in a folder, or in the folders inside it."""
    if not folder.is_dir():
        raise InvalidInput(f"there is no folder {folder}: pass the folder of the evaluation sets")
    folders = (path for path in (folder, *sorted(folder.iterdir())) if path.is_dir())
    sets = [data for path in folders for data in _sets_in(path) if data.questions]
    if not sets:
        raise InvalidInput(
            f"{folder} has no evaluation set of a known form (docs + queries, corpus + questions, ...)"
            " with questions that can be scored"
        )
    return sets


def load_prompts(folder: Path) -> list[SilentPrompt]:
    """Return the prompts that no memory answers, of a folder or of the folders inside it."""
    folders = [path for path in (folder, *sorted(folder.iterdir())) if path.is_dir()] if folder.is_dir() else []
    rows = [row for path in folders if any(path.glob("prompts.*")) for row in _rows(path, "prompts")]
    if not rows:
        raise InvalidInput(
            f"{folder} has no prompts: pass a folder with a file prompts.jsonl.gz, or with such a folder"
        )
    return [SilentPrompt(id=str(row["id"]), text=row["prompt"], type=row["type"]) for row in rows]


def _sets_in(folder: Path) -> Iterator[EvaluationSet]:
    names = {path.name.split(".")[0] for path in folder.iterdir() if path.is_file()}
    forms: tuple[tuple[set[str], Callable[[Path], Iterator[EvaluationSet]]], ...] = (
        ({"docs", "queries"}, _turns),
        ({"sessions", "haystacks", "queries"}, _haystacks),
        ({"corpus", "questions"}, _notes),
        ({"Conflict_Resolution"}, _conflicts),
        ({"beliefs", "retrieval"}, _beliefs),
    )
    for needed, read in forms:
        if needed <= names:
            try:
                yield from read(folder)
            except KeyError as exc:
                raise InvalidInput(f"{folder}: a line has no field {exc}") from exc


def _turns(folder: Path) -> Iterator[EvaluationSet]:
    documents = tuple(document for document in map(_turn, _rows(folder, "docs")) if document.content.strip())
    questions = tuple(
        EvaluationQuestion(
            id=str(row["qid"]),
            text=row["question"],
            gold=_ids(row.get("gold_turns_fixed") or row.get("gold_turns") or row.get("gold_docs") or ()),
            scope=_scope(row),
            category=str(row.get("category", "")),
            at=_moment(row.get("ts")),
        )
        for row in _rows(folder, "queries")
        if _is_scored(row)
    )
    yield EvaluationSet(name=folder.name, documents=documents, questions=_answerable(questions))


def _turn(row: dict[str, Any]) -> Document:
    speaker, text = row.get("speaker"), row["text"]
    if row.get("caption"):
        text = f"{text} [shares {row['caption']}]"
    if row.get("title"):
        text = f"{row['title']}\n{text}"
    metadata = {"speaker": speaker, "thread": row.get("sid")}
    return Document(
        id=str(row["tid"] if "tid" in row else row["id"]),
        content=f"{speaker}: {text}" if speaker else text,
        kind="message" if speaker else "fact",
        scope=_scope(row),
        at=_moment(row.get("ts")),
        metadata={name: value for name, value in metadata.items() if value},
    )


def _haystacks(folder: Path) -> Iterator[EvaluationSet]:
    texts = {str(row["sid"]): row["text"] for row in _rows(folder, "sessions")}
    queries = {str(row["qid"]): row for row in _rows(folder, "queries") if _is_scored(row)}
    documents = tuple(
        Document(id=str(sid), content=texts[str(sid)], kind="context", scope=str(row["qid"]), at=_moment(at))
        for row in _rows(folder, "haystacks")
        if str(row["qid"]) in queries
        for sid, at in row["sessions"]
        if texts.get(str(sid), "").strip()
    )
    questions = tuple(
        EvaluationQuestion(
            id=qid,
            text=row["question"],
            gold=_ids(row["gold_sessions"]),
            scope=qid,
            category=str(row.get("category", "")),
            at=_moment(row.get("ts")),
        )
        for qid, row in queries.items()
    )
    yield EvaluationSet(name=folder.name, documents=documents, questions=_answerable(questions))


def _notes(folder: Path) -> Iterator[EvaluationSet]:
    documents = tuple(Document(id=row["slug"], content=row["body"], kind="note") for row in _rows(folder, "corpus"))
    rows = list(_rows(folder, "questions"))
    for phrasing in ("question", "requery"):
        questions = tuple(
            EvaluationQuestion(id=f"{row['slug']}/{phrasing}", text=row[phrasing], gold=frozenset({row["slug"]}))
            for row in rows
        )
        yield EvaluationSet(name=f"{folder.name}/{phrasing}", documents=documents, questions=questions)


def _conflicts(folder: Path) -> Iterator[EvaluationSet]:
    """Single-hop questions answered by the latest fact about their subject."""
    for number, row in enumerate(_json(folder, "Conflict_Resolution")):
        facts = [Document(id=f"{number}/{no}", content=text, at=None) for no, text in _FACT.findall(row["context"])]
        pairs = row["metadata"].get("qa_pair_ids") or []
        questions = [
            EvaluationQuestion(id=f"{number}/{index}", text=text, gold=frozenset(_answering(facts, text, answers)))
            for index, (text, answers) in enumerate(zip(row["questions"], row["answers"], strict=True))
            if index < len(pairs) and "_sh_" in pairs[index]
        ]
        if len(facts) <= _MOST_FACTS:
            name = f"{folder.name}/{len(facts)} facts"
            yield EvaluationSet(name=name, documents=tuple(facts), questions=_answerable(tuple(questions)))


def _beliefs(folder: Path) -> Iterator[EvaluationSet]:
    """Current beliefs, as each case's scopes see them; a case without a relevant belief is left out."""
    current = [row for row in _json(folder, "beliefs") if not row.get("superseded_by") and not row.get("resolved_at")]
    documents: dict[tuple[str, str], Document] = {}
    questions: list[EvaluationQuestion] = []
    for case in _cases(folder):
        expected = case.get("expect", {}).get("relevantBeliefs", {})
        scope = " ".join(sorted(case.get("scope") or ()))
        questions.append(
            EvaluationQuestion(
                id=case["caseId"],
                text=case["query"],
                gold=frozenset((*expected.get("shouldOnlyInclude", ()), *expected.get("mustInclude", ()))),
                scope=scope,
                category=str(case.get("category", "")),
            )
        )
        for row in current:
            ours = row.get("user_id") == case.get("userId", "test-user")
            if ours and set(row["scope"]) & {*(case.get("scope") or ()), "user:universal"}:
                content = f"{row['canonical_name']} ({', '.join(row['aliases'])}): {row['content']}"
                documents[scope, row["_id"]] = Document(id=row["_id"], content=content, scope=scope)
    yield EvaluationSet(name=folder.name, documents=tuple(documents.values()), questions=_answerable(tuple(questions)))


def _cases(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield single questions, then the turns of sessions, whose queries are the user's messages."""
    yield from _json(folder, "retrieval")
    if any(path.name.split(".")[0] == "session-retrieval" for path in folder.iterdir()):
        for session in _json(folder, "session-retrieval"):
            for turn in session["turns"]:
                number = f"{session['caseId']}/{turn['turnIndex']}"
                yield {**turn, "caseId": number, "query": turn["userMessage"], "category": "Sessions"}


def _answering(facts: list[Document], question: str, answers: list[str]) -> list[str]:
    """Return the latest fact that ends with an answer and shares the most words with the question."""
    words = set(re.findall(r"\w+", question.lower()))
    candidates = [
        (len(words & set(re.findall(r"\w+", fact.content.lower()))), index, fact.id)
        for index, fact in enumerate(facts)
        if any(fact.content.rstrip(".").endswith(answer) for answer in answers)
    ]
    return [max(candidates)[2]] if candidates else []


def _is_scored(row: dict[str, Any]) -> bool:
    """Return whether a question has an answer among the documents, according to its line."""
    kinds = {str(row.get("cat")), str(row.get("category"))}
    return not kinds & _ADVERSARIAL and not _LEFT_OUT & set(row.get("flags") or ())


def _ids(values: Iterable[object]) -> frozenset[str]:
    return frozenset(map(str, values))


def _scope(row: dict[str, Any]) -> str | None:
    return None if row.get("scope") is None else str(row["scope"])


def _answerable(questions: tuple[EvaluationQuestion, ...]) -> tuple[EvaluationQuestion, ...]:
    return tuple(question for question in questions if question.gold and question.text.strip())


def _rows(folder: Path, stem: str) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(_text(folder, stem).split("\n"), 1):
        if line.strip():
            row = _parsed(line, f"{folder / stem}, line {number}")
            if not isinstance(row, dict):
                raise InvalidInput(f"{folder / stem}, line {number}: not a JSON object")
            yield row


def _json(folder: Path, stem: str) -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = _parsed(_text(folder, stem), str(folder / stem))
    return loaded


def _parsed(text: str, source: str) -> Any:  # noqa: ANN401  # whatever JSON holds
    try:
        return json.loads(text)
    except ValueError as exc:
        raise InvalidInput(f"{source}: not JSON ({exc})") from exc


def _text(folder: Path, stem: str) -> str:
    path = next(path for path in sorted(folder.iterdir()) if path.name.split(".")[0] == stem)
    try:
        data = path.read_bytes()
        return (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")
    except (OSError, EOFError, UnicodeDecodeError) as exc:
        raise InvalidInput(f"cannot read {path}: {exc}") from exc


def _moment(value: object) -> datetime | None:
    """Return a moment in any of these forms, in UTC if it has no time zone."""
    text = str(value)
    for form in (None, *_TIMES):
        try:
            moment = datetime.fromisoformat(text) if form is None else datetime.strptime(text, form).replace(tzinfo=UTC)
        except ValueError:
            continue
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return None
