"""How users introduce themselves: "I'm Priya, backend dev at Parcelio", "Dana here", "moi c'est Élodie"."""

from __future__ import annotations

import re

#: A longer sentence is a report.
_MAX_CHARS = 300
#: Words for "I am" before a name, and for "this is" after a greeting.
_I_AM = (
    "i'm|i am|im|my name is|my name's|ich bin(?: der| die)?|hier spricht|moi,? c'est|je suis|soy|mi nombre es|sono"
    "|sou(?: o| a)?"
    "|aqui é(?: o| a)?|aqui quem fala é(?: o| a)?|ik ben|jestem|tu mówi|ben|я|меня зовут|мене звати|jag är|jeg er"
    "|olen|jsem"
    "|já jsem|sunt|tôi là|mình là|tôi tên là|saya|aku|soc(?: en| la| l')?|sóc(?: en| la)?|em dic|είμαι ο|είμαι η|είμαι"
)
_THIS_IS = (
    "this is|it's|hier ist(?: der| die)?|ici|moi|aquí|qui è|hier is|met|tu|это|це|det är|här är|det er|her er|tässä"
    "|tady|itt"
    "|aici|ini|εδώ"
)
#: A name: one or two words with capital letters, before the end of a clause or what follows a name.
_CAPITAL = "[A-ZÀ-ÖØ-ÞА-ЯЁІЇЄҐΑ-ΩΆΈΉΊΌΎΏŁŚŻŹĆĄĘŃŠČŘŽŤĎŇİĞŞȘȚŐŰĐ]"
_NAME = rf"{_CAPITAL}[^\W\d_]+(?:[ -]{_CAPITAL}[^\W\d_]+)?"
_AFTER = (
    r"(?=\s*(?:[,.!;(–—-]|$| and | from | at | with | und | aus | vom | von | bei | et | de | du | chez | y | del"
    r" | en | e | da"
    r" | do | di | van | uit | z | ze | из | и | från | och | fra | og | ja | és | și | și | dari | dan | từ | και"
    r" | από ))"
)
#: What some languages begin with a capital letter although it is no name.
_NO_NAME = (
    r"(?!(?:OK|Okay|I|It|Montag|Dienstag|Mittwoch|Donnerstag|Freitag|Samstag|Sonntag|Monday|Tuesday|Wednesday|Thursday"
    r"|Friday|Saturday|Sunday|January|February|March|April|May|June|July|August|September|October|November|December)\b)"
)
_GREETING = (
    r"(?:(?:hi|hey|hello|hiya|morning|good morning|moin|hallo|hey|servus|guten (?:tag|morgen)|salut|bonjour|coucou"
    r"|hola|buenas"
    r"|buenos días|ciao|salve|oi|olá|bom dia|hoi|cześć|dzień dobry|selam|merhaba|привет|здравствуйте|привіт|hej"
    r"|heisan|hei"
    r"|moi|ahoj|dobrý den|szia|bună|salut|xin chào|chào|halo|hai|γεια)(?: \w+)?[,!. ]+\s*)"
)
_STARTS = re.compile(
    rf"\s*(?:(?i:{_GREETING})?(?i:{_I_AM})|(?i:{_GREETING}(?:{_THIS_IS})))\s+{_NO_NAME}{_NAME}{_AFTER}"
)
#: The same after a punctuation mark, with which the pattern begins so that `re` looks for it quickly.
_CONTINUES = re.compile(rf"[,.!;:–—]\s*(?i:{_GREETING})?(?i:{_I_AM})\s+{_NO_NAME}{_NAME}{_AFTER}")
#: "Dana here, office manager", "Jonas vagyok".
_ENDS = re.compile(
    rf"\s*(?i:{_GREETING})?{_NO_NAME}{_NAME} (?:(?:from|aus|von) \w+ )?(?:here|hier|vagyok|ici|aquí|qui|aqui|här|her"
    rf"|tässä|tady)(?=[,.!]|\s*$)"
)
#: Typed in small letters: a greeting, a name, and a job or a place.
_SMALL = re.compile(
    r"^\s*(?:hi|hey|hello|moin|hallo|salut|hola|ciao|oi|olá|hoi|hej)\b[^.!?]{0,30}?\b(?:i'm|i am|im|ich bin|moi c'est"
    r"|je suis|soy|sono|sou|ik ben|jag är|jeg er) (?!done|ready|back|here|sorry|stuck|lost|not|fine|good|happy|tired"
    r"|new|fertig|wieder|prêt|de|back)(?!\w+(?:ing|ed),)\w+,"
    r"|^\s*(?:i'm|i am|im) \w+,? (?:and )?(?:i work|i live|based in|working at) ",
    re.IGNORECASE,
)
#: Chinese, Japanese and Korean.
_EAST_ASIAN = re.compile(
    "(?:^|[，,。！!])(?:我叫|我是)(?!不|在|说|想|要|觉得|否|谁)[^的，,。！!？?\\s]{2,4}(?:[，,。！!]|$)|(?:^"
    "|[、。！,])(?:私は|僕は|わたしは)?[^、。\\s]{1,10}(?:と申します|といいます)"
    "|(?:^|[.,!] ?)(?:저는|나는|전) \\S{2,10}(?:입니다|이에요|예요|라고 합니다)"
)


def introduces_user(sentence: str) -> bool:
    """Return whether the speaker says who they are."""
    if len(sentence) > _MAX_CHARS:
        return False
    if _STARTS.match(sentence) or _ENDS.match(sentence) or _CONTINUES.search(sentence) or _SMALL.search(sentence):
        return True
    return not sentence.isascii() and _EAST_ASIAN.search(sentence) is not None
