"""Find the secrets that words such as "password" announce.

A value is judged by how it looks and by how the sentence joins it to the word: after `:`, "is" and in quotes, any
value is one that people do not say of passwords; after "to", "as" or nothing, hunter2 is; further away in the
sentence, only a value that is no name. What is read around a word is bounded, so the time is linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memotherm.text.assigned_secrets import assigned, column, is_code, on_next_line, sign_after
from memotherm.text.patterns import lazy_pattern
from memotherm.text.secret_grammar import (
    CAMEL_CASE,
    EDGES,
    QUOTES,
    TOKEN,
    Joint,
    Walk,
    bare,
    continues,
    ends_clause,
    ends_sentence,
    follows_user,
    is_function_word,
    is_last,
    is_renewed,
    it_is,
    joins,
    opened,
    quoted_phrase,
    replaced,
    states,
    was_changed,
)
from memotherm.text.secret_values import (
    DIGITS,
    LINKED,
    UNLIKE_A_NAME,
    UNLIKE_A_WORD,
    UNSPACED,
    YEAR,
    Found,
    Strength,
    forms_of,
    is_number,
    listed,
    strength,
)
from memotherm.text.secret_words import Announced, Kind, accepts, announcing_words, is_english, may_be_chosen

#: How far after a word, and before it, a sentence is read: in characters, and in words.
_AFTER, _BEFORE = 240, 80
_MOST_AFTER, _MOST_BEFORE = 12, 8
#: The most words with a meaning between a word and its value, what is stated of it, and its digits.
_MOST_BETWEEN, _MOST_BETWEEN_STATED, _MOST_BETWEEN_PIN = 8, 3, 3
#: The most words between the subject of a sentence and the word.
_MOST_AFTER_SUBJECT = 4
#: How many of the following words are looked at for the end of what a word announces.
_LOOKED_AT = 8

#: What follows the word in a name, such as password_2.
_REST = lazy_pattern(r"(?:[_-][A-Za-z0-9_-]{0,40}+|[0-9]{1,3}(?!\w))?+")
#: Names of something about a secret.
_ABOUT = lazy_pattern(
    r"[_-](?:hash|len|min|max|policy|file|path|field|hint|reset|type|ur[il]|name|id\b|count|limit|manager|expir|ttl|"
    r"strength|rule|check|attempt|prefix|version|auth|protected|based|input|store|env|command|budget|bucket)"
)
_UNSPACED = lazy_pattern(f"[{UNSPACED}]")
#: The most words from a secret to another one of the same form.
_MOST_SINCE, _SEPARATORS = 2, ",;、，"
#: Russian and its relatives say "the password for the database X", without a verb.
_WITHOUT_VERB = lazy_pattern("[\u0400-\u052f]")
#: The rest of a sentence, to the next one.
_SENTENCE = lazy_pattern(r"[^.!?。？:\n]{0,80}+(?:[.!:?][\"']?\s{1,3}|[。？]\s{0,3})")
_LATIN = lazy_pattern("[A-Za-z\u00c0-\u024f]")
_ASSIGNS, _BRACE = lazy_pattern("[=<]"), lazy_pattern(r"[{\[(]")
_STATING_PARTICLES = ("が", "가", "이", "는", "은", "是", "は")
_CLOSING_QUOTES, _CLAUSE_ENDS = "\"'`”“»」』,", ".,;:!?。、，（("


def announced_secrets(text: str, lowered: str) -> Iterator[Found]:
    """Yield the secrets that words announce; `lowered` is the text in lower case, of the same length."""
    plain = "_" not in text and UNLIKE_A_WORD.search(text) is None
    words = announcing_words(lowered, passwords_only=plain)
    if all(word.kind is Kind.NEW for word in words):  # of what, nobody says
        for word in words:
            yield from _Reading(text, lowered, word, 0, len(text)).in_next_sentence()
        return
    table_end = 0
    for place, word in enumerate(words):
        before = words[place - 1].end if place else 0
        # "password for the wifi": a word for a login does not end what another one announces.
        others = words[place + 1 : place + 1 + _LOOKED_AT]
        ends = [each.start for each in others if word.kind is Kind.LOGIN or each.kind not in (Kind.LOGIN, Kind.KEY)]
        after = min(ends, default=others[-1].end if len(others) == _LOOKED_AT else len(text))
        yield from _Reading(text, lowered, word, before, after).secrets()
        if word.kind is Kind.PASSWORD and word.start >= table_end:
            secrets, table_end = column(text, word)
            yield from secrets


class _Reading:
    """What a text says around a word that announces a secret."""

    def __init__(self, text: str, lowered: str, word: Announced, before: int, after: int) -> None:
        rest = _REST.match(text, word.end)
        self._end = rest.end() if rest else word.end
        self._word = word._replace(about=_ABOUT.match(lowered, word.end) is not None)
        self._text, self._lowered, self._kind = text, lowered, word.kind
        self._announcing = lowered[word.start : word.end]
        self._before = max(before, word.start - _BEFORE)
        #: How many words may stand between the word and its value where nothing joins them.
        self._unjoined = 1 if _WITHOUT_VERB.match(lowered, word.start) else 0
        #: Where the next word begins, and where the reading ends.
        self._after, self._limit = after, self._end + _AFTER
        #: Whether the word has other meanings, as "pass" has.
        self._ambiguous = self._announcing in listed("ambiguous")
        if self._ambiguous and self._announcing != "pass":  # "the clave of the server" is no clef
            self._ambiguous = not opened().search(lowered, self._end, self._end + _BEFORE)
        #: Whether the value can be any word: not of passwordMode, password_bytes and conclave, nor of "a password".
        inflected = not text[word.end : self._end].strip("_-0123456789").islower()
        inside = bool(word.start and _LATIN.match(text, word.start - 1) and _LATIN.match(text, word.start))
        whole = not inside or self._announcing.startswith(tuple(listed("compounding")))
        ordinary = whole and inflected and not CAMEL_CASE.search(text, word.start, word.end)
        self._named = word.kind is Kind.PASSWORD and ordinary
        self._stated = self._named and self._is_one()

    def _is_one(self) -> bool:
        """Return whether the article before the word, if any, is that of one password."""
        before = self._lowered[max(self._before, self._word.start - 20) : self._word.start].split()
        article = before[-1].strip(EDGES) if before else ""
        if self._ambiguous:
            return article not in listed("unspecific")
        return article not in listed("indefinite") or (article == "a" and not is_english(self._announcing))

    def secrets(self) -> Iterator[Found]:
        """Yield the secrets that the word announces."""
        for found in self._first():
            yield found
            yield from self._repeated(found)

    def _first(self) -> Iterator[Found]:
        sign = sign_after(self._text, self._word, self._end)
        found = assigned(self._text, self._lowered, self._word, sign, any_word=self._named) if sign else None
        if found is None and self._kind is not Kind.NEW:
            found = on_next_line(self._text, self._word, self._end)
        if found is not None:
            yield found
            return
        if sign:
            self._end = sign.start("quote")
            # In braces follow other names: "password: { type: ... }".
            self._stated &= not (
                sign["tag"] or sign["column"] or "\n" in sign[0] or _BRACE.match(self._text, self._end)
            )
        if not self._word.about:
            yield from self._following(after_sign=sign is not None)
            yield from self.in_next_sentence()
            yield from self._preceding()
            yield from self._changes()

    def _repeated(self, found: Found) -> Iterator[Found]:
        """Yield the values after a secret that have its form: "8812-4471 and 9920-1734", "4096 below, 1357 above"."""
        forms, since, previous = forms_of(self._text[found.start : found.end]), 0, ""
        listed_after = self._text[found.end : found.end + 1] in _SEPARATORS
        for token in TOKEN.finditer(self._text, found.end, self._limit):
            value, start = bare(token)
            since += bool(value)
            if since > _MOST_SINCE or "\n" in self._text[found.end : token.start()]:
                return
            near = since == 1 or listed_after or previous in listed("and")
            alike = UNLIKE_A_WORD.search(value) and not forms.isdisjoint(forms_of(value))
            if near and alike and not YEAR.fullmatch(value):
                yield Found(start, start + len(value), found.name)
                since = 0
            previous = token[0].lower()

    def _following(self, *, after_sign: bool) -> Iterator[Found]:
        """Yield the secrets in the rest of the sentence."""
        any_word = self._kind is Kind.PASSWORD or self._announcing in listed("pairs")
        if not any_word and not UNLIKE_A_WORD.search(self._text, self._end, self._limit):
            return
        walk = Walk(was_changed(self._lowered, self._before, self._word.start))
        for place, token in enumerate(TOKEN.finditer(self._text, self._end, self._limit)):
            value, start = bare(token)
            if place >= _MOST_AFTER or "\n" in self._text[self._end : token.start()]:
                return
            if token.end() > self._after and strength(value) is Strength.NO:
                return  # another word, not one that is a part of a value
            linked = walk.is_linked(self._announcing)
            if self._named and linked and (phrase := quoted_phrase(self._text, token.start())):
                if not announcing_words(self._lowered[slice(*phrase)]):
                    yield Found(*phrase, self._kind.value)
                return
            stated = self._states(value, token, linked=linked, walk=walk, after_sign=after_sign)
            joined = self._joins_pair(walk, token) if self._kind is Kind.LOGIN else self._joins(walk, token)
            joint = Joint.STATED if stated else Joint.JOINED if joined else Joint.NEAR
            yield from self._judged(value, start, joint, pair=self._kind is Kind.LOGIN and walk.is_near(token[0]))
            word = token[0].lower().strip(f"{EDGES}?!")
            if place == 0 and not after_sign and is_english(self._announcing) and not continues(word):
                self._stated = False  # "password rotation is weekly"
            if (place == 0 and word in listed("about")) or (self._kind is Kind.LOGIN and word in listed("called")):
                return  # the password manager, the login page, the name of a network or of an account
            walk.past(token[0].lower(), word)
            if self._ends(token[0], place) or walk.between > _MOST_BETWEEN or token.end() > self._after:
                return

    def _joins(self, walk: Walk, token: re.Match[str]) -> bool:
        near, unjoined = walk.is_near(token[0]), self._unjoined
        joined = near and (walk.preposition or walk.between <= unjoined + (0 if walk.changed else 2))
        joined |= walk.between <= unjoined and not walk.changed
        joined &= walk.change or walk.previous not in listed("place")
        return joined or self._is_pin(walk, token)

    def _joins_pair(self, walk: Walk, token: re.Match[str]) -> bool:
        """Return whether a value follows the name of a user: "root / X", "ana and X"."""
        separated = walk.previous in ("/", "|") or (walk.place == 0 and self._announcing[-1] == "/")
        named = separated or (walk.preposition and walk.is_near(token[0]) and walk.between > 0)
        return named or walk.previous in listed("and")

    def _is_pin(self, walk: Walk, token: re.Match[str]) -> bool:
        """Return whether a value can be the code that a word announces a few words before."""
        value, start = bare(token)
        if self._kind is not Kind.PIN or not DIGITS.fullmatch(value) or YEAR.fullmatch(value):
            return False
        counted = walk.previous in listed("numbered") or walk.previous in listed("place")
        return not counted and walk.between <= _MOST_BETWEEN_PIN and ends_clause(self._text, start + len(value))

    def _states(self, value: str, token: re.Match[str], *, linked: bool, walk: Walk, after_sign: bool) -> bool:
        """Return whether the sentence says that this is the value, whatever it looks like."""
        quoted = token[0][0] in QUOTES
        if self._announcing in listed("pairs"):  # "creds: ana / X"
            clause = ends_clause(self._text, bare(token)[1] + len(value))
            return walk.previous in ("/", ":") and walk.between == 1 and clause
        if not self._stated or (_UNSPACED.match(value) and not quoted):
            return False
        if not ends_clause(self._text, bare(token)[1] + len(value)):
            return False
        if (linked or self._is_changed_to(walk, token)) and walk.between <= (
            0 if self._ambiguous else _MOST_BETWEEN_STATED
        ):
            return True
        if after_sign or self._ambiguous or token[0][0] in "([":
            return False
        latin = _LATIN.match(self._text, self._word.start)
        if not latin and walk.between <= self._unjoined and _is_foreign(value):  # "the password of the mail kiwi"
            return not walk.previous or not is_function_word(walk.previous)
        if walk.place:
            return False
        before = self._lowered[max(0, self._word.start - _BEFORE) : self._word.start]
        several = LINKED.fullmatch(value) is not None and not (is_english(self._announcing) and "_" in value)
        return quoted or several or before.rstrip().rpartition(" ")[2] in listed("with") or follows_user(before)

    def _is_changed_to(self, walk: Walk, token: re.Match[str]) -> bool:
        """Return whether the word before says what the secret is changed to, in the same clause: "set it to X"."""
        if not walk.change or walk.place == 0 or walk.previous not in listed("changed to"):
            return False
        clause = self._lowered[self._end : token.start()]
        earlier = clause.split()[:-1]
        return "," not in clause and all(listed(key).isdisjoint(earlier) for key in ("changed from", "changed to"))

    def _ends(self, token: str, place: int) -> bool:
        """Return whether a sentence ends, but not between "the password?" and its answer."""
        asked = token.endswith("?") and (place <= 1 or self._kind is Kind.PIN) and self._kind is not Kind.LOGIN
        return ends_sentence(token) and not asked

    def _judged(self, value: str, start: int, joint: Joint, *, pair: bool = False) -> Iterator[Found]:
        """Yield a value, or its part after the name of a user, if it is a secret."""
        joined = joint >= Joint.JOINED
        if joint is not Joint.STATED and not UNLIKE_A_WORD.search(value):
            return
        if (self._kind is Kind.PIN and not joined) or is_code(self._word, value):
            return
        for separator in "/:=" if self._kind is not Kind.TOKEN else "":
            user, _, password = value.partition(separator)
            named = user.replace("_", "").isalnum() and strength(user) is Strength.NO and "=" not in password
            if named and strength(password) >= (Strength.POSSIBLE if joined or pair else Strength.LIKELY):
                yield Found(start + len(user) + 1, start + len(value), self._kind.value)
                return
        if accepts(self._word, value, joint):
            yield Found(start, start + len(value), self._kind.value)

    def in_next_sentence(self) -> Iterator[Found]:
        """Yield the value in the sentence after the word: "I set a new one. It's X"."""
        sentence = _SENTENCE.match(self._text, self._end) if self._kind in (Kind.PASSWORD, Kind.NEW) else None
        said = it_is(self._text, sentence.end()) if sentence else None
        if sentence is None or said is None:
            return
        asked = "?" in sentence[0] or "？" in sentence[0]
        if not (said["it"] or said["after"] or asked or (self._kind is Kind.NEW and ":" in sentence[0])):
            return
        value, password = said["value"], self._word._replace(kind=Kind.PASSWORD)
        changes = (
            self._stated and not self._ambiguous and (asked or is_renewed(self._lowered, self._before, sentence.end()))
        )
        unlike = accepts(password, value, Joint.JOINED) or UNLIKE_A_NAME.search(value) is not None
        if (changes or unlike) and accepts(password, value, Joint.STATED):
            yield Found(*said.span("value"), self._kind.value)

    def _preceding(self) -> Iterator[Found]:
        """Yield the value in "hunter2 is the password" and in "use hunter2 as password"."""
        stated = self._stated and not self._ambiguous
        if not stated and not UNLIKE_A_WORD.search(self._text, self._before, self._word.start):
            return
        tokens = list(TOKEN.finditer(self._text, self._before, self._word.start))
        if tokens and self._before == self._word.start - _BEFORE:
            del tokens[0]  # it may be the end of a word
        following, after, last = "", self._word.start, is_last(self._text, self._end)
        for place, token in enumerate(tokens[: -_MOST_BEFORE - 1 : -1]):
            if "\n" in self._text[token.end() : after] or (following and ends_sentence(token[0])):
                return
            value, start = bare(token)
            if (following or token.end() < after) and not _ASSIGNS.search(value):
                earlier = tokens[-place - 2] if place + 1 < len(tokens) else None
                joined = joins(following) and (last or following in listed("as")) and not is_number(value)
                if self._kind is Kind.PIN:
                    joined = (
                        not following
                        and token[0] == value
                        and DIGITS.fullmatch(value) is not None
                        and not YEAR.fullmatch(value)
                    )
                    yield from self._judged(value, start, Joint.JOINED if joined else Joint.NEAR)
                elif stated and place <= _MOST_AFTER_SUBJECT and self._is_subject(token, earlier, following):
                    yield from self._judged(value, start, Joint.STATED)
                elif strength(value) is Strength.LIKELY or (joined and self._kind in (Kind.PASSWORD, Kind.TOKEN)):
                    yield from self._judged(value, start, Joint.JOINED if joined else Joint.NEAR)
            following, after = token[0].lower(), token.start()

    def _is_subject(self, token: re.Match[str], earlier: re.Match[str] | None, following: str) -> bool:
        """Return whether a token is the subject of "X is the password", or in quotes in "try 'X' as the password"."""
        if token[0][0] in QUOTES and token[0][-1] in _CLOSING_QUOTES and joins(following):
            return True
        if is_english(self._announcing) and not ends_clause(self._text, self._end):
            return False
        before = earlier[0].lower() if earlier else "."
        if following in listed("as"):  # "use X as password", but not "use your name as password"
            return not is_function_word(before.strip(EDGES))
        if following in listed("still"):  # "is X still the password?"
            return states(before, self._announcing)
        verb = following.replace("'", "").replace("’", "").isalpha() and states(following, self._announcing)
        begins = earlier is None or before[-1] in _CLAUSE_ENDS or "\n" in self._text[earlier.end() : token.start()]
        return begins and (verb or following.startswith(_STATING_PARTICLES))

    def _changes(self) -> Iterator[Found]:
        """Yield both values of a change: "from X to Y"."""
        if not self._stated:
            return
        change = was_changed(self._lowered, self._before, self._limit)
        tokens = list(TOKEN.finditer(self._text, self._before, min(self._limit, self._after)))
        tokens = tokens[: _MOST_AFTER + _MOST_BEFORE]
        for source, old, to, new in zip(tokens, tokens[1:], tokens[2:], tokens[3:], strict=False):
            first, changes_to = source[0].lower(), to[0].lower() in listed("changed to")
            named = changes_to and change and first in listed("changed from")
            swapped = changes_to and replaced().match(first) and not (old[0].islower() and new[0].islower())
            if not (named or swapped or to[0] in listed("between")) or "\n" in self._text[source.start() : new.start()]:
                continue
            values = [bare(each) for each in (old, new)]
            if old[0] != new[0] and all(may_be_chosen(value) for value, _ in values):
                yield from (Found(start, start + len(value), self._kind.value) for value, start in values)


def _is_foreign(value: str) -> bool:
    """Return whether a value is a word in small Latin letters, and no name of a user such as "root"."""
    return value.isascii() and value.isalpha() and value.islower() and value not in listed("users")
