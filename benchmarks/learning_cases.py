"""Benchmarks of state evolution, thresholds and GAMP at the settings of the experiments of Figure 1."""

import importlib
import multiprocessing
import re
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from attention_limits.numerics.gaussian_nodes import gaussian_nodes
from attention_limits.numerics.statistics import mean_and_error
from attention_limits.pipeline.experiment import load_experiment
from attention_limits.pipeline.streams import Streams
from attention_limits.sequence_multi_index import gamp
from attention_limits.sequence_multi_index.channel import Channel
from attention_limits.sequence_multi_index.links.loading import load_link
from attention_limits.sequence_multi_index.state_evolution import node_dimension, solve
from table import Growth, Row, Spread

EXPERIMENTS = Path(__file__).parents[1] / "config" / "experiments" / "sequence_multi_index"
PROCESSES = 2
ALPHA = 1.2


def estimator(experiment, name):
    """One estimator of an experiment file, at the scale `laptop`."""
    return load_experiment(EXPERIMENTS / f"{experiment}.yaml").estimators[name]


def fresh_processes(count):
    """A pool of new interpreters, one thread each: they share neither compiled code nor memory with this one."""
    return ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn"))


def run_replica(experiment, name, grid, replica):
    """(CPU seconds, variables {name: array}) of one replica of an estimator on a grid, as its workflow job computes them."""
    start = time.process_time()
    part = estimator(experiment, name)
    spec = {**part.effective(part.chunks[0]), "project": part.project, "grid": grid, "replicas": [replica]}
    dataset = importlib.import_module(part.module).run(spec, Streams(0, part.family, part.experiment))
    return time.process_time() - start, {name: variable.values for name, variable in dataset.items()}


def _warm_up():
    """Import the experiments and compile what they use."""
    run_replica("fig1_thresholds", "staircase", {"skip": [4.0]}, 0)
    run_replica("fig1_learning_curve", "state_evolution", {"alpha": [0.1]}, 0)


def start_seconds(pool):
    """Seconds until all processes of a new pool are warm; the jobs are so long that each process takes one."""
    start = time.perf_counter()
    for job in [pool.submit(_warm_up) for _ in range(PROCESSES)]:
        job.result()
    return time.perf_counter() - start


def timed_replicas(pool, experiment, name, grid, replicas):
    """(seconds, CPU seconds per process, variables of each replica) on the warm processes of a pool."""
    start = time.perf_counter()
    jobs = [pool.submit(run_replica, experiment, name, grid, replica) for replica in range(replicas)]
    results = [job.result() for job in jobs]
    return time.perf_counter() - start, sum(cpu for cpu, _ in results) / PROCESSES, [found for _, found in results]


def learning_curve_row(pool, every, replicas):
    """State evolution on every so many of the alphas of the learning curve."""
    part = estimator("fig1_learning_curve", "state_evolution")
    alphas = part.grid["alpha"][::every]
    replicas = min(replicas, part.replicas)
    seconds, cpu, results = timed_replicas(pool, "fig1_learning_curve", "state_evolution", {"alpha": alphas}, replicas)
    overlap = np.array([np.einsum("arpp->ap", result["overlap"]) for result in results])
    errors = mean_and_error(overlap)[1]
    converged = np.mean([result["converged"] for result in results])
    return Row(
        f"state evolution, {len(alphas)} α × {replicas} scramblings, {PROCESSES} processes",
        ours=Spread.of([seconds]),
        our_errors={f"Q_{p + 1}{p + 1}": Spread.of(errors[:, p]) for p in range(2)},
        note=f"{part.solver['nodes']} nodes; {converged:.0%} converged; {cpu:.3g} s of CPU per process; "
        "errors over scramblings, median and largest over α",
    )


def staircase_row(pool, experiment, replicas):
    """All thresholds of an experiment at skip 1."""
    part = estimator(experiment, "staircase")
    replicas = min(replicas, part.replicas)
    seconds, cpu, results = timed_replicas(pool, experiment, "staircase", {"skip": [1.0]}, replicas)
    mean, error = mean_and_error([result["threshold"][0, 0] for result in results])
    # The layer of each step is the same in all scramblings but for ties: the first one names it; missing steps have none.
    directions = [found for found in results[0]["direction"][0, 0] if np.isfinite(found).all()]
    layers = [1 + int(np.argmax(np.diag(direction))) for direction in directions]
    values = [f"alpha_{n} = {m:.4f} ± {e:.4f}" for n, m, e in zip(layers, mean, error, strict=False)]
    return Row(
        f"staircase of {part.model['depth']} layers, c = 1, {replicas} scramblings, {PROCESSES} processes",
        ours=Spread.of([seconds]),
        note=f"{part.solver['nodes']} nodes; {', '.join(values)}; {cpu:.3g} s of CPU per process",
    )


def _iterations(alpha, seed, lookahead, tolerance):
    """(iterations, Q, whether converged) of the state evolution at one alpha with the settings of the learning curve."""
    part = estimator("fig1_learning_curve", "state_evolution")
    solver, generator = part.solver, np.random.default_rng(seed)
    channel = Channel(load_link(part.model, part.project), solver["resolution"], generator)
    nodes = gaussian_nodes(node_dimension(channel.link), solver["nodes"], generator)
    outcome = solve(
        channel, alpha, nodes, solver["start"],
        tolerance=tolerance or solver["tolerance"], max_iterations=2000, lookahead=lookahead,
    )  # fmt: skip
    return outcome.iterations, outcome.value, outcome.converged


