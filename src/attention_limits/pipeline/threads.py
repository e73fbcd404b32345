"""The number of threads of BLAS, numba and JAX, which read these variables once, when they are imported."""

import os

_VARIABLES = [*(f"{name}_NUM_THREADS" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")), "VECLIB_MAXIMUM_THREADS"]


def limit_threads(threads: int) -> None:
    """Set the variables for this process, before the imports, and for the processes that it starts."""
    os.environ.update(dict.fromkeys(_VARIABLES, str(threads)))
    if threads == 1:
        # JAX takes all cores unless this flag forbids it; it accepts no other number.
        flags = os.environ.get("XLA_FLAGS", "")
        os.environ["XLA_FLAGS"] = f"{flags} --xla_cpu_multi_thread_eigen=false".strip()
