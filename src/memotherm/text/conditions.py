"""Conditions that end a statement: what becomes true in a repository when it no longer holds.

A condition is about what a repository tells by itself: branches, commits, tags, versions and files. Its text is

    branch NAME exists | branch NAME is gone | branch NAME is merged
    tag at least 2.0 | version at least 2.0 | version of NAME at least 3.13
    file PATH exists | file PATH is gone | file PATH contains "TEXT" | file PATH lacks "TEXT"
    commit ID is in BRANCH
"""

from __future__ import annotations

from typing import NamedTuple

from memotherm.text.patterns import lazy_pattern

__all__ = ["RELEASE", "UNNAMED", "Condition", "opposite", "parse_condition"]

#: A longer text is a report.
_MAX_CHARS = 400
_OPPOSITES = {"exists": "is gone", "is gone": "exists", "contains": "lacks", "lacks": "contains"}
#: What stands for a name that only the repository can tell.
UNNAMED, RELEASE = "?", "release*"

_VERSION = r"\d+(?:\.\d+){0,3}"
_FORMS = (
    lazy_pattern(r"(?P<subject>branch) (?P<name>\S{1,200}) (?P<state>exists|is gone|is merged)"),
    lazy_pattern(
        rf"(?P<subject>tag|version)(?: of (?P<name>\S{{1,100}}))? (?P<state>at least|>=) v?(?P<value>{_VERSION})"
    ),
    lazy_pattern(r"(?P<subject>file) (?P<name>\S.{0,298}\S|\S) (?P<state>exists|is gone)"),
    lazy_pattern(r'(?P<subject>file) (?P<name>[^"]{1,300}) (?P<state>contains|lacks) "(?P<value>[^"]{1,200})"'),
    lazy_pattern(r"(?P<subject>commit) (?P<name>[0-9a-f]{7,64}) (?P<state>is in) (?P<value>\S{1,200})"),
)
_BRANCH_NAME = lazy_pattern(r"(?!.*(?:\.\.|//|@\{|\.lock$))[^\s~^:?*\[\\\x00-\x1f\x7f/.-][^\s~^:?*\[\\\x00-\x1f\x7f]*")


class Condition(NamedTuple):
    """What becomes true when a statement ends."""

    #: branch, tag, version, file or commit.
    subject: str
    #: The branch, the package, the path or the commit; empty for the project itself.
    name: str
    #: exists, is gone, is merged, at least, contains, lacks, or is in.
    state: str
    #: The version, the text or the branch.
    value: str = ""

    def __str__(self) -> str:
        if self.subject in ("tag", "version"):
            return f"{self.subject}{f' of {self.name}' if self.name else ''} at least {self.value}"
        value = {"contains": f' "{self.value}"', "lacks": f' "{self.value}"', "is in": f" {self.value}"}
        return f"{self.subject} {self.name} {self.state}{value.get(self.state, '')}"


def parse_condition(text: str) -> Condition | None:
    """Return the condition that a text is; None if it is none, or names what lies outside of a project."""
    for form in _FORMS if len(text) <= _MAX_CHARS else ():
        if found := form.fullmatch(" ".join(text.split())):
            parts = {name: value or "" for name, value in found.groupdict().items()}
            condition = Condition(**parts)._replace(state=parts["state"].replace(">=", "at least"))
            return condition if _is_sound(condition) else None
    return None


def _is_sound(condition: Condition) -> bool:
    """Return whether its name can be one of a project: no path that leads out, no option in place of a branch."""
    if condition.subject == "file":
        path = condition.name
        parts = path.split("/")
        return not (path.startswith(("/", "~")) or "\\" in path or ":" in path or ".." in parts or ".git" in parts)
    branch = condition.name if condition.subject == "branch" else condition.value
    return condition.subject not in ("branch", "commit") or _BRANCH_NAME.fullmatch(branch) is not None


def opposite(condition: Condition) -> Condition | None:
    """Return the condition that is true when another one is not; None if there is none."""
    state = _OPPOSITES.get(condition.state)
    return None if state is None else condition._replace(state=state)
