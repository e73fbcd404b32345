"""JAX differentiates the forward pass of any link, and gradient descent follows it."""

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from links_under_test import LINKS
from smi_tools import descent_settings

from attention_limits.pipeline.base.errors import SpecError
from attention_limits.sequence_multi_index.data.sequences import draw, local_fields
from attention_limits.sequence_multi_index.links import jax_forward
from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention
from attention_limits.sequence_multi_index.links.link import GRADIENT, Link, require
from attention_limits.sequence_multi_index.links.one_token import phase_retrieval
from attention_limits.sequence_multi_index.training.gradient_descent import (
    Block,
    batch_loss,
    descend,
    drawn_batches,
)

pytestmark = pytest.mark.slow

CONSTANT = ("sign_product", "committee", "largest_row")


@dataclass(frozen=True)
class Gated(Link):
    """y = (tanh(h_1) h_2, log(1 + h_1^2) in place), a link without any other code."""

    rows = 2
    tokens = 1

    def forward(self, h):
        y = np.zeros((*h.shape[:-2], 2)) + h[..., 0]
        y[..., 0] = np.tanh(h[..., 0, 0]) * h[..., 1, 0]
        y[..., 1] = np.log1p(h[..., 0, 0] ** 2)
        return np.clip(y, -5.0, 5.0)


# The last variant of each provided link, which is the richest.
EXAMPLES = {name.split()[0]: link for name, link in LINKS.items() if not name.startswith("noisy")} | {"gated": Gated()}


@pytest.mark.parametrize("name", EXAMPLES)
def test_jax_differentiates_every_link(name):
    """Outputs as in NumPy, and the gradient of the loss is the central difference along a random direction.

    Its error is 1e-10 times a third derivative; the limit is 1e-6.
    """
    link, rng = EXAMPLES[name], np.random.default_rng(3)
    assert jax_forward.problem_of(link) == ""
    if name in CONSTANT:
        with pytest.raises(ValueError, match="its gradient is zero"):
            require(link, {GRADIENT})
        return
    require(link, {GRADIENT})
    sequences, teacher = draw(link.rows, link.tokens, 12, 6, rng)
    outputs = link.forward(local_fields(sequences, teacher))
    weights, direction = rng.standard_normal((2, link.rows, 12))

    def loss(w):
        return np.sum((outputs - link.forward(local_fields(sequences, w))) ** 2) / 12

    with jax.enable_x64(True):
        gradient = jax.jit(jax.grad(partial(batch_loss, link)))
        found = np.asarray(gradient(weights, sequences.astype(float), outputs))
    expected = (loss(weights + 1e-5 * direction) - loss(weights - 1e-5 * direction)) / 2e-5
    assert abs(np.sum(found * direction) - expected) < 1e-6 * np.linalg.norm(found) * np.linalg.norm(direction)


class Plain(Gated):
    def forward(self, h):
        return np.tanh(np.asarray(h)[..., 0, 0])


class Viewing(Gated):
    def forward(self, h):
        y = h.copy()
        part = y[..., 0, :]
        part += 1.0
        return y[..., 0, 0]


class Rooted(Gated):
    def forward(self, h):
        return np.sqrt(np.maximum(h[..., 0, 0], 0.0))


@pytest.mark.parametrize(
    ("link", "message"),
    [
        (Plain(), "JAX cannot differentiate the forward pass of Plain: .* without np.asarray"),
        (Viewing(), "the forward pass of Viewing gives another output in JAX"),
        (Rooted(), "the derivative of the output of Rooted is not finite at h"),
    ],
)
def test_a_link_that_jax_cannot_differentiate_is_refused(link, message):
    with pytest.raises(SpecError, match=message):
        descend(link, [], np.zeros((1, 1, 2, 5)), np.ones((1, 2, 5)), descent_settings(1.0))


def problem(link, dimension, samples, sets, seed=0):
    rng = np.random.default_rng(seed)
    drawn = [draw(link.rows, link.tokens, dimension, samples, rng) for _ in range(sets)]
    sequences, teachers = (np.stack(part) for part in zip(*drawn, strict=True))
    outputs = np.stack([link.forward(local_fields(*pair)) for pair in zip(sequences, teachers, strict=True)])
    return sequences, outputs.astype(np.float32), teachers


