"""Benchmarks of the Potts family: Gibbs updates, gradient of factored attention, points of the replica theory; one core,
except where a row names more."""

import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from scipy.optimize import minimize

from attention_limits.potts_mlm.attention.factored import fit, objective
from attention_limits.potts_mlm.attention.pair import objective as pair_objective
from attention_limits.potts_mlm.attention.pair_parameters import Ridge, Shape
from attention_limits.potts_mlm.descent.lbfgs import MEMORY, START
from attention_limits.potts_mlm.potts.gibbs import Ladder
from attention_limits.potts_mlm.potts.model import Potts, color_couplings, site_couplings
from attention_limits.potts_mlm.replica.theory import Spectrum, closed_form, saddle_point
from attention_limits.potts_mlm.schema.samples import Descent
from attention_limits.potts_mlm.transformer import transformer
from attention_limits.potts_mlm.transformer.transformer import Shape as Encoder
from attention_limits.potts_mlm.transformer.transformer import initial
from naive_potts_mlm import adabmdca_sweep, incremental_sweeps
from table import Row, clocked, growth
from toycodes import potts_mlm as toy

SITES = COLORS = 20
# Sites of the Kunitz domain.
FOLD = 53
# Inverse temperatures of the Gaussian instances at mean Hamming distances of about 0.7 and 0.3.
BETAS = (0.45, 0.8)
# adabmDCA itself (Rosset et al. 2025, arXiv:2501.18456) needs PyTorch, so it runs in its own interpreter. Its row is absent
# unless ADABMDCA=/path/to/python names one with `pip install adabmDCA`. The first run is no measurement.
ADABMDCA = """
import json, sys, time
import numpy as np, torch
from adabmDCA.sampling import get_sampler
torch.set_num_threads(1)
torch.manual_seed(1)
given = np.load(sys.argv[1])
couplings, chains = (torch.from_numpy(given[name]) for name in ("couplings", "chains"))
params = {"bias": torch.zeros(couplings.shape[:2]), "coupling_matrix": couplings}
sampler, sweeps, seconds = torch.jit.script(get_sampler("gibbs")), int(sys.argv[2]), []
for _ in range(int(sys.argv[3]) + 1):
    start = time.perf_counter()
    chains = sampler(chains, params, sweeps, float(sys.argv[4]))
    seconds.append(time.perf_counter() - start)
couplings = couplings.numpy().reshape(couplings.shape[0] * couplings.shape[1], -1)
flat = chains.numpy().reshape(len(chains), -1)
print(json.dumps([seconds[1:], float(0.5 * np.mean(np.sum((flat @ couplings) * flat, axis=1)))]))
"""


def rows(quick):
    """All rows; the two programs of each row run alternately."""
    # A late import: only this row needs JAX.
    import jax_rows

    repeats = 2 if quick else 5
    gibbs = [gibbs_row(beta, peer, repeats) for beta in BETAS for peer in ("incremental", "adabmDCA")]
    if python := os.environ.get("ADABMDCA"):
        gibbs += [adabmdca_row(python, beta, repeats) for beta in BETAS]
    full = pseudo_likelihood_row(repeats, *((30, 500) if quick else (100, 3000)))
    training = [training_row(sites, layers, repeats) for sites, layers in ((SITES, 1), (SITES, 3), (FOLD, 1))]
    return [
        *gibbs,
        gradient_row(repeats),
        jax_rows.factored_row(repeats),
        fit_row(repeats),
        full,
        *training,
        replica_row(repeats),
    ]


def growths(quick):
    """All growths of the family."""
    return site_growths([10, 20, 40] if quick else [10, 20, 40, 80], 2 if quick else 5)


def model(seed=1):
    """A Gaussian instance at the size of the experiments."""
    rng = np.random.default_rng(seed)
    return Potts(site_couplings("gaussian", SITES, rng), color_couplings("gaussian", COLORS, rng))


def _row(what, ours, baseline, repeats, note):
    """A row of times per unit. Both programs are pairs (function, units of work); they run once before the measurement."""
    for function, _ in (ours, baseline):
        function()
    times = np.array([[clocked(*baseline)[0], clocked(*ours)[0]] for _ in range(repeats)])
    rates = 1.0 / times[:, 1]
    note = f"{note}; ours {np.median(rates):.2g} (lowest {rates.min():.2g}) per second"
    return Row.in_turn(what, times, note=note)


