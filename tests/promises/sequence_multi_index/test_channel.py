"""Promises of the denoiser of the sequence multi-index family: right, flagged, or refused, for every link.

Statistical comparisons are seeded, with limits at five standard errors: a correct program fails one of them with a probability
of 6e-7, and there are some thousand.
"""

from pathlib import Path

import numpy as np
import pytest
import slow_sequence_multi_index as slow
from drawn_sequence_multi_index import KEYS, SIGMAS, computed, link_key, models
from hypothesis import example, given, settings
from hypothesis import strategies as st
from links_under_test import VARIANTS

from attention_limits.pipeline.base.registry import RESOLVED
from attention_limits.sequence_multi_index.channels.channel import Channel
from attention_limits.sequence_multi_index.links.loading import load_link
from attention_limits.sequence_multi_index.schema.checks import MAX_SAMPLED_ROWS

pytestmark = pytest.mark.slow


@settings(max_examples=20)
@given(model=models(*(name for name in KEYS if name != "large_depth"), sizes={}))
@example(model={"link": "committee_depth", "ratio": 20.0, "beta": 10.0, "depth": 10000, "tokens": 2})
@example(model={"link": "multi_head", "skip": 1.0, "beta": 1.0, "depth": 2, "heads": 16, "tokens": 64})
@example(model={"link": "deep_attention", "skip": 100.0, "beta": 10.0, "depth": 128, "tokens": 3})
@example(model={"link": "monomial", "exponents": [16] * 16})
def test_state_evolution_links_are_their_definitions_at_every_size(model):
    """A link of too many rows, or whose output rounding spoils, is refused; `resolved` says how well it is sampled."""
    model = {key: value for key, value in model.items() if key != "noise"}
    cheap = {"nodes": 16, "max_iterations": 1, "resolution": 0.25, "warm_up": 1}
    try:
        link = load_link(model, Path())
        agree = link.rows <= MAX_SAMPLED_ROWS
    except ValueError:
        agree = False
    if agree:
        h = np.random.default_rng(3).standard_normal((2, link.rows, link.tokens))
        with np.errstate(all="ignore"):
            agree = np.allclose(link.forward(h), slow.forward(model, h), rtol=1e-6, atol=1e-10)
    if not agree:
        assert computed("state_evolution", model, {"alpha": 1.0}, cheap) is None


@settings(max_examples=1)
@given(model=models(*KEYS), q=st.sampled_from([0.0, 0.3, 0.9]))
@example(model={"link": "multi_head", "skip": 0.0, "beta": 1.0, "tokens": 2, "depth": 1, "heads": 3}, q=0.3)
@example(model={"link": "sequence_output", "skip": 100.0, "beta": 10.0, "tokens": 2, "depth": 2}, q=0.3)
@example(model={"link": "untied", "skip": 0.0, "beta": 10.0, "tokens": 2, "depth": 2}, q=0.3)
@example(model={"link": "deep_attention", "skip": 0.5, "beta": 1.0, "tokens": 2, "depth": 8}, q=0.3)
@example(model={"link": "rescaled_attention", "ratio": 20.0, "beta": 1.0, "tokens": 2, "depth": 12}, q=0.3)
@example(model={"link": "product", "rows": 3}, q=0.3)
@example(model={"link": "sum_of_squares", "rows": 16}, q=0.3)
def test_state_evolution_denoiser_is_a_conditional_expectation(model, q):
    """E[(x - E[x | y, omega]) f(y, omega)] = 0 for the fields and their squares x, on simulations of an own forward pass."""
    one_output = {"dimension": 10, "max_iterations": 1, "resolution": 0.25}
    if computed("gamp", model, {"alpha": 0.1}, one_output) is None:
        return
    rng, link = np.random.default_rng(23), load_link(model, Path())
    samples = 128 if link.rows * link.tokens <= 16 else 32
    omega = np.sqrt(q) * rng.standard_normal((samples, link.rows, link.tokens))
    h = omega + np.sqrt(1.0 - q) * rng.standard_normal(omega.shape)
    if model["link"] != "large_depth":
        np.testing.assert_allclose(link.forward(h), slow.forward(model, h), rtol=1e-8, atol=1e-12)
    noise = rng.standard_normal((samples, link.noise_dimension))
    moments = Channel(link, 0.5, rng).posterior(link.observe(h, noise), omega, (1.0 - q) * np.eye(link.rows))
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


