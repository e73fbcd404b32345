"""The number of threads of BLAS, numba and JAX, which read these variables once, when they are imported."""

import os
from collections.abc import Mapping

_VARIABLES = [*(f"{name}_NUM_THREADS" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")), "VECLIB_MAXIMUM_THREADS"]


def limited(threads: int, environment: Mapping[str, str]) -> dict[str, str]:
    """A copy of the `environment` of a process in which these libraries use so many threads."""
    flags = environment.get("XLA_FLAGS", "")
    # JAX takes all cores unless this flag forbids it; it accepts no other number.
    own = {"XLA_FLAGS": f"{flags} --xla_cpu_multi_thread_eigen=false".strip()} if threads == 1 else {}
    return {**environment, **dict.fromkeys(_VARIABLES, str(threads)), **own}


def limit_threads(threads: int) -> None:
    """Set the variables for this process, before the imports, and for the processes that it starts."""
    os.environ.update(limited(threads, os.environ))


def wrong_threads(environment: Mapping[str, str]) -> str:
    """A line about a NUMBA_NUM_THREADS below one, with which numba cannot be imported; empty for others."""
    number = environment.get("NUMBA_NUM_THREADS", "").strip()
    below = number.removeprefix("-").isdecimal() and int(number) < 1
    return f"NUMBA_NUM_THREADS: {number}: allowed: a whole number ≥ 1, or no such variable" if below else ""
