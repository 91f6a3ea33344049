"""The bundled embedder: a small BERT model on the CPU, offline, with static vectors for other languages than English.

It runs an ONNX model with [CLS] pooling and a prefix for queries, one text per run.
onnxruntime and the model are loaded with the first text.

The bundled model is loaded from `graph.onnx`, which names the places of its numbers in `model.onnx`: onnxruntime maps
these into memory instead of reading them, in two thirds of the time. The first layers alone tell what the tokens of a
text are, at a third of the cost of its vector; `first_layers.onnx` is their graph. `python -m training.graphs` writes
both. `python -m bench.filler` learns the weights of the classifier of filler.
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from threading import Lock, main_thread
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from memotherm.embed import windows
from memotherm.embed.calibration import BUNDLED_CALIBRATION, Calibration
from memotherm.embed.multilingual import UNKNOWN, LanguageMixer, StaticVectors
from memotherm.embed.wordpiece import WordPiece, atoms
from memotherm.errors import EmbedderError, PluginUnavailable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


BUNDLED = Path(__file__).parent / "weights"
_MULTILINGUAL = BUNDLED / "multilingual"
BUNDLED_NAME = "local:memotherm-embed-s-1+potion-multilingual"
BUNDLED_DIMENSIONS = 384
#: Prefix of queries only; without it, recall@10 falls from .73 to .40.
QUERY_PREFIX = "Represent this sentence for searching relevant passages: "
#: The longest input of BERT, [CLS] and [SEP] included. The rest is not embedded: call `split` first.
MAX_TOKENS = 512
#: Texts embedded in parallel; beyond this, memory grows faster than speed.
MAX_THREADS = 8
#: Models and vocabularies loaded in this process, by (path, modification time, size).
_loaded: WeakValueDictionary[tuple[str, int, int], Any] = WeakValueDictionary()


class LocalEmbedder:
    """Embeds with a BERT-style ONNX model from a folder; the bundled one by default.

    The folder has `model.onnx` and `vocab.txt` (or `tokenizer.json`).
    A text's vector never depends on the texts embedded with it.
    Embedders of one process share a model while one of them has it.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str] | None = None,
        *,
        name: str | None = None,
        prefix: str = QUERY_PREFIX,
        calibration: Calibration | None = None,
        threads: int | None = None,
        part_tokens: int = windows.PART_TOKENS,
    ) -> None:
        self._folder = BUNDLED if folder is None else Path(folder)
        self._graph = "graph.onnx" if folder is None else "model.onnx"
        own_name = BUNDLED_NAME if folder is None else f"local:{self._folder.resolve().name}"
        self.name = name or (own_name if part_tokens == windows.PART_TOKENS else f"{own_name}:parts={part_tokens}")
        self._part_tokens = part_tokens
        self._dimensions = BUNDLED_DIMENSIONS if folder is None else 0
        self._prefix = prefix
        if calibration is not None or folder is None:
            # Without this attribute, the calibration is estimated.
            self.calibration = calibration or BUNDLED_CALIBRATION
        self._threads = threads or min(_cores(), MAX_THREADS)
        self._lock = Lock()
        self._words: WordPiece | None = None
        self._languages = _bundled_languages() if folder is None else None
        self._model: Any = None
        #: The query passed to `begin_query`, and its vector.
        self._begun: tuple[str, Future[NDArray[np.float32]]] | None = None

    @staticmethod
    def is_installed() -> bool:
        """Return whether onnxruntime and the bundled model are installed, without loading them."""
        return find_spec("onnxruntime") is not None and (BUNDLED / "model.onnx").is_file()

    @property
    def dimensions(self) -> int:
        """The length of a vector; read from the model if it is not the bundled one."""
        if not self._dimensions:
            self._dimensions = int(self._session().get_outputs()[0].shape[-1])
        return self._dimensions

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed stored texts, several at a time.

        A text of more than one part gets the mean of two vectors: that of the whole, and the centre of its parts.
        """
        import numpy as np

        known = [self._known(text) for text in texts]
        inputs = [self._inputs(text) if share >= UNKNOWN else [] for text, share in zip(texts, known, strict=True)]
        flat = [ids for parts in inputs for ids in parts]
        # The longest first, so that no thread waits long for another at the end.
        order = sorted(range(len(flat)), key=lambda index: -len(flat[index]))
        rows: list[Any] = [None] * len(flat)
        for index, vector in zip(order, self._run_all([flat[index] for index in order]), strict=True):
            rows[index] = vector
        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        start = 0
        for row, parts in enumerate(inputs):
            own = _joined(rows[start : start + len(parts)]) if parts else None
            vectors[row] = self._mixed(own, texts[row], known[row], query=False)
            start += len(parts)
        return vectors

    def _inputs(self, text: str) -> list[list[int]]:
        """Return the inputs for one text: the whole, and its parts where there is more than one."""
        words = self._tokenizer()
        whole = words.encode(text, MAX_TOKENS)
        if not self._part_tokens or len(whole) - 2 <= self._part_tokens:
            return [whole]
        parts = windows.by_sentences(text, words.count, atoms, size=self._part_tokens)
        return [whole, *(words.encode(part, MAX_TOKENS) for part in parts)]

    def begin_query(self, text: str) -> None:
        """Start embedding a query in a thread; `embed_query` of the same text waits for the result."""
        pool = ThreadPoolExecutor(1, thread_name_prefix="memotherm-query")
        self._begun = (text, pool.submit(self._embed_query, text))
        pool.shutdown(wait=False)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed a query, with the prefix that the model was trained with."""
        if self._begun is not None and self._begun[0] == text:
            return self._begun[1].result()
        return self._embed_query(text)

    def _embed_query(self, text: str) -> NDArray[np.float32]:
        known = self._known(text)
        own = self._run(self._tokenizer().encode(self._prefix + text, MAX_TOKENS)) if known >= UNKNOWN else None
        return self._mixed(own, text, known, query=True)

    def query_weight(self, text: str) -> float:
        """Return the weight of a query's cosines in ranking: 1 for English, less for other languages."""
        return 1.0 if self._languages is None else self._languages.weight(self._known(text))

    def word_similarity(self, words: Sequence[str], texts: Sequence[str]) -> NDArray[np.float32]:
        """Return how similar each word is to the most similar word of each text, by their static vectors."""
        import numpy as np

        if self._languages is None:
            return np.zeros((len(texts), len(words)), np.float32)
        return self._languages.word_similarity(words, texts)

    def _known(self, text: str) -> float:
        """Return how much of a text the model knows; only the bundled model is checked."""
        return 1.0 if self._languages is None else self._languages.known(text, self._tokenizer())

    def _mixed(self, own: NDArray[np.float32] | None, text: str, known: float, *, query: bool) -> NDArray[np.float32]:
        """Return the vector of a text, mixed from the model's own (if any) and its static one."""
        mixed = own if self._languages is None else self._languages.mix(own, text, known, query=query)
        # Characters without a static vector.
        return self._run(self._tokenizer().encode(text, MAX_TOKENS)) if mixed is None else mixed

    def split(self, text: str) -> list[str]:
        """Split a content into windows that fit the model."""
        return windows.by_tokens(text, self._tokenizer().count, atoms)

    def load(self, *, briefly: bool = False) -> None:
        """Load the vocabulary and the model now, not with the first text.

        For a process that ends after a text or two, a brief load takes two thirds of the time; then each text takes
        half as long again.
        """
        self._tokenizer()
        self._session(briefly=briefly)

    def close(self) -> None:
        """Release the model; the next text loads it again."""
        with self._lock:
            self._model = None

    def __repr__(self) -> str:
        return f"LocalEmbedder({self.name!r})"

    def _run_all(self, inputs: list[list[int]]) -> list[NDArray[np.float32]]:
        workers = min(self._threads, len(inputs))
        # At the end of the interpreter, no thread can be started any more.
        if workers < 2 or not main_thread().is_alive():
            return [self._run(ids) for ids in inputs]
        self._session()
        # A pool per call takes microseconds against milliseconds per text, and leaves no idle threads, so that
        # the process may fork between calls.
        with ThreadPoolExecutor(workers, thread_name_prefix="memotherm-embed") as pool:
            return list(pool.map(self._run, inputs))

    def _run(self, ids: list[int]) -> NDArray[np.float32]:
        """Run one text: dynamic int8 scales a whole batch at once, so other texts would change the vector."""
        import numpy as np

        session = self._session()
        row = np.array([ids], dtype=np.int64)
        fields = {"input_ids": row, "attention_mask": np.ones_like(row), "token_type_ids": np.zeros_like(row)}
        feed = {field.name: fields[field.name] for field in session.get_inputs()}
        (output,) = session.run([session.get_outputs()[0].name], feed)
        first = np.asarray(output).reshape(-1, output.shape[-1])[0]
        return np.asarray(first / np.linalg.norm(first), dtype=np.float32)

    def _tokenizer(self) -> WordPiece:
        with self._lock:
            if self._words is None:
                self._words = read_vocabulary(self._folder)
            return self._words

    def _session(self, *, briefly: bool = False) -> Any:  # noqa: ANN401  # onnxruntime ships no types
        with self._lock:
            if self._model is None:
                self._model = shared(self._folder / self._graph, functools.partial(load_model, briefly=briefly))
            return self._model


