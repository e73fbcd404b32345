"""Benchmarks of the sequence multi-index family: channel, state evolution, thresholds, GAMP and gradient descent."""

import importlib
import multiprocessing
import re
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

import descent_rows
import erm_rows
import own_models
import peer_rows
import precision_rows
from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes
from attention_limits.numerics.probability.statistics import mean_and_error
from attention_limits.pipeline.base.streams import Streams
from attention_limits.pipeline.experiments.experiment import load_experiment
from attention_limits.sequence_multi_index.channels.averages import node_dimension
from attention_limits.sequence_multi_index.channels.channel import Channel
from attention_limits.sequence_multi_index.gamp import gamp
from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention
from attention_limits.sequence_multi_index.links.loading import load_link
from attention_limits.sequence_multi_index.links.one_token import phase_retrieval
from attention_limits.sequence_multi_index.schema.bayes import StateEvolutionSolver
from attention_limits.sequence_multi_index.state_evolution.fixed_point import Steps, solve
from attention_limits.sequence_multi_index.weak_recovery.first_threshold import first_threshold
from channel_rows import denoiser_rows, depth_growth, sampling_row, variance_growth
from table import Growth, Row, Spread, clocked, growth

EXPERIMENTS = Path(__file__).parents[1] / "config" / "sequence_multi_index" / "experiments"
PROCESSES = 2
ALPHA = 1.2


def rows(quick):
    """All rows of the family."""
    found = denoiser_rows(samples=2 if quick else 9)
    at_skip_one = [row.baseline for row in found if "c = 1" in row.what]
    naive_evaluation = Spread(
        Spread.of([spread.median for spread in at_skip_one]).median,
        min(spread.low for spread in at_skip_one),
        max(spread.high for spread in at_skip_one),
        sum(spread.count for spread in at_skip_one),
    )
    # One learned layer of three, three layers close to recovery, and one learned layer of four.
    known = ((0.0, 0.0, 0.7), (0.97, 0.96, 0.9995), (0.0, 0.0, 0.0, 0.7))
    found += [sampling_row(q, 64 if quick else 256, repeats=2 if quick else 5) for q in known]
    found += precision_rows.rows(quick)
    found += own_models.rows(outputs=16 if quick else 128, repeats=2 if quick else 5)
    found.append(one_token_row(16384, replicas=2 if quick else 8))
    found.append(gamp_row(1000, 1 if quick else 3, 60, naive_evaluation))
    with fresh_processes(PROCESSES) as pool:
        warm_up(pool)
        found.append(learning_curve_row(pool, every=12 if quick else 1, replicas=2 if quick else 8))
        alphas = [0.25] if quick else [0.2, 0.25, 0.5, 0.75, 1.0]
        found += acceleration_rows(pool, alphas, seeds=1 if quick else 2)
        found.append(staircase_row(pool, "fig1_thresholds", replicas=2 if quick else 8))
        if not quick:
            found.append(staircase_row(pool, "fig3_staircase", replicas=2))
    found += erm_rows.rows(quick)
    found.append(descent_rows.step_row(naive_batches=3, batches=20 if quick else 200, repeats=2 if quick else 5))
    # A late import: JAX must not be in the memory that the rows above measure.
    import jax_rows

    found += [row(2 if quick else 5) for row in (jax_rows.layers_row, jax_rows.classifier_row)]
    return found + peer_rows.rows(quick)


def growths(quick):
    """All growths of the family."""
    repeats = 2 if quick else 5
    sizes = [0.3, 0.1, 0.03, 0.01] if quick else [0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4]
    with fresh_processes(PROCESSES) as pool:
        warm_up(pool)
        by_dimension = gamp_growth(pool, [200, 400, 800] if quick else [250, 500, 1000, 2000], repeats)
    return [
        variance_growth(64 if quick else 512, sizes, repeats=3 if quick else 5),
        by_dimension,
        nodes_growth([64, 128, 256] if quick else [128, 256, 512, 1024, 2048], repeats),
        depth_growth([3, 4, 5] if quick else [3, 4, 5, 6, 8], 16 if quick else 64, repeats),
    ]


