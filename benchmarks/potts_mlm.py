"""Benchmarks of the Potts family: Gibbs updates, gradient of factored attention, points of the replica theory; one core."""

import time

import numpy as np

from attention_limits.potts_mlm.factored_attention import objective
from attention_limits.potts_mlm.gibbs import Ladder
from attention_limits.potts_mlm.potts import Potts, color_couplings, site_couplings
from attention_limits.potts_mlm.replica import Spectrum, closed_form, saddle_point
from table import Row, Spread, growth

SITES = COLORS = 20
# Inverse temperatures of the Gaussian instances at mean Hamming distances of about 0.7 and 0.3.
BETAS = (0.45, 0.8)


def rows(quick):
    """All rows; the two programs of each row run alternately."""
    repeats = 2 if quick else 5
    return [gibbs_row(beta, repeats) for beta in BETAS] + [gradient_row(repeats), replica_row(repeats)]


def growths(quick):
    """All growths of the family."""
    return site_growths([10, 20, 40] if quick else [10, 20, 40, 80], 2 if quick else 5)


def model(seed=1):
    """A Gaussian instance at the size of the experiments."""
    rng = np.random.default_rng(seed)
    return Potts(site_couplings("gaussian", SITES, rng), color_couplings("gaussian", COLORS, rng))


def naive_sweep(potts, beta, state, rng):
    """One cyclic sweep in plain numpy: the field of a site from all others, then a colour from its softmax. Changes `state`."""
    for i in range(len(state)):
        field = potts.J[i] @ potts.U[state]
        weights = np.exp(beta * (field - field.max()))
        state[i] = rng.choice(len(field), p=weights / weights.sum())


def naive_objective(attention, values, sequences):
    """Loss and gradients (dA, dV) with one-hot arrays and einsum."""
    onehot = np.eye(len(values))[sequences]
    received = np.einsum("ab,mjb->mja", values, onehot)
    logits = np.einsum("ij,mja->mia", attention, received)
    weights = np.exp(logits - logits.max(axis=2, keepdims=True))
    probability = weights / weights.sum(axis=2, keepdims=True)
    residual = (probability - onehot) / (len(sequences) * len(attention))
    d_attention = np.einsum("mia,mja->ij", residual, received)
    np.fill_diagonal(d_attention, 0.0)
    d_values = np.einsum("mia,ij,mjb->ab", residual, attention, onehot, optimize=True)
    return -np.mean(np.log(np.sum(probability * onehot, axis=2))), d_attention, d_values


def _timed(function, units):
    start = time.perf_counter()
    function()
    return (time.perf_counter() - start) / units


def _row(what, ours, baseline, repeats, note):
    """A row of times per unit. Both programs are pairs (function, units of work); they run once before the measurement."""
    for function, _ in (ours, baseline):
        function()
    times = np.array([[_timed(*baseline), _timed(*ours)] for _ in range(repeats)])
    rates = 1.0 / times[:, 1]
    return Row(
        what, ours=Spread.of(times[:, 1]), baseline=Spread.of(times[:, 0]), ratio=Spread.of(times[:, 0] / times[:, 1]),
        note=f"{note}; ours {np.median(rates):.2g} (lowest {rates.min():.2g}) per second",
    )  # fmt: skip


def gibbs_row(beta, repeats):
    """Time per site update in equilibrium."""
    potts, rng = model(), np.random.default_rng(2)
    ladder = Ladder(potts, [beta], rng)
    state = ladder.sample(1, 1000).states[0, 0].astype(int)
    gap, naive_sweeps = 20_000, 20
    return _row(
        f"Gibbs update of a site, C = L = {COLORS}, β = {beta:g}",
        (lambda: ladder.sample(1, gap), gap * SITES),
        (lambda: [naive_sweep(potts, beta, state, rng) for _ in range(naive_sweeps)], naive_sweeps * SITES),
        repeats,
        "baseline: numpy, the field anew",
    )


def gradient_row(repeats, count=3000):
    """Time per sequence of loss and gradient."""
    rng = np.random.default_rng(3)
    sequences = rng.integers(0, COLORS, (count, SITES)).astype(np.int8)
    parameters = 0.3 * rng.standard_normal(SITES**2 + COLORS**2)
    parameters[: SITES**2 : SITES + 1] = 0.0
    attention, values = parameters[: SITES**2].reshape(SITES, SITES), parameters[SITES**2 :].reshape(COLORS, COLORS).T
    return _row(
        f"loss and gradient of factored attention, per sequence, C = L = {COLORS}",
        (lambda: objective(parameters, sequences, COLORS, "raw", 0.0), count),
        (lambda: naive_objective(attention, values, sequences), count),
        repeats,
        f"{count} sequences; baseline: numpy einsum with one-hot arrays",
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
        ladder = Ladder(potts(sites), [0.3], np.random.default_rng(2))
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
