"""What a failed command tells: the lines of its output that name an error, and the signatures of errors.

A signature is what remains of an error without paths, numbers, hashes and times.

    /home/ana/shop/api.ts:12: Cannot find module '@shop/config' (attempt 3)
    cannot find module '@shop/config' (attempt #)

Names in quotation marks are kept, because they are what the error is about. Two errors are the same if one of their
lines has the same signature. A long output is looked at from both ends: a compiler names the error first, a trace last.
"""

from __future__ import annotations

import re

from memotherm.text.patterns import lazy_pattern

__all__ = ["error_lines", "error_signature", "error_signatures"]

_END = 16 * 1024
_MOST_SIGNATURES = 40
#: A longer line is data; a shorter signature says nothing.
_LONGEST_LINE = 400
_SHORTEST, _FEWEST_WORDS = 12, 2
#: Without spaces, a few characters say as much: 接続が拒否されました.
_UNSPACED = lazy_pattern(r"[\u0e00-\u0eff\u3040-\u30ff\u4e00-\u9fff]{6}")

_CONTROL = lazy_pattern(r"[\x00-\x08\x0b-\x1f\x7f](?:(?<=\x1b)\[[0-9;?]{0,40}[A-Za-z])?")
_PART = lazy_pattern(
    r"(?<!\w)(?P<quoted>'[^'\n]{1,120}'|\"[^\"\n]{1,120}\"|`[^`\n]{1,120}`)(?!\w)"
    r"|(?P<time>\b\d{4}[-/]\d\d[-/]\d\d(?:[t ]\d\d:\d\d[\d:.,]{0,20})?(?:z|[+-]\d\d:?\d\d)?"
    r"|\b\d{1,2}:\d\d:\d\d[.,]?\d{0,9})"
    r"|(?P<hash>\b0x[0-9a-f]++|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{1,40}|\b(?=[a-f]{0,40}\d)[0-9a-f]{7,64}\b)"
    r"|(?<![\w.@+~/\\:-])(?P<path>(?:[a-z]:)?[\w.@+~/\\-]*+(?::\d+)*+(?:\(\d+,\d+\))?)"
    r"|(?P<number>(?<![\w])[+-]?\d[\d.,_]*+(?:ns|us|ms|s|m|h|%|[kmgt]i?b)?\b)"
)
_PLACE = lazy_pattern(r"(?::\d+)+$|\(\d+,\d+\)$")
_EXTENSION = lazy_pattern(r"[\w)\]]\.[a-z]\w{0,6}$")
#: How tools mark the lines of an error.
_MARKS = lazy_pattern(r"^(?:[^\w'\"`]+|e\s{2,}|(?:ba|z|)sh: (?:line )?(?:\d+: )?|zsh:\d+: |npm err! )+")
#: Frames of a trace, source text, differences, and lines that every failure has.
_FRAME = lazy_pattern(r"\s*(?:at |file \"|>>> referenced|[+#]|//|-{2,}>|\d+ \||note:|help:|> {2,})", re.IGNORECASE)
_GENERIC = lazy_pattern(
    r"traceback|exit code|exit status|process exited|error #|errors?$|fail(?:ed|ure)?:?$|build failed|command failed"
    r"|make(?:\[#\])?: |code \w+$|for more information|could not compile|caused by|tests?: |test suites?: |short test"
    r"|assert |failed tests?/|[#=. ]+(?:passed|failed)|# (?:passed|failed|error)|fatal error$|an error occurred$"
    r"|full output|in total|rerun with|a complete log|warning"
)


def error_signature(line: str) -> str:
    """Return what remains of a line of an error, in lower case; empty if that tells nothing."""
    if len(line) > _LONGEST_LINE or _FRAME.match(line):
        return ""
    plain = _CONTROL.sub("", line).strip().lower()
    told = " ".join(_PART.sub(_kept, _MARKS.sub("", plain)).split()).strip(" :.,;!-")
    letters = sum(map(str.isalpha, told))
    says_little = letters < _SHORTEST or told.count(" ") + 1 < _FEWEST_WORDS
    if (says_little and not _UNSPACED.search(told)) or _GENERIC.match(told):
        return ""
    return told


def error_signatures(output: str) -> tuple[str, ...]:
    """Return the signatures of the lines of an output, each once, in their order."""
    found = dict.fromkeys(filter(None, map(error_signature, _both_ends(output).split("\n"))))
    most = list(found)
    half = _MOST_SIGNATURES // 2
    return tuple(most if len(most) <= _MOST_SIGNATURES else [*most[:half], *most[-half:]])


def _both_ends(output: str) -> str:
    """Return an output; of a long one, its first and its last lines."""
    if len(output) <= 2 * _END:
        return output
    return f"{output[:_END].rpartition(chr(10))[0]}\n{output[-_END:].partition(chr(10))[2]}"


def _kept(match: re.Match[str]) -> str:
    """Return what is kept of a part of a line."""
    kind, text = match.lastgroup, match[0]
    if kind == "quoted":
        inner = text[1:-1]
        if inner.startswith(("/", "~/")) or inner[1:3] in (":\\", ":/"):
            inner = re.split(r"[/\\]", inner)[-1]
        return f"'{_NUMBERS.sub('#', _PLACE.sub('', inner))}'"
    if kind in ("number", "hash"):
        return "#"
    if kind == "path":
        return "" if _is_path(text) else _NUMBERS.sub("#", text)
    return ""


_NUMBERS = lazy_pattern(r"(?<!\w)\d[\d.,]*+(?!\w)")


def _is_path(text: str) -> bool:
    """Return whether a run of characters is the path of a file, rather than words with a slash or a dot."""
    bare = _PLACE.sub("", text)
    if bare != text:
        return "." in bare or "/" in bare
    steps = bare.count("/") + bare.count("\\")
    return steps > 0 and (bare.startswith(("/", "~", "./", "../")) or steps > 1 or _EXTENSION.search(bare) is not None)


# The lines that name an error

_MOST_LINES, _MOST_CHARS, _LAST_LINES = 12, 2000, 3
#: Words of which one is in nearly every line that names an error; looking for each is faster than one pattern.
_ERROR_WORDS = (
    "error", "exception", "fail", "fatal", "panic", "cannot", "can't", "could not", "unable", "not found", "no such",
    "denied", "refused", "undefined", "unknown", "unexpected", "invalid", "missing", "no module", "unresolved",
    "timed out", "timeout", "conflict", "abort", "assert", "no rule",
)  # fmt: skip
#: A line without spaces that is longer is a key, an address or data.
_LONGEST_WORD = 60


def error_lines(output: str) -> str:
    """Return the lines of a failed command that name an error, or its last ones; whole lines only."""
    cleaned = (line.strip() for line in _CONTROL.sub("", _both_ends(output)).split("\n"))
    told = [line for line in cleaned if line and len(line) <= _LONGEST_LINE and _is_prose(line)]
    whole = "\n".join(told).lower()
    words = [word for word in _ERROR_WORDS if word in whole]
    named = (line for line in told if any(word in line.lower() for word in words)) if words else iter(())
    found = list(dict.fromkeys(named)) or told[-_LAST_LINES:]
    # The last lines of a trace name the error, the first ones of a compiler.
    half = _MOST_LINES // 2
    chosen, length = [], 0
    for line in found if len(found) <= _MOST_LINES else [*found[:half], *found[-half:]]:
        length += len(line) + 1
        if length > _MOST_CHARS:
            break
        chosen.append(line)
    return "\n".join(chosen)


def _is_prose(line: str) -> bool:
    return " " in line or len(line) <= _LONGEST_WORD