def acceleration_rows(pool, alphas, seeds):
    """Iterations of the plain fixed-point iteration against those with lookahead, at each alpha."""
    # (lookahead, tolerance): plain, accelerated, and the fixed point itself.
    variants = {"plain": (0, None), "ours": (8, None), "exact": (8, 1e-7)}
    jobs = {
        (alpha, name, seed): pool.submit(_iterations, alpha, seed, *variant)
        for alpha in alphas
        for seed in range(seeds)
        for name, variant in variants.items()
    }
    found = {key: job.result() for key, job in jobs.items()}
    rows = []
    for alpha in alphas:
        count = {n: np.array([found[alpha, n, seed][0] for seed in range(seeds)]) for n in variants}
        value = {n: np.array([found[alpha, n, seed][1] for seed in range(seeds)]) for n in variants}
        error = {n: Spread.of(np.abs(value[n] - value["exact"]).max(axis=(1, 2))) for n in variants}
        stopped = {n: sum(not found[alpha, n, seed][2] for seed in range(seeds)) for n in variants}
        rows.append(
            Row(
                f"fixed point at α = {alpha:g}: plain iteration against lookahead",
                ours=Spread.of(count["ours"]),
                baseline=Spread.of(count["plain"]),
                ratio=Spread.of(count["plain"] / count["ours"]),
                unit="iterations",
                baseline_errors={"Q": error["plain"]},
                our_errors={"Q": error["ours"]},
                note=f"same tolerance, {seeds} scramblings; not converged: plain {stopped['plain']}, ours {stopped['ours']}; "
                f"errors against tolerance 1e-7 on the same nodes, not converged: {stopped['exact']}",
            )
        )
    return rows


def _timed_gamp(dimension, seed, iterations):
    """(seconds, iterations done, diagonal of |overlap|, peak memory in MB) of GAMP, data and compilation not in the time."""
    part = estimator("fig1_learning_curve", "gamp")
    link, generator = load_link(part.model, part.project), np.random.default_rng(seed)
    channel = Channel(link, part.solver["resolution"], generator)
    settings = {key: part.solver[key] for key in ("damping", "start_overlap", "side_information", "regularization")}
    warm = np.random.default_rng(0)
    gamp.run(channel, gamp.gaussian_dataset(link, 10, 10, warm), warm, max_iterations=1, **settings)
    data = gamp.gaussian_dataset(link, dimension, round(ALPHA * dimension), generator)
    start = time.perf_counter()
    # No early stop on small changes: the iterations are what is measured.
    outcome = gamp.run(channel, data, generator, max_iterations=iterations, tolerance=0.0, **settings)
    seconds = time.perf_counter() - start
    # Linux counts the peak in KiB; interpreter, libraries and compiler are in it.
    # Of this program alone: getrusage counts the memory of the parent before the start too.
    peak = int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text(encoding="utf-8"))[1]) / 1024
    return seconds, len(outcome.overlap), np.abs(np.diag(outcome.overlap[-1])), peak


def gamp_row(dimension, seeds, iterations, naive_seconds):
    """GAMP in a fresh process per seed, against the naive denoiser extrapolated from `naive_seconds` per evaluation."""
    runs = []
    for seed in range(seeds):
        with fresh_processes(1) as pool:
            runs.append(pool.submit(_timed_gamp, dimension, seed, iterations).result())
    seconds, done = np.array([run[0] for run in runs]), np.array([run[1] for run in runs])
    evaluations = round(ALPHA * dimension) * float(np.median(done))
    baseline = naive_seconds.scaled(evaluations)
    ours = Spread.of(seconds)
    overlaps = "; ".join(f"{overlap[0]:.3f}, {overlap[1]:.3f}" for _, _, overlap, _ in runs)
    return Row(
        f"GAMP, D = {dimension}, α = {ALPHA:g}, {'–'.join(map(str, sorted(set(done.tolist()))))} iterations, one core",
        ours=ours,
        baseline=baseline,
        ratio=baseline.scaled(1.0 / ours.median),
        memory_mb=Spread.of([run[3] for run in runs]),
        note=f"baseline EXTRAPOLATED: time of one naive evaluation at c = 1 × samples × iterations; at most {iterations} "
        f"iterations, fewer once recovery is exact; overlaps of layers 1, 2 per seed: {overlaps}",
    )


def gamp_growth(pool, dimensions, repeats, iterations=5):
    """Growth of the time of an iteration with D at fixed alpha, over the first iterations, where V is close to I."""
    spreads = []
    for dimension in dimensions:
        # One at a time: nothing else of ours runs meanwhile.
        runs = [pool.submit(_timed_gamp, dimension, seed, iterations).result() for seed in range(repeats)]
        spreads.append(Spread.of([seconds / done for seconds, done, _, _ in runs]))
    return Growth.fit(f"GAMP, α = {ALPHA:g}, first {iterations} iterations, per iteration", "D", dimensions, spreads)
