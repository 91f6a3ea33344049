"""A scripted agent with a known failure in each of 20 tasks: how often it repeats the failure, and what it is sent.

It does what it did before, unless a text names the other way before the tool runs; after a failure it takes the way
that it is shown, or does not know one. So this measures whether the text is there in time, and not what a model does
with it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from memotherm import Memotherm
from memotherm.hooks.events import parse_event
from memotherm.hooks.recall import told_at_call
from memotherm.settings import Settings
from memotherm.text.tokens import count_tokens

#: The command that fails, the error, and the command to use instead.
_TASKS = [
    ("npm test", "Error: Cannot find module 'vitest'", "pnpm test"),
    ("pip install -e .", "error: externally-managed-environment of this interpreter", "uv sync"),
    ("alembic upgrade head", "FAILED: Multiple head revisions are present for given argument", "alembic upgrade heads"),
    ("docker compose up", "Error response from daemon: port is already allocated", "make stack"),
    ("pytest tests/e2e", "E   fixture 'browser' not found", "make e2e"),
    ("cargo build", "error: linker 'cc' not found", "just build"),
    ("go test ./...", "pkg/db: undefined: sqlite3.Driver", "go test -tags sqlite ./..."),
    ("terraform apply", "Error: Error acquiring the state lock", "bin/deploy plan"),
    ("git push origin main", "remote: error: GH006: Protected branch update failed", "gh pr create"),
    ("yarn build", "error: Your lockfile needs to be updated", "corepack yarn build"),
    ("python manage.py migrate", "django.db.utils.OperationalError: no such table: auth_user", "make migrate"),
    ("bundle exec rspec", "An error occurred while loading './spec/rails_helper.rb'", "bin/rspec"),
    ("mvn package", "Fatal error compiling: invalid target release: 21", "./mvnw package"),
    ("gradle test", "Could not determine java version from '21.0.1'", "./gradlew test"),
    ("kubectl apply -f k8s", "error: You must be logged in to the server (Unauthorized)", "bin/kube apply"),
    ("flask run", "Error: Could not locate a Flask application", "make serve"),
    ("black src", "error: cannot format src/gen.py: Cannot parse", "ruff format"),
    ("mypy src", "error: Duplicate module named 'conftest'", "make types"),
    ("helm upgrade shop", "Error: UPGRADE FAILED: another operation is in progress", "bin/release"),
    ("make test", "ModuleNotFoundError: No module named 'yaml'", "make venv test"),
]


def _attempts(mem: Memotherm, task: int, settings: Settings, folder: Path) -> tuple[bool, int, int]:
    """Return whether the agent repeats the failure, its calls until it is done or gives up, and the tokens it gets."""
    command, error, other = _TASKS[task]
    session, known, tokens, failed = mem.session(f"s{task}"), False, 0, False

    def told(event: str, **fields: str) -> bool:
        nonlocal known, tokens
        given = {"hook_event_name": event, "session_id": f"s{task}", "cwd": str(folder), "tool_name": "Bash"}
        parsed = parse_event({**given, "tool_input": {"command": command}, **fields}, client="claude")
        assert parsed is not None
        assert parsed.call is not None
        found = told_at_call(session, parsed, parsed.call, settings)
        known |= other in found.text
        tokens += count_tokens(found.text) if found.text else 0
        return found.holds

    for calls in range(1, 4):
        if known:
            return failed, calls, tokens
        if not told("PreToolUse"):
            failed = True
            told("PostToolUseFailure", error=f"Exit code 1\n{error}")
    return failed, calls, tokens


@pytest.mark.sqlite
@pytest.mark.parametrize(
    ("kind", "hold_calls", "repeated", "solved", "most_tokens"),
    [("", False, 20, 0, 0), ("fix", False, 20, 20, 1400), ("rule", False, 20, 20, 1100), ("rule", True, 0, 20, 1100)],
)
def test_a_known_failure(
    mem: Memotherm, tmp_path: Path, kind: str, hold_calls: bool, repeated: int, solved: int, most_tokens: int
) -> None:
    """Without a memory it is repeated and stays unsolved; a fix or rule solves it, and only a held call prevents it."""
    for command, error, other in _TASKS if kind else ():
        rule = f"Never run `{command}` here: use `{other}`."
        fix = f"`{command}` failed: {error}\nIn one session, it succeeded after `{other}`."
        mem.remember(rule if kind == "rule" else fix, kind)
    settings = Settings(hold_calls=hold_calls)
    runs = [_attempts(mem, task, settings, tmp_path) for task in range(len(_TASKS))]
    failures, ends, tokens = zip(*runs, strict=True)
    assert sum(failures) == repeated
    assert sum(end < 3 for end in ends) == solved
    assert sum(tokens) <= most_tokens
