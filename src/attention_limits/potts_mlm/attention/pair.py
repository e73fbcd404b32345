"""Attention with site fields and several heads, fitted to weighted sequences: from independent sites to full pseudo-likelihood.

logits_ia = h_i(a) + sum_{j != i} J_ij(a, s_j) with J_ij(a, b) = sum_h A^h_ij V^h_ab. One head without fields is the factored
attention of Rende et al. 2024 (arXiv:2304.07235). C^2 heads can be any J: the loss is then the asymmetric pseudo-likelihood of
plmDCA (Ekeberg, Hartonen, Aurell 2014, J. Comput. Phys. 276, 341), and the fit is that of J itself, which is convex. Several
heads for proteins: Bhattacharya et al. 2022 (Pac. Symp. Biocomput. 27, 34) and Caredda, Pagnani 2025 (BMC Bioinform. 26, 41).
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

import numba
import numpy as np

from attention_limits.numerics.simd.aligned_arrays import aligned
from attention_limits.potts_mlm.attention import pair_kernels, single_precision_kernels
from attention_limits.potts_mlm.attention.pair_parameters import Ridge, Shape, composed, penalty, pull_back
from attention_limits.potts_mlm.descent import minima
from attention_limits.potts_mlm.descent.lbfgs import MEMORY, START, Descent, descend
from attention_limits.potts_mlm.descent.minima import Fit

# Largest number of entries of all steps that L-BFGS keeps, and of all gradient changes: more would not stay in the cache.
KEPT = 3 * 10**6
FEWEST_PAIRS = 8
# One site has so many couplings that the recursion over more pairs would cost more than the gradient.
SITE_PAIRS = 10


class Settings(minima.Settings, Protocol):
    """The settings that a fit reads; the section `schema.proteins.Fitting` has them.

    Attributes
    ----------
    pseudo_count : float
        > 0, added to the site frequencies; their logarithms are the fields at the start.
    """

    pseudo_count: float


@dataclass(frozen=True)
class PairFit(Fit):
    """A fit with h as `fields` (L, C) and J as `couplings` (L, L, C, C): J_ij(a, b) at [i, j, b, a], zero for i = j.

    J_ij and J_ji are different conditionals: see `contacts.joint_model`.
    """

    fields: np.ndarray
    couplings: np.ndarray


def fit(
    sequences,
    weights,
    shape: Shape,
    ridge: Ridge,
    rng: np.random.Generator,
    settings: Settings,
    full: PairFit | None = None,
) -> PairFit:
    """Minimise (1 / (W L)) sum_mi w_m (-log p(s_mi | s_m,-i)) plus ridges by L-BFGS, W = sum_m w_m.

    Parameters
    ----------
    sequences : int8 array (M, L), colours 0 to C - 1
    weights : array (M,)
        Positive.
    shape : Shape
    ridge : Ridge
    rng : numpy.random.Generator
        Draws A, or Q and K, and V at the start: normal numbers of standard deviation START. J of a full model starts at zero.
    settings : Settings
    full : PairFit, optional
        Of the full model. Free raw heads start at the largest singular values of its J (L^2, C^2).

    Raises
    ------
    ValueError
        When the sequences do not fit the shape, or there is not one weight for each.
    """
    sequences, weights = _checked(sequences, shape), np.asarray(weights, dtype=float)
    if weights.shape != (len(sequences),) or not np.all(weights > 0.0):
        raise ValueError(f"weights of shape {weights.shape}: must be ({len(sequences)},) and positive")
    start = START * rng.standard_normal(shape.size)
    fields, *rest = shape.split(start)
    fields[:] = np.log(site_frequencies(sequences, weights, shape.colors, settings.pseudo_count))
    fields -= fields.mean(axis=1, keepdims=True)
    if shape.full:
        rest[0][:] = 0.0
    elif shape.rank is None and shape.attention == "raw":
        rest[0][:, range(shape.sites), range(shape.sites)] = 0.0
    # Equal sequences are one sequence with their weights together.
    distinct, places = np.unique(sequences, axis=0, return_inverse=True)
    together = np.bincount(places.ravel(), weights)
    if shape.full:
        found = _descend_by_site(start, shape, distinct, together, ridge, settings)
    else:
        if full is not None:
            _to_singular_values(full.couplings, *rest)
        memory = int(np.clip(KEPT // shape.size, FEWEST_PAIRS, MEMORY))
        found = descend(
            lambda flat: objective(flat, shape, distinct, together, ridge), start, settings.max_iterations,
            settings.tolerance, memory, single=lambda flat: objective(flat, shape, distinct, together, ridge, single=True),
        )  # fmt: skip
    fields, couplings = composed(found.parameters, shape)
    loss = found.objective - penalty(found.parameters, couplings, shape, ridge)
    return PairFit(loss, found, fields, couplings)


def objective(
    parameters, shape: Shape, sequences, weights, ridge: Ridge, single: bool = False
) -> tuple[float, np.ndarray]:
    """The objective of `fit` and its gradient, in nats per site; arguments are not checked.

    Parameters
    ----------
    parameters : array (shape.size,)
    shape, ridge
        As in `fit`.
    sequences : int8 array (M, L), weights : array (M,)
    single : bool
        All products in single precision.

    Returns
    -------
    float, array (shape.size,)
    """
    parameters = parameters.astype(np.float32 if single else float)
    fields, couplings = composed(parameters, shape)
    gradient = np.empty_like(parameters)
    d_fields, *d_rest = shape.split(gradient)
    padded = pair_kernels.padded(couplings)
    d_padded = aligned(padded.shape, padded.dtype)
    kernel = single_precision_kernels.pairwise if single else pair_kernels.loss_and_gradient

    def of_site(i):
        return kernel(i, padded[i], fields[i], sequences, weights, d_padded[i], d_fields[i])

    scale = 1.0 / (float(weights.sum()) * shape.sites)
    loss = scale * sum(_over_sites(of_site, shape.sites))
    d_couplings = scale * d_padded[..., : shape.colors] + ridge.couplings * couplings
    d_fields *= scale
    d_fields += ridge.fields * fields
    if shape.full:
        d_rest[0][:] = d_couplings
    else:
        pull_back(shape.split(parameters)[1:], d_couplings, d_rest, shape)
        for part, d_part in zip(shape.split(parameters)[1:], d_rest, strict=True):
            d_part += ridge.weights * part
    return loss + penalty(parameters, couplings, shape, ridge), gradient.astype(float)


def _to_singular_values(couplings, attention, values):
    """Write A (heads, L, L) and V (heads, C, C) of the best approximation of J; heads beyond its rank C^2 stay as they are."""
    colors = values.shape[-1]
    flat = couplings.reshape(-1, colors**2)
    squares, vectors = np.linalg.eigh(flat.T @ flat)
    chosen = np.argsort(-squares)[: len(values)]
    roots = np.maximum(squares[chosen], np.finfo(float).tiny) ** 0.25
    values[: len(chosen)] = (vectors[:, chosen] * roots).T.reshape(-1, colors, colors)
    attention[: len(chosen)] = (flat @ (vectors[:, chosen] / roots)).T.reshape(-1, *attention.shape[1:])


def _descend_by_site(start, shape, sequences, weights, ridge, settings):
    """The minimum of a full model. No parameter belongs to two sites, so the sites are fitted one by one, within the cache."""
    sites, colors = shape.sites, shape.colors
    scale = 1.0 / (weights.sum() * sites)

    def of_site(i):
        def function(flat, single=False):
            own = flat.astype(np.float32 if single else float)
            h, padded = own[:colors], pair_kernels.padded(own[colors:].reshape(sites, colors, colors))
            gradient, d_padded = np.empty_like(own), aligned(padded.shape, padded.dtype)
            kernel = single_precision_kernels.pairwise if single else pair_kernels.loss_and_gradient
            loss = kernel(i, padded, h, sequences, weights, d_padded, gradient[:colors])
            gradient[colors:] = d_padded[..., :colors].ravel()
            h, J = flat[:colors], flat[colors:]
            penalties = np.concatenate([ridge.fields * h, ridge.couplings * J])
            return scale * loss + 0.5 * float(penalties @ flat), scale * gradient + penalties

        first = np.concatenate([part[i].ravel() for part in shape.split(start)])
        return descend(
            function,
            first,
            settings.max_iterations,
            settings.tolerance,
            SITE_PAIRS,
            single=lambda flat: function(flat, single=True),
        )

    found = _over_sites(of_site, sites)
    together = np.empty(shape.size)
    fields, couplings = shape.split(together)
    for i, item in enumerate(found):
        fields[i], couplings[i] = item.parameters[:colors], item.parameters[colors:].reshape(sites, colors, colors)
    return Descent(
        together,
        sum(item.objective for item in found),
        max(item.gradient_norm for item in found),
        max(item.iterations for item in found),
        all(item.converged for item in found),
    )


def losses(fields, couplings, sequences) -> np.ndarray:
    """-log p(s_i | s_-i) of sequences (n, L) at every site, in nats: array (n, L).

    `fields` is h (L, C), `couplings` is J (L, L, C, C) as in `PairFit`.
    """
    sequences, padded = np.ascontiguousarray(sequences, dtype=np.int8), pair_kernels.padded(couplings)
    out = np.empty(sequences.shape[::-1])
    _over_sites(lambda i: pair_kernels.losses(i, padded[i], fields[i], sequences, out[i]), len(fields))
    return out.T


def site_frequencies(sequences, weights, colors: int, pseudo_count: float) -> np.ndarray:
    """f_i(a) = (sum_m w_m [s_mi = a] + pseudo_count / C) / (W + pseudo_count): array (L, C).

    `sequences` is (M, L) with `colors` C, `weights` is (M,).
    """
    counts = np.stack([weights @ (sequences == color) for color in range(colors)], axis=1)
    return (counts + pseudo_count / colors) / (np.sum(weights) + pseudo_count)


def _over_sites(function, sites):
    """[function(0), function(1), ...], on as many threads as numba may use; the result does not depend on their number."""
    threads = numba.get_num_threads()
    if threads == 1:
        return [function(i) for i in range(sites)]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(function, range(sites)))


def _checked(sequences, shape):
    sequences = np.asarray(sequences)
    if sequences.ndim != 2 or len(sequences) < 1 or sequences.shape[1] != shape.sites:
        raise ValueError(f"sequences of shape {sequences.shape}: must be (M, {shape.sites}) with M >= 1")
    if sequences.min() < 0 or sequences.max() >= shape.colors:
        raise ValueError(f"colours {sequences.min()} to {sequences.max()}: allowed: 0 to {shape.colors - 1}")
    return np.ascontiguousarray(sequences, dtype=np.int8)
