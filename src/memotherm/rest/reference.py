"""The page `/docs`: the OpenAPI document as HTML, without scripts and without anything from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import json
from html import escape
from typing import Any

Json = dict[str, Any]

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color-scheme: light dark; }
summary { cursor: pointer; padding: .3rem 0; } code, pre { font-family: ui-monospace, monospace; }
pre { overflow-x: auto; padding: .5rem; border: 1px solid; } td { padding-right: 1rem; vertical-align: top; }
"""  # noqa: E501
_STYLE_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
#: Nothing may be loaded or run; the style is known by its hash.
HEADERS = {
    "content-security-policy": f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
}


def page(document: Json) -> str:
    """Return an OpenAPI document as an HTML page."""
    info = document["info"]
    operations: dict[str, list[str]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            operations.setdefault(operation["tags"][0], []).append(_operation(method, path, operation))
    sections = "".join(f"<h2>{escape(tag)}</h2>{''.join(entries)}" for tag, entries in operations.items())
    schemas = "".join(
        f'<details id="{escape(name)}"><summary><code>{escape(name)}</code></summary>'
        f"<pre>{escape(json.dumps(schema, indent=2, ensure_ascii=False))}</pre></details>"
        for name, schema in sorted(document["components"]["schemas"].items())
    )
    title = escape(f"{info['title']} {info['version']}")
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{_STYLE}</style></head><body><h1>{title}</h1><p>{escape(info['description'])}</p>"
        f'<p><a href="openapi.json">openapi.json</a></p>{sections}<h2>schemas</h2>{schemas}</body></html>'
    )


def _operation(method: str, path: str, operation: Json) -> str:
    parameters = "".join(
        f"<tr><td><code>{escape(each['name'])}</code></td><td>{escape(each['in'])}</td>"
        f"<td>{escape(each.get('description', ''))}</td></tr>"
        for each in operation.get("parameters", ())
    )
    names = _schema_names(operation.get("requestBody", {})), _schema_names(operation["responses"].get("200", {}))
    links = "".join(
        f'<p>{label}: <a href="#{escape(name)}"><code>{escape(name)}</code></a></p>'
        for label, found in zip(("Request", "Response"), names, strict=True)
        for name in found
    )
    return (
        f"<details><summary><code>{escape(method.upper())} {escape(path)}</code> {escape(operation['description'])}"
        f"</summary><table>{parameters}</table>{links}</details>"
    )


def _schema_names(part: Json) -> list[str]:
    """Return the names of the schemas that a request body or a response refers to."""
    schemas = [content.get("schema", {}) for content in part.get("content", {}).values()]
    found = [each for schema in schemas for each in (schema, *schema.get("anyOf", ()))]
    return [each["$ref"].rpartition("/")[2] for each in found if "$ref" in each]
