"""Turns of callers: no key occupies the threads of the server, and nobody works for a client that has gone.

A caller is an API key, or an address where no key is used. Some of its requests run at once, more of them wait for
their turn without a thread, and beyond that they are refused.
"""

from __future__ import annotations

from weakref import WeakValueDictionary

import anyio
from starlette.types import ASGIApp as App
from starlette.types import Message, Receive, Scope, Send

from memotherm.rest.problems import problem_response

#: How many requests of a caller run at once; all callers share the 40 threads of the pool.
AT_ONCE = 8
#: How many more of them wait for their turn.
WAITING = 64
#: They have no thread while they last, or one of their own.
_WITHOUT_TURN = ("/health", "/events/stream")
_REFUSED = f"{AT_ONCE} requests of this caller run and {WAITING} wait for their turn: send fewer at once, or try later"


def replay(message: Message, receive: Receive) -> Receive:
    """Return a `receive` that gives a message once, and then whatever comes after it."""
    unread = [message]

    async def read() -> Message:
        return unread.pop() if unread else await receive()

    return read


class _Caller:
    """The requests of a caller: how many there are, and their turns."""

    def __init__(self) -> None:
        self.requests = 0
        self.turns = anyio.Semaphore(AT_ONCE)


class Turn:
    """The turn of a request; one that goes on in threads of its own gives it up."""

    def __init__(self, turns: anyio.Semaphore) -> None:
        self._turns = turns
        self._held = False

    async def begin(self) -> None:
        """Wait for the turn."""
        await self._turns.acquire()
        self._held = True

    def end(self) -> None:
        """Let the next request run, once."""
        if self._held:
            self._held = False
            self._turns.release()


class Turns:
    """Passes on requests when it is the turn of their caller, and gives up those of clients that have gone."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._callers: WeakValueDictionary[str, _Caller] = WeakValueDictionary()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, wait, or refuse it."""
        if scope["type"] != "http" or scope["path"] in _WITHOUT_TURN:
            return await self._app(scope, receive, send)
        caller = self._callers.setdefault(scope["memotherm.caller"], _Caller())
        if caller.requests >= AT_ONCE + WAITING:
            refused = problem_response(429, "too_many_at_once", _REFUSED, {"retry-after": "1"})
            return await refused(scope, receive, send)
        turn = scope["memotherm.turn"] = Turn(caller.turns)
        caller.requests += 1
        try:
            return await self._while_connected(turn, scope, receive, send)
        finally:
            caller.requests -= 1
            turn.end()

    async def _while_connected(self, turn: Turn, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the application in its turn, unless the client goes first; a thread that has begun is not stopped."""
        first = await receive()
        answered, error = False, None

        async def answer(message: Message) -> None:
            nonlocal answered
            answered = True
            await send(message)

        async with anyio.create_task_group() as group:

            async def watch() -> None:
                while (await receive())["type"] != "http.disconnect":
                    pass
                if not answered:
                    scope["memotherm.gone"] = True
                    group.cancel_scope.cancel()

            if first["type"] == "http.request" and not first.get("more_body"):
                group.start_soon(watch)
            try:
                await turn.begin()
                await self._app(scope, replay(first, receive), answer)
            except Exception as exc:  # noqa: BLE001 - raised below, not as a group
                error = exc
            group.cancel_scope.cancel()
        if error is not None:
            raise error
