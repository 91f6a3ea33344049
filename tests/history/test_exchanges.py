"""From records to the texts that are worth storing."""

from __future__ import annotations

from datetime import UTC, datetime

from memotherm.history.exchanges import Exchange, exchanges, fix_of, texts_of
from memotherm.history.records import Record

_TIME = datetime(2026, 3, 5, 9, tzinfo=UTC)


def _record(number: int, role: str, text: str, **fields: object) -> Record:
    values = {"session": "s1", "parent": "", "time": _TIME, "project": "/w/shop", "branch": "main", **fields}
    return Record(id=f"r{number}", role=role, text=text, **values)  # type: ignore[arg-type]


def _exchange(prompt: str, answer: str = "") -> Exchange:
    return Exchange("r0", "s1", _TIME, "/w/shop", "main", prompt, answer)


def test_a_turn_is_a_prompt_and_its_last_answer() -> None:
    """What the agent says between its tool calls is left out."""
    records = [
        _record(0, "user", "why is checkout slow?"),
        _record(1, "assistant", "Let me look at it."),
        _record(2, "command", "pytest -q"),
        _record(3, "assistant", "The index on orders.created_at is missing."),
        _record(4, "user", "add it"),
    ]
    first, second = exchanges(records)
    assert (first.prompt, first.answer) == ("why is checkout slow?", "The index on orders.created_at is missing.")
    assert (second.id, second.prompt, second.answer) == ("r4", "add it", "")


def test_edited_files_are_named_once_and_relative_to_the_folder() -> None:
    """An edit that failed, and one outside the folder, tell it."""
    edits = ["/w/shop/src/app.py", "/w/shop/src/app.py", "/etc/hosts"]
    records = [_record(0, "user", "fix it"), *(_record(1, "edit", path) for path in edits)]
    records.append(_record(2, "edit", "/w/shop/never.py", failed=True))
    (exchange,) = exchanges(records)
    assert exchange.files == ["src/app.py", "/etc/hosts"]


def test_a_command_that_fails_and_then_succeeds_is_a_fix() -> None:
    """The error and the edits between both runs are kept, also over several turns."""
    error = "ModuleNotFoundError: No module named 'yaml'"
    records = [
        _record(0, "user", "run the tests"),
        _record(1, "command", "pytest -q", failed=True, output=error),
        _record(2, "user", "go on"),
        _record(3, "edit", "/w/shop/pyproject.toml"),
        _record(4, "command", "pytest -q"),
    ]
    first, second = exchanges(records)
    assert not first.fixes
    content = fix_of(second.fixes[0])
    assert (
        content.text == f"`pytest -q` failed: {error}\nIn one session, it succeeded after a change of pyproject.toml."
    )
    assert content.role == "assistant"


def test_a_command_that_succeeds_without_an_edit_is_no_fix() -> None:
    """Nothing says what made the error go away."""
    records = [
        _record(0, "user", "run the tests"),
        _record(1, "command", "curl api", failed=True, output="connection refused"),
        _record(2, "command", "curl api"),
    ]
    (exchange,) = exchanges(records)
    assert not exchange.fixes


def test_subagents_are_left_out() -> None:
    """Their prompts are the words of an agent."""
    records = [_record(0, "user", "count the tests", parent="s0"), _record(1, "assistant", "12", parent="s0")]
    assert list(exchanges(records)) == []


def test_statements_have_the_kind_that_hooks_give_them() -> None:
    """Rules, preferences, decisions and tasks are recognised by the same function."""
    prompt = "Always run ruff before you commit. We decided to use Postgres for the ledger. Where is the config?"
    kinds = {content.kind.name for content in texts_of(prompt, "It is in config/app.toml.", "estimate")}
    assert {"rule", "decision"} <= kinds


def test_decisions_of_the_agent_are_kept_as_its_words() -> None:
    """Only whole sentences that say so, and not twice."""
    answer = "I looked at both. We decided to use SQLite instead of Redis for the queue. The tests are green."
    found = texts_of("which queue do we take?", answer, "estimate")
    decided = [content for content in found if "SQLite" in content.text]
    assert len(decided) == 1
    assert decided[0].role == "assistant"


def test_filler_is_not_kept() -> None:
    """Thanks, greetings and "continue" say nothing."""
    for prompt in ("thanks!", "continue", "yes", "ok, go on"):
        assert texts_of(prompt, "", "estimate") == []


def test_a_command_that_names_the_error_is_a_remedy_and_the_same_shape_the_same_command() -> None:
    """`pytest tests` succeeds after `pip install pyyaml`; what does not name the error is left out."""
    records = [
        _record(0, "user", "run the tests"),
        _record(1, "command", "pytest -q", failed=True, output="ModuleNotFoundError: No module named 'yaml'"),
        _record(2, "command", "git status"),
        _record(3, "command", "npm run build"),
        _record(4, "command", "pip install pyyaml"),
        _record(5, "command", "pytest tests/test_a.py"),
    ]
    (exchange,) = exchanges(records)
    content = fix_of(exchange.fixes[0])
    assert content.text.endswith("In one session, it succeeded after `pip install pyyaml`.")
    assert content.kind.name == "fix"
