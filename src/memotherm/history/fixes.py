"""The errors of one session that went away, read from its transcript."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from memotherm.history.exchanges import exchanges, fix_of
from memotherm.history.reader import Reader
from memotherm.history.records import Reading, Transcript
from memotherm.hooks.turns import Content
from memotherm.settings import Settings
from memotherm.text.redaction import redactor


def fixes_in(source: Reader, path: Path, settings: Settings) -> Iterator[Content]:
    """Yield each error of a transcript with what made it go away, without secrets; none if there is no transcript."""
    if not path.is_file():
        return
    redact = redactor(settings).redact
    transcript = Transcript(source.name, path, "", path.stat().st_size, "")
    for exchange in exchanges(source.read(transcript, Reading())):
        for fix in exchange.fixes:
            yield fix_of(fix, lambda text: redact(text).text)
