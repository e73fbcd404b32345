"""Promises of the sequence multi-index family: right, flagged, or refused, over the whole range of every schema.

Statistical comparisons are seeded, with limits at five standard errors: a correct program fails one of them with a probability
of 6e-7, and there are some thousand.
"""

from pathlib import Path

import numpy as np
import pytest
import slow_sequence_multi_index as slow
from hypothesis import example, given, settings
from hypothesis import strategies as st
from specifications import Refused, compute, document, node, section, whole_range

from attention_limits.rng import Streams
from attention_limits.sequence_multi_index.channel import Channel
from attention_limits.sequence_multi_index.links.loading import load_link

FAMILY = "sequence_multi_index"
SIGMAS = 5.0
SMOKE = {"nodes": 64, "max_iterations": 60, "resolution": 0.35}
# Keys of each link; those of a fixed number of tokens and of rows are drawn up to sizes that are computed in a second.
KEYS = {
    "deep_attention": ("skip", "beta", "depth", "tokens"),
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
SIZES = {"depth": (1, 3), "tokens": (2, 4), "heads": (1, 3), "rows": (1, 16)}


def link_key(key):
    """Every value that the schema allows for a key of a link, sizes up to SIZES."""
    schema = node(FAMILY, "state_evolution", "model", key)
    if key == "exponents":
        return st.lists(whole_range(schema["items"]), min_size=1, max_size=3)
    if key in SIZES:
        return st.integers(*SIZES[key])
    return whole_range(schema)


def models(*names):
    """Models of the given links, with and without output noise."""
    noise = st.one_of(st.just({}), st.just({}), link_key("noise").map(lambda value: {"noise": value}))
    parts = [
        st.fixed_dictionaries({"link": st.just(name), **{key: link_key(key) for key in KEYS[name]}}) for name in names
    ]
    return st.tuples(st.one_of(parts), noise).map(lambda both: both[0] | both[1])


alphas = whole_range(node(FAMILY, "state_evolution", "grid", "alpha"))


def computed(kind, model, grid, solver, replicas=1, seed=0):
    """The dataset of one grid point, or None when the specification is refused."""
    found = compute(FAMILY, document(kind, model, grid, solver, replicas), seed)
    if isinstance(found, Refused):
        assert all(problem.count(": ") >= 2 for problem in found.problems), found.problems
        return None
    return found[kind].isel(dict.fromkeys(grid, 0), drop=True)


def assert_overlap(overlap, flagged):
    """A symmetric matrix with eigenvalues in [0, 1], or missing where the point is flagged."""
    if not np.all(np.isfinite(overlap)):
        assert flagged
        return
    spectrum = np.linalg.eigvalsh(0.5 * (overlap + overlap.T))
    assert np.all((spectrum >= -1e-9) & (spectrum <= 1.0 + 1e-9)), spectrum


def assert_fixed_point(model, alpha, overlap, solver, prior=0.0, free=None, samples=1024):
    """Q_hat = alpha E sum_a g_a g_a^T on plain random outputs of an own forward pass, with the denoiser at a higher resolution.

    The nodes of the run have an error of their own, no larger than that of as many random outputs: both are allowed for.
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


@settings(max_examples=4)
@given(model=models(*KEYS), alpha=alphas)
@example(model={"link": "deep_attention", "skip": 100.0, "beta": 1.0, "tokens": 2, "depth": 2}, alpha=5.0)
@example(model={"link": "deep_attention", "skip": 1.0, "beta": 10.0, "tokens": 2, "depth": 2}, alpha=0.4)
@example(model={"link": "untied", "skip": 1.0, "beta": 1.0, "tokens": 2, "depth": 1}, alpha=1.0)
@example(model={"link": "multi_head", "skip": 1.0, "beta": 1.0, "tokens": 2, "depth": 1, "heads": 2}, alpha=0.7)
@example(model={"link": "sequence_output", "skip": 1.0, "beta": 1.0, "tokens": 2, "depth": 2}, alpha=0.3)
@example(model={"link": "committee", "rows": 2, "noise": 0.1}, alpha=1.0)
@example(model={"link": "monomial", "exponents": [16]}, alpha=1.0)
def test_state_evolution_is_a_fixed_point_of_own_averages(model, alpha):
    found = computed("state_evolution", model, {"alpha": alpha}, SMOKE)
    if found is None:
        return
    point = found.isel(replica=0)
    overlap, settled = point.overlap.values, bool(point.converged) and float(point.resolved) > 0.99
    assert_overlap(overlap, not settled)
    assert 0.0 <= float(point.resolved) <= 1.0
    if settled:
        assert_fixed_point(model, alpha, overlap, SMOKE)


@pytest.mark.parametrize("alpha", [0.0, 0.45, 0.8, 1.0, 1.5, 100.0])
def test_state_evolution_is_that_of_gauss_hermite(alpha):
    """Phase retrieval, within the spread of sixteen scramblings, from both starts: there is no gap."""
    wanted = slow.sign_overlap(alpha)
    for kind in ("state_evolution", "state_evolution_informed"):
        found = computed(kind, {"link": "phase_retrieval"}, {"alpha": alpha}, SMOKE | {"nodes": 512}, replicas=16)
        overlap = found.overlap.values.reshape(-1)
        error = overlap.std(ddof=1) / 4.0
        assert found.converged.all()
        # Convergence to a relative 1e-3 a step leaves up to 5e-3 near the threshold.
        assert abs(overlap.mean() - wanted) <= SIGMAS * error + 5e-3, (kind, overlap.mean(), error, wanted)


@settings(max_examples=2)
@given(model=models("deep_attention", "rescaled_attention", "committee_depth", "large_depth"), alpha=alphas)
@example(model={"link": "deep_attention", "skip": 100.0, "beta": 1.0, "tokens": 2, "depth": 2}, alpha=5.0)
def test_state_evolution_informed_is_never_below_the_uninformed(model, alpha):
    found = [computed(kind, model, {"alpha": alpha}, SMOKE) for kind in ("state_evolution", "state_evolution_informed")]
    if found[0] is None:
        assert found[1] is None
        return
    for one in found:
        assert_overlap(one.overlap.values[0], not one.converged.item())
    if all(one.converged.item() and one.resolved.item() > 0.99 for one in found):
        low, high = (np.diag(one.overlap.values[0]) for one in found)
        assert np.all(high >= low - 0.05), (low, high)


@pytest.mark.parametrize(
    ("model", "alpha"),
    [({"depth": 2, "tokens": 2, "skip": 1.0, "beta": 1.0}, 0.4), ({"depth": 2, "tokens": 2, "skip": 100.0, "beta": 1.0}, 2.0),
     ({"link": "committee", "rows": 2}, 1.0), ({"link": "phase_retrieval", "noise": 0.1}, 2.0)],
)  # fmt: skip
def test_state_evolution_converged_holds_with_four_times_the_effort(model, alpha):
    few = computed("state_evolution", model, {"alpha": alpha}, SMOKE | {"tolerance": 1e-3})
    many = computed("state_evolution", model, {"alpha": alpha}, SMOKE | {"tolerance": 2.5e-4, "max_iterations": 320})
    assert few.converged.all()
    np.testing.assert_allclose(few.overlap.values, many.overlap.values, atol=0.01)


@pytest.mark.parametrize("exponents", [[16], [8, 8], [1, 16]])
def test_state_evolution_marks_errors_that_no_node_reaches(exponents):
    """The plug-in error without information is E y^2, a product of double factorials that no nodes reach."""
    found = computed("state_evolution", {"link": "monomial", "exponents": exponents}, {"alpha": 0.0}, SMOKE)
    assert np.isnan(found.error_plug_in.item())
    assert np.isnan(found.error_bayes.item())
    easy = computed("state_evolution", {"link": "monomial", "exponents": [2]}, {"alpha": 0.0}, SMOKE | {"nodes": 512})
    assert easy.error_plug_in.item() == pytest.approx(3.0, rel=0.02)


@settings(max_examples=8)
@given(model=models(*KEYS), q=st.sampled_from([0.0, 0.3, 0.9]))
@example(model={"link": "multi_head", "skip": 0.0, "beta": 1.0, "tokens": 2, "depth": 1, "heads": 3}, q=0.3)
@example(model={"link": "sequence_output", "skip": 100.0, "beta": 10.0, "tokens": 2, "depth": 2}, q=0.3)
@example(model={"link": "untied", "skip": 0.0, "beta": 10.0, "tokens": 2, "depth": 2}, q=0.3)
@example(model={"link": "deep_attention", "skip": 0.5, "beta": 1.0, "tokens": 2, "depth": 8}, q=0.3)
@example(model={"link": "rescaled_attention", "ratio": 20.0, "beta": 1.0, "tokens": 2, "depth": 30}, q=0.3)
@example(model={"link": "product", "rows": 3}, q=0.3)
@example(model={"link": "sum_of_squares", "rows": 16}, q=0.3)
def test_state_evolution_denoiser_is_a_conditional_expectation(model, q):
    """E[(x - E[x | y, omega]) f(y, omega)] = 0 for the fields and their squares x, on simulations of an own forward pass."""
    if isinstance(
        compute(FAMILY, document("state_evolution", model, {"alpha": 1.0}, SMOKE | {"max_iterations": 1})), Refused
    ):
        return
    rng, samples = np.random.default_rng(23), 512
    link = load_link(model, Path())
    omega = np.sqrt(q) * rng.standard_normal((samples, link.rows, link.tokens))
    h = omega + np.sqrt(1.0 - q) * rng.standard_normal(omega.shape)
    if model["link"] != "large_depth":
        np.testing.assert_allclose(link.forward(h), slow.forward(model, h), rtol=1e-8, atol=1e-12)
    noise = rng.standard_normal((samples, link.noise_dimension))
    moments = Channel(link, 1.0, rng).posterior(link.observe(h, noise), omega, (1.0 - q) * np.eye(link.rows))
    use = moments.resolved
    if use.mean() < 0.9:
        return  # flagged
    size = link.rows * link.tokens
    d, omega = (h - omega).reshape(samples, size), omega.reshape(samples, size)
    means = moments.means.reshape(2, samples, size)
    squares = np.einsum("nii->ni", moments.covariance.reshape(samples, size, size)) + means[0] * means[1]
    # Test functions take one estimate of the mean and the residuals the other.
    functions = [np.ones_like(d), means[0], omega, omega * means[0].std(axis=0)]
    residuals = [d - means[1]] * 3 + [d**2 - squares]
    bias = 2.0 * np.mean(1.0 / np.maximum(moments.effective, 1.0))
    for function, residual in zip(functions, residuals, strict=True):
        product = np.where(use[:, None], function * residual, 0.0)
        limit = SIGMAS * product.std(axis=0) / np.sqrt(samples) + (bias + 1.0 - use.mean()) * (1.0 - q) + 1e-9
        assert np.all(np.abs(product.mean(axis=0)) <= limit), (product.mean(axis=0), limit)


@settings(max_examples=3)
@given(skip=link_key("skip"), beta=link_key("beta"), q=st.floats(0.0, 0.9))
@example(skip=0.0, beta=10.0, q=0.3)
@example(skip=1.0, beta=1.0, q=0.5)
def test_state_evolution_denoiser_of_two_layers_is_a_dense_integral(skip, beta, q):
    rng = np.random.default_rng(5)
    link = load_link({"link": "deep_attention", "skip": skip, "beta": beta}, Path())
    omega = np.sqrt(q) * rng.standard_normal((2, 2, 2))
    V = (1.0 - q) * np.eye(2)
    observed = link.observe(omega + np.sqrt(1.0 - q) * rng.standard_normal(omega.shape))
    found = Channel(link, 1.0, rng).posterior(observed, omega, V)
    for i in np.flatnonzero(found.resolved):
        mean, moments = slow.two_layer_moments(observed[i], omega[i], V, skip, beta)
        scale = 2e-3 if beta > 2.0 or skip < 0.01 else 1e-4
        np.testing.assert_allclose(found.mean[i].reshape(4), mean, atol=scale)
        np.testing.assert_allclose(found.covariance[i].reshape(4, 4), moments - np.outer(mean, mean), atol=scale)


@pytest.mark.parametrize(
    "model",
    [{"link": "sign_product", "rows": 2}, {"link": "committee", "rows": 3}, {"link": "product", "rows": 2, "noise": 0.5},
     {"link": "untied", "depth": 1, "tokens": 3, "noise": 0.1}, {"link": "multi_head", "heads": 2, "tokens": 4, "noise": 1000.0}],
)  # fmt: skip
def test_state_evolution_denoiser_of_noisy_and_discrete_links_is_brute_force(model):
    rng = np.random.default_rng(6)
    link = load_link(model, Path())
    size, V = link.rows * link.tokens, 0.6 * np.eye(link.rows)
    omega = np.repeat(np.sqrt(0.4) * rng.standard_normal((1, link.rows, link.tokens)), 2, axis=0)
    h = omega + np.sqrt(0.6) * rng.standard_normal(omega.shape)
    observed = link.observe(h, rng.standard_normal((2, link.noise_dimension)))
    found = Channel(link, 2.0, rng).posterior(observed, omega, V)
    for i in range(2):
        wanted, error = slow.brute_posterior(model, omega[i], V, observed[i], 40000, rng)
        mean = found.mean[i].reshape(size)
        second = found.covariance[i].reshape(size, size) + np.outer(mean, mean)
        own = np.concatenate([mean, second[np.triu_indices(size)]])
        error = np.hypot(error, 2.0 / np.sqrt(found.effective[i]))
        assert np.all(np.abs(own - wanted) <= SIGMAS * error), (own - wanted) / error


def test_state_evolution_sizes_are_refused_before_any_job():
    huge = [{"link": "deep_attention", "depth": 10000}, {"link": "committee_depth", "depth": 5000, "tokens": 64}]
    for model in huge:
        assert computed("state_evolution", model, {"alpha": 1.0}, SMOKE) is None
    linear = {"link": "deep_attention", "activation": "linear", "depth": 8}
    assert computed("state_evolution", linear, {"alpha": 1.0}, SMOKE) is None
    assert computed("gamp", {"link": "phase_retrieval"}, {"alpha": 100.0}, {"dimension": 100000}) is None
    assert computed("gaussian_sequences", {"link": "phase_retrieval"}, {"alpha": 100.0}, {"dimension": 100000}) is None


@settings(max_examples=3)
@given(
    model=models("deep_attention", "phase_retrieval", "product"),
    grid=section(FAMILY, "held_overlap", "grid", "alpha", "held"),
)
@example(
    model={"link": "deep_attention", "skip": 1.0, "beta": 1.0, "tokens": 2, "depth": 2},
    grid={"alpha": 0.5, "held": 0.5},
)
@example(
    model={"link": "deep_attention", "skip": 0.0, "beta": 1.0, "tokens": 2, "depth": 2},
    grid={"alpha": 1.0, "held": 1.0},
)
def test_held_overlap_holds_one_layer_and_solves_the_others(model, grid):
    found = computed("held_overlap", model, grid, SMOKE)
    if model["link"] == "product" and model["rows"] > 1:
        assert found is None
    if found is None:
        return
    for k, layer in enumerate(found.held_layer.values):
        point = found.isel(replica=0).sel(held_layer=layer)
        overlap = point.layer_overlap.values
        if not (bool(point.held_converged) and float(point.held_resolved) > 0.99):
            continue
        assert overlap[k] == pytest.approx(grid["held"], abs=2e-4)
        assert_overlap(np.diag(overlap), False)
        free = [row for row in range(len(overlap)) if row != k]
        assert_fixed_point(model, grid["alpha"], np.diag(overlap), SMOKE, free=free)


@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.7, 1.0, 100.0])
def test_phases_of_phase_retrieval_are_those_of_quadrature(alpha):
    """One continuous transition at 1/2: impossible below, easy above; the free entropies are those of both fixed points."""
    found = computed("phases", {"link": "phase_retrieval"}, {"alpha": alpha}, {"nodes": 1024}).isel(replica=0)
    assert found.converged_by_start.all()
    assert found.phase.item() == (0.0 if alpha < 0.5 else 2.0)
    entropies = found.free_entropy_by_start.values
    overlap = found.overlap_by_start.values[0, 0, 0]
    if np.isfinite(entropies[0]):
        wanted = slow.phase_retrieval_free_entropy(overlap, alpha)
        assert entropies[0] == pytest.approx(wanted, abs=0.02 * (1.0 + alpha))
    else:
        assert overlap > 0.999


@settings(max_examples=2)
@given(model=models("committee_depth", "sum_of_squares", "committee"), alpha=alphas)
@example(model={"link": "rescaled_attention", "ratio": 1.4, "beta": 0.01, "tokens": 2, "depth": 3}, alpha=100.0)
def test_phases_are_flagged_where_they_are_not_decided(model, alpha):
    found = computed("phases", model, {"alpha": alpha}, SMOKE)
    if found is None:
        return
    point = found.isel(replica=0)
    both = point.overlap_by_start.values
    if np.isnan(point.phase.item()):
        return
    assert point.converged_by_start.all()
    entropies = point.free_entropy_by_start.values
    assert np.isfinite(entropies).any() or np.sqrt(((both[0] - both[1]) ** 2).sum() / len(both[0])) <= 0.01


# Outputs that give the fields up to a sign: 1 / alpha = E ||h h^T - I||^2 = M (M + 1), whatever the other parameters are.
@settings(max_examples=3)
@given(model=models("deep_attention", "large_depth").map(lambda m: {key: m[key] for key in m if key != "noise"}))
@example(model={"link": "deep_attention", "depth": 1, "skip": 100.0, "beta": 10.0, "tokens": 8})
def test_staircase_begins_at_the_threshold_of_fields_known_up_to_a_sign(model):
    model = {"depth": 1, **model, "tokens": model["tokens"]} if model["link"] == "large_depth" else model | {"depth": 1}
    model.pop("depth") if model["link"] == "large_depth" else None
    beta = model.pop("beta")
    solver = {"nodes": 64, "nodes_at_zero": 2048, "tolerance": 0.01}
    found = computed("staircase", model, {"beta": beta}, solver, replicas=8)
    inverse = 1.0 / found.threshold.isel(step=0).values
    tokens = model["tokens"]
    error = inverse.std(ddof=1) / np.sqrt(8.0)
    assert abs(inverse.mean() - tokens * (tokens + 1)) <= 2.0 * SIGMAS * error


@pytest.mark.parametrize("noise", [1e-2, 1.0, 1000.0])
def test_staircase_of_noisy_phase_retrieval_is_a_direct_integral(noise):
    """1 / alpha = E (E[h^2 | y] - 1)^2."""
    solver = {"nodes": 64, "nodes_at_zero": 1024, "tolerance": 0.01, "resolution": 1.0}
    found = computed("staircase", {"link": "phase_retrieval"}, {"noise": noise}, solver, replicas=8)
    inverse = 1.0 / found.threshold.isel(step=0).values
    error = inverse.std(ddof=1) / np.sqrt(8.0)
    wanted = 1.0 / slow.noisy_phase_retrieval_threshold(noise)
    assert abs(inverse.mean() - wanted) <= 2.0 * SIGMAS * error + 0.01 * wanted, (inverse, wanted)


@settings(max_examples=8)
@given(
    model=models(*KEYS),
    alpha=whole_range(node(FAMILY, "gaussian_sequences", "grid", "alpha")),
    dimension=st.integers(10, 40),
)
@example(model={"link": "phase_retrieval"}, alpha=1.8e-4, dimension=100)
@example(
    model={"link": "deep_attention", "skip": 1.0, "beta": 1.0, "depth": 2, "tokens": 64}, alpha=100.0, dimension=10
)
def test_gaussian_sequences_have_their_law(model, alpha, dimension):
    found = computed("gaussian_sequences", model, {"alpha": alpha}, {"dimension": dimension})
    if found is None:
        return
    data = found.isel(replica=0)
    x, teacher = data.sequences.values, data.teacher.values
    assert x.shape == (max(1, round(alpha * dimension)), model.get("tokens", 1), dimension)
    assert data.realised_alpha.item() == len(x) / dimension
    for values in (x, teacher):
        count = values.size
        for power, mean, variance in ((1, 0.0, 1.0), (2, 1.0, 2.0), (4, 3.0, 96.0)):
            assert (
                abs((values.astype(float) ** power).mean() - mean)
                <= 7.0 * np.sqrt(variance / count) + (power == 4) * 20.0 / count
            )
    lagged = (x[..., 1:].astype(float) * x[..., :-1]).mean()
    assert abs(lagged) <= 7.0 / np.sqrt(x[..., 1:].size)


def test_gaussian_sequences_of_two_points_are_independent():
    first = computed("gaussian_sequences", {"link": "phase_retrieval"}, {"alpha": 2.0}, {"dimension": 200})
    second = computed("gaussian_sequences", {"link": "phase_retrieval"}, {"alpha": 2.0}, {"dimension": 200}, seed=1)
    product = (first.sequences.values * second.sequences.values).mean()
    assert abs(product) <= 7.0 / np.sqrt(first.sequences.size)


@settings(max_examples=2)
@given(
    model=models(*KEYS),
    alpha=st.floats(1e-3, 3.0),
    solver=section(
        FAMILY,
        "gamp",
        "solver",
        "damping",
        "side_information",
        "start_overlap",
        dimension=20,
        max_iterations=5,
        resolution=0.25,
    ),
)
@example(model={"link": "phase_retrieval"}, alpha=100.0, solver={"dimension": 10, "max_iterations": 5})
@example(model={"link": "large_depth", "ratio": 20.0, "beta": 10.0, "tokens": 4}, alpha=1e-3, solver={"dimension": 10})
def test_gamp_is_finite_or_flagged(model, alpha, solver):
    found = computed("gamp", model, {"alpha": alpha}, solver)
    if found is None:
        return
    point = found.isel(replica=0)
    dimension = solver["dimension"]
    assert point.realised_alpha.item() == max(1, round(alpha * dimension)) / dimension
    done = int(point.iterations)
    cosine = point.cosine_trajectory.values[:done]
    if np.all(np.isfinite(point.overlap.values)):
        # An estimate that is zero has no direction.
        missing = np.isnan(cosine)
        assert np.all(np.einsum("tpp->tp", point.norm_trajectory.values[:done])[missing] < 1e-300)
        assert np.all(np.abs(cosine[~missing]) <= 1.0 + 1e-9)
        for V in point.variance_trajectory.values[:done]:
            spectrum = np.linalg.eigvalsh(V)
            assert spectrum[0] > 0
            assert spectrum[-1] <= 1.0 + 1e-9
    else:
        assert not point.converged
    assert np.all(np.isnan(point.cosine_trajectory.values[done:]))


def test_gamp_is_message_passing_written_out():
    """Phase retrieval, iteration by iteration, from the data and the start of the run itself."""
    dimension, alpha, steps = 60, 1.5, 6
    solver = {"dimension": dimension, "max_iterations": steps, "tolerance": 1e-9, "start_overlap": 0.3}
    found = computed("gamp", {"link": "phase_retrieval"}, {"alpha": alpha}, solver).isel(replica=0)
    streams = Streams(0, FAMILY, "promise")
    rng = streams.generator("data", 0, alpha=alpha)
    teacher, x = rng.standard_normal(dimension), rng.standard_normal((round(alpha * dimension), dimension))
    y = (x @ teacher) ** 2 / dimension
    start = np.sqrt(0.3) * streams.generator("start", 0, alpha=alpha).standard_normal(dimension)
    estimates, variances = slow.gamp_of_phase_retrieval(x, y, start, 0.3, steps)
    np.testing.assert_allclose(found.norm_trajectory.values.ravel(), (estimates**2).mean(axis=1), rtol=1e-8)
    np.testing.assert_allclose(
        found.overlap_trajectory.values.ravel(), estimates @ teacher / dimension, rtol=1e-7, atol=1e-10
    )
    np.testing.assert_allclose(found.variance_trajectory.values.ravel(), variances, rtol=1e-8)


@pytest.mark.parametrize("alpha", [0.8, 1.0])
def test_gamp_follows_the_state_evolution_of_gauss_hermite(alpha):
    """Sixteen data sets at D = 400: mean within five errors and 0.03, of the order of 10 / D."""
    solver = {"dimension": 400, "max_iterations": 200, "start_overlap": 0.1}
    found = computed("gamp", {"link": "phase_retrieval"}, {"alpha": alpha}, solver, replicas=16)
    overlap = found.overlap.values.reshape(-1)
    assert abs(overlap.mean() - slow.sign_overlap(alpha)) <= SIGMAS * overlap.std(ddof=1) / 4.0 + 0.03, overlap


def _descent_document(kind, model, alpha, dimension, solver):
    data = {"gaussian_sequences": {"grid": {"alpha": {"values": [alpha]}}, "solver": {"dimension": dimension}}}
    return document(kind, model, {"alpha": alpha}, solver, reads="gaussian_sequences") | {"data": data}


def _descent(kind, model, alpha, dimension, solver):
    found = compute(FAMILY, _descent_document(kind, model, alpha, dimension, solver))
    return found if isinstance(found, Refused) else found[kind].isel(alpha=0, replica=0)


def _own_descent(kind, model, alpha, dimension, solver):
    """The same from the streams of the run, in double precision and with finite differences."""
    streams, depth, tokens = Streams(0, FAMILY, "promise"), model["depth"], model["tokens"]
    count = max(1, round(alpha * dimension))
    rng = streams.generator("data", 0, alpha=alpha)
    teacher = rng.standard_normal((depth, dimension))
    x = rng.standard_normal((count, tokens, dimension), dtype=np.float32)
    weights = solver["initial_std"] * streams.generator("start", 0, alpha=alpha).standard_normal(teacher.shape)
    if kind == "online_sgd":
        fresh = streams.generator("fresh sequences", 0, alpha=alpha)
        shape = (solver["batch"], tokens, dimension)
        batches = [fresh.standard_normal(shape, dtype=np.float32) for _ in range(solver["batches"])]
    else:
        rng = streams.generator("batches", 0, alpha=alpha)
        whole = count // solver["batch"]
        order = [rng.permutation(count)[: whole * solver["batch"]] for _ in range(solver["batches"])]
        parts = np.concatenate(order).reshape(-1, solver["batch"])[: solver["batches"]]
        batches = [x[part] for part in parts]

    def outputs(h):
        return slow.forward({"link": "deep_attention", **model}, h)

    batches = [(b.astype(float), outputs(np.einsum("pd,nad->npa", teacher, b) / np.sqrt(dimension))) for b in batches]
    decay = solver["weight_decay"] / dimension
    weights, losses = slow.descend(outputs, weights, batches, solver["learning_rate"], decay, solver["reuse"])
    norms = np.linalg.norm(weights, axis=1)
    cosine = (weights * teacher).sum(axis=1) / norms / np.linalg.norm(teacher, axis=1)
    return cosine, norms / np.sqrt(dimension), losses


DESCENT = {
    "batch": 4,
    "batches": 3,
    "reuse": 2,
    "learning_rate": 2.0,
    "weight_decay": 0.5,
    "initial_std": 0.9,
    "record_every": 1,
}


def _assert_descent(kind, model, solver):
    found = _descent(kind, model, 1.3, 10, solver)
    assert found.realised_alpha.item() == 1.3
    cosine, norm, losses = _own_descent(kind, model, 1.3, 10, solver)
    np.testing.assert_allclose(found.cosine_by_batch.values[-1], cosine, atol=2e-3)
    np.testing.assert_allclose(found.norm_by_batch.values[-1], norm, rtol=2e-3)
    np.testing.assert_allclose(found.loss_by_batch.values[1:], losses, rtol=5e-3, atol=1e-6)
    assert found.finite.item()


@pytest.mark.parametrize(
    "model",
    [{"depth": 1, "tokens": 2, "skip": 100.0, "beta": 0.001}, {"depth": 2, "tokens": 2, "skip": 0.0, "beta": 1.0},
     {"depth": 3, "tokens": 5, "skip": 1.0, "beta": 0.3}],
)  # fmt: skip
def test_batch_reuse_sgd_is_plain_gradient_descent(model):
    _assert_descent("batch_reuse_sgd", model, DESCENT)


@pytest.mark.parametrize("model", [{"depth": 2, "tokens": 3, "skip": 0.5, "beta": 1.0}])
def test_online_sgd_is_plain_gradient_descent_on_fresh_batches(model):
    _assert_descent("online_sgd", model, DESCENT | {"reuse": 1})


@settings(max_examples=3)
@given(
    model=section(
        FAMILY, "batch_reuse_sgd", "model", "skip", "beta", depth=st.integers(1, 8), tokens=st.integers(2, 32)
    ),
    solver=section(
        FAMILY,
        "batch_reuse_sgd",
        "solver",
        "learning_rate",
        "weight_decay",
        "initial_std",
        batch=3,
        batches=3,
        record_every=1,
    ),
)
@example(model={"skip": 100.0, "beta": 10.0, "depth": 8, "tokens": 2}, solver=DESCENT | {"learning_rate": 1000.0})
def test_batch_reuse_sgd_is_finite_or_flagged(model, solver):
    for kind in ("batch_reuse_sgd", "online_sgd"):
        found = _descent(kind, model, 1.0, 10, solver)
        cosine = found.cosine_by_batch.values
        assert found.finite.item() == np.isfinite(cosine[-1]).all()
        assert np.all(np.abs(cosine[np.isfinite(cosine)]) <= 1.0 + 1e-5)


def test_batch_reuse_sgd_refuses_batches_larger_than_the_data():
    model = {"depth": 1, "tokens": 2, "skip": 1.0, "beta": 1.0}
    refused = _descent("batch_reuse_sgd", model, 1.0, 10, DESCENT | {"batch": 11})
    assert isinstance(refused, Refused)
    assert "allowed: up to 10" in refused.problems[0]


def test_online_sgd_refuses_batches_beyond_the_memory():
    model = {"depth": 1, "tokens": 2, "skip": 1.0, "beta": 1.0}
    refused = _descent(
        "online_sgd", model, 1.0, 10, DESCENT | {"batch": 100000, "record_every": 100000, "batches": 10**7}
    )
    assert isinstance(refused, Refused)
    assert "fresh sequences" in refused.problems[0]


@settings(max_examples=2)
@given(
    model=section(FAMILY, "depth_limit", "model", "beta", tokens=st.integers(2, 6)),
    grid=section(FAMILY, "depth_limit", "grid", "ratio", depth=st.integers(2, 20)),
)
@example(model={"beta": 10.0, "tokens": 3}, grid={"ratio": 20.0, "depth": 2})
@example(model={"beta": 1.0, "tokens": 2}, grid={"ratio": 1.0, "depth": 60})
@example(model={"beta": 1.0, "tokens": 16}, grid={"ratio": 1.0, "depth": 3})
def test_depth_limit_is_that_of_explicit_layers(model, grid):
    samples = 16
    found = computed("depth_limit", model, grid, {"samples": samples})
    h = (
        Streams(0, FAMILY, "promise")
        .generator("fields", 0, **grid)
        .standard_normal((samples, grid["depth"], model["tokens"]))
    )
    model = model | {"ratio": grid["ratio"]}
    deep = slow.forward(model | {"link": "rescaled_attention"}, h)
    committee = slow.forward(model | {"link": "committee_depth"}, h)
    assert found.committee_error.item() == pytest.approx(((committee - deep) ** 2).mean(), rel=1e-6, abs=1e-15)
    transfer = slow.average_transfer(grid["ratio"], model["beta"], model["tokens"])
    u = h[:, -1] @ transfer
    wanted = ((slow.attend(u, u, model["beta"]) - deep) ** 2).mean()
    # The averaged layers of both have an error of some 4e-3 at the largest ratio.
    assert found.large_depth_error.item() == pytest.approx(wanted, rel=0.05, abs=1e-7)


TREC = {"corpus": "generated", "questions": 60, "depth": 2, "embedding": 3, "hidden": 2, "skip": 1.0}


def _training(model, solver, rate=0.01):
    return computed("trec", model, {"embedding_std": 1.0, "learning_rate": rate}, solver)


@pytest.mark.parametrize(
    "model", [TREC | {"max_tokens": 4}, TREC | {"depth": 1, "hidden": 1, "skip": 0.0, "max_tokens": 1}]
)
def test_trec_is_adamw_with_complex_derivatives(model):
    from attention_limits.sequence_multi_index.trec.corpus import CLASSES
    from attention_limits.sequence_multi_index.trec.grammar import generate_questions

    solver, streams = {"epochs": 1, "batch": 16, "records": 1, "weight_decay": 0.1}, Streams(0, FAMILY, "promise")
    found = _training(model, solver).isel(replica=0)
    lines = [line.split(" ", 1) for line in generate_questions(60, streams.generator("corpus", 0))]
    labels = np.array([CLASSES.index(label.split(":")[0]) for label, _ in lines])
    order = streams.generator("split", 0).permutation(60)
    train, test = np.sort(order[6:]), np.sort(order[:6])
    words = [question.lower().split()[: model["max_tokens"]] for _, question in lines]
    numbers = {}
    for index in train:
        for word in words[index]:
            numbers.setdefault(word, len(numbers) + 2)
    tokens = np.zeros((60, max(map(len, words))), int)
    for row, question in zip(tokens, words, strict=True):
        row[: len(question)] = [numbers.get(word, 1) for word in question]
    size = len({word for question in words for word in question}) + 2
    assert found.vocabulary_size.item() == size
    rng, width = streams.generator("start", 0), model["embedding"]
    parameters = [
        rng.standard_normal((size, width)),
        0.1 * rng.standard_normal((model["depth"], width, model["hidden"])),
    ]
    parameters += [rng.uniform(-(width**-0.5), width**-0.5, (width, 6)), np.zeros(6)]

    def loss(values, part):
        return slow.cross_entropy(slow.classify(values, tokens[part], model["skip"]), labels[part])

    assert found.training_loss.values[0] == pytest.approx(loss(parameters, train), rel=1e-5)
    moments = [[np.zeros_like(p) for p in parameters] for _ in range(2)]
    steps = streams.generator("order", 0).permutation(len(train))[:48].reshape(3, 16)
    for count, part in enumerate(steps, 1):
        gradient = slow.complex_gradient(lambda values, part=part: loss(values, train[part]), parameters)
        slow.adam_step(parameters, gradient, moments, count, 0.01, 0.1)
    assert found.training_loss.values[1] == pytest.approx(loss(parameters, train), rel=1e-3)
    for part, name in ((train, "training_accuracy"), (test, "test_accuracy")):
        right = (slow.classify(parameters, tokens[part], model["skip"]).argmax(axis=1) == labels[part]).mean()
        assert found[name].values[1] == pytest.approx(right, abs=1.0 / len(part) + 1e-6)


def test_trec_accuracy_of_diverged_weights_is_missing():
    from attention_limits.sequence_multi_index.trec import classifier

    shape = classifier.Architecture(1, 2, 2, 1.0, 0.1, 1.0)
    start = classifier.initial_parameters(shape, 4, 6, np.random.default_rng(0))
    samples = np.array([[2, 3], [3, 0]]), np.array([0, 1])
    broken = start._replace(readout=start.readout * np.nan)
    assert np.isnan(classifier._evaluate(broken, *samples, 1.0)).all()
    assert np.isfinite(classifier._evaluate(start, *samples, 1.0)).all()


def test_trec_sizes_that_cannot_be_are_refused():
    assert _training(TREC, {"epochs": 1, "records": 4, "batch": 14}) is None
    assert _training(TREC | {"test_fraction": 1e-3}, {"epochs": 1}) is None
    assert _training(TREC | {"depth": 12, "embedding": 4096, "hidden": 4096}, {"epochs": 10, "records": 1}) is None
