"""The elements of a JSON array, one after the other, without loading the array."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator, Mapping
from typing import IO, Any

from memotherm.history.records import Reading

#: Elements of twice this length are skipped, and counted as broken: a file is read in steps that double.
_LONGEST = 8 * 1024 * 1024
_CHUNK = 256 * 1024
_BETWEEN = re.compile(r"[\s,]*")
_OUTSIDE, _INSIDE = re.compile(r'["{}\[\]]'), re.compile(r'["\\]')


class _Text:
    """The text of a file from some place on."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self.text, self.place, self.ended = "", 0, False

    def more(self) -> bool:
        """Append to the text, twice as much each time, without what was passed; return whether there was more."""
        rest = self.text[self.place :]
        data = self._file.read(max(_CHUNK, len(rest)))
        self.ended = not data
        self.text, self.place = rest + self._decoder.decode(data, not data), 0
        return not self.ended

    def next_sign(self) -> str:
        """Pass spaces and commas, and return the character behind them; "" at the end."""
        while True:
            match = _BETWEEN.match(self.text, self.place)
            self.place = match.end() if match else self.place
            if self.place < len(self.text):
                return self.text[self.place]
            if not self.more():
                return ""

    def skip_element(self) -> bool:
        """Pass the element that begins here, whatever it contains; return whether it has an end."""
        depth, inside = 0, False
        while True:
            sign = (_INSIDE if inside else _OUTSIDE).search(self.text, self.place)
            if sign is None or (sign[0] == "\\" and sign.end() >= len(self.text)):
                self.place = len(self.text) if sign is None else sign.start()
                if not self.more():
                    return False
                continue
            self.place = sign.end() + (sign[0] == "\\")
            if sign[0] == '"':
                inside = not inside
            elif sign[0] != "\\":
                depth += 1 if sign[0] in "{[" else -1
                if depth <= 0:
                    return True


def elements(file: IO[bytes], reading: Reading) -> Iterator[Mapping[str, Any]]:
    """Yield the objects in an array; other elements, and those that are broken or too long, are counted as broken."""
    source, decoder = _Text(file), json.JSONDecoder()
    if source.next_sign() != "[":
        reading.broken += 1
        return
    source.place += 1
    while (sign := source.next_sign()) not in ("", "]"):
        try:
            value, source.place = decoder.raw_decode(source.text, source.place)
        except (ValueError, RecursionError) as exc:
            complete = source.ended or len(source.text) - source.place > _LONGEST or isinstance(exc, RecursionError)
            if not complete:
                source.more()
                continue
            reading.broken += 1
            if sign not in "{[" or not source.skip_element():
                reading.problem = "its end is broken"
                return
            continue
        if isinstance(value, dict):
            yield value
        else:
            reading.broken += 1
