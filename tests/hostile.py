"""Texts that take a long time where a reader looks at the same characters again and again."""

from __future__ import annotations

from collections.abc import Callable

#: What a text repeats: runs of one character of every class, alternations of two, and pieces of markup and of formats.
_REPEATED = {
    "letters": "a",
    "capitals": "A",
    "digits": "1",
    "zeros": "0",
    "spaces": " ",
    "tabs": "\t",
    "line feeds": "\n",
    "carriage returns": "\r\n",
    "hashes": "#",
    "hyphens": "-",
    "underscores": "_",
    "equals signs": "=",
    "stops": ".",
    "commas": ",",
    "colons": ":",
    "semicolons": ";",
    "slashes": "/",
    "backslashes": "\\",
    "at signs": "@",
    "stars": "*",
    "backticks": "`",
    "tildes": "~",
    "quotes": '"',
    "apostrophes": "'",
    "opening brackets": "[",
    "opening parentheses": "(",
    "opening braces": "{",
    "opening angles": "<",
    "closing angles": ">",
    "bars": "|",
    "plus signs": "+",
    "question marks": "?",
    "exclamation marks": "!",
    "percent signs": "%",
    "accented letters": "é",
    "combining marks": "\u0301",
    "letter and combining mark": "e\u0301",
    "ligature of eighteen letters": "\ufdfa",
    "Chinese": "漢",
    "Chinese clauses": "我们，",
    "Japanese": "です",
    "Korean": "한글",
    "Thai": "ที่",
    "Arabic": "سلام ",
    "Hebrew": "שלום",
    "Cyrillic": "до ",
    "Devanagari": "नमस्ते",
    "emoji": "\U0001f600",
    "joined emoji": "\U0001f468\u200d\U0001f469\u200d",
    "flags": "\U0001f1e9\U0001f1ea",
    "zero width spaces": "\u200b",
    "full width": "\uff1c",
    "replacement characters": "\ufffd",
    "words": "word ",
    "words of one letter": "a ",
    "numbers": "12 ",
    "conjunctions": "and ",
    "names and conjunctions": "Ann works and ",
    "capitalised words": "Abc ",
    "capitals and particles": "Abc de la ",
    "hyphenated words": "a-",
    "dotted words": "ab.",
    "underscored words": "a_",
    "slashed words": "a/",
    "words with commas": "a,",
    "sentences": "It is so. ",
    "short sentences": "a. ",
    "questions": "Why? ",
    "until": "until the next ",
    "tomorrow": "tomorrow ",
    "dates": "2026-03-04 ",
    "dotted numbers": "1.",
    "grouped numbers": "12-",
    "hexadecimal pairs": "ab:",
    "mail addresses": "a@b.",
    "local parts": "a+",
    "addresses": "http://a.",
    "hosts": "www.a/",
    "tokens of the web": "eyJhbGciOi.",
    "Base64": "aGVsbG8g",
    "assignments": "token=",
    "passwords": "password: ",
    "keys": "-----BEGIN PRIVATE KEY-----",
    "tags": "<b>",
    "private tags": "<private>",
    "comments": "<!-- ",
    "markers": "<memotherm-memory>",
    "open markers": "<memotherm-memory ",
    "control tokens": "<|im_start|",
    "links": "[a](b) ",
    "open links": "[a](",
    "bold": "**a ",
    "fences": "```\n",
    "list items": "- a\n",
    "headings": "# a\n",
    "deeper headings": "## a\n\n",
    "underlined": "a\n===\n",
    "rows of a table": "| a | b |\n",
    "rules": "---\n",
    "blank lines with spaces": " \n",
    "quoted lines": "> a\n",
    "lines": "a\n",
    "JSON": '{"a":',
    "JSON arrays": '["a", ',
    "TOML": "[[a]]\n",
    "turns": "User: a\nAssistant: b\n",
}


def _different(size: int) -> str:
    """Return words that are all different."""
    return " ".join(f"w{number:x}" for number in range(size // 5))


def _different_lines(size: int) -> str:
    return "\n".join(f"- l{number:x}" for number in range(size // 7))


def _deeper(size: int) -> str:
    """Return list items, each nested in the one before it."""
    depth, text = 0, ""
    while len(text) < size:
        text += f"{' ' * depth}- a\n"
        depth += 1
    return text


def _pyramid(opening: str, closing: str) -> Callable[[int], str]:
    return lambda size: opening * (size // (2 * len(opening))) + closing * (size // (2 * len(closing)))


def _repeated(part: str) -> Callable[[int], str]:
    return lambda size: part * (size // len(part))


def _ended(part: str, end: str) -> Callable[[int], str]:
    return lambda size: part * (size // len(part)) + end


#: The name of a text -> what makes one of about so many characters.
HOSTILE: dict[str, Callable[[int], str]] = {
    **{name: _repeated(part) for name, part in _REPEATED.items()},
    **{
        f"{name}, then something else": _ended(_REPEATED[name], "!x")
        for name in ("letters", "digits", "spaces", "tabs", "line feeds", "hashes", "hyphens", "stops", "backticks")
    },
    "different words": _different,
    "different lines": _different_lines,
    "nested items": _deeper,
    "nested brackets": _pyramid("[", "]"),
    "nested braces": _pyramid('{"a":', "}"),
    "nested parentheses": _pyramid("(", ")"),
    "nested quotes": _pyramid("“", "”"),
    "nested tags": _pyramid("<b>", "</b>"),
    "nested private passages": _pyramid("<private>", "</private>"),
    "nested markers": _pyramid("<memotherm-memory>", "</memotherm-memory>"),
}
