"""How many tokens a text costs in a prompt: one counter for everything that counts.

A counter is chosen by the name of a vocabulary, of a model, or by the path of a `tokenizer.json`.
Vocabularies that come with the tokenizer's wheel are counted exactly and offline, as a text that a
user wrote: what looks like a control token is counted as the characters it is made of.

Where the true vocabulary cannot be had (Claude and Gemini do not publish theirs; the wheel does not
exist for every platform), the count is an upper bound. It is the number of UTF-8 bytes, before or
after Unicode normalisation, whichever is more, and one for a leading space. A vocabulary that works
on bytes needs at most one token for each byte of what it reads, so it cannot need more. Anything
tighter would have to know the vocabulary: the most that several known ones need is no bound for
another one.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from memotherm.errors import SettingsError

__all__ = ["DEFAULT", "Counter", "count_tokens", "counter"]

#: The vocabulary that counts unless a setting names another one.
DEFAULT = "o200k_base"

#: Model names, by how they begin, and the vocabulary they use; the first match counts.
_MODELS = (
    (r"gpt-oss|o200k_harmony", "gpt-oss"),
    (r"(chatgpt|gpt)-?4(o|\.[15])|gpt-[5-9]|chatgpt|o[1-9](-|$)|codex", "o200k_base"),
    (r"gpt-4|gpt-3\.5|text-embedding-", "cl100k_base"),
    (r"(meta-)?llama-?3|llama-?[4-9]", "llama3"),
    (r"code-?llama", "codellama"),
    (r"(meta-)?llama-?2|vicuna|tinyllama", "llama2"),
    (r"deepseek", "deepseek_v3"),
    (r"qwen|qwq", "qwen3"),
    (r"(chat)?glm", "glm4"),
    (r"kimi-k3", "kimi_k3"),
    (r"kimi", "kimi_k2"),
    (r"phi-?4", "phi4"),
    (r"olmo-?2", "olmo2"),
    (r"gemma-?2", "gemma2"),
    (r"gemma-?3", "gemma3"),
    (r"gemma-?4", "gemma4"),
)
#: How many counts are remembered, and of texts of at most how many characters.
_COUNTS_KEPT = 16384
_LONGEST_KEPT = 1000
#: Families whose vocabulary is not published: a name that only looks like one of ours must not match.
_UNPUBLISHED = re.compile(r"(.*/)?(claude|anthropic|gemini|grok|command|nova)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Counter:
    """What counts the tokens of one vocabulary."""

    #: The vocabulary; "bytes" where only the upper bound is known.
    name: str
    #: Whether the count is the true one, not a bound that it never exceeds.
    exact: bool
    count: Callable[[str], int]

    def __call__(self, text: str) -> int:
        """Return the number of tokens of a text."""
        return self.count(text)

    def __str__(self) -> str:
        return self.name if self.exact else f"{self.name}, an upper bound"


def count_tokens(text: str, tokenizer: str = DEFAULT) -> int:
    """Return the number of tokens of a text."""
    return counter(tokenizer).count(text)


@functools.cache
def counter(tokenizer: str = DEFAULT) -> Counter:
    """Return the counter for a vocabulary, a model, or a `tokenizer.json`."""
    if tokenizer.endswith(".json"):
        return _from_file(tokenizer)
    name = _vocabulary(tokenizer)
    return _bundled(name) if name else _BOUND


def _vocabulary(tokenizer: str) -> str | None:
    """Return the vocabulary that a name stands for; None when nobody but its maker knows it."""
    if tokenizer == "bytes" or _UNPUBLISHED.match(tokenizer):
        return None
    bare = tokenizer.rsplit("/", 1)[-1].casefold()
    return next((name for pattern, name in _MODELS if re.match(pattern, bare)), tokenizer)


def _bundled(name: str) -> Counter:
    try:
        import splintr
    except ImportError:
        return _BOUND
    try:
        encode = splintr.Tokenizer.from_pretrained(name).encode_ordinary
    except ValueError:
        return _BOUND
    return Counter(name, True, _kept(encode))


def _from_file(path: str) -> Counter:
    if not Path(path).is_file():
        raise SettingsError(f"the tokenizer {path} does not exist: give a model's tokenizer.json, or a model's name")
    try:
        import splintr
    except ImportError:
        return _BOUND
    try:
        encode = splintr.from_json(path).encode_ordinary
    except (OSError, ValueError) as exc:
        raise SettingsError(f"the tokenizer {path} cannot be read: {exc}") from exc
    return Counter(Path(path).name, True, _kept(encode))


def _kept(encode: Callable[[str], Sequence[int]]) -> Callable[[str], int]:
    """Return what counts tokens and remembers it: the same memories come into context after context."""

    def count(text: str) -> int:
        return len(encode(text))

    known = functools.lru_cache(maxsize=_COUNTS_KEPT)(count)
    return lambda text: known(text) if len(text) <= _LONGEST_KEPT else count(text)


def _bytes(text: str) -> int:
    """Return what no vocabulary that works on bytes can exceed."""
    if text.isascii():
        return len(text) + bool(text)
    return max(_size(text), _size(unicodedata.normalize("NFKC", text))) + 1


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


_BOUND = Counter("bytes", False, _bytes)