@settings(max_examples=1)
@given(skip=link_key("skip"), beta=link_key("beta"), q=st.floats(0.0, 0.9))
@example(skip=0.0, beta=10.0, q=0.3)
@example(skip=1.0, beta=1.0, q=0.5)
@example(skip=100.0, beta=10.0, q=0.0)
def test_state_evolution_denoiser_of_two_layers_is_a_dense_integral(skip, beta, q):
    """Within three times the error that `Channel` states for typical outputs, and that of the integral itself."""
    rng = np.random.default_rng(5)
    link = load_link({"link": "deep_attention", "skip": skip, "beta": beta}, Path())
    omega = np.sqrt(q) * rng.standard_normal((2, 2, 2))
    V = (1.0 - q) * np.eye(2)
    observed = link.observe(omega + np.sqrt(1.0 - q) * rng.standard_normal(omega.shape))
    found = Channel(link, 1.0, rng).posterior(observed, omega, V)
    stated = 3e-3 if beta > 1.0 else 4e-6 if skip >= 0.5 else 4e-4
    for i in np.flatnonzero(found.resolved):
        wanted, error = slow.two_layer_moments(observed[i], omega[i], V, skip, beta)
        assert error < 1e-2
        mean = found.mean[i].reshape(4)
        second = found.covariance[i].reshape(4, 4) + np.outer(mean, mean)
        own = np.concatenate([mean, second[np.triu_indices(4)]])
        np.testing.assert_allclose(own, wanted, atol=3.0 * stated + 2.0 * error)


