"""Speed and memory side by side with naive peers, as a table: `python benchmarks/run.py [--quick] [--output FOLDER]`.

Everything that is compared runs in one run, one thread per process. No number is asserted: machines differ.
"""

import argparse
import json
import os
import platform
import time
from importlib.metadata import version
from pathlib import Path

from table import Spread, markdown, plain

THREAD_VARIABLES = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def measure(quick):
    """Run all benchmarks; returns (rows, growths, conditions) for `table`."""
    # numba and BLAS read their number of threads when they are imported, here and in the processes started from here.
    import attention_indexed_cases
    import channel_cases
    import learning_cases
    import potts_cases
    import sgd_cases
    import single_index_cases

    import growth_cases

    started = time.perf_counter()

    def tell(text):
        print(f"[{time.perf_counter() - started:5.0f} s] {text}", flush=True)

    compilation = channel_cases.compile_seconds()
    tell(f"compiled the channel in {compilation:.1f} s; denoiser against its naive peer")
    rows = channel_cases.denoiser_rows(samples=2 if quick else 15)
    at_skip_one = [row.baseline for row in rows if "c = 1" in row.what]
    naive_evaluation = Spread(
        Spread.of([spread.median for spread in at_skip_one]).median,
        min(spread.low for spread in at_skip_one),
        max(spread.high for spread in at_skip_one),
        sum(spread.count for spread in at_skip_one),
    )
    tell("cost of the denoiser as V shrinks")
    sizes = [0.3, 0.1, 0.03, 0.01] if quick else [0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4]
    growths = [channel_cases.variance_growth(64 if quick else 512, sizes, repeats=3 if quick else 5)]
    tell("importance sampling; one token")
    # The last layer is learnt, as it is on most of a learning curve; then three layers that are all but recovered.
    known = ((0.0, 0.0, 0.7), (0.97, 0.96, 0.9995), (0.0, 0.0, 0.0, 0.7))
    rows += [channel_cases.sampling_row(q, 64 if quick else 256, repeats=2 if quick else 5) for q in known]
    rows.append(channel_cases.one_token_row(16384, replicas=2 if quick else 8))
    tell("GAMP")
    gamp = learning_cases.gamp_row(1000, 1 if quick else 3, 60, naive_evaluation)
    with learning_cases.fresh_processes(learning_cases.PROCESSES) as pool:
        start = learning_cases.start_seconds(pool)
        tell(f"two processes are warm after {start:.1f} s; state evolution: learning curve")
        rows.append(learning_cases.learning_curve_row(pool, every=12 if quick else 1, replicas=2 if quick else 8))
        tell("state evolution: plain iteration against lookahead")
        alphas = [0.25] if quick else [0.2, 0.25, 0.5, 0.75, 0.8, 1.0, 1.2]
        rows += learning_cases.acceleration_rows(pool, alphas, seeds=1 if quick else 2)
        tell("staircases of two and of three layers")
        rows.append(learning_cases.staircase_row(pool, "fig1_thresholds", replicas=2 if quick else 8))
        if not quick:
            rows.append(learning_cases.staircase_row(pool, "fig3_staircase", replicas=2))
        tell("cost of GAMP against D")
        dimensions = [200, 400, 800] if quick else [250, 500, 1000, 2000]
        growths.append(learning_cases.gamp_growth(pool, dimensions, repeats=2 if quick else 5))
    rows.append(gamp)
    tell("gradient descent")
    rows.append(sgd_cases.step_row(naive_batches=3, batches=20 if quick else 200, repeats=2 if quick else 5))
    tell("sequence single-index: reduced gradient descent, loss surface, phase diagram")
    rows += single_index_cases.rows(quick)
    tell("Potts: Gibbs sampling, factored attention, replica theory")
    rows += potts_cases.rows(quick)
    tell("extensive width: learning curve, matrix AMP, gradient descent")
    rows += attention_indexed_cases.rows(quick)
    tell("growth of the cost with the size")
    growths += growth_cases.growths(quick)
    tell("done")
    conditions = {
        "sizes": "quick" if quick else "full",
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, load {os.getloadavg()[0]:.1f} at the end",
        "versions": f"Python {platform.python_version()}, "
        + ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "numba")),
        "threads": "one per process",
        "not in the times": f"compilation of the channel {compilation:.1f} s; start of two processes, with imports and all "
        f"compilation, {start:.1f} s",
        "naive peer": "dblquad for Z and the four posterior means, forward differences for ∂g",
        "errors of the denoiser": "against our quadrature at resolution 3, largest component per output in units of the prior "
        "standard deviations; median and largest over outputs",
    }
    return rows, growths, conditions


def main():
    """Measure, and write `benchmarks.md`, `benchmarks.json` and `scaling.png`."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer samples and smaller sizes, under a minute")
    default = Path(__file__).parent / "results"
    parser.add_argument("--output", type=Path, default=default, metavar="FOLDER", help="default: benchmarks/results")
    arguments = parser.parse_args()
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    results = measure(arguments.quick)
    arguments.output.mkdir(parents=True, exist_ok=True)
    text = markdown(*results)
    (arguments.output / "benchmarks.md").write_text(text, encoding="utf-8")
    data = json.dumps(plain(*results), indent=2, ensure_ascii=False)
    (arguments.output / "benchmarks.json").write_text(data + "\n", encoding="utf-8")
    # Late: matplotlib must not be in the memory that is measured.
    from scaling_figure import draw

    draw(results[1], arguments.output / "scaling.png")
    print(f"\n{text}\nwritten to {arguments.output}/benchmarks.md, .json and scaling.png")


if __name__ == "__main__":
    main()