def one_token_row(count, replicas):
    """Weak-recovery threshold of phase retrieval, whose posterior is a finite sum."""
    channel = Channel(phase_retrieval(), 1.0, np.random.default_rng(0))
    times, values = [], []

    def threshold(generator):
        return first_threshold(channel, gaussian_nodes(node_dimension(channel.link), count, generator)).alpha

    for child in np.random.default_rng(3).spawn(replicas):
        seconds, alpha = clocked(partial(threshold, child))
        times.append(seconds)
        values.append(alpha)
    mean, error = mean_and_error(values)
    return Row(
        "threshold of phase retrieval, y = h²",
        ours=Spread.of(times),
        note=f"{count} nodes, {replicas} scramblings: alpha = {mean:.5f} ± {error:.5f}, exactly 1/2",
    )


def estimator(experiment, name):
    """One estimator of an experiment file, at the scale `laptop`."""
    return load_experiment(EXPERIMENTS / f"{experiment}.yaml").estimators[name]


def fresh_processes(count):
    """A pool of new interpreters, one thread each: they share neither compiled code nor memory with this one."""
    return ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn"))


def run_replica(experiment, name, grid, replica):
    """(CPU seconds, variables {name: array}) of one replica of an estimator on a grid, as its workflow job computes them."""
    start = time.process_time()
    selected = estimator(experiment, name)
    spec = {**selected.asked(selected.chunks[0]), "grid": grid, "replicas": [replica]}
    dataset = importlib.import_module(selected.module).run(spec, Streams(0, selected.family, selected.experiment))
    return time.process_time() - start, {name: variable.values for name, variable in dataset.items()}


def _warm_up():
    """Import the modules of the experiments and compile them."""
    run_replica("fig1_thresholds", "staircase", {"skip": [4.0]}, 0)
    run_replica("fig1_learning_curve", "state_evolution", {"alpha": [0.1]}, 0)


def warm_up(pool):
    """Return when all processes of a new pool are warm; the jobs are so long that each process takes one."""
    for job in [pool.submit(_warm_up) for _ in range(PROCESSES)]:
        job.result()


def timed_replicas(pool, experiment, name, grid, replicas):
    """(seconds, CPU seconds per process, variables of each replica) on the warm processes of a pool."""

    def all_results():
        jobs = [pool.submit(run_replica, experiment, name, grid, replica) for replica in range(replicas)]
        return [job.result() for job in jobs]

    seconds, results = clocked(all_results)
    return seconds, sum(cpu for cpu, _ in results) / PROCESSES, [found for _, found in results]


def learning_curve_row(pool, every, replicas):
    """State evolution on a subset of the alphas of the learning curve."""
    selected = estimator("fig1_learning_curve", "state_evolution")
    alphas = selected.grid["alpha"][::every]
    replicas = min(replicas, selected.replicas)
    seconds, cpu, results = timed_replicas(pool, "fig1_learning_curve", "state_evolution", {"alpha": alphas}, replicas)
    overlap = np.array([np.einsum("arpp->ap", result["overlap"]) for result in results])
    errors = mean_and_error(overlap)[1]
    converged = np.mean([result["converged"] for result in results])
    return Row(
        f"state evolution, {len(alphas)} α × {replicas} scramblings, {PROCESSES} processes",
        ours=Spread.of([seconds]),
        our_errors={f"Q_{p + 1}{p + 1}": Spread.of(errors[:, p]) for p in range(2)},
        note=f"{selected.solver.nodes} nodes; {converged:.0%} converged; {cpu:.3g} s of CPU per process; "
        "errors over scramblings, median and largest over α",
    )


