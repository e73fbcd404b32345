"""Errors of the first threshold: exact values lie within them, zero is separated from noise, equal eigenvalues are one step."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import k0, k1
from smi_tools import channel_of, node_sets

from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention
from attention_limits.sequence_multi_index.links.link import Link
from attention_limits.sequence_multi_index.links.one_token import SignProduct, SumOfSquares, phase_retrieval, product
from attention_limits.sequence_multi_index.state_evolution.linear_response import (
    BLOCKS,
    leading_instability,
    symmetric_basis,
)
from attention_limits.sequence_multi_index.weak_recovery.first_threshold import first_threshold
from attention_limits.sequence_multi_index.weak_recovery.staircase import staircase

pytestmark = pytest.mark.slow

# 1 / (1 + E t^2), t = |y| K_1(|y|) / K_0(|y|) - 1 with y of density K_0(|y|) / pi: see test_links_thresholds.
PRODUCT = 1.0 / (1.0 + quad(lambda y: 2.0 / np.pi * k0(y) * (y * k1(y) / k0(y) - 1.0) ** 2, 0.0, 60.0)[0])
# Exact value, its own error, nodes, resolution of the channel. Attention: c -> infinity gives 1/6 to a relative 6/c^2, and
# 0.18554(17) at c = 1 is the mean of independent runs at 16384 nodes.
EXACT = {
    "phase retrieval": (phase_retrieval(), 0.5, 0.0, 1024, 1.0),
    "two squares": (SumOfSquares(2), 1.0, 0.0, 1024, 0.5),
    "four squares": (SumOfSquares(4), 2.0, 0.0, 1024, 0.5),
    "product of two": (product(2), PRODUCT, 0.0, 512, 0.5),
    "sign of a product of two": (SignProduct(2), 0.25 * np.pi**2, 0.0, 128, 0.5),
    "two layers": (DeepAttention(1.0), 0.18554, 0.00017, 512, 0.75),
    "two layers, large skip": (DeepAttention(100.0), 1.0 / 6.0, 1e-4, 512, 0.75),
}


def found_of(link, count, resolution, replicas=8, seed=401):
    return [
        first_threshold(channel_of(link, resolution, seed=(seed, r)), nodes)
        for r, nodes in enumerate(node_sets(link, count, replicas, seed=seed))
    ]


@pytest.mark.parametrize("name", EXACT)
def test_the_error_of_a_threshold_covers_its_distance_from_the_exact_one(name):
    """In every replica, and in the mean of eight, whose error is that of one over the root of eight.

    An error from seven contrasts is exceeded fourfold with probability 0.005 (Student), were the blocks independent; those of a
    Sobol sequence overestimate it at least twofold, which leaves less than 1e-4 per replica and 1e-3 per link.
    """
    link, exact, own, count, resolution = EXACT[name]
    found = found_of(link, count, resolution)
    alpha, error = np.array([x.alpha for x in found]), np.array([x.error for x in found])
    assert np.all(np.abs(alpha - exact) < 4.0 * np.hypot(error, own))
    assert abs(alpha.mean() - exact) < 4.0 * np.hypot(np.sqrt(np.sum(error**2)) / 8, own)
    # An error that covers everything says nothing.
    assert np.all(error < 0.1 * exact)
    assert all(x.bound < exact + 4.0 * own for x in found)
    assert all(np.linalg.eigvalsh(x.direction)[0] >= -1e-12 for x in found)


def test_a_parity_of_three_has_no_threshold():
    """E[h h^T | y] = I and E[h | y] = 0: F vanishes. Deterministic on these nodes; noise above four times its norm has a
    probability below 0.005 per replica."""
    for found in found_of(SignProduct(3), 256, 0.5, replicas=16):
        assert found.alpha == np.inf
        assert 50.0 < found.bound < np.inf
        assert np.all(np.isnan(found.direction))


def test_a_parity_of_two_is_learned_in_one_step_of_two_directions():
    """F has the eigenmatrices I and sigma_x with the eigenvalue 4 / pi^2: both directions are learned, in every scrambling."""
    link = SignProduct(2)
    for r, nodes in enumerate(node_sets(link, 128, 32, seed=402)):
        (step,) = staircase(channel_of(link, 0.5, seed=(402, r)), nodes, nodes, 1e-3)
        np.testing.assert_allclose(step.direction, 0.5 * np.eye(2), atol=0.02)


def noisy_blocks(eigenvalues, size, noise, seed):
    """F with given eigenvalues in a random order of the basis of symmetric matrices, its blocks with independent noise."""
    rng = np.random.default_rng(seed)
    basis = symmetric_basis(size)
    draws = rng.standard_normal((BLOCKS, len(basis), len(basis))) * noise * np.sqrt(BLOCKS)
    return np.diag(eigenvalues) + 0.5 * (draws + draws.transpose(0, 2, 1)), basis


@pytest.mark.parametrize("noise", [0.003, 0.03])
def test_noise_does_not_part_equal_eigenvalues(noise):
    """Three equal eigenvalues of six, those of the three diagonal matrices: the direction is the identity."""
    order = [1.0 if np.trace(matrix) else 0.2 for matrix in symmetric_basis(3)]
    for seed in range(200):
        found = leading_instability(*noisy_blocks(order, 3, noise, seed))
        assert found.significant
        assert np.linalg.matrix_rank(found.direction, tol=0.1) == 3
        assert np.linalg.eigvalsh(found.direction)[0] > 0
        assert abs(found.eigenvalue - 1.0) < 6.0 * found.error


def test_noise_alone_is_not_significant():
    """False-alarm rate: none in 500 draws of 6 x 6 matrices, whose norm hardly fluctuates; in one dimension Student's t with
    seven degrees of freedom exceeds four with probability 0.0026 on the positive side: at most 6 of 500."""
    several = [leading_instability(*noisy_blocks(np.zeros(6), 3, 0.1, seed)).significant for seed in range(500)]
    one = [leading_instability(*noisy_blocks(np.zeros(1), 1, 0.1, seed)).significant for seed in range(500)]
    assert sum(several) == 0
    assert sum(one) <= 6


def test_different_eigenvalues_stay_apart():
    order = [1.0, 0.0, 0.0, 0.7, 0.0, 0.3]
    for seed in range(100):
        found = leading_instability(*noisy_blocks(order, 3, 0.003, seed))
        np.testing.assert_allclose(found.direction, np.diag([1.0, 0.0, 0.0]), atol=0.05)


class WeakSign(Link):
    """y = h_1 h_2 + shift h_1 + noise: knows the sign of h_1 a little."""

    rows, tokens, noise_dimension, sign_symmetry = 2, 1, 1, "none"

    def __init__(self, shift):
        self.shift = shift

    def forward(self, h):
        return h[..., 0, 0] * h[..., 1, 0] + self.shift * h[..., 0, 0]

    def observe(self, h, noise=None):
        return self.forward(h) + 0.3 * np.reshape(noise, -1)

    def log_likelihood(self, observed, h):
        return -0.5 * (observed[:, None] - self.forward(h)) ** 2 / 0.09


def test_little_knowledge_of_a_sign_counts():
    """At shift 0.1 E g g^T is about 0.01, far above its noise: learned from any alpha on; and without a shift it is zero."""
    assert [x.alpha for x in found_of(WeakSign(0.1), 512, 0.5, replicas=2)] == [0.0, 0.0]
    assert all(x.alpha > 0.1 for x in found_of(WeakSign(0.0), 512, 0.5, replicas=2))
