"""Finding credentials and private passages in texts, and replacing them by a mark.

Every search takes linear time: repeats are bounded and possessive, so they match greedily and never backtrack. The
same holds for patterns of users: a sequence of characters, classes such as `[A-Z0-9]`, `\\d`, `\\w`, `\\s` and `.`,
each with an optional repeat, without groups and alternatives; `*` and `+` match at most 200 characters.
"""

from __future__ import annotations

import math
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from memotherm.errors import SettingsError
from memotherm.settings import Settings
from memotherm.text.content import INVISIBLE


class Found(NamedTuple):
    """A part of a text to redact."""

    start: int
    end: int
    #: What it looks like, in plain words.
    name: str


_BEFORE = r"(?<![A-Za-z0-9])"
_AFTER = r"(?![A-Za-z0-9])"
#: At least one digit, unlike words joined by hyphens.
_WITH_DIGIT = r"(?=[A-Za-z_-]{0,200}+[0-9])"
#: Name, a lower-case substring that every match contains, and the pattern.
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
#: In bits per character; English words have less than 3.2.
_MIN_ENTROPY = 3.2

_PEM = re.compile(r"-----(?P<place>BEGIN|END) (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----")
#: The lines of a key that was cut off, also in a string with escaped line feeds.
_PEM_LINES = re.compile(r"(?:(?:\s|\\n|\\r){0,4}+[A-Za-z0-9+/=]{16,100}+)*+")
_PRIVATE = re.compile(r"<(?P<close>/?)\s{0,4}private\b[^<>]{0,100}>", re.IGNORECASE)


def private_passages(text: str) -> Iterator[Found]:
    """Yield the passages between `<private>` and `</private>`, tags included; an unclosed one ends with the text."""
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
    """Yield everything that looks like a credential, in no order; parts may overlap."""
    yield from _private_keys(text)
    lowered = text.lower()
    for name, hint, pattern in _FORMATS:
        if hint not in lowered:
            continue
        # Compiled, and cached by `re`, when a text contains the hint.
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
    head = _PEM.match(text, start)
    lines = _PEM_LINES.match(text, head.end() if head else start)
    return Found(start, lines.end() if lines else start, "a private key")


def _is_placeholder(value: str) -> bool:
    """Return whether a value is a placeholder, such as ${PASSWORD}, *** or xxxx."""
    return value.startswith(("$", "{", "%")) or len(set(value)) <= 2


def _is_password(value: str) -> bool:
    """Return whether a value after "password:" can be a password, not a word or an expression."""
    if len(value) < 6 or _is_placeholder(value) or "://" in value:
        return False
    return bool(_LETTER.search(value)) and bool(_DIGIT_OR_SYMBOL.search(value, 1))


def _is_random(value: str) -> bool:
    """Return whether a value looks random: long, of letters and digits, and with few repeated characters."""
    if len(value) < _SHORTEST_RANDOM or _is_placeholder(value) or "://" in value or value.startswith(("/", "./", "~/")):
        return False
    mixed = _LETTER.search(value) and _DIGIT.search(value)
    return bool(mixed) and _entropy(value) >= _MIN_ENTROPY


def _entropy(value: str) -> float:
    """Return the Shannon entropy, in bits per character."""
    counts = Counter(value)
    return -sum(count / len(value) * math.log2(count / len(value)) for count in counts.values())


_LONGEST_PATTERN = 200
_UNBOUNDED = 200
#: The maximum length of a match.
_LARGEST_SPAN = 1000
_ELEMENT = re.compile(
    r"""(?P<atom>\\[dDwWsS] | \\[^A-Za-z0-9\s] | \[\^?\]?(?:\\.|[^\]\\\[])+\] | \. | [^\\\[\](){}|*+?^$.])
        (?P<repeat>\{(?P<low>\d{1,4})(?:,(?P<high>\d{1,4}))?\} | [*+?])?""",
    re.VERBOSE | re.DOTALL,
)
_REPEATS = {None: (1, 1), "*": (0, _UNBOUNDED), "+": (1, _UNBOUNDED), "?": (0, 1)}


def compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern of a user; raise `SettingsError` if it is not supported."""
    position, span, least, parts = 0, 0, 0, []
    while position < len(pattern) <= _LONGEST_PATTERN:
        element = _ELEMENT.match(pattern, position)
        if element is None:
            raise SettingsError(
                f"redact_patterns: {pattern!r} is not understood from {pattern[position : position + 20]!r}: use "
                "characters, classes such as [A-Z0-9], \\d, \\w, \\s and ., and repeats such as {8,40}, without groups "
                "or alternatives (in the environment a comma separates two patterns: use a settings file)"
            )
        repeats = int(element["low"] or 0), int(element["high"] or element["low"] or 0)
        low, high = _REPEATS.get(element["repeat"], repeats)
        span, least, position = span + high, least + low, element.end()
        parts.append(f"{element['atom']}{{{low},{high}}}+")
    if not 0 < span <= _LARGEST_SPAN or not least or len(pattern) > _LONGEST_PATTERN:
        raise SettingsError(
            f"redact_patterns: {pattern[:40]!r} must match at least 1 and at most {_LARGEST_SPAN} characters, "
            f"and have at most {_LONGEST_PATTERN}: lower its repeats"
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a class such as [[a]
            return re.compile("".join(parts))
    except re.error as exc:
        raise SettingsError(f"redact_patterns: {pattern!r} is not a pattern: {exc}") from exc


#: Replaces a redacted part of a text.
MARK = "[redacted]"
#: A replacement can uncover another secret; the search stops after this many rounds.
_MAX_ROUNDS = 8
_HIDDEN = re.compile(f"[{INVISIBLE}]")


class Redacted(NamedTuple):
    """A text without its secrets."""

    text: str
    #: How many parts were replaced.
    replaced: int = 0


class Redactor:
    """Finds credentials, private passages and matches of the user's patterns; `redact` replaces them if enabled."""

    def __init__(self, *, enabled: bool = True, patterns: Iterable[str] = ()) -> None:
        self._enabled = enabled
        self._patterns = [compiled(pattern) for pattern in patterns]

    def find(self, text: str) -> tuple[str, ...]:
        """Return the kinds of secrets that a text seems to contain, in plain words."""
        return tuple(dict.fromkeys(found.name for found in sorted(self._found(text))))

    def redact(self, text: str) -> Redacted:
        """Replace every secret in a text by the mark; redacting twice changes nothing more."""
        if not self._enabled:
            return Redacted(text)
        total = 0
        for _ in range(_MAX_ROUNDS):
            text, count = _replaced(text, self._found(text))
            if not count:
                break
            total += count
        return Redacted(text, total)

    def text(self, text: str) -> str:
        """Return a text without its secrets."""
        return self.redact(text).text

    def redact_values(self, value: Any) -> tuple[Any, int]:  # noqa: ANN401 - any JSON value
        """Redact every text in a JSON value; also return how many parts were replaced."""
        if isinstance(value, str):
            return self.redact(value)
        if isinstance(value, dict):
            values, counts = self._each(value.values())
            return dict(zip(value, values, strict=True)), counts
        return self._each(value) if isinstance(value, list) else (value, 0)

    def _each(self, values: Iterable[Any]) -> tuple[list[Any], int]:
        redacted = [self.redact_values(value) for value in values]
        return [value for value, _ in redacted], sum(count for _, count in redacted)

    def _found(self, text: str) -> Iterator[Found]:
        """Yield the parts to redact, also those that invisible characters interrupt."""
        yield from self._found_as_it_is(text)
        if _HIDDEN.search(text):
            shown = [place for place, character in enumerate(text) if not _HIDDEN.match(character)]
            for start, end, name in self._found_as_it_is("".join(text[place] for place in shown)):
                yield Found(shown[start], shown[end - 1] + 1, name)

    def _found_as_it_is(self, text: str) -> Iterator[Found]:
        yield from private_passages(text)
        yield from credentials(text)
        for pattern in self._patterns:
            for start, end in _between_marks(text):
                matches = pattern.finditer(text, start, end)
                yield from (Found(*match.span(), "what redact_patterns names") for match in matches)


@lru_cache(maxsize=16)
def _cached(enabled: bool, patterns: tuple[str, ...]) -> Redactor:
    return Redactor(enabled=enabled, patterns=patterns)


def redactor(settings: Settings) -> Redactor:
    """Return the redactor for these settings; raise `SettingsError` for an unsupported pattern."""
    return _cached(settings.redact, settings.redact_patterns)


def _between_marks(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for piece in text.split(MARK):
        yield start, start + len(piece)
        start += len(piece) + len(MARK)


def _replaced(text: str, found: Iterable[Found]) -> Redacted:
    """Replace parts of a text; overlapping and adjacent ones are one."""
    pieces: list[str] = []
    last = 0
    for start, end, _ in sorted(found):
        if not pieces or start > last:
            pieces += [text[last:start], MARK]
        last = max(last, end)
    return Redacted("".join([*pieces, text[last:]]), len(pieces) // 2)
