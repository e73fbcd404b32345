"""Processes that share the chunks of `compute`.

A worker reads the specification as plain data, and nothing of the program that calls. The processes of `multiprocessing` would
import this program again, so it would need the guard `if __name__ == "__main__"`.
"""

import functools
import json
import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from attention_limits.interface.extras import extras
from attention_limits.pipeline.base.errors import CubeError, SpecError
from attention_limits.pipeline.base.threads import limited
from attention_limits.pipeline.cubes.chunks import run_chunk
from attention_limits.pipeline.experiments.estimator import Estimator, Experiment
from attention_limits.pipeline.experiments.experiment import at_scales
from attention_limits.pipeline.experiments.grid import Chunk

_ERRORS = {"specification": SpecError, "cube": CubeError}


@dataclass(frozen=True)
class Task:
    """What a worker must know: the `document` and the path `source` of an experiment file, the root `seed`, the folder `results`.

    There need be no file: the path gives family, name and project.
    """

    source: str
    document: dict
    seed: int
    results: str

    def experiment(self) -> Experiment:
        """The experiment. Raises SpecError."""
        return at_scales(Path(self.source), document=self.document, scales=("laptop",))["laptop"]

    def compute(self, made: Experiment, estimator: Estimator, chunk: Chunk) -> None:
        """Compute a chunk of an `estimator` of `made`, the experiment of this task."""
        run_chunk(made, estimator, chunk, self.seed, Path(estimator.path(self.results, chunk)), self.results)


@contextmanager
def workers_of(task: Task, number: int) -> Iterator[Callable[[str, Iterable[Chunk]], Iterator[None]]]:
    """A function that computes chunks of an estimator of `task`, by its name, in `number` processes, which share all cores.

    Its iterator gives None for each finished chunk, in order. It raises the SpecError or CubeError of a chunk, and RuntimeError
    for any other error or a killed process.
    """
    # A worker finds the same modules as this process.
    modules = {"PYTHONPATH": os.pathsep.join(sys.path)}
    environment = limited(max(1, (os.cpu_count() or 1) // number), {**os.environ, **modules})
    command = [sys.executable, "-P", "-c", f"from {__name__} import serve; serve()"]
    processes = [
        subprocess.Popen(command, text=True, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for _ in range(number)
    ]
    free: SimpleQueue[subprocess.Popen[str]] = SimpleQueue()
    for process in processes:
        free.put(process)

    def call(name: str, chunk: Chunk) -> None:
        process = free.get()
        try:
            _ask(process, [text, name, chunk.name])
        finally:
            free.put(process)

    # Once for all chunks: a grid may be long.
    text = json.dumps(asdict(task))
    threads = ThreadPoolExecutor(number)
    try:
        yield lambda name, chunks: threads.map(lambda chunk: call(name, chunk), chunks)
    except BaseException:
        for process in processes:
            process.kill()
        raise
    finally:
        threads.shutdown(cancel_futures=True)
        for process in processes:
            process.communicate()


def _ask(process: subprocess.Popen[str], question: list) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(f"{json.dumps(question)}\n")
        process.stdin.flush()
    except BrokenPipeError:
        # It has no answer either.
        pass
    answer = process.stdout.readline()
    if not answer:
        raise RuntimeError(f"a process of compute ended with status {process.wait()}: killed, or out of memory?")
    kind, problems = json.loads(answer)
    if kind is not None:
        raise _ERRORS[kind](problems) if kind in _ERRORS else RuntimeError(f"in a process of compute:\n{problems}")


def serve() -> None:
    """The work of one process: it computes the chunk that each line of its input names, and writes a line with the outcome."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    # What a chunk prints belongs on the screen, not among the answers.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    for line in sys.stdin:
        task, name, chunk = json.loads(line)
        kind: str | None = None
        problems: Any = None
        try:
            with extras():
                _compute(task, name, chunk)
        except SpecError as error:
            kind, problems = "specification", error.problems
        except CubeError as error:
            kind, problems = "cube", error.problems
        except Exception:
            kind, problems = "another", traceback.format_exc()
        answers.write(f"{json.dumps([kind, problems])}\n")
        answers.flush()


@functools.cache
def _read(text: str) -> tuple[Task, Experiment]:
    task = Task(**json.loads(text))
    return task, task.experiment()


def _compute(text: str, name: str, chunk: str) -> None:
    task, made = _read(text)
    estimator = made.all_estimators[name]
    task.compute(made, estimator, estimator.chunk[chunk])