@pytest.mark.parametrize(
    "model",
    [{"link": "sign_product", "rows": 2}, {"link": "committee", "rows": 3}, {"link": "product", "rows": 2, "noise": 0.5},
     {"link": "untied", "depth": 1, "tokens": 3, "noise": 0.1}, {"link": "multi_head", "heads": 2, "tokens": 3, "noise": 0.1},
     {"link": "multi_head", "heads": 2, "tokens": 4, "noise": 1000.0}],
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
        wanted, error = slow.brute_posterior(model, omega[i], V, observed[i], 20000, rng)
        mean = found.mean[i].reshape(size)
        second = found.covariance[i].reshape(size, size) + np.outer(mean, mean)
        own = np.concatenate([mean, second[np.triu_indices(size)]])
        error = np.hypot(error, 2.0 / np.sqrt(found.effective[i]))
        assert np.all(np.abs(own - wanted) <= SIGMAS * error), (own - wanted) / error


@pytest.mark.parametrize("beta", [1.0, 50.0])
@pytest.mark.parametrize("skip", [0.0, 1.0])
@pytest.mark.parametrize("q", [0.9, 0.99])
def test_state_evolution_channel_is_as_accurate_as_its_key_says(beta, skip, q):
    """Root mean square error of posterior means over resolved outputs, in units of their prior spread."""
    rng, link = np.random.default_rng(37), load_link({"link": "deep_attention", "skip": skip, "beta": beta}, Path())
    omega = np.sqrt(q) * rng.standard_normal((200, 2, 2))
    observed = link.observe(omega + np.sqrt(1.0 - q) * rng.standard_normal(omega.shape))
    V = (1.0 - q) * np.eye(2)
    fine = Channel(link, 6.0, rng).posterior(observed, omega, V)
    for resolution, stated in ((0.25, 0.06), (0.75, 0.02), (1.0, 0.01), (2.0, 5e-3)):
        found = Channel(link, resolution, rng).posterior(observed, omega, V)
        error = (found.mean - fine.mean)[found.resolved & fine.resolved] / np.sqrt(1.0 - q)
        assert np.sqrt((error**2).mean()) <= stated
        assert found.resolved.mean() > 0.5


@pytest.mark.parametrize(
    ("model", "overlap", "unresolved"),
    [({"link": "deep_attention", "skip": 0.0, "beta": 10.0}, 0.5, False),
     ({"link": "deep_attention", "skip": 1.0, "beta": 1.0}, 0.95, False),
     ({"link": "multi_head", "heads": 2}, 0.3, False), ({"link": "product", "rows": 2}, 0.9, False),
     ({"link": "multi_head", "heads": 2}, 0.999, True), ({"link": "sum_of_squares", "rows": 16}, 0.999, True)],
)  # fmt: skip
def test_state_evolution_resolved_holds_with_four_times_the_effort(model, overlap, unresolved):
    """Posterior means, in units of their prior spread, agree within the stated errors where an output is called resolved.

    Sampled: the mean square of the difference is that of two effective sample sizes, with its statistical error over the outputs
    and the squared bias 1 / size of a ratio. Exact: the stated error, three times over as other outputs may be rarer.
    """
    rng, samples = np.random.default_rng(29), 64
    link = load_link(model, Path())
    omega = np.sqrt(overlap) * rng.standard_normal((samples, link.rows, link.tokens))
    observed = link.observe(omega + np.sqrt(1.0 - overlap) * rng.standard_normal(omega.shape))
    V = (1.0 - overlap) * np.eye(link.rows)
    few, many = (Channel(link, resolution, rng).posterior(observed, omega, V) for resolution in (0.75, 1.5))
    use = few.resolved
    difference = ((few.mean - many.mean) / np.sqrt(1.0 - overlap)).reshape(samples, -1)
    assert (use.mean() < 0.5) == unresolved
    if unresolved:
        # The flag is deserved: what is not resolved moves by more than the spread of the prior.
        assert np.sqrt((difference[~use] ** 2).mean()) > 1.0
        return
    difference = difference[use]
    if np.all(np.isinf(few.effective)):
        assert np.abs(difference).max() <= 3.0 * (1e-2 if model["beta"] > 1.0 else 3e-4)
        return
    error = (1.0 / few.effective + 1.0 / many.effective)[use, None]
    scaled = (difference**2 / (error + error**2)).mean(axis=1)
    assert scaled.mean() <= 1.0 + SIGMAS * scaled.std() / np.sqrt(len(scaled))


def _information(model, q, resolution=0.5, samples=96):
    """V^2 |g|^2 summed over the fields of each of `samples` drawn outputs, an unbiased estimate; the share that is resolved."""
    link, rng = load_link(model, Path()), np.random.default_rng(41)
    omega, spread = rng.standard_normal((2, samples, link.rows, link.tokens))
    omega, spread = np.sqrt(q) * omega, np.sqrt(1.0 - q) * spread
    noise = rng.standard_normal((samples, link.noise_dimension))
    moments = Channel(link, resolution, rng).posterior(
        link.observe(omega + spread, noise), omega, (1.0 - q) * np.eye(link.rows)
    )
    return (moments.means[0] * moments.means[1]).sum(axis=(1, 2)), moments.resolved.mean()


@pytest.mark.parametrize("name", VARIANTS)
def test_state_evolution_information_is_continuous_in_the_noise(name):
    """More noise never gives more information (data processing): that of a small noise lies between those of none and of 1e-2.

    Or `resolved` flags it. The outputs of all noises belong to the same fields; the links are all provided ones.
    """
    model = {"link": name, **VARIANTS[name][0]}
    found = [_information({**model, "noise": noise}, 0.5) for noise in (0.0, 1e-6, 1e-3, 1e-2)]
    none, *small, most = (values for values, resolved in found)
    flagged = [resolved < RESOLVED for _, resolved in found]
    for i, values in enumerate(small, 1):
        for larger, smaller, skipped in ((none, values, flagged[0]), (values, most, flagged[-1])):
            if not (skipped or flagged[i]):
                excess = smaller - larger
                assert excess.mean() <= SIGMAS * excess.std() / np.sqrt(len(excess)) + 1e-9