def test_deep_attention_follows_its_own_kernel():
    """The path of a forward pass written in JAX for two layers, cosines after each block to 1e-6 in single precision."""
    link = DeepAttention(skip=1.0)
    sequences, outputs, (teacher,) = problem(link, 100, 600, 1)
    start = 0.9 * np.random.default_rng(1).standard_normal(teacher.shape)
    order = drawn_batches(600, 40, 30, np.random.default_rng(2))
    rate, decay = 4.0, 7e-4
    blocks = [Block(sequences, outputs, order[None, first : first + 10]) for first in (0, 10, 20)]
    found = descend(link, blocks, start[None, None], teacher[None], descent_settings(rate, 100 * decay, 3)).cosine[0, 0]

    def attention(u):
        return jax.nn.softmax(u[..., :, None] * u[..., None, :], axis=-1)

    def loss(w, x, y):
        h = jnp.einsum("pd,nad->npa", w, x) / 10.0
        u = h[:, 1] + jnp.einsum("nab,nb->na", attention(h[:, 0]), h[:, 1])
        return jnp.sum((y - attention(u)) ** 2) / 100

    step = jax.jit(lambda w, x, y: w - rate * (jax.grad(loss)(w, x, y) + decay * w))
    weights = jnp.asarray(start, jnp.float32)
    for count, numbers in enumerate(order, 1):
        for _ in range(3):
            weights = step(weights, sequences[0, numbers], outputs[0, numbers])
        if count % 10 == 0:
            w = np.asarray(weights, float)
            cosine = np.sum(w * teacher, axis=1) / np.linalg.norm(w, axis=1) / np.linalg.norm(teacher, axis=1)
            np.testing.assert_allclose(found[count // 10], cosine, atol=1e-6)


def test_starts_share_the_data_and_do_not_see_each_other():
    link = Gated()
    sequences, outputs, teachers = problem(link, 40, 200, 2)
    order = np.stack([drawn_batches(200, 20, 10, np.random.default_rng(set_)) for set_ in range(2)])
    starts = 0.9 * np.random.default_rng(5).standard_normal((2, 3, 2, 40))
    block, descent = Block(sequences, outputs, order), descent_settings(2.0)
    together = descend(link, [block], starts, teachers, descent)
    assert together.cosine.shape == (2, 3, 2, 2)
    for number in range(3):
        alone = descend(link, [block], starts[:, [number]], teachers, descent)
        np.testing.assert_allclose(alone.weights[:, 0], together.weights[:, number], atol=1e-5)
        assert np.all(alone.loss[:, 0, 1] > 0)


def test_online_phase_retrieval_follows_its_flow():
    """One pass over fresh samples, one at a time, against the equations of m = W.W*/D and q = |W|^2/D.

    With y = h*^2 and rate eta D, steps of 1/D: dm/dt = -4 eta E(h^2 - h*^2) h h* and dq/dt = -8 eta E(h^2 - h*^2) h^2 +
    16 eta^2 E(h^2 - h*^2)^2 h^2 (Saad and Solla 1995), Gaussian moments by Wick's theorem. Six means over 32 runs, limits
    at five standard errors: a correct program fails with a probability of 1.3e-4 (Student, 31 degrees of freedom), up to the
    bias of order 1/D.
    """
    link, dimension, runs, eta, steps = phase_retrieval(), 400, 32, 0.02, 1200
    sequences, outputs, teachers = problem(link, dimension, steps, runs, seed=4)
    starts = 0.6 * teachers + 0.5 * np.random.default_rng(6).standard_normal(teachers.shape)
    third = steps // 3
    order = np.arange(steps, dtype=np.int32).reshape(1, -1, 1).repeat(runs, axis=0)
    blocks = [Block(sequences, outputs, order[:, first : first + third]) for first in range(0, steps, third)]
    path = descend(link, blocks, starts[:, None], teachers, descent_settings(eta * dimension))
    rho = np.sum(teachers[:, 0] ** 2, axis=1) / dimension
    q_found = path.norm[:, 0, :, 0] ** 2
    m_found = path.cosine[:, 0, :, 0] * path.norm[:, 0, :, 0] * np.sqrt(rho)[:, None]
    m, q = m_found[:, 0].astype(float), q_found[:, 0].astype(float)
    for step in range(1, steps + 1):
        square = 15 * q**3 - 6 * q**2 * rho - 24 * q * m**2 + 3 * rho**2 * q + 12 * rho * m**2
        change = -24 * eta * q**2 + 8 * eta * (q * rho + 2 * m**2) + 16 * eta**2 * square
        m, q = m - 12 * eta * m * (q - rho) / dimension, q + change / dimension
        if step % third == 0:
            for found, flow in ((m_found, m), (q_found, q)):
                difference = found[:, step // third] - flow
                assert abs(difference.mean()) < 5 * difference.std(ddof=1) / np.sqrt(runs)
    # The flow moves by far more than the limits.
    assert np.all(m - m_found[:, 0] > 0.1)
