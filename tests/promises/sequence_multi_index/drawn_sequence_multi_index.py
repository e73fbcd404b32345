"""Specifications of the sequence multi-index family over the whole range of its classes, and checks of their overlaps."""

import json
from pathlib import Path

import numpy as np
from hypothesis import strategies as st
from specifications import Refused, compute, compute_data, document, node, whole_range

from attention_limits.sequence_multi_index.channels.channel import Channel
from attention_limits.sequence_multi_index.links.loading import load_link
from attention_limits.sequence_multi_index.readings import phases

FAMILY = "sequence_multi_index"
SIGMAS = 5.0
SMOKE = {"nodes": 64, "max_iterations": 60, "resolution": 0.35}
# Keys of each link.
KEYS = {
    "deep_attention": ("skip", "beta", "depth", "tokens"),
    "rank_attention": ("skip", "beta", "depth", "tokens", "rank"),
    "untied_heads": ("skip", "beta", "depth", "tokens", "heads"),
    "untied": ("skip", "beta", "depth", "tokens"),
    "multi_head": ("skip", "beta", "depth", "tokens", "heads"),
    "sequence_output": ("skip", "beta", "depth", "tokens"),
    "rescaled_attention": ("ratio", "beta", "depth", "tokens"),
    "committee_depth": ("ratio", "beta", "depth", "tokens"),
    "large_depth": ("ratio", "beta", "tokens"),
    "phase_retrieval": (),
    "product": ("rows",),
    "sum_of_squares": ("rows",),
    "sign_product": ("rows",),
    "committee": ("rows",),
    "monomial": ("exponents",),
}
# Sizes that are computed in a second.
SIZES = {"depth": (1, 3), "tokens": (2, 4), "heads": (1, 3), "rank": (1, 2), "rows": (1, 16)}


def link_key(key, sizes=SIZES):
    """Every value that the specification allows for a key of a link, sizes in the ranges `sizes` where it has them."""
    schema = node(FAMILY, "state_evolution", "model", key)
    if key == "exponents":
        return st.lists(whole_range(schema["items"]), min_size=1, max_size=3)
    if key in sizes:
        return st.integers(*sizes[key])
    # Attention needs two tokens.
    return whole_range(schema | {"minimum": 2} if key == "tokens" else schema)


def models(*names, sizes=SIZES):
    """Models of the given links, with and without output noise; `sizes` as in `link_key`."""
    noise = st.one_of(st.just({}), st.just({}), link_key("noise").map(lambda value: {"noise": value}))
    parts = [
        st.fixed_dictionaries({"link": st.just(name), **{key: link_key(key, sizes) for key in KEYS[name]}})
        for name in names
    ]
    return st.tuples(st.one_of(parts), noise).map(lambda both: both[0] | both[1])


alphas = whole_range(node(FAMILY, "state_evolution", "grid", "alpha"))


def computed(estimator, model, grid, solver, replicas=1, seed=0):
    """The dataset of one grid point, of an estimator or of data, or None when the specification is refused."""
    if estimator == "gaussian_sequences":
        # Data stand beside an estimator that reads them.
        written = document("gamp", model, grid, {"max_iterations": 1}, replicas, reads=estimator)
        axes = document(estimator, model, grid)["estimators"][estimator]["grid"]
        written["data"] = {estimator: {"grid": axes, "replicas": replicas, "solver": solver}}
        found = compute_data(FAMILY, written, estimator, seed)
    else:
        found = compute(FAMILY, document(estimator, model, grid, solver, replicas), seed)
    if isinstance(found, Refused):
        assert all(problem.count(": ") >= 2 for problem in found.problems), found.problems
        return None
    dataset = found if estimator == "gaussian_sequences" else found[estimator]
    return dataset.isel(dict.fromkeys(grid, 0), drop=True)


def phase_of(found):
    """The phase of a dataset of `phase_comparison` with the default gap (`readings.phases`)."""
    spec = {"estimators": {"phase_comparison": {"solver": {"gap": 0.01}}}}
    return phases(found.assign_attrs(spec=json.dumps(spec))).phase.item()


def assert_overlap(overlap, flagged):
    """A symmetric matrix with eigenvalues in [0, 1], or missing where the point is flagged."""
    if not np.all(np.isfinite(overlap)):
        assert flagged
        return
    spectrum = np.linalg.eigvalsh(0.5 * (overlap + overlap.T))
    assert np.all((spectrum >= -1e-9) & (spectrum <= 1.0 + 1e-9)), spectrum


def assert_fixed_point(model, alpha, overlap, solver, prior=0.0, free=None, samples=1024):
    """Q_hat = alpha E sum_a g_a g_a^T on plain random outputs of an own forward pass, with the denoiser at a higher resolution.

    The nodes of the run have an error too, no larger than that of as many random outputs: the test allows for both.
    """
    rng = np.random.default_rng(17)
    link = load_link(model, Path())
    size = link.rows
    values, vectors = np.linalg.eigh(overlap)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    V = np.eye(size) - overlap
    V = 0.5 * (V + V.T)
    if np.linalg.eigvalsh(V)[0] < 1e-3:
        return  # exact recovery, whose approach is tested by its own limits
    omega = np.einsum("pq,nqa->npa", root, rng.standard_normal((samples, size, link.tokens)))
    h = omega + np.einsum("pq,nqa->npa", np.linalg.cholesky(V), rng.standard_normal(omega.shape))
    noise = rng.standard_normal((samples, link.noise_dimension))
    moments = Channel(link, 1.0, rng).posterior(link.observe(h, noise), omega, V)
    first, second = np.einsum("pq,knqa->knpa", np.linalg.inv(V), moments.means)
    products = alpha * np.einsum("npa,npa->np", first, second)
    wanted = np.diag(overlap @ np.linalg.inv(V)) - prior
    error = SIGMAS * products.std(axis=0) * np.sqrt(1.0 / samples + 1.5 / solver["nodes"])
    slack = 5e-3 * (1.0 + np.diag(overlap @ np.linalg.inv(V)))
    difference = np.abs(products.mean(axis=0) - wanted)
    rows = range(size) if free is None else free
    assert all(difference[k] <= error[k] + slack[k] for k in rows), (difference, error, wanted)
