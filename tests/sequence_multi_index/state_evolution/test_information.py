"""Entropy of the outputs and mutual information: exact formulas, the chain rule, and nearest neighbours."""

import decimal
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial import cKDTree
from scipy.special import digamma, log_ndtr, ndtr

from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes
from attention_limits.pipeline.base.streams import Streams
from attention_limits.pipeline.cubes.readings import passed
from attention_limits.sequence_multi_index.estimators.bayes import state_evolution
from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention
from attention_limits.sequence_multi_index.links.attention.large_depth import LargeDepth
from attention_limits.sequence_multi_index.links.attention.layers import log_jacobian
from attention_limits.sequence_multi_index.links.attention.positional import PositionalAttention
from attention_limits.sequence_multi_index.links.loading import load_link
from attention_limits.sequence_multi_index.schema.bayes import StateEvolutionSolver
from attention_limits.sequence_multi_index.state_evolution.information import mean_log_volume

pytestmark = pytest.mark.slow

SOLVER = StateEvolutionSolver(tolerance=1e-5, max_iterations=200, resolution=0.5)


def computed(model, alphas, replicas=4, **solver):
    spec = {
        "estimator": "state_evolution", "model": model, "grid": {"alpha": alphas}, "replicas": list(range(replicas)),
        "solver": SOLVER.model_copy(update=solver), "project": ".",
    }  # fmt: skip
    return state_evolution.run(spec, Streams(0, "sequence_multi_index", "test"))


def by_differences(output, u, step=1e-5):
    """1/2 log det J^T J of a map of u (M,) to entries, by central differences."""
    columns = [(output(u + step * e) - output(u - step * e)) / (2.0 * step) for e in np.eye(len(u))]
    return 0.5 * np.linalg.slogdet(np.array(columns) @ np.array(columns).T)[1]


@pytest.mark.parametrize(
    ("link", "entries"),
    [(DeepAttention(1.0, 1.3, 1, 3), ~np.eye(3, dtype=bool)), (DeepAttention(1.0, 0.7, 1, 4), ~np.eye(4, dtype=bool)),
     (PositionalAttention(0.3, beta=0.8), ~np.eye(2, dtype=bool)),
     (DeepAttention(1.0, 1.3, 1, 3, "linear"), np.triu(np.ones((3, 3), bool)))],
)  # fmt: skip
def test_log_volume_is_that_of_differences(link, entries):
    h = np.random.default_rng(1).standard_normal((6, 1, link.tokens))
    wanted = [by_differences(lambda u: link.forward(u[None])[entries], fields[0]) for fields in h]
    np.testing.assert_allclose(link.log_volume(h), wanted, atol=1e-6)


def test_log_volume_of_two_tokens_is_the_jacobian_of_the_inversion():
    h = np.random.default_rng(2).standard_normal((50, 2, 2))
    for link, u in (
        (DeepAttention(1.0, 1.3), DeepAttention(1.0, 1.3).observe(h)),
        (LargeDepth(1.5, 0.8), LargeDepth(1.5, 0.8).observe(h[:, :1])),
    ):
        fields = h[:, : link.rows]
        np.testing.assert_allclose(link.log_volume(fields), log_jacobian(u, link.forward(fields), link.beta), atol=1e-9)


def test_log_volume_of_untied_attention_is_that_of_its_log_ratios():
    link = load_link({"link": "untied", "beta": 1.3}, ".")
    h = np.random.default_rng(3).standard_normal((5, 2, 2))
    ratios, y, step = link.observe(h), link.forward(h), 1e-6
    slopes = []
    for token in range(2):
        # d y_12 / d a of y_12 = 1 / (1 + exp(beta a))
        off = [1.0 / (1.0 + np.exp(1.3 * (ratios[:, token] + s))) for s in (step, -step)]
        slopes.append(np.abs(off[0] - off[1]) / (2 * step))
        np.testing.assert_allclose(1.0 / (1.0 + np.exp(1.3 * ratios[:, token])), y[:, token, 1 - token], atol=1e-12)
    np.testing.assert_allclose(link.log_volume(h), np.log(slopes).sum(axis=0), atol=1e-6)


def test_information_of_a_noisy_linear_channel_is_the_known_one():
    """I / D = 1/2 log(1 + s) + alpha/2 log(1 + v / Delta) - s v / 2, s = alpha / (Delta + v), v = 1 / (1 + s) (Verdu and Shamai
    1999). Sampling the channel: 1e-2."""
    delta = 0.5
    found = computed({"link": "linear", "noise": delta}, [0.5, 2.0], replicas=2, tolerance=1e-3)
    for alpha in (0.5, 2.0):
        v = 1.0
        for _ in range(500):
            s = alpha / (delta + v)
            v = 1.0 / (1.0 + s)
        wanted = 0.5 * np.log(1 + s) + 0.5 * alpha * np.log(1 + v / delta) - 0.5 * s * v
        here = found.mutual_information.sel(alpha=alpha)
        np.testing.assert_allclose(here.mean(), wanted, rtol=1e-2)