def _joined(vectors: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    """Return the mean direction of the whole text and the centre of its parts."""
    import numpy as np

    if len(vectors) == 1:
        return vectors[0]
    centre = np.sum(vectors[1:], axis=0)
    both = vectors[0] + centre / np.linalg.norm(centre)
    return np.asarray(both / np.linalg.norm(both), dtype=np.float32)


def _cores() -> int:
    """Return the number of cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def read_vocabulary(folder: Path) -> WordPiece:
    """Return the word pieces of a model."""
    for name in ("vocab.txt", "tokenizer.json"):
        if (folder / name).is_file():
            words: WordPiece = shared(folder / name, WordPiece.from_file)
            return words
    raise EmbedderError(f"No vocabulary in {folder}; put the model's vocab.txt or tokenizer.json there.")


def shared(path: Path, load: Callable[[Path], Any]) -> Any:  # noqa: ANN401
    """Load a file, or return what was loaded from it before if it is unchanged."""
    try:
        state = path.stat()
    except OSError:
        return load(path)  # which says what is wrong
    key = (str(path.resolve()), state.st_mtime_ns, state.st_size)
    value = _loaded.get(key)
    if value is None:
        value = _loaded[key] = load(path)
    return value


def import_onnxruntime() -> Any:  # noqa: ANN401  # onnxruntime ships no types
    """Import onnxruntime, without telemetry."""
    # Official builds send telemetry unless this is set before the import.
    os.putenv("ORT_DISABLE_TELEMETRY", "1")
    try:
        import onnxruntime
    except ImportError as error:
        raise PluginUnavailable(
            "The local embedder needs onnxruntime: pip install onnxruntime. "
            'Or choose embedder="none" for text search only.'
        ) from error
    onnxruntime.disable_telemetry_events()
    return onnxruntime


def load_model(path: Path, *, briefly: bool = False) -> Any:  # noqa: ANN401
    """Load a model for single-threaded runs, without warnings; a brief load does not rearrange its weights."""
    onnxruntime = import_onnxruntime()
    if not path.is_file():
        raise EmbedderError(f"No model at {path}; reinstall memotherm, or name a folder with a model.onnx.")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors only
    # Texts run in parallel, each in its own thread; more threads inside a run would compete with them.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    if briefly:
        options.add_session_config_entry("session.disable_prepacking", "1")
    if path.parent == BUNDLED:
        # These graphs were optimised when they were made.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        # onnxruntime raises a dozen classes of its own without a common base.
        raise EmbedderError(f"The model at {path} cannot be loaded; is it a complete ONNX file?") from error


# The first layers alone


def knows_language(text: str) -> bool:
    """Return whether the bundled model knows the language of a text."""
    return _bundled_languages().known(text, _bundled_vocabulary()) >= UNKNOWN


def token_ids(text: str, most: int) -> list[int]:
    """Return the first tokens of a text, between a mark of its beginning and one of its end."""
    return _bundled_vocabulary().encode(text, most)


def token_states(text: str, most: int) -> NDArray[np.float32]:
    """Return a row for each of the first tokens of a text."""
    import numpy as np

    row = np.array([token_ids(text, most)], dtype=np.int64)
    fields = {"input_ids": row, "attention_mask": np.ones_like(row), "token_type_ids": np.zeros_like(row)}
    (states,) = _first_layers().run(None, fields)
    return np.asarray(states[0], np.float32)


@functools.cache
def _bundled_vocabulary() -> WordPiece:
    return read_vocabulary(BUNDLED)


@functools.cache
def _bundled_languages() -> LanguageMixer:
    return LanguageMixer(_MULTILINGUAL)


@functools.cache
def _first_layers() -> Any:  # noqa: ANN401  # onnxruntime ships no types
    return shared(BUNDLED / "first_layers.onnx", load_model)


# Filler


FILLER_WEIGHTS = _MULTILINGUAL / "filler.npy"
#: The usual logarithm of the information of a short text.
_USUAL_INFORMATION = 3.3


def filler_odds(text: str) -> float:
    """Return the logarithm of the odds that a text is filler; above 0 it is likelier than not."""
    values = features(text)
    return -math.inf if values is None else float(values @ _filler_weights())


def features(text: str) -> NDArray[np.float64] | None:
    """Return the vector of a text, how much its pieces say, and 1; None if the table has none of its pieces."""
    import numpy as np

    vector, information = static_vectors().embed_with_information(text.lower())
    if vector is None:
        return None
    return np.append(vector, (math.log1p(information) - _USUAL_INFORMATION, 1.0))


@functools.cache
def static_vectors() -> StaticVectors:
    """Return the vectors of word pieces, which all readers of a process share."""
    return StaticVectors(_MULTILINGUAL)


@functools.cache
def _filler_weights() -> NDArray[np.float32]:
    import numpy as np

    weights: NDArray[np.float32] = np.load(FILLER_WEIGHTS)
    return weights
