"""Log browsers in and out."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from typing_extensions import TypedDict

from memotherm import Memotherm
from memotherm.rest.dependencies import View
from memotherm.rest.keys import Key
from memotherm.rest.logins import LIFETIME, Logins, cookie_name, cookie_of
from memotherm.rest.middleware import port_of
from memotherm.rest.problems import PROBLEMS

__all__ = ["router"]

router = APIRouter(tags=["server"], responses=PROBLEMS)


class Login(TypedDict):
    """Whose memories the requests of a caller see."""

    #: The name of the API key; null if the caller needs none.
    key: str | None
    scope: dict[str, str]
    #: Whether requests may only read.
    read_only: bool
    #: Whether the caller is a browser that has logged in.
    cookie: bool


@router.post("/login", operation_id="login")
def login(view: View, request: Request, response: Response) -> Login:
    """Exchange the API key, or the one-time token, of the Authorization header for a cookie."""
    authorization = request.headers.get("authorization")
    if authorization is not None:
        secret = None if request.scope.get("memotherm.token") else authorization.partition(" ")[2].strip()
        logins: Logins = request.app.state.logins
        response.set_cookie(
            cookie_name(port_of(request.scope)),
            logins.begin(secret),
            max_age=int(LIFETIME.total_seconds()),
            secure=request.url.scheme == "https",
            httponly=True,
            samesite="strict",
        )
    return _login_json(view, request, cookie=authorization is not None)


@router.get("/login", operation_id="login_status")
def login_status(view: View, request: Request) -> Login:
    """Return whose memories the caller sees."""
    return _login_json(view, request, cookie=_cookie(request) is not None)


@router.delete("/login", operation_id="logout", status_code=204)
def logout(view: View, request: Request, response: Response) -> None:  # noqa: ARG001 - only callers with access
    """End the login of the browser."""
    cookie = _cookie(request)
    if cookie is not None:
        request.app.state.logins.end(cookie)
        response.delete_cookie(cookie_name(port_of(request.scope)), httponly=True, samesite="strict")


def _cookie(request: Request) -> str | None:
    return cookie_of(request.headers.get("cookie"), port_of(request.scope))


def _login_json(view: Memotherm, request: Request, *, cookie: bool) -> Login:
    key: Key | None = request.scope.get("memotherm.key")
    return Login(
        key=None if key is None else key.name,
        scope=dict(view.scope.items()),
        read_only=key is not None and key.read_only,
        cookie=cookie,
    )
