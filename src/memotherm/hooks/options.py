"""The options of `memotherm hook`, parsed without errors: a usage error must never reach the host."""

from __future__ import annotations

from memotherm.hooks.events import CLIENTS

__all__ = ["SCOPE_OPTIONS", "Options"]

#: The options that name a scope, in the order of the server's header, which has no tenant.
SCOPE_OPTIONS = ("tenant", "project", "environment", "user", "agent")
_MAX_BUDGET = 2400


class Options:
    """The parsed command line of a hook; unknown arguments are ignored."""

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
        self._parse(list(arguments))

    def _parse(self, arguments: list[str]) -> None:
        while arguments:
            name, equals, value = arguments.pop(0).partition("=")
            if name in ("--no-capture", "--no-worker", "--selftest"):
                setattr(self, name.removeprefix("--").removeprefix("no-"), name == "--selftest")
            elif name.startswith("--"):
                self._set(name[2:], value if equals or not arguments else arguments.pop(0))
            elif not self.event:
                self.event = name

    def _set(self, name: str, value: str) -> None:
        if name in SCOPE_OPTIONS:
            self.scope[name] = value
        elif name == "store":
            self.store = value
        elif name == "client" and value in CLIENTS:
            self.client = value
        elif name == "budget" and value.isdecimal():
            self.budget = min(int(value), _MAX_BUDGET)
        elif name == "deadline":
            self.deadline = max(0.0, float(value))
