"""Find credentials in texts.

They are keys of services, private keys, passwords in addresses, headers and commands, and what words announce.
Keys have formats, most of them a prefix and a random value; they are searched in long words only, so ordinary text
costs little.
Every search takes linear time: repeats are bounded and possessive, so they match greedily and never backtrack.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from memotherm.text.announced_secrets import announced_secrets
from memotherm.text.patterns import lazy_pattern
from memotherm.text.secret_grammar import is_function_word, is_state
from memotherm.text.secret_values import Found, is_placeholder, is_random, listed_secrets
from memotherm.text.secret_words import announcing_words

_QUOTED = r"(?:\"(?P<{0}1>[^\"\n]{{1,200}}+)\"|'(?P<{0}2>[^'\n]{{1,200}}+)'|(?P<{0}3>[^\s\"'|;&<>]{{1,200}}+))"
_VALUE = _QUOTED.format("secret")
#: Name, a lower-case text that every match contains, and the pattern; groups whose names begin with
#: `secret` are the secrets.
_FORMS = (
    (
        "a password in a URL",
        "://",
        (
            r"://[^\s/:@\"'<>\[\]]{0,100}+:(?![0-9]{1,5}(?:[/?#\s]|$))(?P<secret>[^\s/@\"'<>\[\]]{1,200}+"
            r"(?:/[^\s/@\"'<>\[\]]{0,100}+(?=[/@])){0,4}+(?:@[^\s/@\"'<>\[\]]{0,200}+(?=@)){0,8}+)(?=@)"
        ),
    ),
    (
        "an Authorization header",
        "authorization",
        (
            r"(?i:authorization)\\{0,3}[\"']?\s{0,4}[:=]\s{0,4}\\{0,3}[\"']?"
            r"(?:(?i:bearer|basic|token|digest|apikey|ssws|negotiate)\s{1,4})?+"
            r"(?=.[a-z._-]{0,200}+[A-Z0-9+/=])(?P<secret>[^\s\"',;\[\]<>\\]{8,4000}+)"
        ),
    ),
    (
        "a bearer token",
        "bearer",
        r"\b(?i:bearer)\s{1,4}(?=[A-Za-z._~+/=-]{0,200}+[0-9])(?P<secret>[A-Za-z0-9._~+/=-]{16,4000}+)",
    ),
    ("a password of nmcli", "nmcli", rf"\bnmcli\b[^\n|;]{{0,200}}?\spassword\s{{1,3}}{_VALUE}"),
    (
        "a password of PostgreSQL",
        "pgpass",
        r"(?m:^[^\s:]{1,100}+:(?:[0-9]{1,5}+|\*):[^\s:]{1,60}+:[^\s:]{1,60}+:(?P<secret>[^\s:]{4,200}+)$)",
    ),
    ("a password of Redis", "requirepass", rf"\b(?:requirepass|masterauth)\s{{1,3}}{_VALUE}"),
    ("a password of SQL", "identified", r"(?i:identified\s{1,4}by\s{1,4})[\"'](?P<secret>[^\"'\n]{4,200}+)[\"']"),
    ("a password of SQL", "password '", r"(?i:password\s{1,4})'(?P<secret>[^'\n]{4,200}+)'"),
    ("a password of netrc", "login", rf"(?i:\blogin\s{{1,8}}\S{{1,100}}+\s{{1,8}}password\s{{1,8}}){_VALUE}"),
    (
        "a signature in a URL",
        "sig",
        r"(?i:[?&;](?:sig|signature|x-amz-signature|x-amz-security-token)=)(?P<secret>[A-Za-z0-9%+/=_-]{16,2000}+)",
    ),
    ("a password of sudo", "sudo", r"\becho\s{1,3}[\"']?(?P<secret>[^\s\"'|]{4,200}+)[\"']?\s{1,3}\|\s{0,3}sudo\b"),
    (
        "a password in code",
        "auth",
        r"\bauth\s{0,3}=\s{0,3}[(\[]\s{0,3}[\"'][^\"'\n]{1,100}+[\"'],\s{0,3}[\"'](?P<secret>[^\"'\n]{4,200}+)[\"']",
    ),
    ("an Okta token", "ssws", r"\bSSWS\s{1,3}(?P<secret>[A-Za-z0-9_-]{20,100}+)"),
)
#: The options of commands; their matches contain a hyphen.
_OPTIONS = (
    (
        "a password of curl",
        "curl",
        r"\s(?:-u|--user)[ =]{1,3}[\"']?[^\s:\"']{1,100}+:(?![0-9]{1,9}(?:\s|$))(?P<secret>[^\s\"'<>\[\]]{4,200}+)",
    ),
    (
        "a password of Samba",
        "smbclient",
        r"\bsmbclient\b[^\n|;]{0,120}?\s-U\s{0,3}[^\s%]{1,60}+%(?P<secret>[^\s\"']{4,200}+)",
    ),
    (
        "a password of an option",
        "-pass",
        rf"\s(?:--pass(?:word|phrase|wd)?|--?[a-z]{{1,20}}+-password)[ =]\s{{0,3}}{_VALUE}",
    ),
    (
        "a password in a command",
        "-command",
        r"(?i:password-command)[ =]{1,3}[\"']?echo\s{1,3}(?P<secret>[^\s\"']{4,200}+)",
    ),
    (
        "a password of keytool",
        "pass",
        rf"\s-(?:store|key|dest|src|destkey|srckey|deststore|srcstore)pass\s{{1,3}}{_VALUE}",
    ),
    ("a password of OpenSSL", "pass:", r"\s-pass(?:in|out)?\s{1,3}[\"']?pass:(?P<secret>[^\s\"']{4,200}+)"),
    *(
        (f"a password of {name}", hint, rf"\b(?:{program})\b[^\n|;]{{0,200}}?\s-{option}{_VALUE}")
        for name, hint, program, option in (
            ("MySQL", "mysql", "mysql(?:dump|admin|import)?", "p"),
            ("MariaDB", "mariadb", "mariadb(?:-dump|-admin)?", "p"),
            ("MongoDB", "mongo", "mongo(?:sh|dump|restore|import|export)?", r"p\s{1,3}"),
            ("sshpass", "sshpass", "sshpass", r"p\s{0,3}"),
            ("docker", "login", r"(?:docker|podman|helm|az|oc)\b[^\n|;]{0,80}?\blogin", "p[ =]{1,3}"),
            ("Redis", "redis-cli", "redis-cli", r"a\s{1,3}"),
            ("SQL Server", "sqlcmd", "sqlcmd|bcp", r"P\s{0,3}"),
            ("LDAP", "ldap", "ldap(?:search|add|modify|delete)", r"w\s{1,3}"),
            ("an archive", "7z", "7z[ar]?", "p"),
            ("an archive", "zip", "(?:un)?zip", r"P\s{1,3}"),
            ("OpenSSL", "openssl", "openssl", r"k\s{1,3}"),
            ("htpasswd", "htpasswd", "htpasswd", r"\w{0,6}b\w{0,6}\s{1,3}\S{1,100}+\s{1,3}\S{1,60}+\s{1,3}"),
        )
    ),
)
_ALL_FORMS = (*_FORMS, *_OPTIONS)
#: What a help text shows instead of a value.
_METAVARIABLES = frozenset(("TEXT", "STRING", "VALUE", "PASSWORD", "PASS", "PASSPHRASE", "SECRET"))
_COOKIES = lazy_pattern(r"(?i:\bcookie)\\{0,3}[\"']?\s{0,3}[:=]\s{0,3}\\{0,3}[\"']?(?=[\w.-]{1,80}+=)")
_COOKIE = lazy_pattern(r"\s{0,3}(?P<name>[\w.-]{1,80}+)(?:=(?P<secret>[^\s;\"'\\]{0,4000}+))?+;?")
_SESSION = lazy_pattern(
    r"\b(?:PHPSESSID|JSESSIONID|ASP\.NET_SessionId|connect\.sid|csrftoken|sessionid|_gitlab_session)=(?P<secret>[^\s;\"'&]{8,300}+)"
)
_ATTRIBUTES = frozenset((
    "path", "domain", "expires", "max-age", "samesite", "secure", "httponly", "partitioned", "priority", "theme",
    "lang", "locale",
))  # fmt: skip
_SHORTEST_COOKIE = 6

_PEM = lazy_pattern(r"-----(?P<place>BEGIN|END) (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----")
#: What may stand before a line of a key: white space, also escaped, and the marks of quotations and comments.
_MARGIN = r"(?:\s|\\n|\\r|[>#|*\"'+,]|//){0,80}+"
#: The lines of a key that was cut off.
_PEM_LINES = lazy_pattern(rf"(?:{_MARGIN}(?:[A-Za-z0-9+/=]{{16,100}}+|[A-Za-z-]{{3,20}}: [^\n]{{1,100}}+))*+")
_KEY_LINE = lazy_pattern(r"[A-Za-z0-9+/=]{40,100}+(?:\s|\\n|\\r|\\)")
_LONGEST_KEY = 8000
_SEED = lazy_pattern(
    r"(?i:seed phrase|seed words|mnemonic|recovery phrase|secret phrase)[^\n:]{0,20}?(?:\bis\b|:|=)\s{0,3}[\"'`]?"
    r"(?P<secret>[a-z]{3,8}(?:[\s,]{1,3}[a-z]{3,8}){11,23})\b"
)
#: A passphrase of several words.
_PASSPHRASE = lazy_pattern(
    r"(?i:pass[ -]?phrase|phrase (?:de passe|secrète)|frase (?:secreta|segreta)|wachtzin|password(?=\s{0,3}=))"
    r"[\"']?(?:\s{1,3}[^\s:=,;.!?]{1,20}+){0,5}?(?:\s{0,3}[:=]|\s{1,3}(?P<verb>is|ist|lautet|est|es|è|é))\s{0,3}(?P<quote>[\"'`]?)"
    r"(?P<secret>[^\W\d_]{3,12}+(?: (?:[^\W\d_]{1,12}+|[0-9]{1,4}+)){2,7}+)"
    r"(?:(?P=quote)(?<=[\"'`])|(?=[.!]?(?:\s{0,3}$|\s{0,3}\n)))"
)


_PHRASE_WORDS = ("phrase", "frase", "mnemonic", "seed words", "wachtzin", "password")


def credentials(text: str) -> Iterator[Found]:
    """Yield everything that looks like a credential, in no order; parts may overlap."""
    lowered = text.lower()
    if len(lowered) != len(text):  # such as with a capital I with a dot
        lowered = "".join(character.lower() if len(character.lower()) == 1 else character for character in text)
    yield from keys(text)
    yield from announced_secrets(text, lowered)
    if "PRIVATE KEY" in text:
        yield from _private_keys(text)
    forms = _ALL_FORMS if "-" in text else _FORMS
    for name, _, pattern in [form for form in forms if form[1] in lowered]:
        # Compiled, and cached by `re`, when a text contains the hint.
        for match in re.finditer(pattern, text):
            for group, value in match.groupdict().items():
                if value and group.startswith("secret") and not is_placeholder(value) and value not in _METAVARIABLES:
                    yield Found(*match.span(group), name)
    if "cookie" in lowered or "sess" in lowered or "csrf" in lowered or "connect.sid" in lowered:
        yield from _cookies(text)
    if [word for word in _PHRASE_WORDS if word in lowered]:
        yield from _phrases(text)


def _phrases(text: str) -> Iterator[Found]:
    """Yield secrets that are several words."""
    yield from (Found(*match.span("secret"), "a seed phrase") for match in _SEED.finditer(text))
    for match in _PASSPHRASE.finditer(text):
        words = match["secret"].lower().split()
        if match["verb"]:  # a sentence has words for grammar
            phrase = len(words) > 3 and not any(map(is_function_word, words))
        else:  # after a sign, they may be in the middle
            ends = words[0], words[-1]
            phrase = not (any(map(is_function_word, ends)) or is_state(words[0]) or announcing_words(" ".join(words)))
        if phrase:
            yield Found(*match.span("secret"), "a passphrase")


def _private_keys(text: str) -> Iterator[Found]:
    start: int | None = None
    last = 0
    for tag in _PEM.finditer(text):
        if tag["place"] == "BEGIN":
            if start is not None:
                yield _cut_key(text, start)
            start = tag.start()
        elif start is not None:
            yield Found(start, tag.end(), "a private key")
            start = None
        else:
            lines = list(_KEY_LINE.finditer(text, max(last, tag.start() - _LONGEST_KEY), tag.start()))
            if lines:
                yield Found(lines[0].start(), tag.end(), "a private key")
        last = tag.end()
    if start is not None:
        yield _cut_key(text, start)


def _cut_key(text: str, start: int) -> Found:
    head = _PEM.match(text, start)
    lines = _PEM_LINES.match(text, head.end() if head else start)
    return Found(start, lines.end() if lines else start, "a private key")


def _cookies(text: str) -> Iterator[Found]:
    """Yield the values of cookies in headers, and of the cookies of sessions elsewhere."""
    end = 0
    for head in _COOKIES.finditer(text):
        place = max(end, head.end())
        while (cookie := _COOKIE.match(text, place)) is not None:
            value = cookie["secret"] or ""
            if (
                len(value) >= _SHORTEST_COOKIE
                and cookie["name"].lower() not in _ATTRIBUTES
                and not is_placeholder(value)
            ):
                yield Found(*cookie.span("secret"), "a cookie")
            place = cookie.end()
            if not cookie[0].endswith(";"):
                break
        end = place
    yield from (Found(*match.span("secret"), "a cookie") for match in _SESSION.finditer(text))


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
    ("a Telegram token", ":", r"(?<![0-9])[0-9]{8,10}:[A-Za-z0-9_-]{33,36}(?![A-Za-z0-9_-])"),
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
        "hook",
        (
            r"(?:hooks\.slack\.com/(?:services|workflows|triggers)/|discord(?:app)?\.com/api/webhooks/(?=[0-9]{4,25}/)"
            r"|office\.com/webhookb2/)(?P<secret>[A-Za-z0-9@/+_-]{20,300}+)"
        ),
    ),
)
#: A prefix of words and a random value, which many services use.
_LIKE_A_KEY = lazy_pattern(
    r"(?<![A-Za-z0-9_.+/=-])[a-z][a-z0-9]{1,11}+(?:[_-][a-z0-9]{1,8}(?=[_-])){0,3}[_-](?P<value>[A-Za-z0-9]{20,300}+)"
)
#: A setting for a key, such as WEATHER_KEY=..., and the user of a URL.
_SETTING = lazy_pattern(
    r"(?:[A-Z0-9]_KEY[\"']?[=:][\"']?|://(?=[A-Za-z0-9_]{20,300}+@))(?P<value>[A-Za-z0-9_+/=.-]{16,300}+)"
)
_HASH = lazy_pattern(r"(?:sha|md|blake)[0-9]|mem_|data|base")
_DIGIT = re.compile("[0-9]")
_RUN = lazy_pattern(r"[A-Za-z0-9_.-]{20,}+")
_SHORTEST_PART = 8
_DIGITS = lazy_pattern("[0-9][^0-9]*[0-9]")


def keys(text: str) -> Iterator[Found]:
    """Yield the keys of services in a text; parts may overlap."""
    place = 0
    for word in [word for word in text.split() if len(word) >= _SHORTEST]:
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
    for match in _LIKE_A_KEY.finditer(word):
        value = match["value"]
        mixed = _DIGITS.search(value) and value != value.lower() and value != value.upper()
        if mixed and is_random(value) and not _HASH.match(match[0]):
            yield Found(*match.span(), "an API key")
    if "_KEY" in word or "@" in word:
        for match in _SETTING.finditer(word):
            if is_random(match["value"], _SHORTEST):
                yield Found(*match.span("value"), "an API key")


def _is_key(value: str) -> bool:
    if is_random(value, _SHORTEST):
        return True
    return len(value) >= _SHORTEST_LETTERS and value.isalpha() and value not in (value.lower(), value.upper())


def _web_tokens(word: str) -> Iterator[Found]:
    """Yield JSON Web Tokens: `eyJ`, and at least one more part after a dot."""
    for run in _RUN.finditer(word):
        start = run[0].find("eyJ")
        while start > 0 and run[0][start - 1].isalnum():
            start = run[0].find("eyJ", start + 1)
        if start >= 0 and 0 < run[0].find(".", start + _SHORTEST_PART) < len(run[0]) - _SHORTEST_PART:
            yield Found(run.start() + start, run.start() + len(run[0].rstrip(".-")), "a JSON Web Token")
