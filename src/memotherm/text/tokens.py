"""Token counts.

A counter is chosen by the name of a vocabulary, the name of a model, or the path of a `tokenizer.json`.
Vocabularies in the tokenizer's wheel are counted exactly and offline, as text of a user: what looks like
a control token is counted as its characters.

Where the vocabulary is not available (Claude and Gemini do not publish theirs; the wheel does not exist
for every platform), the count is an upper bound: the number of UTF-8 bytes, before or after Unicode
normalisation, whichever is more, and one for a leading space. A byte-level vocabulary needs at most one
token per byte. A tighter bound would require the vocabulary.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from memotherm.errors import SettingsError

#: The vocabulary that is used unless a setting names another one.
DEFAULT = "o200k_base"

#: Prefix patterns of model names, and their vocabularies; the first match wins.
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
#: Vocabularies whose pre-tokenizer never joins a line break with the start of the next line, except white space and
#: slashes.
_BREAK_AT_LINES = frozenset({"o200k_base", "cl100k_base", "gpt-oss", "llama3"})
#: Entries in the cache of counts, and the maximum length of a cached text.
_CACHE_SIZE = 16384
_LONGEST_CACHED = 1000
#: A word that is in no vocabulary: encoding it builds the merge tables.
_RARE = "qzxjvwkq"
#: How a control token begins, in most vocabularies.
_CONTROL = "<|"
#: Families without a published vocabulary, whose names must not match another pattern.
_UNPUBLISHED = re.compile(r"(.*/)?(claude|anthropic|gemini|grok|command|nova)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Counter:
    """Counts the tokens of one vocabulary."""

    #: The vocabulary; "bytes" where only the upper bound is known.
    name: str
    #: Whether the count is exact, not an upper bound.
    exact: bool
    count: Callable[[str], int]
    #: Encodes texts without holding the GIL.
    encode_all: Callable[[Sequence[str]], object] = len
    #: Whether a text has the sum of the tokens of its lines, if no line begins with white space or a slash.
    by_line: bool = False

    def prepare(self) -> None:
        """Build the tables that the first text needs, without blocking other threads."""
        self.encode_all([_RARE])

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
        if not Path(tokenizer).is_file():
            raise SettingsError(
                f"the tokenizer {tokenizer} does not exist: give a model's tokenizer.json, or a model's name"
            )
        return _loaded(Path(tokenizer).name, tokenizer)
    name = _vocabulary(tokenizer)
    return _loaded(name) if name else _BOUND


def _vocabulary(tokenizer: str) -> str | None:
    """Return the vocabulary of a name; None when it is not published."""
    if tokenizer == "bytes" or _UNPUBLISHED.match(tokenizer):
        return None
    bare = tokenizer.rsplit("/", 1)[-1].casefold()
    return next((name for pattern, name in _MODELS if re.match(pattern, bare)), tokenizer)


@functools.cache
def _loaded(name: str, path: str = "") -> Counter:
    """Return the counter of a vocabulary in the wheel, or in a file; the upper bound if there is none."""
    # Cached here as well: many names lead to one vocabulary, which takes 0.1 s to load.
    try:
        import splintr
    except ImportError:
        return _BOUND
    try:
        tokenizer = splintr.from_json(path) if path else splintr.Tokenizer.from_pretrained(name)
    except (OSError, ValueError) as exc:
        if path:
            raise SettingsError(f"the tokenizer {path} cannot be read: {exc}") from exc
        return _BOUND
    # Encodes control tokens as their characters.
    encode: Callable[[str], Sequence[int]] = tokenizer.encode_ordinary
    # Four bytes for each token, in two thirds of the time, but control tokens are encoded as such.
    encode_flat: Callable[[str], bytes] = tokenizer.encode_flat
    have_prefix = all(control.startswith(_CONTROL) for control in tokenizer.special_tokens())

    def count(text: str) -> int:
        if have_prefix and _CONTROL not in text:
            return len(encode_flat(text)) // 4
        return len(encode(text))

    # Contexts repeat the same memories.
    cached = functools.lru_cache(maxsize=_CACHE_SIZE)(count)

    def count_cached(text: str) -> int:
        return cached(text) if len(text) <= _LONGEST_CACHED else count(text)

    return Counter(name, True, count_cached, tokenizer.encode_batch_flat, name in _BREAK_AT_LINES)


def _upper_bound(text: str) -> int:
    """Return an upper bound for every byte-level vocabulary."""
    if text.isascii():
        return len(text) + bool(text)
    return max(_size(text), _size(unicodedata.normalize("NFKC", text))) + 1


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


_BOUND = Counter("bytes", False, _upper_bound)