def gibbs_row(beta, peer, repeats):
    """Time per site update in equilibrium, of sixteen replicas."""
    potts, rng = model(), np.random.default_rng(2)
    ladder = Ladder(potts, [beta], rng, runs=16)
    state = ladder.sample(1, 1000)[0].states[0, 0].astype(np.int64)
    gap, sweeps = 2000, 500
    if peer == "incremental":
        fields = potts.fields(state)[0]
        note = "baseline: one replica, double precision, fields of all sites kept up to date"
        baseline = (lambda: incremental_sweeps(rng, potts.J, potts.U, beta, state, fields, 20_000), 20_000 * SITES)
    else:
        couplings = np.einsum("ij,ab->iajb", potts.J, potts.U).astype(np.float32)
        onehot = np.tile(np.eye(COLORS, dtype=np.float32)[state], (16, 1, 1))
        note = "baseline: the step of adabmDCA in numpy, sixteen chains"
        baseline = (lambda: [adabmdca_sweep(couplings, beta, onehot, rng) for _ in range(sweeps)], sweeps * SITES * 16)
    what = f"Gibbs update of a site, C = L = {COLORS}, β = {beta:g}, against {peer}"
    return _row(what, (lambda: ladder.sample(1, gap), gap * SITES * 16), baseline, repeats, note)


def adabmdca_row(python, beta, repeats):
    """As `gibbs_row`, beside adabmDCA itself in the interpreter `python`, which runs first, with many chains."""
    potts = model()
    ladder = Ladder(potts, [beta], np.random.default_rng(2), runs=16)
    states = np.stack([run.states[0, 0] for run in ladder.sample(1, 1000)]).astype(np.int64)
    couplings = np.einsum("ij,ab->iajb", potts.J, potts.U).astype(np.float32)
    # From 256 chains on, an update of the peer takes the same time; with sixteen it takes two to three times as long.
    states, gap, sweeps = np.tile(states, (64, 1)), 2000, 20
    with TemporaryDirectory() as folder:
        given = Path(folder, "given.npz")
        np.savez(given, couplings=couplings, chains=np.eye(COLORS, dtype=np.float32)[states])
        command = [python, "-c", ADABMDCA, str(given), str(sweeps), str(repeats), str(beta)]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    seconds = [clocked(lambda: ladder.sample(1, gap), gap * SITES * 16)[0] for _ in found[0]]
    ours = potts.energy(np.stack([run.states[0, 0] for run in ladder.sample(1, gap)])).mean()
    return Row.in_turn(
        f"Gibbs update of a site, C = L = {COLORS}, β = {beta:g}, against adabmDCA in PyTorch",
        np.stack([np.array(found[0]) / (sweeps * SITES * len(states)), seconds], axis=1),
        note=f"baseline: {len(states)} chains; mean energy at the end {-found[1]:.1f}, of our sixteen chains {ours:.1f}",
    )


def gradient_row(repeats, count=3000):
    """Time per sequence of loss and gradient, in single precision as the fits compute it."""
    rng = np.random.default_rng(3)
    sequences = rng.integers(0, COLORS, (count, SITES)).astype(np.int8)
    parameters = 0.3 * rng.standard_normal(SITES**2 + COLORS**2)
    parameters[: SITES**2 : SITES + 1] = 0.0
    attention, values = parameters[: SITES**2].reshape(SITES, SITES), parameters[SITES**2 :].reshape(COLORS, COLORS).T
    return _row(
        f"loss and gradient of factored attention, per sequence, C = L = {COLORS}",
        (lambda: objective(parameters, sequences, COLORS, "raw", 0.0, single=True), count),
        (lambda: toy.objective(attention, values, sequences), count),
        repeats,
        f"{count} sequences; baseline: numpy einsum with one-hot arrays in double precision",
    )


def fit_row(repeats, count=300, iterations=100):
    """Time per iteration of a fit of factored attention, here and by L-BFGS-B of scipy with gradients in double precision."""
    sequences = np.random.default_rng(3).integers(0, COLORS, (count, SITES)).astype(np.int8)
    start = START * np.random.default_rng(4).standard_normal(SITES**2 + COLORS**2)

    def ours():
        # With tolerance 0 all iterations are measured.
        settings = Descent(max_iterations=iterations).model_copy(update={"tolerance": 0.0})
        found = fit(sequences, COLORS, np.random.default_rng(4), "softmax", 0.0, settings)
        assert found.descent.iterations == iterations

    def peer():
        found = minimize(
            lambda flat: objective(flat, sequences, COLORS, "softmax", 0.0), start, jac=True, method="L-BFGS-B",
            options={"maxiter": iterations, "gtol": 0.0, "ftol": 0.0, "maxcor": MEMORY},
        )  # fmt: skip
        assert found.nit == iterations

    return _row(
        f"iteration of a fit of factored attention, {count} sequences, C = L = {COLORS}",
        (ours, iterations),
        (peer, iterations),
        repeats,
        f"softmax attention; both keep {MEMORY} pairs; baseline: L-BFGS-B of scipy, in double precision",
    )


