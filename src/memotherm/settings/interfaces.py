"""Settings: interfaces."""

from __future__ import annotations

from dataclasses import dataclass

from memotherm.settings.declaration import setting

__all__ = ["InterfaceSettings"]


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class InterfaceSettings:
    """What the tools and the server offer, and to whom."""

    __slots__ = ()

    mcp_tools: tuple[str, ...] = setting(
        ("core",), "The tools that the MCP server offers: core, all, one (a single tool), or names."
    )
    tool_result_tokens: int = setting(
        8000, "The most tokens of one tool result; what does not fit is left out and counted.", low=200, project=True
    )
    server_host: str = setting(
        "127.0.0.1", "The address that the server listens on; one that others can reach needs API keys."
    )
    server_port: int = setting(8077, "The port that the server listens on.", high=65_535)
    server_hosts: tuple[str, ...] = setting(
        (), "Host names accepted in requests, in addition to the server's address and localhost."
    )
    server_origins: tuple[str, ...] = setting((), "Origins of web pages whose scripts may call the server.")
    server_body_bytes: int = setting(4_194_304, "The largest request body, in bytes.", low=1)
    server_body_seconds: float = setting(30.0, "The longest time that a request body may take to arrive.", low=0.01)
    server_header_seconds: float = setting(
        30.0, "The longest time that the headers of a request may take to arrive.", low=0.01
    )
    server_rate_per_minute: int = setting(30_000, "The most requests of one key in a minute; 0: unlimited.")
    daemon: bool = setting(True, "Whether hooks start a daemon that answers the next hooks and commands faster.")
    daemon_idle_minutes: float = setting(30.0, "The time without a request after which the daemon ends.", low=0.01)
    trust_project: bool = setting(False, "Whether a project's settings file may set everything.")
