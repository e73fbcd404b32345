"""Processes that share the chunks of `compute`.

A worker imports what its jobs name, and nothing of the program that calls. The processes of `multiprocessing` import this program
again, so it would need the guard `if __name__ == "__main__"`.
"""

import os
import pickle
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from queue import SimpleQueue

from attention_limits.pipeline.threads import limited

_COMMAND = [sys.executable, "-P", "-c", f"from {__name__} import serve; serve()"]


@contextmanager
def shared(workers: int) -> Iterator[Callable]:
    """A function like `map` whose calls run in so many processes, which share the cores of this machine.

    The function and the items must be picklable. An exception of a call is raised here. RuntimeError: a process was killed.
    """
    environment = limited(max(1, (os.cpu_count() or 1) // workers), os.environ)
    # So a worker finds the same modules.
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    processes = [subprocess.Popen(_COMMAND, env=environment, **pipes) for _ in range(workers)]
    free = SimpleQueue()
    for process in processes:
        free.put(process)

    def call(function, item):
        process = free.get()
        try:
            return _answer(process, function, item)
        finally:
            free.put(process)

    threads = ThreadPoolExecutor(workers)
    try:
        yield lambda function, items: threads.map(lambda item: call(function, item), items)
    except BaseException:
        for process in processes:
            process.kill()
        raise
    finally:
        threads.shutdown(cancel_futures=True)
        for process in processes:
            process.communicate()


def _answer(process, function, item):
    try:
        pickle.dump((function, item), process.stdin)
        process.stdin.flush()
        answer, error = pickle.load(process.stdout)
    except (EOFError, BrokenPipeError):
        raise RuntimeError(
            f"a process of compute ended with status {process.wait()}: killed, or out of memory?"
        ) from None
    if error is not None:
        raise error
    return answer


def serve() -> None:
    """The work of one process: reads calls from its input until this ends, and writes answers or exceptions to its output."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    # What a job prints belongs on the screen, not among the answers.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    while True:
        try:
            function, item = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            answer = function(item), None
        except Exception as error:
            error.add_note(f"In a process of compute:\n{traceback.format_exc()}")
            answer = None, error
        pickle.dump(answer, answers)
        answers.flush()
