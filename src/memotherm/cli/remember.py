"""`memotherm remember`: store a memory."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import click

from memotherm.cli.options import StoreOptions, expires_option, json_option, kind_option, opened, store_option
from memotherm.cli.output import content_of, print_changed
from memotherm.cli.parsing import TextCommand
from memotherm.errors import InvalidInput
from memotherm.model import Priority, Tier
from memotherm.model.memory import PriorityName, TierName
from memotherm.tools.serializers import secret_warnings

__all__ = ["command"]


@click.command("remember", cls=TextCommand)
@click.argument("content")
@kind_option(default="fact", show_default=True, help="fact, preference, decision, task, ...")
@click.option("--tag", "-t", "tags", multiple=True, help="A tag (repeatable).")
@click.option("--tier", type=click.Choice([str(tier) for tier in Tier]), help="The tier; default: by the settings.")
@click.option(
    "--priority", "-p", type=click.Choice([str(priority) for priority in Priority]), default="normal",
    show_default=True, help="The priority.",
)  # fmt: skip
@click.option("--ttl", help="The time to live, such as 90m, 7d or a number of seconds.")
@expires_option
@click.option("--metadata", help="More data, as a JSON object.")
@click.option("--source", default="cli", show_default=True, help="The origin of the memory.")
@click.option("--supersedes", metavar="ID", help="The id of the memory that this one replaces.")
@click.option("--key", help="Your own name for it, unique in the scope; remembering it again replaces the content.")
@click.option("--no-index", is_flag=True, help="Make no vectors of it; it is found by its words only.")
@store_option
@json_option
def command(
    content: str,
    kind: str,
    tags: tuple[str, ...],
    tier: TierName | None,
    priority: PriorityName,
    ttl: str | None,
    expires_at: datetime | None,
    metadata: str | None,
    source: str,
    supersedes: str | None,
    key: str | None,
    no_index: bool,
    store: StoreOptions,
    as_json: bool,
) -> None:
    """Store a memory; `-` reads its content from standard input.

    \b
    memotherm remember "Deploys are frozen until Friday" --tag blocker --tier hot
    git log -1 --format=%B | memotherm remember - --kind decision --project shop
    memotherm remember "Ship on Monday" --key plans/release
    """
    text = content_of(content)
    with opened(store) as mem:
        memory = mem.remember(
            text,
            kind=kind,
            tags=tags,
            tier=tier,
            priority=priority,
            ttl=_duration(ttl),
            expires_at=expires_at,
            metadata=_object(metadata),
            source=source,
            supersedes=None if supersedes is None else mem.full_id(supersedes),
            key=key,
            index=not no_index,
        )
        warnings = secret_warnings(mem.secrets_in(text))
    print_changed(memory, as_json=as_json, warnings=warnings)


def _duration(text: str | None) -> float | str | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def _object(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        value = json.loads(text)
    except ValueError as exc:
        raise InvalidInput(f'--metadata is not JSON: write it like \'{{"key": "value"}}\' ({exc})') from exc
    if not isinstance(value, dict):
        raise InvalidInput('--metadata must be a JSON object such as {"key": "value"}')
    return value
