"""Letta: an agent file (.af), or the JSON list of an agent's archival memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from memotherm.notes.imports.reading import Draft, Import, json_value, moment, pieces, read_entries, tags_of, text_of

__all__ = ["read"]


def read(source: Path, reading: Import) -> None:
    """Read the blocks, the messages and the passages of agents."""
    data = json_value(source, reading)
    if isinstance(data, list):
        read_entries(data, reading, _passage, source.name)
        return
    if not isinstance(data, Mapping):
        reading.skip(source.name, "not an agent file")
        return
    read_entries([*_list(data, "blocks"), *_list(data, "core_memory")], reading, _block, f"{source.name} blocks")
    for agent in [*_list(data, "agents"), *([data] if "messages" in data else [])]:
        name = str(agent.get("name") or "") if isinstance(agent, Mapping) else ""
        messages = _list(agent, "messages") if isinstance(agent, Mapping) else []
        read_entries(messages, reading, partial(_message, name), f"{source.name} messages")
    read_entries([*_list(data, "passages"), *_list(data, "archival_memory")], reading, _passage, source.name)


def _list(data: Mapping[str, Any], name: str) -> list[Any]:
    value = data.get(name)
    return value if isinstance(value, list) else []


def _block(entry: Mapping[str, Any], now: datetime) -> Iterator[Draft]:
    """Yield a block of core memory; that of the user is about the person."""
    label = str(entry.get("label") or "block")
    for piece in pieces(text_of(entry, "value")):
        yield {
            "content": piece,
            "kind": "fact" if label == "human" else "context",
            "tags": [label],
            "metadata": _identity(entry),
            **moment(entry.get("created_at"), now),
        }


def _passage(entry: Mapping[str, Any], now: datetime) -> Iterator[Draft]:
    """Yield a passage of archival memory."""
    for piece in pieces(text_of(entry, "text")):
        yield {
            "content": piece,
            "tags": tags_of(entry.get("tags")),
            "metadata": {**(entry.get("metadata") or {}), **_identity(entry)},
            **moment(entry.get("created_at"), now),
        }


def _message(agent: str, entry: Mapping[str, Any], now: datetime) -> Iterator[Draft]:
    """Yield what the user or the agent said; calls of tools and system prompts are left out."""
    if entry.get("role") not in ("user", "assistant"):
        return
    content = entry.get("content", entry.get("text"))
    parts = content if isinstance(content, list) else [{"text": content}]
    text = "\n".join(str(part["text"]) for part in parts if isinstance(part, Mapping) and part.get("text"))
    for piece in pieces(text):
        yield {
            "content": piece,
            "kind": "message",
            "metadata": {"role": entry["role"], **({"agent": agent} if agent else {}), **_identity(entry)},
            **moment(entry.get("created_at"), now),
        }


def _identity(entry: Mapping[str, Any]) -> Draft:
    return {"original_id": str(entry["id"])} if entry.get("id") else {}