def training_row(sites, layers, repeats, runs=4, count=4000, batch=100):
    """Time per step of training encoders: an epoch of several runs side by side on all cores, and in JAX one after the other."""
    rng = np.random.default_rng(4)
    shape = Encoder(sites, COLORS, layers, width=20, hidden=40)
    sequences = rng.integers(0, COLORS, (count, sites))
    steps = count // batch
    orders, masked = rng.permutation(count).reshape(steps, batch), rng.integers(0, sites, (steps, batch))
    starts = [initial(shape, rng) for _ in range(runs)]
    rates, tokens = np.full(steps, 0.003), sequences.astype(np.int32)

    def epoch(theta):
        moments = np.zeros((2, len(theta)), dtype=np.float32)
        transformer.epoch(theta.copy(), moments, shape, sequences, zip(orders, masked, rates, strict=True), True, 0)

    def ours():
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(epoch, starts))

    def peer():
        import jax_transformer as jax_peer

        for theta in starts:
            # The peer overwrites its parameters, so each epoch begins with a copy.
            parameters = jax_peer.jnp.asarray(theta.copy())
            state = jax_peer.METHODS["adam"].init(parameters)
            for order, at in zip(orders, masked, strict=True):
                parameters, state, loss = jax_peer.step(parameters, state, tokens[order], at, 0.003, shape, "adam")
            loss.block_until_ready()

    return _row(
        f"step of training a transformer, {layers} layer{'s' if layers > 1 else ''}, L = {sites}, batch {batch}",
        (ours, runs * steps),
        (peer, runs * steps),
        repeats,
        f"C = d = {COLORS}, Adam; ours: {runs} runs side by side on {os.cpu_count()} cores; baseline: JAX, one compiled step "
        "of one run at a time, with the threads that it takes on these cores",
    )


def one_hot(sequences, colors):
    """Sequences (M, L) as rows of zeros and ones (M, L C)."""
    return (sequences[:, :, None] == np.arange(colors)).reshape(len(sequences), -1).astype(float)


def one_hot_products(inputs, matrix, residual):
    """The two matrix products of a gradient of full pseudo-likelihood: logits from J (L C, L C), and R^T X."""
    return inputs @ matrix, residual.T @ inputs


def pseudo_likelihood_row(repeats, sites, count, colors=21):
    """Time per sequence of loss and gradient of full pseudo-likelihood, beside its matrix products alone."""
    rng = np.random.default_rng(4)
    sequences, weights = rng.integers(0, colors, (count, sites)).astype(np.int8), np.ones(count)
    shape = Shape(sites, colors, 0, full=True)
    parameters = 0.1 * rng.standard_normal(shape.size)
    shape.split(parameters)[1][range(sites), range(sites)] = 0.0
    inputs, matrix = one_hot(sequences, colors), rng.standard_normal((sites * colors, sites * colors))
    residual = rng.standard_normal(inputs.shape)
    return _row(
        f"loss and gradient of full pseudo-likelihood, per sequence, L = {sites}, C = {colors}",
        (lambda: pair_objective(parameters, shape, sequences, weights, Ridge()), count),
        (lambda: one_hot_products(inputs, matrix, residual), count),
        repeats,
        f"{count} sequences; baseline: the two matrix products with one-hot sequences alone",
    )


def replica_row(repeats, points=100_000, naive_points=50):
    """Time per point of the replica theory."""
    alpha = np.linspace(0.05, 5.0, points)
    spectrum = Spectrum.of_ensemble(2.5)
    return _row(
        "replica theory, per point (γ, λ, α)",
        (lambda: closed_form(2.5, 0.01, alpha), points),
        (lambda: [saddle_point(spectrum, 0.01, a) for a in alpha[:: points // naive_points]], naive_points),
        repeats,
        "baseline: the general saddle point with 400 nodes of the spectrum",
    )


def site_growths(sizes, repeats):
    """Gibbs updates and the gradient of factored attention against the number of sites."""
    colors, gap, count = 20, 5000, 500

    def potts(sites):
        rng = np.random.default_rng(1)
        return Potts(site_couplings("gaussian", sites, rng), color_couplings("gaussian", colors, rng))

    def gibbs(sites):
        ladder = Ladder(potts(sites), [0.3], np.random.default_rng(2), runs=16)
        return lambda: ladder.sample(1, gap)

    def gradient(sites):
        rng = np.random.default_rng(3)
        sequences = rng.integers(0, colors, (count, sites)).astype(np.int8)
        parameters = 0.3 * rng.standard_normal(sites**2 + colors**2)
        parameters[: sites**2 : sites + 1] = 0.0
        return lambda: objective(parameters, sequences, colors, "raw", 0.0)

    return [
        growth("Gibbs sampling, C = 20, per sweep of all sites", "sites L", sizes, gibbs, gap, repeats),
        growth("gradient of factored attention, C = 20, per sequence", "sites L", sizes, gradient, count, repeats),
    ]
