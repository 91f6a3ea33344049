"""Find the keys of services by their formats.

Most keys are a prefix and a random value. They are searched in long words only, so ordinary text costs little.
Repeats are possessive, and what follows a repeat of more than a few characters is optional, so the time is linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from memotherm.text.announced_secrets import listed_secrets
from memotherm.text.secret_values import Found, is_placeholder, is_random


@cache
def _names() -> dict[str, str]:
    """Return the names of keys by their prefixes, which `secrets.json` lists, separated by spaces."""
    return {prefix: name for name, text in listed_secrets()["prefixes"].items() for prefix in text.split()}


_SHORTEST = 16
#: Values without a digit have at least this length.
_SHORTEST_LETTERS = 30
_BEFORE = r"(?<![A-Za-z0-9])"
_AFTER = r"(?![A-Za-z0-9])"
_PREFIXED = cache(
    lambda: re.compile(
        rf"{_BEFORE}(?P<prefix>{'|'.join(map(re.escape, sorted(_names(), key=len, reverse=True)))})"
        r"(?P<value>[A-Za-z0-9_+/=~-]{16,500}+(?:\.[A-Za-z0-9_-]{6,500}+){0,3}+)"
    )
)
#: Other formats: a name, a lower-case text that every match contains, and the pattern.
_OTHERS = (
    ("an AWS access key", "ia", rf"{_BEFORE}A[KSB]IA[A-Z0-9]{{16}}{_AFTER}"),
    ("an age key", "age-secret-key-1", rf"{_BEFORE}AGE-SECRET-KEY-1[A-Z0-9]{{50,70}}+"),
    ("a Twilio key", "sk", rf"{_BEFORE}SK[0-9a-f]{{32}}{_AFTER}"),
    ("a Mailchimp key", "-us", rf"{_BEFORE}[0-9a-f]{{32}}-us[0-9]{{1,2}}{_AFTER}"),
    ("a Vault token", "s.", rf"{_BEFORE}s\.(?=[A-Za-z]{{0,23}}+[0-9])[A-Za-z0-9]{{24}}{_AFTER}"),
    ("a Telegram token", ":", r"(?<![0-9])[0-9]{8,10}:[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"),
    ("a Discord token", ".", r"(?<![\w.-])[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}+"),
    ("an Airtable token", "pat", rf"{_BEFORE}pat[A-Za-z0-9]{{14}}\.[0-9a-f]{{64}}{_AFTER}"),
    ("a Terraform token", ".atlasv1.", rf"{_BEFORE}[A-Za-z0-9]{{14}}\.atlasv1\.[A-Za-z0-9_=-]{{40,80}}+"),
    ("an Azure secret", "q~", r"(?<![\w~.-])[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}(?![\w~.-])"),
    ("an Asana token", "/", rf"{_BEFORE}[0-9]/[0-9]{{16}}/(?:[0-9]{{16}}:)?[0-9a-f]{{32}}{_AFTER}"),
    ("a 1Password key", "a3-", rf"{_BEFORE}A3-[A-Z0-9]{{6}}(?:-[A-Z0-9]{{5,6}}){{4,5}}{_AFTER}"),
    (
        "an Okta token",
        "00",
        rf"{_BEFORE}00(?=[A-Za-z_-]{{0,39}}+[0-9])(?=[A-Z0-9_-]{{0,39}}+[a-z])[A-Za-z0-9_-]{{40}}{_AFTER}",
    ),
    (
        "a webhook",
        "hooks.slack.com/",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9+/]{20,100}+)",
    ),
    (
        "a webhook",
        "/webhooks/",
        r"discord(?:app)?\.com/api/webhooks/(?P<secret>[0-9]{10,25}/[A-Za-z0-9_-]{30,100}+)",
    ),
    ("a webhook", "/webhookb2/", r"office\.com/webhookb2/(?P<secret>[A-Za-z0-9@/-]{60,300}+)"),
)
#: A prefix of words and a random value, which many services use.
_LIKE_A_KEY = cache(
    lambda: re.compile(
        r"(?<![A-Za-z0-9_.+/=-])[a-z][a-z0-9]{1,11}+(?:[_-][a-z0-9]{1,8}(?=[_-])){0,3}[_-](?P<value>[A-Za-z0-9]{20,300}+)"
    )
)
#: A setting for a key, such as WEATHER_KEY=...
_SETTING = cache(lambda: re.compile(r"[A-Z0-9]_KEY[\"']?[=:][\"']?(?P<value>[A-Za-z0-9_+/=.-]{16,300}+)"))
_HASH = cache(lambda: re.compile(r"(?:sha|md|blake)[0-9]|mem_|data|base"))
_DIGIT = re.compile("[0-9]")
_RUN = cache(lambda: re.compile(r"[A-Za-z0-9_.-]{20,}+"))
_SHORTEST_PART = 8
_DIGITS = cache(lambda: re.compile("[0-9][^0-9]*[0-9]"))


def keys(text: str) -> Iterator[Found]:
    """Yield the keys of services in a text; parts may overlap."""
    place = 0
    for word in text.split():
        if len(word) < _SHORTEST:
            continue
        place = text.index(word, place)
        if _DIGIT.search(word) or "hf_" in word or "IA" in word:
            yield from (Found(place + start, place + end, name) for start, end, name in _in_word(word))
        place += len(word)


def _in_word(word: str) -> Iterator[Found]:
    for match in _PREFIXED().finditer(word):
        if _is_key(match["value"]):
            yield Found(*match.span(), _names()[match["prefix"]])
    lowered = word.lower()
    for name, hint, pattern in _OTHERS:
        if hint in lowered:
            # Compiled, and cached by `re`, when a word contains the hint.
            for match in re.finditer(pattern, word):
                group = "secret" if "secret" in match.re.groupindex else 0
                if not is_placeholder(match[group]):
                    yield Found(*match.span(group), name)
    yield from _random_values(word)
    if "eyJ" in word:
        yield from _web_tokens(word)


def _random_values(word: str) -> Iterator[Found]:
    """Yield random values after a prefix of words, or after a name that ends with KEY."""
    for match in _LIKE_A_KEY().finditer(word):
        value = match["value"]
        mixed = _DIGITS().search(value) and value != value.lower() and value != value.upper()
        if mixed and is_random(value) and not _HASH().match(match[0]):
            yield Found(*match.span(), "an API key")
    if "_KEY" in word:
        for match in _SETTING().finditer(word):
            if is_random(match["value"], _SHORTEST):
                yield Found(*match.span("value"), "an API key")


def _is_key(value: str) -> bool:
    if is_random(value, _SHORTEST):
        return True
    return len(value) >= _SHORTEST_LETTERS and value.isalpha() and value not in (value.lower(), value.upper())


def _web_tokens(word: str) -> Iterator[Found]:
    """Yield JSON Web Tokens: `eyJ`, and at least one more part after a dot."""
    for run in _RUN().finditer(word):
        start = run[0].find("eyJ")
        while start > 0 and run[0][start - 1].isalnum():
            start = run[0].find("eyJ", start + 1)
        if start >= 0 and 0 < run[0].find(".", start + _SHORTEST_PART) < len(run[0]) - _SHORTEST_PART:
            yield Found(run.start() + start, run.start() + len(run[0].rstrip(".-")), "a JSON Web Token")
