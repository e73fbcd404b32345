"""Benchmarks of the sequence multi-index family: channel, state evolution, thresholds, GAMP and gradient descent."""

import importlib
import multiprocessing
import re
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

import erm_rows
import naive_sequence_multi_index as naive
import precision_rows
from attention_limits.numerics.gaussian_nodes import gaussian_nodes
from attention_limits.numerics.statistics import mean_and_error
from attention_limits.pipeline.experiment import load_experiment
from attention_limits.pipeline.streams import Streams
from attention_limits.sequence_multi_index import gamp
from attention_limits.sequence_multi_index.channel import SAMPLING_NODES, Channel, denoiser
from attention_limits.sequence_multi_index.fibre_sampling import fibre_moments
from attention_limits.sequence_multi_index.gaussian_sequences import draw, local_fields
from attention_limits.sequence_multi_index.links.deep_attention import DeepAttention
from attention_limits.sequence_multi_index.links.loading import load_link
from attention_limits.sequence_multi_index.links.multi_index import phase_retrieval
from attention_limits.sequence_multi_index.state_evolution import Settings, node_dimension, sample_outputs, solve
from attention_limits.sequence_multi_index.weak_recovery import first_threshold
from table import Growth, Row, Spread, growth

# (skip, Q_11, Q_22): before learning, one layer learnt, the onset of the other layer, no skip connection.
CASES = ((1.0, 0.0, 0.0), (1.0, 0.0, 0.5), (1.0, 0.3, 0.985), (0.0, 0.0, 0.5))
# Resolutions: of the experiments, the default, and one at which all errors are below those of the naive denoiser.
RESOLUTIONS = (0.75, 1.0, 2.0)
REFERENCE_RESOLUTION = 3.0
# The kernel works in blocks of 64 outputs per thread: one call with a full block is its normal use.
BLOCK = 64
EXPERIMENTS = Path(__file__).parents[1] / "config" / "sequence_multi_index" / "experiments"
PROCESSES = 2
ALPHA = 1.2
# The setting of Figure 2.
DIMENSION, SAMPLES, BATCH, SETS = 500, 7500, 200, 4
DESCENT = {"learning_rate": 15.0, "decay": 0.07 / DIMENSION, "reuse": 3}


def rows(quick):
    """All rows of the family."""
    found = denoiser_rows(samples=2 if quick else 15)
    at_skip_one = [row.baseline for row in found if "c = 1" in row.what]
    naive_evaluation = Spread(
        Spread.of([spread.median for spread in at_skip_one]).median,
        min(spread.low for spread in at_skip_one),
        max(spread.high for spread in at_skip_one),
        sum(spread.count for spread in at_skip_one),
    )
    # The last layer is learnt, as it is on most of a learning curve; then three layers that are all but recovered.
    known = ((0.0, 0.0, 0.7), (0.97, 0.96, 0.9995), (0.0, 0.0, 0.0, 0.7))
    found += [sampling_row(q, 64 if quick else 256, repeats=2 if quick else 5) for q in known]
    found += precision_rows.rows(quick, typical_outputs)
    found.append(one_token_row(16384, replicas=2 if quick else 8))
    found.append(gamp_row(1000, 1 if quick else 3, 60, naive_evaluation))
    with fresh_processes(PROCESSES) as pool:
        warm_up(pool)
        found.append(learning_curve_row(pool, every=12 if quick else 1, replicas=2 if quick else 8))
        alphas = [0.25] if quick else [0.2, 0.25, 0.5, 0.75, 0.8, 1.0, 1.2]
        found += acceleration_rows(pool, alphas, seeds=1 if quick else 2)
        found.append(staircase_row(pool, "fig1_thresholds", replicas=2 if quick else 8))
        if not quick:
            found.append(staircase_row(pool, "fig3_staircase", replicas=2))
    found += erm_rows.rows(quick)
    found.append(step_row(naive_batches=3, batches=20 if quick else 200, repeats=2 if quick else 5))
    return found


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


def typical_outputs(link, V, count, seed):
    """(observed, omega) of `count` outputs drawn from the model at V = I - Q."""
    points = np.random.default_rng(seed).standard_normal((count, node_dimension(link)))
    omega, observed = sample_outputs(link, np.eye(link.rows) - V, V, points)
    return observed, omega


