"""A first day with Memotherm: two projects, a decision, a restart, and twenty prompts of which ten are small talk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Protocol

from memotherm.text.tokens import count_tokens

__all__ = [
    "AFTERNOON",
    "DECISION",
    "DECISION_PROMPT",
    "FACTS",
    "MORNING",
    "Conversation",
    "Injected",
    "Turn",
    "Visit",
    "summary",
    "turns",
]

#: What each project knows before the first prompt; the first memory is hot.
FACTS = {
    "harbor": (
        "Deploys of harbor are frozen until the audit on Friday",
        "Backups of the harbor database are kept for 35 days",
        "The harbor test suite needs Redis and takes nine minutes",
        "Tomas owns the billing code of harbor",
        "Harbor logs go to the bucket pier-logs",
        "The harbor mobile client is written in Kotlin",
    ),
    "orchard": (
        "The orchard certificate expires this week and must be renewed",
        "Ines reviews every change of the orchard payment module",
        "Orchard is released on Tuesdays by the script bin/cider",
        "The orchard feature flags are stored in etcd",
        "The orchard data warehouse is loaded every night at two",
        "Orchard supports Firefox from version 115 on",
    ),
}
DECISION_PROMPT = "Please store the decision that we have just made about invoices."
DECISION = "Invoices are stored in PostgreSQL, not in MongoDB"


@dataclass(frozen=True)
class Prompt:
    """One prompt: small talk, a statement, or a question with what a memory must say to answer it."""

    text: str
    kind: str
    answer: str = ""


@dataclass(frozen=True)
class Visit:
    """One session in a project."""

    project: str
    prompts: tuple[Prompt, ...]


def _talk(text: str) -> Prompt:
    return Prompt(text, "small talk")


def _say(text: str) -> Prompt:
    return Prompt(text, "statement")


def _ask(text: str, answer: str) -> Prompt:
    return Prompt(text, "question", answer)


MORNING = (
    Visit(
        "harbor",
        (
            _talk("good morning"),
            _say("The release branch of this repository is called quayside."),
            _talk("thanks"),
            _say(DECISION_PROMPT),
            _say("I prefer answers in British English"),
            _talk("continue"),
        ),
    ),
    Visit(
        "orchard",
        (
            _talk("hello"),
            _say("The staging server of this repository listens on port 7411."),
            _talk("looks good to me"),
            _talk("good work today"),
        ),
    ),
)
AFTERNOON = (
    Visit(
        "harbor",
        (
            _talk("ok I'm back, let's go on"),
            _ask("Where do we store invoices?", "PostgreSQL"),
            _talk("great, thank you!"),
            _ask("What is the release branch called?", "quayside"),
            _ask("How long do we keep backups of the database?", "35 days"),
        ),
    ),
    Visit(
        "orchard",
        (
            _talk("hi again"),
            _ask("Which port does the staging server listen on?", "7411"),
            _ask("Which kind of English do I prefer in answers?", "British English"),
            _talk("yes please"),
            _ask("Who reviews changes of the payment module?", "Ines"),
        ),
    ),
)


class Injected(NamedTuple):
    """The text that a client injected since the last prompt: at the start of the session, and with the prompt."""

    at_start: str
    with_prompt: str


class Conversation(Protocol):
    """One session of a client."""

    def ask(self, prompt: str) -> Injected:
        """Send a prompt and return what was injected."""

    def end(self) -> None:
        """End the session."""


@dataclass(frozen=True)
class Turn:
    """What was injected with one prompt; the start of a session has no prompt."""

    project: str
    kind: str
    prompt: str
    tokens: int
    #: Whether the session had been given the answer by then; None where nothing was asked.
    answered: bool | None
    #: How many memories of the other project were injected.
    foreign: int


def turns(visit: Visit, conversation: Conversation) -> Iterator[Turn]:
    """Hold the conversation of a visit, and yield what was injected at its start and with each prompt."""
    given = ""
    for number, prompt in enumerate(visit.prompts):
        injected = conversation.ask(prompt.text)
        given += injected.at_start + injected.with_prompt
        # A client that resumes its session for each prompt starts it several times.
        if number == 0 or injected.at_start:
            yield _turn(visit.project, Prompt("", "session start"), injected.at_start, given)
        yield _turn(visit.project, prompt, injected.with_prompt, given)
    conversation.end()


def _turn(project: str, prompt: Prompt, injected: str, given: str) -> Turn:
    others = [fact for other, facts in FACTS.items() if other != project for fact in facts]
    return Turn(
        project=project,
        kind=prompt.kind,
        prompt=prompt.text,
        tokens=count_tokens(injected),
        answered=prompt.answer in given if prompt.kind == "question" else None,
        foreign=sum(fact in injected for fact in others),
    )


def summary(held: Sequence[Turn]) -> dict[str, Any]:
    """Return the sums of a day."""

    def of(kind: str) -> list[Turn]:
        return [turn for turn in held if turn.kind == kind]

    return {
        "prompts": sum(turn.kind != "session start" for turn in held),
        "tokens injected": sum(turn.tokens for turn in held),
        "tokens at session starts": sum(turn.tokens for turn in of("session start")),
        "tokens with small talk": sum(turn.tokens for turn in of("small talk")),
        "small talk without injection": sum(not turn.tokens for turn in of("small talk")),
        "small talk": len(of("small talk")),
        "answers found": sum(turn.answered is True for turn in held),
        "questions": len(of("question")),
        "memories of the other project injected": sum(turn.foreign for turn in held),
        "turns": [asdict(turn) for turn in held],
    }
