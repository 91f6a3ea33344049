"""What looks like a credential: known formats, and random values beside words such as password.

Every search takes linear time: repeats are bounded and give nothing back (possessive quantifiers).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["Found", "credentials", "private_passages"]


class Found(NamedTuple):
    """A part of a text that is to be redacted."""

    start: int
    end: int
    #: What it looks like, in plain words.
    name: str


_BEFORE = r"(?<![A-Za-z0-9])"
_AFTER = r"(?![A-Za-z0-9])"
#: With at least one digit, as opposed to words joined by hyphens.
_WITH_DIGIT = r"(?=[A-Za-z_-]{0,200}+[0-9])"
#: What it is called, a text in lower case that it contains, and its pattern.
_FORMATS = (
    ("an API key", "sk-", rf"{_BEFORE}sk-{_WITH_DIGIT}[A-Za-z0-9_-]{{20,300}}+"),
    ("a GitHub token", "gh", rf"{_BEFORE}gh[pousr]_[A-Za-z0-9]{{20,255}}+"),
    ("a GitHub token", "github_pat_", rf"{_BEFORE}github_pat_[A-Za-z0-9_]{{20,255}}+"),
    ("an AWS access key", "akia", rf"{_BEFORE}AKIA[A-Z0-9]{{16}}{_AFTER}"),
    ("an AWS access key", "asia", rf"{_BEFORE}ASIA[A-Z0-9]{{16}}{_AFTER}"),
    ("a Slack token", "xox", rf"{_BEFORE}xox[abeoprs]-{_WITH_DIGIT}[A-Za-z0-9-]{{10,300}}+"),
    ("a Google API key", "aiza", rf"{_BEFORE}AIza[A-Za-z0-9_-]{{30,100}}+"),
    ("a GitLab token", "glpat-", rf"{_BEFORE}glpat-[A-Za-z0-9_.-]{{20,300}}+"),
    ("an npm token", "npm_", rf"{_BEFORE}npm_[A-Za-z0-9]{{30,100}}+"),
    ("a PyPI token", "pypi-", rf"{_BEFORE}pypi-{_WITH_DIGIT}(?=[a-z0-9_-]{{0,200}}+[A-Z])[A-Za-z0-9_-]{{32,300}}+"),
    ("a Hugging Face token", "hf_", rf"{_BEFORE}hf_[A-Za-z0-9]{{30,100}}+"),
    ("a SendGrid key", "sg.", rf"{_BEFORE}SG\.[A-Za-z0-9_-]{{16,100}}+\.[A-Za-z0-9_-]{{16,100}}+"),
    ("a Stripe key", "k_", rf"{_BEFORE}[rs]k_(?:live|test)_[A-Za-z0-9]{{16,255}}+"),
    (
        "a JSON Web Token",
        "eyj",
        rf"{_BEFORE}eyJ[A-Za-z0-9_-]{{8,4000}}+\.[A-Za-z0-9_-]{{8,8000}}+(?:\.[A-Za-z0-9_-]{{0,4000}}+)?+",
    ),
    ("a Twilio key", "sk", rf"{_BEFORE}SK[0-9a-f]{{32}}{_AFTER}"),
    ("an age key", "age-secret-key-1", rf"{_BEFORE}AGE-SECRET-KEY-1[A-Z0-9]{{50,70}}+"),
    ("a Memotherm API key", "mtk_", rf"{_BEFORE}mtk_[A-Za-z0-9_-]{{16,300}}+"),
    (
        "a password in a URL",
        "://",
        (
            r"://[^\s/:@\"'<>\[\]]{0,100}+:(?P<secret>[^\s/@\"'<>\[\]]{1,200}+"
            r"(?:@[^\s/@\"'<>\[\]]{0,200}+(?=@)){0,8}+)(?=@)"
        ),
    ),
    (
        "a password of curl",
        "curl",
        r"\s(?:-u|--user)[ =]{1,3}[\"']?[^\s:\"']{1,100}+:(?![0-9]{1,9}(?:\s|$))(?P<secret>[^\s\"'<>\[\]]{4,200}+)",
    ),
    (
        "an Authorization header",
        "authorization",
        (
            r"(?i:authorization)[\"']?\s{0,4}[:=]\s{0,4}[\"']?(?:(?i:bearer|basic|token|digest|apikey)\s{1,4})?+"
            r"(?=.[a-z._-]{0,200}+[A-Z0-9+/=])(?P<secret>[^\s\"',;\[\]<>]{8,4000}+)"
        ),
    ),
    (
        "a bearer token",
        "bearer",
        r"\b(?i:bearer)\s{1,4}(?=[A-Za-z._~+/=-]{0,200}+[0-9])(?P<secret>[A-Za-z0-9._~+/=-]{16,4000}+)",
    ),
)

_WORDS_FOR_PASSWORDS = (
    "password|passwd|passphrase|pwd|passwort|kennwort|contraseña|mot de passe|senha|пароль|密码|密碼|パスワード"
)
_OTHER_WORDS = "secret|token|api[ _-]?key|access[ _-]?key|private[ _-]?key|account[ _-]?key|credentials?"
_ASSIGNED = re.compile(
    rf"""(?:(?P<password>{_WORDS_FOR_PASSWORDS})|{_OTHER_WORDS})
        (?:[_-][A-Za-z0-9_-]{{0,30}}+)?+["'`]?
        (?:\s{{0,3}}(?::=|=>|[:=：])\s{{0,3}}|\s{{1,3}}(?:is|was|ist|war|es|est|é)(?:\s{{0,3}}:)?\s{{1,3}})["'`]?
        (?=(?P<secret>[^\s"'`,;<>\[\]()]{{6,200}}+))""",
    re.VERBOSE | re.IGNORECASE,
)
_LETTER = re.compile(r"[^\W\d_]")
_DIGIT = re.compile("[0-9]")
_DIGIT_OR_SYMBOL = re.compile("[0-9!#%&*+=?@^~$]")
_SHORTEST_RANDOM = 12
#: In bits for each character; English words have less than 3.2.
_LEAST_ENTROPY = 3.2

_PEM = re.compile(r"-----(?P<place>BEGIN|END) (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----")
#: The lines of a key that was cut off, also in a string with escaped line feeds.
_PEM_LINES = re.compile(r"(?:(?:\s|\\n|\\r){0,4}+[A-Za-z0-9+/=]{16,100}+)*+")
_PRIVATE = re.compile(r"<(?P<close>/?)\s{0,4}private\b[^<>]{0,100}>", re.IGNORECASE)


def private_passages(text: str) -> Iterator[Found]:
    """Yield what is between `<private>` and `</private>`, with the tags; if not closed, the rest of the text."""
    depth = start = 0
    for tag in _PRIVATE.finditer(text):
        if not tag["close"]:
            start = tag.start() if depth == 0 else start
            depth += 1
        elif depth:
            depth -= 1
            if depth == 0:
                yield Found(start, tag.end(), "a private passage")
    if depth:
        yield Found(start, len(text), "a private passage")


def credentials(text: str) -> Iterator[Found]:
    """Yield what looks like a credential, in no order; parts may overlap."""
    yield from _private_keys(text)
    lowered = text.lower()
    for name, hint, pattern in _FORMATS:
        if hint not in lowered:
            continue
        # Compiled with the first text that has the hint, and kept by `re`.
        for match in re.finditer(pattern, text):
            group = "secret" if "secret" in match.re.groupindex else 0
            if not _is_placeholder(match[group]):
                yield Found(*match.span(group), name)
    for match in _ASSIGNED.finditer(text):
        value = match["secret"].rstrip(".:!?)")
        if _is_password(value) if match["password"] else _is_random(value):
            name = "a password" if match["password"] else "a secret value"
            yield Found(match.start("secret"), match.start("secret") + len(value), name)


def _private_keys(text: str) -> Iterator[Found]:
    start: int | None = None
    for tag in _PEM.finditer(text):
        if tag["place"] == "BEGIN":
            if start is not None:
                yield _cut_key(text, start)
            start = tag.start()
        elif start is not None:
            yield Found(start, tag.end(), "a private key")
            start = None
    if start is not None:
        yield _cut_key(text, start)


def _cut_key(text: str, start: int) -> Found:
    """Return a private key without its end."""
    head = _PEM.match(text, start)
    lines = _PEM_LINES.match(text, head.end() if head else start)
    return Found(start, lines.end() if lines else start, "a private key")


def _is_placeholder(value: str) -> bool:
    """Return whether a value stands for one, such as ${PASSWORD}, *** or xxxx."""
    return value.startswith(("$", "{", "%")) or len(set(value)) <= 2


def _is_password(value: str) -> bool:
    """Return whether a value beside a word for passwords can be one, as opposed to a word or an expression."""
    if len(value) < 6 or _is_placeholder(value) or "://" in value:
        return False
    return bool(_LETTER.search(value)) and bool(_DIGIT_OR_SYMBOL.search(value, 1))


def _is_random(value: str) -> bool:
    """Return whether a value looks random: long, of letters and digits, and with few repeated characters."""
    if len(value) < _SHORTEST_RANDOM or _is_placeholder(value) or "://" in value or value.startswith(("/", "./", "~/")):
        return False
    mixed = _LETTER.search(value) and _DIGIT.search(value)
    return bool(mixed) and _entropy(value) >= _LEAST_ENTROPY


def _entropy(value: str) -> float:
    """Return the Shannon entropy of the characters, in bits for each."""
    counts = Counter(value)
    return -sum(count / len(value) * math.log2(count / len(value)) for count in counts.values())