def staircase_row(pool, experiment, replicas):
    """All thresholds of an experiment at skip 1."""
    selected = estimator(experiment, "staircase")
    replicas = min(replicas, selected.replicas)
    seconds, cpu, results = timed_replicas(pool, experiment, "staircase", {"skip": [1.0]}, replicas)
    mean, error = mean_and_error([result["threshold"][0, 0] for result in results])
    # Except for ties, the layer of each step is the same in all scramblings; the first one gives its name.
    directions = [found for found in results[0]["direction"][0, 0] if np.isfinite(found).all()]
    layers = [1 + int(np.argmax(np.diag(direction))) for direction in directions]
    values = [f"alpha_{n} = {m:.4f} ± {e:.4f}" for n, m, e in zip(layers, mean, error, strict=False)]
    return Row(
        f"staircase of {selected.model['depth']} layers, c = 1, {replicas} scramblings, {PROCESSES} processes",
        ours=Spread.of([seconds]),
        note=f"{selected.solver.nodes} nodes; {', '.join(values)}; {cpu:.3g} s of CPU per process",
    )


def _iterations(alpha, seed, lookahead, tolerance):
    """(iterations, Q, whether converged) of the state evolution at one alpha with the settings of the learning curve."""
    selected = estimator("fig1_learning_curve", "state_evolution")
    solver, generator = selected.solver, np.random.default_rng(seed)
    channel = Channel(load_link(selected.model, selected.project), solver.resolution, generator)
    nodes = gaussian_nodes(node_dimension(channel.link), solver.nodes, generator)
    settings = solver.model_copy(
        update={"tolerance": tolerance or solver.tolerance, "max_iterations": 2000, "warm_up": 1}
    )
    outcome = solve(channel, alpha, nodes, solver.start, settings, steps=Steps(lookahead=lookahead))
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
    """(seconds, iterations, diagonal of |overlap|, peak memory in MB) of GAMP; the time excludes data and compilation."""
    selected = estimator("fig1_learning_curve", "gamp")
    link, generator = load_link(selected.model, selected.project), np.random.default_rng(seed)
    channel = Channel(link, selected.solver.resolution, generator)
    warm = np.random.default_rng(0)
    gamp.run(
        channel,
        gamp.gaussian_dataset(link, 10, 10, warm),
        warm,
        selected.solver.model_copy(update={"max_iterations": 1}),
    )
    data = gamp.gaussian_dataset(link, dimension, round(ALPHA * dimension), generator)
    # With tolerance 0 small changes do not stop the run: all iterations are measured.
    asked = selected.solver.model_copy(update={"max_iterations": iterations, "tolerance": 0.0})
    seconds, outcome = clocked(partial(gamp.run, channel, data, generator, asked))
    # The peak in KiB, including interpreter, libraries and compiler. getrusage would include the memory of the parent.
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
        # One process at a time, so that they do not slow each other down.
        runs = [pool.submit(_timed_gamp, dimension, seed, iterations).result() for seed in range(repeats)]
        spreads.append(Spread.of([seconds / done for seconds, done, _, _ in runs]))
    return Growth.fit(f"GAMP, α = {ALPHA:g}, first {iterations} iterations, per iteration", "D", dimensions, spreads)


def nodes_growth(sizes, repeats):
    """One iteration of the state evolution of two layers against the number of nodes."""
    channel, iterations = Channel(DeepAttention(1.0), 0.75, np.random.default_rng(0)), 4

    def work(count):
        nodes = gaussian_nodes(node_dimension(channel.link), count, np.random.default_rng(1))
        settings = StateEvolutionSolver(warm_up=1).model_copy(update={"tolerance": 0.0, "max_iterations": iterations})
        return lambda: solve(channel, 0.5, nodes, 1e-3, settings, steps=Steps(lookahead=0))

    return growth("state evolution, two layers, α = 0.5, per iteration", "nodes N", sizes, work, iterations, repeats)
