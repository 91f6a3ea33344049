"""A time limit for the headers of a request, which arrive before any application is called."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

__all__ = ["HeaderLimit"]

#: uvicorn's protocol: that of h11, or of httptools if it is installed.
_Protocol: Any = AutoHTTPProtocol
#: How long the headers of a request may take to arrive: a caller that never ends them must not hold a connection.
HEADER_SECONDS = 30.0


class HeaderLimit(_Protocol):  # type: ignore[misc,unused-ignore]
    """Closes connections whose request headers take too long.

    The time begins with the connection, and after a response with the first byte of the next request.
    """

    _limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Start the limit of the first request."""
        super().connection_made(transport)
        self._begin_limit()

    def data_received(self, data: bytes) -> None:
        """End the limit when the headers are complete; start that of the next request."""
        super().data_received(data)
        if self.cycle is None or self.cycle.response_complete:
            self._begin_limit()
        else:
            self._end_limit()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the limit."""
        self._end_limit()
        super().connection_lost(exc)

    def _begin_limit(self) -> None:
        if self._limit is None:
            self._limit = self.loop.call_later(HEADER_SECONDS, self.transport.close)

    def _end_limit(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None
