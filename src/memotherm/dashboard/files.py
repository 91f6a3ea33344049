"""Serve the files of the dashboard, under a strict content security policy."""

from __future__ import annotations

import os
from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

#: The path of the page, and that of its scripts and styles.
INDEX_PATH = "/"
ASSETS_PATH = "/dashboard/"
#: Scripts and styles come from this server only, none is inline, and no other page may embed the dashboard.
HEADERS = {
    "content-security-policy": "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'",
    "cross-origin-opener-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    # The browser asks each time whether a file has changed: a new version of the package brings new files.
    "cache-control": "no-cache",
}

_FOLDER = Path(__file__).parent / "static"


class _Assets(StaticFiles):
    """Static files with the headers of the dashboard."""

    def file_response(
        self, full_path: str | os.PathLike[str], stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        """Return a file, or 304 if the browser has it."""
        response = super().file_response(full_path, stat_result, scope, status_code)
        response.headers.update(HEADERS)
        return response


def routes() -> list[BaseRoute]:
    """Return the routes of the page and of its files."""
    return [
        Route(INDEX_PATH, _index, methods=["GET"]),
        Mount(ASSETS_PATH.rstrip("/"), _Assets(directory=_FOLDER), name="dashboard"),
    ]


async def _index(request: Request) -> Response:  # noqa: ARG001
    return FileResponse(_FOLDER / "index.html", headers=HEADERS)
