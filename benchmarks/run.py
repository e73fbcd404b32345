"""Speed and memory beside naive programs, as a table: `python benchmarks/run.py [--quick] [--families ...] [--output FOLDER]`.

All compared programs run in the same run, with one thread per process. There are no assertions, because machines differ.
"""

import argparse
import importlib
import json
import os
import platform
import re
import resource
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from statistics import median

from threadpoolctl import threadpool_info

# The rows import the naive methods of toycodes/.
sys.path.append(str(Path(__file__).parents[1]))
# The modules beside this one that have rows(quick) and growths(quick).
FAMILIES = sorted(path.parent.name for path in (Path(__file__).parents[1] / "config").glob("*/experiments"))
THREAD_VARIABLES = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def measure(quick, families):
    """Run the benchmarks of some families, and the bounds of all; returns (rows, growths, roofs, conditions) for `table`."""
    started = time.perf_counter()
    rows, growths = [], []
    for family in families:
        cases = importlib.import_module(family)
        for found, measured in ((rows, cases.rows), (growths, cases.growths)):
            print(f"[{time.perf_counter() - started:5.0f} s] {family}: {measured.__name__}", flush=True)
            found += measured(quick)
    roofline = importlib.import_module("roofline")
    print(f"[{time.perf_counter() - started:5.0f} s] limits of one core", flush=True)
    limits, roofs = roofline.roofs(quick)
    conditions = {
        "sizes": "quick" if quick else "full",
        "duration": f"{(time.perf_counter() - started) / 60:.1f} minutes",
        "machine": f"{os.cpu_count()} cores, {processor()}, load {os.getloadavg()[0]:.1f} at the end",
        "versions": f"Python {platform.python_version()}, "
        + ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "numba")),
        "linear algebra": kernels(),
        "threads": "one per process, except where a row names more",
        "not in the times": "compilation, imports, the start of processes",
        "naive denoiser": "dblquad for Z and the four posterior means, forward differences for ∂g",
        "errors of the denoiser": "against our quadrature at resolution 3, largest component per output in units of the prior "
        "standard deviations; median and largest over outputs",
        "start of a job": f"{start_of_a_job():.2f} s of CPU for a job that finds its point computed",
        **limits.lines(),
    }
    return rows, growths, roofs, conditions


def processor():
    """The name of the processor, or its architecture where the system does not state the name."""
    path = Path("/proc/cpuinfo")
    found = re.search(r"^model name\s*: (.*)$", path.read_text(), re.MULTILINE) if path.is_file() else None
    return found[1] if found else platform.machine()


def kernels():
    """Versions of BLAS in this process, and the processors for which their kernels were written."""
    loaded = [library for library in threadpool_info() if library["user_api"] == "blas"]
    names = {f"{item['internal_api']} {item['version']} for {item.get('architecture')}" for item in loaded}
    return ", ".join(sorted(names))


def start_of_a_job(repeats=5):
    """Median CPU seconds of a job that computes nothing, because its point is there."""
    root = Path(__file__).parents[1]
    experiment = root / "config" / "sequence_single_index" / "experiments" / "fig4_phases.yaml"
    seconds = []
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "attention_limits", "run", str(experiment), "--estimator", "phase_lines"]
        for _ in range(repeats + 1):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(
                [*command, "--scale", "smoke", "--results", folder], cwd=root, check=True, capture_output=True
            )
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    # The first job computes.
    return median(seconds[1:])


def main():
    """Measure, and write `benchmarks.md`, `benchmarks.json` and `scaling.png`."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer samples and smaller sizes, under a minute")
    default = Path(__file__).parent / "results"
    parser.add_argument("--output", type=Path, default=default, metavar="FOLDER", help="default: benchmarks/results")
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=FAMILIES, help="default: all")
    arguments = parser.parse_args()
    # BLAS and numba read these when they are imported, in this process and in those that it starts. `table` imports NumPy.
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    from table import markdown, plain

    results = measure(arguments.quick, arguments.families)
    arguments.output.mkdir(parents=True, exist_ok=True)
    text = markdown(*results)
    (arguments.output / "benchmarks.md").write_text(text, encoding="utf-8")
    data = json.dumps(plain(*results), indent=2, ensure_ascii=False)
    (arguments.output / "benchmarks.json").write_text(data + "\n", encoding="utf-8")
    # A late import: matplotlib must not be in the measured memory.
    from scaling_figure import draw

    draw(results[1], arguments.output / "scaling.png")
    print(f"\n{text}\nwritten to {arguments.output}/benchmarks.md, .json and scaling.png")


if __name__ == "__main__":
    main()
