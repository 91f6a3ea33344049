"""Consistency checks of a PostgreSQL store."""

from __future__ import annotations

from collections.abc import Iterator

from memotherm.model import Tier
from memotherm.model.results import Problem
from memotherm.storage import checks
from memotherm.storage.checks import Indexed
from memotherm.storage.postgres.routing import COPIED
from memotherm.storage.postgres.statements import PostgresStatements
from memotherm.storage.rows import TIERS
from memotherm.storage.values import Identity


def check(statements: PostgresStatements, identity: Identity | None) -> list[Problem]:
    """Return every disagreement; numbers of events may have gaps, where a transaction was taken back."""
    return [
        *checks.memories(statements, _indexed(statements)),
        *checks.vectors(statements, identity),
        *_vector_tiers(statements),
        *checks.counters(statements),
        *checks.ledger(statements),
        *checks.chunks(statements),
        *(_copies(statements) if statements.distributed else ()),
    ]


def _indexed(statements: PostgresStatements) -> Iterator[tuple[Indexed, str]]:
    for no, space, tier, words in statements.each("check_texts"):
        current = TIERS[tier]
        yield Indexed("text_cold" if current is Tier.COLD else "text_live", space, current, no), words


def _copies(statements: PostgresStatements) -> Iterator[Problem]:
    for table in COPIED:
        ((different,),) = statements.rows_of("check_copies", {"table": table})
        if different:
            detail = f"{different} rows without a tenant differ between {table} and its copies on the nodes"
            yield Problem(code="copies", detail=detail)


def _vector_tiers(statements: PostgresStatements) -> Iterator[Problem]:
    for (memory_id,) in statements.rows("check_vector_tiers"):
        yield Problem(
            code="vector_place", detail=f"the vectors of {memory_id} have another space or tier than the memory"
        )
