"""Train the embedding model: `python -m training --base FILE --questions FILE --out FILE [--data DIR]`."""

from __future__ import annotations

import argparse
import hashlib
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from training.measure import searched_sets, table
from training.model import average, encoder, quantized, write
from training.optimized_model import optimized
from training.preparing import measured, prepare
from training.student import StudentRecipe, Task, train_student
from training.teacher import TeacherRecipe, judge, train_teacher

__all__ = ["main"]

#: The runs whose weights are averaged.
_SEEDS = (1, 2, 3)


def main(words: Sequence[str] | None = None) -> None:
    """Train the model, measure it on development sets if there are any, and write it with the graph of the product."""
    arguments = _parser().parse_args(words)
    log = _logger()
    ready = prepare(arguments.base, arguments.questions, log)
    teacher = train_teacher(
        ready.weights, ready.questions, ready.bare_ids, ready.text_ids, ready.mined, TeacherRecipe(), log
    )
    judgements = judge(teacher, ready.questions, ready.bare_ids, ready.text_ids, ready.mined)
    log("the teacher has judged the negatives")
    task = Task(
        ready.questions,
        ready.question_ids,
        ready.text_ids,
        ready.mined,
        judgements,
        ready.tokenizer,
        ready.model,
        ready.question_vectors,
        ready.text_vectors,
    )
    weights = average([train_student(ready.weights, task, StudentRecipe(seed=seed), log) for seed in _SEEDS])
    if arguments.data:
        sets = searched_sets(arguments.data)
        old = measured(ready.model, sets, ready.tokenizer)
        print(table(measured(encoder(quantized(weights)), sets, ready.tokenizer), old))
    with tempfile.TemporaryDirectory() as folder:
        trained = Path(folder) / "model.onnx"
        write(weights, arguments.base, trained)
        arguments.out.write_bytes(optimized(trained))
    log(f"wrote {arguments.out}, sha256 {hashlib.sha256(arguments.out.read_bytes()).hexdigest()}")


def _logger() -> Callable[[str], None]:
    start = time.monotonic()
    return lambda line: print(f"[{time.monotonic() - start:6.1f}] {line}", flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m training", description="Train the embedding model.")
    parser.add_argument(
        "--base", type=Path, required=True, help="onnx/model_quantized.onnx of snowflake-arctic-embed-s"
    )
    parser.add_argument("--questions", type=Path, required=True, help="the training questions, questions.jsonl.xz")
    parser.add_argument("--out", type=Path, required=True, help="write the model to this file")
    parser.add_argument("--data", type=Path, help="measure the model on the evaluation sets of this folder")
    return parser


if __name__ == "__main__":
    main()