def our_denoiser(model, u, omega, V, resolution):
    """(g, dg) of all given samples; both estimates of g of the exact channel are the same."""
    (g, _), dg = denoiser(Channel(model, resolution, np.random.default_rng(0)).posterior(u, omega, V), V)
    return g, dg


def seconds_per_sample(model, u, omega, V, resolution, repeats):
    """Median over repeats of the time of one call, divided by its number of samples."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        our_denoiser(model, u, omega, V, resolution)
        times.append(time.perf_counter() - start)
    return float(np.median(times)) / len(u)


def _errors(found, reference, V):
    """Largest errors of g and of dg over the components of one sample, fields in units of the prior standard deviation."""
    scale = np.sqrt(np.diag(V))
    return (
        float(np.max(np.abs(found[0] - reference[0]) * scale[:, None])),
        float(np.max(np.abs(found[1] - reference[1]) * np.outer(scale, scale))),
    )


def denoiser_rows(samples):
    """The naive denoiser and ours, alternately for each sample: one Row for each case and resolution."""
    rows = []
    for case, (skip, *overlap) in enumerate(CASES):
        model, V = DeepAttention(skip=skip), np.eye(2) - np.diag(overlap)
        outputs = typical_outputs(model, V, samples, seed=case)
        naive_seconds, naive_errors = [], []
        our_seconds, our_errors = {r: [] for r in RESOLUTIONS}, {r: [] for r in RESOLUTIONS}
        for u, omega in zip(*outputs, strict=True):
            start = time.perf_counter()
            found = naive.denoiser(model, u, omega, V)
            naive_seconds.append(time.perf_counter() - start)
            block = np.tile(u, (BLOCK, 1)), np.tile(omega, (BLOCK, 1, 1))
            g, dg = our_denoiser(model, u[None], omega[None], V, REFERENCE_RESOLUTION)
            naive_errors.append(_errors(found, (g[0], dg[0]), V))
            for resolution in RESOLUTIONS:
                our_seconds[resolution].append(seconds_per_sample(model, *block, V, resolution, repeats=5))
                ours = our_denoiser(model, u[None], omega[None], V, resolution)
                our_errors[resolution].append(_errors((ours[0][0], ours[1][0]), (g[0], dg[0]), V))
        for resolution in RESOLUTIONS:
            rows.append(
                Row(
                    f"denoiser, c = {skip:g}, Q = diag({overlap[0]:g}, {overlap[1]:g}), resolution {resolution:g}",
                    ours=Spread.of(our_seconds[resolution]),
                    baseline=Spread.of(naive_seconds),
                    ratio=Spread.of(np.divide(naive_seconds, our_seconds[resolution])),
                    baseline_errors=_named(naive_errors),
                    our_errors=_named(our_errors[resolution]),
                    note=f"one evaluation with all moments, {samples} outputs",
                )
            )
    return rows


def _named(errors):
    """Spreads of the pairs of errors of (g, dg)."""
    return {name: Spread.of(values) for name, values in zip(("g", "∂g"), np.transpose(errors), strict=True)}


def variance_growth(count, sizes, repeats):
    """Growth of the time of one evaluation with 1 - Q_22, at c = 1, Q_11 = 0.3 and resolution 1."""
    model = DeepAttention(skip=1.0)
    spreads = []
    for size in sizes:
        V = np.diag([0.7, size])
        u, omega = typical_outputs(model, V, count, seed=100)
        spreads.append(Spread.of([seconds_per_sample(model, u, omega, V, 1.0, 1) for _ in range(repeats)]))
    return Growth.fit("denoiser, c = 1, Q₁₁ = 0.3, per evaluation", "1 − Q₂₂", sizes, spreads)


def sampling_row(overlaps, samples, repeats):
    """Importance sampling for deep attention with these overlaps: ours against one proposal for all outputs, in NumPy.

    Both take two scramblings of equally many nodes; errors are those of the sampling, against 64 times the nodes.
    """
    depth = len(overlaps)
    link, V = DeepAttention(skip=1.0, depth=depth), np.diag(1.0 - np.array(overlaps))
    observed, omega = typical_outputs(link, V, samples, seed=200)
    channel = Channel(link, 1.0, np.random.default_rng(0))
    dimension = link.free_rows * link.tokens
    halves = [gaussian_nodes(dimension, SAMPLING_NODES, child, 1.0) for child in np.random.default_rng(1).spawn(2)]
    reference = Channel(link, 8.0, np.random.default_rng(2)).posterior(observed, omega, V).mean
    channel.posterior(observed, omega, V)
    plain_seconds, our_seconds = [], []
    for _ in range(repeats):
        start = time.perf_counter()
        plain = np.mean([fibre_moments(link, observed, omega, V, half.points)[1] for half in halves], axis=0)
        middle = time.perf_counter()
        ours = channel.posterior(observed, omega, V).mean
        plain_seconds.append((middle - start) / samples)
        our_seconds.append((time.perf_counter() - middle) / samples)
    scale = np.sqrt(np.diag(V))[:, None]

    def largest(mean):
        return np.abs((mean.reshape(reference.shape) - reference) / scale).max(axis=(1, 2))

    faster = np.median(np.divide(plain_seconds, our_seconds))
    squares = [largest(mean) ** 2 for mean in (plain, ours)]
    typical, average = (faster * np.divide(*map(kind, squares)) for kind in (np.median, np.mean))
    return Row(
        f"moments of {depth} layers, c = 1, Q = diag({', '.join(f'{q:g}' for q in overlaps)}), per output",
        ours=Spread.of(our_seconds),
        baseline=Spread.of(plain_seconds),
        ratio=Spread.of(np.divide(plain_seconds, our_seconds)),
        baseline_errors={"E[h]": Spread.of(np.sqrt(squares[0]))},
        our_errors={"E[h]": Spread.of(np.sqrt(squares[1]))},
        note=f"importance sampling, 2 × {SAMPLING_NODES} nodes, {samples} outputs; baseline: NumPy, one proposal for all "
        "outputs; errors of the posterior mean in prior standard deviations, against 64 times the nodes; error² × time of the "
        f"baseline divided by ours: {typical:.2g} for the median output, {average:.2g} for the mean of error²",
    )


def one_token_row(count, replicas):
    """Weak-recovery threshold of phase retrieval, whose posterior is a finite sum."""
    channel = Channel(phase_retrieval(), 1.0, np.random.default_rng(0))
    times, values = [], []
    for child in np.random.default_rng(3).spawn(replicas):
        start = time.perf_counter()
        nodes = gaussian_nodes(node_dimension(channel.link), count, child)
        values.append(first_threshold(channel, nodes).alpha)
        times.append(time.perf_counter() - start)
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
    spec = {**selected.effective(selected.chunks[0]), "project": selected.project, "grid": grid, "replicas": [replica]}
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
    start = time.perf_counter()
    jobs = [pool.submit(run_replica, experiment, name, grid, replica) for replica in range(replicas)]
    results = [job.result() for job in jobs]
    return time.perf_counter() - start, sum(cpu for cpu, _ in results) / PROCESSES, [found for _, found in results]


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
        note=f"{selected.solver['nodes']} nodes; {converged:.0%} converged; {cpu:.3g} s of CPU per process; "
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
        note=f"{selected.solver['nodes']} nodes; {', '.join(values)}; {cpu:.3g} s of CPU per process",
    )


def _iterations(alpha, seed, lookahead, tolerance):
    """(iterations, Q, whether converged) of the state evolution at one alpha with the settings of the learning curve."""
    selected = estimator("fig1_learning_curve", "state_evolution")
    solver, generator = selected.solver, np.random.default_rng(seed)
    channel = Channel(load_link(selected.model, selected.project), solver["resolution"], generator)
    nodes = gaussian_nodes(node_dimension(channel.link), solver["nodes"], generator)
    settings = Settings(tolerance=tolerance or solver["tolerance"], max_iterations=2000, lookahead=lookahead)
    outcome = solve(channel, alpha, nodes, solver["start"], settings)
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
    channel = Channel(link, selected.solver["resolution"], generator)
    settings = {key: selected.solver[key] for key in ("damping", "start_overlap", "side_information", "regularization")}
    warm = np.random.default_rng(0)
    gamp.run(channel, gamp.gaussian_dataset(link, 10, 10, warm), warm, gamp.Settings(max_iterations=1, **settings))
    data = gamp.gaussian_dataset(link, dimension, round(ALPHA * dimension), generator)
    start = time.perf_counter()
    # With tolerance 0 small changes do not stop the run: all iterations are measured.
    outcome = gamp.run(channel, data, generator, gamp.Settings(max_iterations=iterations, tolerance=0.0, **settings))
    seconds = time.perf_counter() - start
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


def descent_problem(batches, seed=0):
    """Link, block on the device, starts (S, 1, P, D) and teachers (S, P, D)."""
    # A late import: JAX must not be in the measured memory.
    import jax

    from attention_limits.sequence_multi_index.gradient_descent import Block, drawn_batches

    link, generator = DeepAttention(skip=1.0), np.random.default_rng(seed)
    drawn = [draw(link.rows, link.tokens, DIMENSION, SAMPLES, generator) for _ in range(SETS)]
    sequences, teachers = (np.stack(part) for part in zip(*drawn, strict=True))
    pairs = zip(sequences, teachers, strict=True)
    outputs = np.stack([link.forward(local_fields(*pair)) for pair in pairs]).astype(np.float32)
    order = np.stack([drawn_batches(SAMPLES, BATCH, batches, generator) for _ in range(SETS)])
    block = Block(jax.device_put(sequences), jax.device_put(outputs), order)
    return link, block, 0.9 * generator.standard_normal(teachers.shape)[:, None], teachers


def step_row(naive_batches, batches, repeats):
    """One gradient step of one data set: a `Row`. Both programs run in turn, the naive one on fewer batches."""
    from attention_limits.sequence_multi_index.gradient_descent import Block, Descent, descend

    descent = Descent(**DESCENT)
    link, block, start, teachers = descent_problem(batches)
    sequences, outputs = np.asarray(block.sequences[0], float), np.asarray(block.outputs[0], float)
    plain, ours = [], []
    descend(link, [block], start, teachers, descent)
    for _ in range(repeats):
        begun = time.perf_counter()
        weights = naive.descend(link, start[0, 0], sequences, outputs, block.order[0, :naive_batches], descent)
        plain.append((time.perf_counter() - begun) / (naive_batches * descent.reuse))
        begun = time.perf_counter()
        descend(link, [block], start, teachers, descent)
        ours.append((time.perf_counter() - begun) / (batches * descent.reuse * SETS))
    same = Block(block.sequences, block.outputs, block.order[:, :naive_batches])
    found = descend(link, [same], start, teachers, descent).weights[0, 0]
    error = float(np.max(np.abs(found - weights)))
    return Row(
        f"Gradient step, batch of {BATCH} sequences, D = {DIMENSION}, {SETS} data sets at once",
        Spread.of(ours),
        Spread.of(plain),
        Spread.of([a / b for a, b in zip(plain, ours, strict=True)]),
        our_errors={f"W after {naive_batches} batches, in single precision": Spread.of([error])},
        note="the baseline loops over the sequences, in double precision",
    )


def nodes_growth(sizes, repeats):
    """One iteration of the state evolution of two layers against the number of nodes."""
    channel, iterations = Channel(DeepAttention(1.0), 0.75, np.random.default_rng(0)), 4

    def work(count):
        nodes = gaussian_nodes(node_dimension(channel.link), count, np.random.default_rng(1))
        settings = Settings(tolerance=0.0, max_iterations=iterations, lookahead=0)
        return lambda: solve(channel, 0.5, nodes, 1e-3, settings)

    return growth("state evolution, two layers, α = 0.5, per iteration", "nodes N", sizes, work, iterations, repeats)


def depth_growth(sizes, outputs, repeats):
    """Moments of one output of L layers by importance sampling, the last layer known to 0.7."""

    def work(depth):
        link = DeepAttention(skip=1.0, depth=depth)
        V = np.diag([1.0] * (depth - 1) + [0.3])
        observed, omega = typical_outputs(link, V, outputs, seed=200)
        channel = Channel(link, 1.0, np.random.default_rng(0))
        return lambda: channel.posterior(observed, omega, V)

    return growth("moments of L layers by sampling, per output", "layers L", sizes, work, outputs, repeats)
