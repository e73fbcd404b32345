"""Escape time of SGD of any tied student without positional encoding: first passage of the diffusion of its overlap m.

At large d, SGD is the diffusion dm = b dtau + sqrt(a / d) dW with drift b and diffusion a of `any_student_flow`, tau = t / d.
Where the information exponent is k > 2 and the learning rate c d^(-(k-2)/2), x = sqrt(d) m and s = t / d^(k-1) have a limit
without d near the start: dx = (c k A x^(k-1) - c^2 V x / 2) ds + c sqrt(v) dW, R = R_0 - A m^k, V = E|D|^2, v = a / gamma^2 at
m = 0. The noise is then as large as the drift, and the law t = d^(k-1) holds with a prefactor that the flow without noise misses
(arXiv:2506.02651 states the law).

Mean and quantiles of the first passage of |m| through the threshold follow from the backward equation

    du/dtau = b u' + a / (2 d) u''

on a mesh by exponential fitting (D. L. Scharfetter and H. K. Gummel, IEEE Trans. Electron Devices 16 (1969) 64): a chain of jumps
between neighbouring points with the right mean and variance at any ratio of drift and noise.
"""

import numpy as np
from numpy.polynomial import chebyshev
from scipy.integrate import solve_ivp
from scipy.sparse import csc_matrix, diags
from scipy.sparse.linalg import spsolve

# Quantiles of the escape time beside its mean.
QUANTILES = (0.16, 0.5, 0.84)
# Points of the mesh on each side of m = 0.
MESH = 400
# Chebyshev nodes of drift and diffusion between the thresholds.
_NODES = 33
# Above this ratio of the mean escape time to the shortest time between jumps, rounding decides.
SLOWEST = 1e12


def escape_times(flow, dimension, start, threshold, mesh=MESH):
    """Escape steps of the diffusion: mean and `QUANTILES`, array (4,).

    Zero where the start is beyond the threshold. Infinite where the mean exceeds the time between jumps of the chain by 1e12 or
    more: rounding hides so slow an escape.

    Parameters
    ----------
    flow : any_student_flow.LinkFlow
        Of a problem without positional vectors.
    dimension : float
        d.
    start : float
        Overlap at the start.
    threshold : float
        Of m^2.
    mesh : int
        Points of the mesh on each side of m = 0.

    Raises
    ------
    ValueError
        If the problem has positional vectors.
    """
    if flow.problem.components.shape[1]:
        raise ValueError(
            "the escape of the diffusion has one overlap: positional vectors are not allowed; see escape_plane"
        )
    edge = np.sqrt(threshold)
    if abs(start) >= edge:
        return np.zeros(1 + len(QUANTILES))
    x = edge * chebyshev.chebpts1(_NODES)
    fit = np.linalg.inv(chebyshev.chebvander(x / edge, _NODES - 1))
    drift = fit @ [flow.drift([m])[0] for m in x]
    spread = fit @ [flow.diffusion([m])[0, 0] for m in x]
    # Points are dense where the noise matters, |m| of the order of d^(-1/2), with one at the start.
    scale = min(dimension**-0.5, 0.1 * edge)
    half = np.arcsinh(edge / scale) * np.arange(1, mesh + 1) / mesh
    points = np.sort(np.concatenate([-scale * np.sinh(half), [0.0], scale * np.sinh(half)]))
    nearest = 1 + int(np.argmin(np.abs(points[1:-1] - start)))
    points[nearest] = start
    generator = _generator(
        points,
        lambda m: chebyshev.chebval(m / edge, drift),
        lambda m: 0.5 / dimension * chebyshev.chebval(m / edge, spread),
    )
    place = nearest - 1
    mean = -spsolve(generator, np.ones(generator.shape[0]))[place]
    if not 0.0 < mean * np.max(np.abs(generator.diagonal())) < SLOWEST:
        return np.full(1 + len(QUANTILES), np.inf)
    return dimension * np.array([mean, *_quantiles(generator, place, mean)])


def _generator(points, drift, noise):
    """Jump rates between inner points, sparse matrix (n, n): b u' + noise u'' with u = 0 at both ends."""
    gaps = np.diff(points)
    middle = 0.5 * (points[1:] + points[:-1])
    peclet = drift(middle) / noise(middle) * gaps
    inner = points[1:-1]
    rate = noise(inner) / (0.5 * (gaps[1:] + gaps[:-1]))
    up, down = rate / gaps[1:] * bernoulli(-peclet[1:]), rate / gaps[:-1] * bernoulli(peclet[:-1])
    return csc_matrix(diags([down[1:], -(up + down), up[:-1]], [-1, 0, 1]))


def bernoulli(z):
    """z / (exp z - 1)."""
    small = np.abs(z) < 1e-6
    safe = np.where(small, 1.0, np.clip(z, -700.0, 700.0))
    return np.where(small, 1.0 - 0.5 * z, np.where(z < -700.0, -z, safe / np.expm1(safe)))


def _quantiles(generator, place, mean):
    """Times at which the fraction of escapes from the point number `place` reaches each of the `QUANTILES`."""

    def crossing(level):
        def gap(_, survival):
            return survival[place] - level

        gap.direction = -1.0
        return gap

    events = [crossing(1.0 - quantile) for quantile in QUANTILES]
    events[-1].terminal = True
    found = solve_ivp(
        lambda _, u: generator @ u, (0.0, 100.0 * mean), np.ones(generator.shape[0]), method="BDF", jac=generator,
        events=events, rtol=1e-7, atol=1e-9,
    )  # fmt: skip
    return [times[0] if len(times) else np.nan for times in found.t_events]
