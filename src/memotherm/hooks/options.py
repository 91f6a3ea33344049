"""The options of `memotherm hook`, read by hand: a usage error must never reach the host."""

from __future__ import annotations

from memotherm.hooks.events import CLIENTS

__all__ = ["Options"]

_SCOPES = ("tenant", "project", "environment", "user", "agent")


class Options:
    """What the command line of a hook may say; anything it does not know is ignored."""

    def __init__(self, arguments: list[str]) -> None:
        self.client = "auto"
        self.event = ""
        self.store: str | None = None
        self.scope: dict[str, str] = {}
        self.budget = 2000
        self.deadline: float | None = None
        self.capture = True
        self.worker = True
        self.selftest = False
        self._read(list(arguments))

    def _read(self, rest: list[str]) -> None:
        while rest:
            name, equals, value = rest.pop(0).partition("=")
            if name in ("--no-capture", "--no-worker", "--selftest"):
                setattr(self, name.removeprefix("--").removeprefix("no-"), name == "--selftest")
            elif name.startswith("--"):
                self._take(name[2:], value if equals or not rest else rest.pop(0))
            elif not self.event:
                self.event = name

    def _take(self, name: str, value: str) -> None:
        if name in _SCOPES:
            self.scope[name] = value
        elif name == "store":
            self.store = value
        elif name == "client" and value in CLIENTS:
            self.client = value
        elif name == "budget" and value.isdecimal():
            self.budget = min(int(value), 2400)
        elif name == "deadline":
            self.deadline = max(0.0, float(value))
