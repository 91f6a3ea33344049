"""The statements of all databases are made of the same templates, so a cluster routes each of them."""

from __future__ import annotations

import re

from memotherm.storage.postgres.routing import DISTRIBUTED
from memotherm.storage.statements import Template, load_templates

_TEMPLATES = load_templates("postgres", "citus")
_NAMED = re.compile(rf"(\b(FROM|JOIN|INTO|UPDATE)|\{{cross\}})\s+({'|'.join(DISTRIBUTED)})\b")


def _written(template: Template) -> str:
    """Return a template with its marks in braces, without their arguments."""
    marks = [f"{{{mark.name}}}" for mark in template.marks]
    return "".join(text + mark for text, mark in zip(template.texts, (*marks, ""), strict=True))


def test_a_table_with_a_tenant_is_named_by_a_mark() -> None:
    """A cluster cannot route a table that a statement names in its text: write `{table memories m}`."""
    assert [name for name, template in _TEMPLATES.items() if _NAMED.search(_written(template))] == []
