"""The dashboard: web pages that call the public REST routes, as static files under a strict content security policy."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from memotherm.model.actions import Action
from memotherm.model.receipts import GROUPS, PARTS

__all__ = ["ASSETS_PATH", "INDEX_PATH", "routes"]


#: The path of the page, and that of its scripts and styles.
INDEX_PATH = "/"
ASSETS_PATH = "/dashboard/"
#: Scripts and styles come from this server only, none is inline, and no other page may embed the dashboard.
_HEADERS = {
    "content-security-policy": "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'",
    "cross-origin-opener-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
#: The page is asked for each time. It names its files by the digest of all of them, so a browser asks for these once.
_INDEX_HEADERS = {**_HEADERS, "cache-control": "no-cache"}
_ASSET_HEADERS = {**_HEADERS, "cache-control": "public, max-age=31536000, immutable"}

_FOLDER = Path(__file__).parent / "static"
_INDEX = "index.html"
#: Where the page has the words for the events of the ledger, and for the reasons of receipts.
_WORDS = '<script type="application/json" id="words">'
_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


def routes() -> list[BaseRoute]:
    """Return the routes of the page and of its files, which are read once."""
    paths = sorted(path for path in _FOLDER.rglob("*") if path.is_file())
    contents = {path.relative_to(_FOLDER).as_posix(): path.read_bytes() for path in paths}
    words = {"DONE": {action.value: action.done for action in Action}, "GROUPS": GROUPS, "PARTS": PARTS}
    assets = f"{ASSETS_PATH}{hashlib.sha256(b''.join(contents.values())).hexdigest()[:16]}/"
    page = contents.pop(_INDEX).decode().replace(ASSETS_PATH, assets).replace(_WORDS, _WORDS + json.dumps(words))

    async def index(request: Request) -> Response:  # noqa: ARG001
        return Response(page, media_type="text/html", headers=_INDEX_HEADERS)

    async def asset(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in contents:
            raise HTTPException(404)
        return Response(contents[name], media_type=_TYPES.get(Path(name).suffix, "text/plain"), headers=_ASSET_HEADERS)

    return [Route(INDEX_PATH, index, methods=["GET"]), Route(f"{assets}{{name:path}}", asset, methods=["GET"])]
