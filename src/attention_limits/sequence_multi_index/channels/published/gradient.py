"""The channel of the public program of Troiani et al. 2025 (arXiv:2502.00901), written from a description of it.

Its g_out is V^-1 int (h - omega) w / int w, with w as in `two_layers_kernels`; exact integrals would give the posterior mean.
The program integrates over boxes about zero, V diagonal:

two layers     int w over [-3, 3]^2 by nested adaptive quadrature (QUADPACK), the numerator over [-5, 5]^2 by an adaptive
               cubature of 17 nodes per region. Where a narrow w lies between the first nodes, the cubature ends near zero.
three layers   means over 10^4 uniform points, the denominator and the numerator on different ones, in the box
               |z_la| < 3 V_ll^(-1/2) of the free layers; the width of the posterior would be V_ll^(1/2). The denominator is at
               least 1e-5.

The score root u has 1e-6 added below the root in u_1 - u_2 = +-sqrt(a + b), with a and b as in
`links.attention.layers.score_root`. The program also adds 1e-3 to V, in data and denoiser (`published_map`). The result is no
posterior mean, so that E g g^T and -E dg differ, and the program uses the first.
"""

from dataclasses import dataclass

import numpy as np
from numba import cfunc, types
from scipy import LowLevelCallable
from scipy.integrate import dblquad

from attention_limits.sequence_multi_index.channels.published.three_layers_kernels import mean_weights
from attention_limits.sequence_multi_index.channels.published.two_layers_kernels import adaptive_numerator, weight_at

# Added to (u_1 - u_2)^2.
ROOT_CONSTANT = 1e-6
# Largest number of regions of the cubature; the public program has no limit. Typical outputs take 5000.
MOST_REGIONS = 200_000
# Three layers: uniform points, and the least denominator.
POINTS, LEAST_DENOMINATOR = 10_000, 1e-5


@dataclass(frozen=True)
class Boxes:
    """Half of the widths of the boxes about zero.

    Attributes
    ----------
    denominator, numerator : float
        Two layers.
    layers : float
        Three layers, in units of V_ll^(-1/2).
    tolerance : float
        Absolute or relative error of the cubature, the larger one.
    """

    denominator: float = 3.0
    numerator: float = 5.0
    layers: float = 3.0
    tolerance: float = 1e-8


# Those of the public program.
PUBLIC = Boxes()


@dataclass(frozen=True)
class PublishedGradient:
    """The g_out of the public program for n outputs.

    Attributes
    ----------
    gradient : array (n, L, 2)
        Numerator / denominator; not finite where the denominator vanishes.
    numerator : array (n, L, 2)
        Two layers: int V^-1 (h - omega) w. Three layers: its mean over the box.
    resolved : bool array (n,)
        Two layers: the cubature met its tolerance. Three layers: the denominator is above its least value.
    """

    gradient: np.ndarray
    numerator: np.ndarray
    resolved: np.ndarray


@cfunc(types.double(types.intc, types.CPointer(types.double)))
def _weight(_, x):
    """w as a C function of the variable of the inner integral, that of the outer one, and the further arguments."""
    return weight_at(x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], x[8], x[9], x[10], x[11])[0]


def published_gradient(u, omega, variance, skip, beta, generator, boxes: Boxes = PUBLIC) -> PublishedGradient:
    """g_out of the public program for two or three softmax layers reading two tokens.

    Parameters
    ----------
    u : array (n, 2)
        Score roots, up to one sign each, as `DeepAttention.observe` gives them.
    omega : array (n, L, 2)
        Prior means of the fields.
    variance : array (L,)
        Diagonal of V; V is diagonal.
    skip, beta : float
        Of the link.
    generator : numpy.random.Generator
        Draws the uniform points of three layers.
    boxes : Boxes, optional
        Those of the public program by default.

    Raises
    ------
    ValueError
        If L is neither 2 nor 3, or a variance is not positive.
    """
    n, layers, _ = omega.shape
    variance = np.asarray(variance, dtype=float)
    if layers not in (2, 3) or variance.shape != (layers,) or np.any(variance <= 0):
        raise ValueError(
            f"need two or three layers and a positive variance for each; got {layers}, {variance.tolist()}"
        )
    roots = _public_roots(np.asarray(u, dtype=float), beta)
    gradient, numerator, resolved = np.empty((n, layers, 2)), np.empty((n, layers, 2)), np.empty(n, bool)
    if layers == 2:
        work, callback = np.empty((MOST_REGIONS, 4)), LowLevelCallable(_weight.ctypes)
        reach = boxes.denominator
        for i in range(n):
            parameters = np.array([*roots[i], *omega[i].ravel(), *variance, skip, beta])
            _, resolved[i] = adaptive_numerator(boxes.numerator, boxes.tolerance, work, parameters, numerator[i])
            denominator, _ = dblquad(callback, -reach, reach, -reach, reach, args=tuple(parameters))
            gradient[i] = _ratio(numerator[i], denominator)
        return PublishedGradient(gradient, numerator, resolved)
    reach, unused = boxes.layers / np.sqrt(variance[:2]), np.empty((3, 2))
    for i in range(n):
        for_denominator, for_numerator = generator.uniform(-1.0, 1.0, (2, POINTS, 2, 2))
        mean = mean_weights(for_denominator, reach, roots[i], omega[i], variance, skip, beta, unused)
        mean_weights(for_numerator, reach, roots[i], omega[i], variance, skip, beta, numerator[i])
        resolved[i] = mean > LEAST_DENOMINATOR
        gradient[i] = numerator[i] / max(mean, LEAST_DENOMINATOR)
    return PublishedGradient(gradient, numerator, resolved)


def _public_roots(u, beta):
    """The score roots (n, 2) that the program computes from the output of u (n, 2)."""
    difference = u[:, :1] - u[:, 1:]
    # beta (u_1 - u_2)^2 is the logarithm that the program takes the root of; beta = 1 in its runs.
    return u * np.abs(difference) / np.sqrt(difference**2 + ROOT_CONSTANT / beta)


def _ratio(numerator, denominator):
    """numerator / denominator; NaN where the denominator is zero."""
    return numerator / denominator if denominator > 0 else np.full_like(numerator, np.nan)
