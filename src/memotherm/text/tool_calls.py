"""Tool calls of coding agents, and the commands in them.

The hook of a tool imports this module before anything else, so it imports little of the standard library.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from memotherm.text.patterns import lazy_pattern

__all__ = ["COMMAND_WORD", "Command", "ToolCall", "call_names", "command_shape", "commands", "listed"]


class ToolCall(NamedTuple):
    """A call of a tool by an agent."""

    tool: str
    #: The files that it reads or changes, relative to the root of the working tree where they are inside it.
    paths: tuple[str, ...] = ()
    command: str = ""
    #: The output of a command that failed.
    error: str = ""
    #: What a subagent is asked to do.
    task: str = ""

    @property
    def query(self) -> str:
        """What is searched for at the call."""
        return " ".join((*self.paths, self.command, self.error, self.task))

    def __str__(self) -> str:
        """The call in a few words."""
        about = self.command.strip().partition("\n")[0] or ", ".join(self.paths) or " ".join(self.task.split())
        return f"{self.tool}{' failed' * bool(self.error)}: {about[:_COMMAND_CHARS]}"


def listed(words: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(words.split())


# Commands

_COMMAND_CHARS = 200
_MOST_PARTS = 12
_SEPARATORS = lazy_pattern(r"\s*(?:&&|\|\||[;|\n])\s*")
COMMAND_WORD = lazy_pattern(r"[^\s'\"]+|'[^']*'|\"[^\"]*\"")
_ASSIGNMENT = lazy_pattern(r"[A-Za-z_]\w*=")
_SUBCOMMAND = lazy_pattern(r"[a-z][a-z0-9:_-]*")
#: Programs that only look, and whose arguments are what the agent looks at.
_LOOKING = listed(
    "ls cat head tail grep egrep rg ag find fd pwd echo printf wc sed awk less more cd which type tree stat file du df "
    "diff sort uniq cut tr xargs true sleep date env export test mkdir touch"
)
_LOOKING_GIT = listed("status diff log show branch blame grep remote fetch add rev-parse ls-files")
#: Words before the program that is meant.
_WRAPPERS = (("sudo",), ("time",), ("nice",), ("npx",), ("bunx",), ("uvx",), ("bundle", "exec"), ("uv", "run"),
             ("poetry", "run"), ("pnpm", "exec"), ("python", "-m"), ("python3", "-m"),
             ("bash", "-c"), ("bash", "-lc"), ("sh", "-c"), ("zsh", "-c"), ("zsh", "-lc"))  # fmt: skip
#: Options before a subcommand, each with a value: `git -C web push`.
_BEFORE_VALUES = listed(
    "-C -c -n -f -R -F --git-dir --work-tree --prefix --cwd --dir --directory --filter --namespace --context "
    "--kubeconfig --workspace --project --profile --region --repo --file"
)
_INTERPRETERS = listed("bash sh zsh python python3 node ruby perl php deno bun source .")


class Command(NamedTuple):
    """A command of a line."""

    program: str
    #: The first word that is no option or value of one, if it is a plain word.
    subcommand: str
    words: frozenset[str]
    options: frozenset[str]
    #: The file that is run.
    script: str = ""


@lru_cache(maxsize=256)
def commands(text: str) -> tuple[Command, ...]:
    """Return the commands of a line that do something; the inner one of `uv run pytest` as well."""
    line = text.strip().removeprefix("$ ").partition("\n")[0]
    if len(line) > _COMMAND_CHARS or "<<" in line:
        return ()
    found: list[Command] = []
    for part in _SEPARATORS.split(line)[:_MOST_PARTS]:
        words = [word.strip("'\"") for word in COMMAND_WORD.findall(part)]
        while words and _ASSIGNMENT.match(words[0]):
            words.pop(0)
        while words:
            found += _command(words)
            wrapper = next((each for each in _WRAPPERS if tuple(words[: len(each)]) == each), ())
            words = " ".join(words[len(wrapper) :]).split() if wrapper else []
    return tuple(found)


def _command(words: list[str]) -> list[Command]:
    program, arguments = words[0].rpartition("/")[2], words[1:]
    positional = [word for word in arguments if not word.startswith("-") and word not in (".", "..", "./...")]
    told = zip(("", *arguments), arguments, strict=False)
    free = [word for option, word in told if option not in _BEFORE_VALUES and word in positional]
    subcommand = free[0] if free and _SUBCOMMAND.fullmatch(free[0]) else ""
    if program in _LOOKING or (program == "git" and subcommand in _LOOKING_GIT) or not program:
        return []
    script = words[0] if "/" in words[0] else positional[0] if program in _INTERPRETERS and positional else ""
    options = frozenset(word.partition("=")[0] for word in arguments if word.startswith("-"))
    return [Command(program, subcommand, frozenset(positional), options, script)]


def command_shape(text: str) -> str:
    """Return what two commands of the same kind share: programs and subcommands; the command itself if it has none."""
    shapes = [f"{command.program} {command.subcommand}".strip() for command in commands(text)]
    return " && ".join(shapes) or text


def call_names(call: ToolCall) -> frozenset[str]:
    """Return the names in a call of which a memory that concerns it has one: steps of its paths, its programs."""
    run = commands(call.command)
    paths = (*call.paths, *(command.script for command in run))
    return frozenset(
        [step.lower() for path in paths for step in path.split("/")] + [command.program.lower() for command in run]
    )
