"""Escaping everything in a text that a model may read as the marker around recalled text, or as a control token.

A model reads full-width or Cyrillic letters as well as a person does. So the marker is looked for in a folded text, in
which a character that looks like another one is that one: an angle of any form is `<`, and letters have neither case,
accent nor style. A folded text is as long as the text itself, so that a place in one is a place in the other.
"""

from __future__ import annotations

import re
import unicodedata

from memotherm.text.content import INVISIBLE, NAME

#: What looks like a character of the marker; compatible forms, such as full-width ones, are not listed.
_LOOKALIKES = {
    "<": "‹«〈《⟨⟪❬❮❰˂ᐸ≺⪡⋖⦑⧼",
    "/": "\\∕⁄⧸╱⟋⧹∖╲⟍ノ丿",
    "-": "‐‑‒–—―⁃−~∼·・ー᠆֊־⸺⸻゠•",
    "|": "¦∣│┃❘ǀ❙",
    "m": "мμᴍꮇⲙ",
    "e": "еєҽεᴇꭼ℮ə",
    "o": "о0οσօөᴏჿ๐০〇øѳ",
    "t": "тτᴛꭲ†ⲧ",
    "h": "һнηհʜꮋⲏ",
    "r": "гʀꭱꮢⲅ",
    "y": "уүγυყʏꭹⲩ",
}
_SEEN_AS = {other: char for char, others in _LOOKALIKES.items() for other in others}
#: What a hidden character is folded to, and what one that is a space as well; a class of both.
_HIDDEN, _HIDDEN_SPACE = "\u200b", "\x85"
_ANY_HIDDEN = f"[{_HIDDEN}{_HIDDEN_SPACE}]*"
_IS_HIDDEN = re.compile(f"[{INVISIBLE}]")
#: An angle, or what looks like one, in any text. Most texts have none.
_ANGLES = re.compile(f"[<＜﹤≮{_LOOKALIKES['<']}]")
_SPELLED = _ANY_HIDDEN.join("[-_\\s]" if char == "-" else char for char in NAME)
#: The marker, and control tokens of chat models, such as `<|im_start|>`, which some servers do not escape.
_MARKER = re.compile(rf"<(?=[\s/{_HIDDEN}]*{_SPELLED}|{_ANY_HIDDEN}\|[^\s<>]{{1,80}}\|{_ANY_HIDDEN}[>›»〉》⟩⟫❭❯❱˃ᐳ≻])")


class _Folded(dict[int, str]):
    """What each character is folded to, found out when it is first seen."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        if _IS_HIDDEN.match(char) or unicodedata.category(char)[0] == "M":
            folded = _HIDDEN_SPACE if char.isspace() else _HIDDEN
        else:
            # Some characters stand for several; the first one keeps the length.
            plain = unicodedata.normalize("NFKD", char)[0].casefold()[0]
            folded = " " if char.isspace() else _SEEN_AS.get(char, _SEEN_AS.get(plain, plain))
        self[code] = folded
        return folded


_FOLDED = _Folded()


def escape_markers(text: str, angle: str = "&lt;") -> str:
    """Return a text with another angle in everything that looks like a marker or a control token of a model."""
    if _ANGLES.search(text) is None:
        return text
    places = [match.start() for match in _MARKER.finditer(text.translate(_FOLDED))]
    starts, ends = [0, *(place + 1 for place in places)], [*places, len(text)]
    return angle.join(text[start:end] for start, end in zip(starts, ends, strict=True))
