"""Random values and requests: some follow a schema, some are made to break what reads them."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from tests.properties.texts import PIECES

_DEEP: Any = "deep"
for _ in range(60):
    _DEEP = {"x": [_DEEP]}
HOSTILE: tuple[Any, ...] = (
    None, True, 0, -1, 2**31, 2**63, -(2**64), 10**300, 0.1, 1e308, float("nan"), float("inf"), "", " ", "\0", "\ud800",
    "a" * 70_000, "é" * 5000, "( " * 3000, "*" * 3000, "../../../etc/passwd", "'; DROP TABLE memories; --", "%00%ff",
    "mem_00000000000000000000000000", "tenant=acme", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "-1d",
    "999999999d", "[" * 500, "\u202e\u2066", [], {}, [None], [[]] * 50, [1] * 3000, ["x"] * 3000, {"": ""}, {"$in": []},
    {"$gt": {"$gt": 1}}, {"x": {"$in": [float("nan")] * 900}}, {f"k{number}": number for number in range(900)}, _DEEP,
)  # fmt: skip


class Fuzz:
    """A source of values and requests, from one seed."""

    def __init__(self, seed: int, document: Mapping[str, Any]) -> None:
        self.dice = random.Random(seed)
        self._schemas = document.get("components", {}).get("schemas", {})
        #: Ids of memories that exist.
        self.ids: list[str] = []

    def value(self, schema: Mapping[str, Any], depth: int = 0) -> Any:
        """Return a value that mostly follows a schema."""
        pick = self.dice.choice
        if self.dice.random() < 0.2 or depth > 6:
            return pick(HOSTILE)
        schema = self._resolved(schema)
        if "enum" in schema:
            return pick(schema["enum"])
        match schema.get("type"):
            case "object":
                return self.members(schema, depth)
            case "array":
                return [self.value(schema.get("items", {}), depth + 1) for _ in range(self.dice.randrange(4))]
            case "integer" | "number":
                return pick((0, 1, 2, 3, 10, 100))
            case "boolean":
                return pick((True, False))
            case "string":
                return pick((pick(PIECES), pick(self.ids or [""]), "2026-01-05T09:00:00Z", "1d"))
        return pick(HOSTILE)

    def members(self, schema: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
        """Return an object with some of the members of a schema, and seldom one more."""
        required = schema.get("required", ())
        named = {
            name: self.value(each, depth + 1)
            for name, each in schema.get("properties", {}).items()
            if self.dice.random() < (0.95 if name in required else 0.3)
        }
        return {**named, "surplus": 1} if self.dice.random() < 0.03 else named

    def _resolved(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        while "$ref" in schema or "anyOf" in schema or "oneOf" in schema:
            choices = schema.get("anyOf") or schema.get("oneOf") or [self._schemas[schema["$ref"].rpartition("/")[2]]]
            schema = self.dice.choice(choices)
        return schema

    def request(self, path: str, operation: Mapping[str, Any]) -> tuple[str, bytes | None, dict[str, str]]:
        """Return the path, body and headers of a request for an operation of the OpenAPI document."""
        asked: list[tuple[str, str]] = []
        headers: dict[str, str] = {}
        for parameter in operation.get("parameters", ()):
            name, value = parameter["name"], self.value(parameter.get("schema", {}))
            text = value if isinstance(value, str) else json.dumps(value)
            if parameter["in"] == "path":
                path = path.replace(f"{{{name}}}", quote(text.encode("utf-8", "replace")[:2000], safe="") or "x")
            elif self.dice.random() < 0.4:
                if parameter["in"] == "query":
                    asked.append((name, text[:2000].encode("utf-8", "replace").decode()))
                else:
                    headers[name] = "".join(each for each in text[:200] if " " <= each <= "~")
        body = None
        if "requestBody" in operation:
            schema = next(iter(operation["requestBody"]["content"].values()))["schema"]
            body = self.body(self.value(schema))
        return path + ("?" + urlencode(asked) if asked else ""), body, headers

    def body(self, value: Any) -> bytes:
        """Return a value as JSON, seldom damaged."""
        data = bytearray(json.dumps(value).encode())
        if data and self.dice.random() < 0.03:
            data[self.dice.randrange(len(data))] = self.dice.randrange(256)
        return bytes(data)