def test_information_of_the_perceptron_grows_by_the_entropy_of_its_next_label():
    """I(alpha) / D = integral of E H(label | overlap) over alpha, the chain rule; quadrature of Q(alpha). Tolerance 2 %."""
    x, w = np.polynomial.hermite_e.hermegauss(101)
    w = w / w.sum()

    def step(q, alpha):
        z = np.sqrt(q / (1.0 - q)) * x
        density = np.exp(-(z**2)) / (2.0 * np.pi * (1.0 - q))
        q_hat = alpha * np.sum(w * density * (1.0 / ndtr(z) + 1.0 / ndtr(-z)))
        return q_hat / (1.0 + q_hat)

    def label(q):
        z = np.sqrt(q / (1.0 - q)) * x
        return -np.sum(w * (ndtr(z) * log_ndtr(z) + ndtr(-z) * log_ndtr(-z)))

    alphas, q, entropies = np.linspace(0.0, 2.0, 401), 0.0, []
    for alpha in alphas:
        for _ in range(60):
            q = step(q, alpha)
        entropies.append(label(q))
    wanted = np.trapezoid(entropies, alphas)
    found = computed({"link": "sign_product", "rows": 1}, [2.0], replicas=2, nodes=256, tolerance=1e-3)
    np.testing.assert_allclose(found.mutual_information.mean(), wanted, rtol=0.02)
    np.testing.assert_allclose(found.entropy, found.mutual_information)


def nearest_neighbour_entropy(points):
    """Differential entropy of plain samples (n, 2) in nats (Kozachenko and Leonenko 1987)."""
    distance = cKDTree(points).query(points, k=2)[0][:, 1]
    return digamma(len(points)) - digamma(1) + np.log(np.pi) + 2.0 * np.mean(np.log(distance))


def test_entropy_of_unlearned_attention_is_that_of_independent_outputs():
    """Below alpha = 1/6 nothing is learned, and h(Y | X) / n is the entropy of one output (y_12, y_21). 40 000 outputs: 0.01
    standard error; 0.05 is allowed."""
    found = computed({"link": "deep_attention", "depth": 1}, [0.1], nodes=4096)
    assert float(np.abs(found.overlap).max()) == 0.0
    y = DeepAttention(depth=1).forward(np.random.default_rng(4).standard_normal((40_000, 1, 2)))
    wanted = nearest_neighbour_entropy(np.stack([y[:, 0, 1], y[:, 1, 0]], axis=1))
    assert abs(float(found.entropy.mean()) / 0.1 - wanted) < 0.05
    assert np.all(np.isposinf(found.mutual_information))


def test_exact_recovery_and_other_models_are_marked():
    exact = computed({"link": "deep_attention", "depth": 1}, [2.0], replicas=1)
    assert np.isneginf(exact.entropy.item())
    assert np.isposinf(exact.mutual_information.item())
    aided = computed({"link": "deep_attention", "depth": 1}, [0.5], replicas=1, side_information=0.3)
    assert np.isnan(aided.entropy.item())
    assert np.isnan(aided.mutual_information.item())


def test_volume_of_a_saturated_softmax_is_missing():
    link = load_link({"link": "deep_attention", "skip": 100.0, "beta": 10.0}, ".")
    assert np.isnan(mean_log_volume(link, gaussian_nodes(4, 1024, np.random.default_rng(0))))


def determinant(matrix):
    """Of a small square matrix of any numbers, by its first row."""
    if len(matrix) == 1:
        return matrix[0][0]
    minors = ([[*row[:c], *row[c + 1 :]] for row in matrix[1:]] for c in range(len(matrix)))
    return sum((-1) ** c * matrix[0][c] * determinant(minor) for c, minor in enumerate(minors))


@pytest.mark.parametrize("tokens", [2, 3])
def test_volume_keeps_its_digits_where_outputs_are_tiny(tokens):
    """Fields as large as those of quadrature nodes: against 1/2 log det J^T J in 120 digits."""
    link = DeepAttention(1.0, 1.0, 2, tokens)
    h = 2.5 * np.random.default_rng(5).standard_normal((6, 2, tokens))
    each = range(tokens)
    with decimal.localcontext(prec=120):
        for fields, found in zip(h, link.log_volume(h), strict=True):
            u = [decimal.Decimal(float(x)) for x in link.observe(fields[None])[0]]
            S = [[(a * b).exp() for b in u] for a in u]
            S = [[x / sum(row) for x in row] for row in S]
            mean = [sum(S[a][k] * u[k] for k in each) for a in each]
            J = [
                [S[a][b] * ((a == c) * (u[b] - mean[a]) + u[a] * ((b == c) - S[a][c])) for c in each]
                for a in each
                for b in each
                if a != b
            ]
            gram = [[sum(row[c] * row[d] for row in J) for d in each] for c in each]
            np.testing.assert_allclose(found, float(determinant(gram).ln() / 2), atol=1e-6)


@pytest.mark.parametrize(("resolved", "good"), [(0.94, False), (0.96, True)])
def test_a_fixed_point_of_an_unresolved_channel_does_not_pass(monkeypatch, resolved, good):
    """The iteration has converged in both cases; the second flag speaks of the channel."""
    averages = state_evolution.channel_averages
    monkeypatch.setattr(
        state_evolution, "channel_averages", lambda *given: replace(averages(*given), resolved=resolved)
    )
    cube = computed({"link": "phase_retrieval"}, [1.0], 1, nodes=64, max_iterations=500)
    assert cube.residual.item() < 1e-2
    assert cube.converged.item()
    assert passed(cube, "overlap").item() == good
