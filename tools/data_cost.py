"""What data files would cost for the estimators that draw their data inside of a job: `python tools/data_cost.py [SCALE]`.

Counts the numbers of all data sets of a scale (default: laptop), measures the CPU time to draw numbers, and to write and read
them as a data file. CONTRIBUTING.md names the result, and `tools/rules.py` marks these estimators in the graph of the rules.
"""

import itertools
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import xarray as xr

from attention_limits.pipeline.experiments.estimator import Estimator
from attention_limits.pipeline.experiments.project import load_project

ROOT = Path(__file__).parents[1]
# Numbers of the measurement, and bytes of one in a data file (single precision).
MEASURED, BYTES = 2 * 10**7, 4


def _sequences(model, alpha, dimension, power):
    """n M D numbers of n = alpha D^power sequences, of queries and keys where they read different ones."""
    return (
        max(1, round(alpha * dimension**power)) * model.get("tokens", 2) * dimension * (1 + model.get("untied", False))
    )


def _finite_rank(point, solver):
    return _sequences(point, point["alpha"], solver.dimension, 1)


def _extensive(point, solver):
    return _sequences(point, point["alpha"], point.get("dimension") or solver.dimension, 2)


# Numbers of the data of one replica at a grid point, by estimator. Those that read data at this point are left out.
DRAWN: dict[str, Callable] = {
    "sequence_multi_index.gamp": _finite_rank,
    "sequence_multi_index.held_gamp": _finite_rank,
    "attention_indexed.matrix_amp": _extensive,
    "attention_indexed.matrix_amp_sizes": _extensive,
    "attention_indexed.two_layers_amp": _extensive,
}


def estimators(scale: str) -> Iterator[Estimator]:
    """The estimators of DRAWN of all experiments at a `scale` that read no data."""
    for family, experiments in load_project(ROOT, {"scale": scale, "families": "all"}).experiments.items():
        for experiment in experiments.values():
            for estimator in experiment.estimators.values():
                if f"{family}.{estimator.name}" in DRAWN and estimator.reads is None:
                    yield estimator


def numbers(estimator: Estimator) -> tuple[int, int]:
    """Numbers of all data sets of an estimator, and how many data sets these are."""
    count = DRAWN[f"{estimator.family}.{estimator.name}"]
    values = itertools.product(*estimator.grid.values())
    each = [
        count({**estimator.model, **dict(zip(estimator.grid, value, strict=True))}, estimator.solver)
        for value in values
    ]
    return estimator.replicas * sum(each), estimator.replicas * len(each)


def seconds(action: Callable) -> float:
    """Smallest of three CPU times of an action, with that of the kernel."""
    times = []
    for _ in range(3):
        start = time.process_time()
        action()
        times.append(time.process_time() - start)
    return min(times)


def measured() -> tuple[float, float, float]:
    """CPU seconds per number to draw it, to write it into a file as data are written, and to read it."""
    generator = np.random.Generator(np.random.SFC64(0))
    drawn = seconds(lambda: generator.standard_normal(MEASURED, dtype=np.float32))
    data = xr.Dataset({"sequences": ("number", generator.standard_normal(MEASURED, dtype=np.float32))})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.nc"
        written = seconds(lambda: data.to_netcdf(path, engine="netcdf4"))

        def read():
            with xr.open_dataset(path, engine="netcdf4") as found:
                found.load()

        return drawn / MEASURED, written / MEASURED, seconds(read) / MEASURED


def main():
    """Print a row for each estimator, and the sum."""
    scale = sys.argv[1] if len(sys.argv) > 1 else "laptop"
    drawn, written, read = measured()
    total: dict[str, tuple[int, int]] = {}
    for estimator in estimators(scale):
        name, found = f"{estimator.family}.{estimator.name}", numbers(estimator)
        before = total.get(name, (0, 0))
        total[name] = before[0] + found[0], before[1] + found[1]
    total["all"] = tuple(map(sum, zip(*total.values(), strict=True)))
    print(f"{scale}: estimator, data sets, gigabytes, CPU seconds to draw, to write and to read")
    for name, (count, files) in total.items():
        times = (f"{count * each:.1f}" for each in (drawn, written, read))
        print(f"{name:40s} {files:6d} {BYTES * count / 1e9:8.2f} {'  '.join(times)}")


if __name__ == "__main__":
    main()
