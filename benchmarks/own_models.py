"""Models as a user writes them, beside the kernel of the same or of the nearest provided model: time per node.

The program records and compiles the models in NumPy; the loops of numba stay as they are. `attention_of_two_tokens` is a student
of SGD, measured in `sequence_single_index.py`.
"""

import math
from functools import partial

import numba
import numpy as np

from attention_limits.sequence_multi_index.channels.channel import SAMPLING_NODES, Channel
from attention_limits.sequence_multi_index.channels.sampling.importance import shared_proposal
from attention_limits.sequence_multi_index.channels.sampling.two_tokens import two_token_moments
from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention
from attention_limits.sequence_multi_index.links.link import Link
from channel_rows import typical_outputs
from table import Row, Spread, clocked

BESIDE = "kernel of two layers in single precision"


class TwoLayers(Link):
    """Two softmax layers that read two tokens, c = 1, in NumPy; the output is u, which the last layer reads, up to its sign."""

    rows = tokens = 2
    sign_symmetry = "rows"
    free_rows = 1

    def _layer(self, h):
        scores = h[..., :, None] * h[..., None, :]
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return np.eye(2) + np.swapaxes(weights / weights.sum(axis=-1, keepdims=True), -1, -2)

    def forward(self, h):
        """u, with a positive first entry."""
        u = (h[..., 1:, :] @ self._layer(h[..., 0, :]))[..., 0, :]
        return u * np.sign(u[..., :1])

    def fibre(self, observed, free, angles):
        """+-u B^-1."""
        B = self._layer(free[..., 0, :])
        determinant = B[..., 0, 0] * B[..., 1, 1] - B[..., 0, 1] * B[..., 1, 0]
        u_1, u_2 = observed[:, None, 0], observed[:, None, 1]
        last = np.stack([u_1 * B[..., 1, 1] - u_2 * B[..., 1, 0], u_2 * B[..., 0, 0] - u_1 * B[..., 0, 1]], axis=-1)
        last = last / determinant[..., None]
        log_weight = np.repeat(-np.log(np.abs(determinant))[:, :, None], 2, axis=2)
        return np.stack([last, -last], axis=2)[:, :, :, None, :], log_weight


@numba.njit
def _candidates(observed, free, candidates, log_weight):
    for i in range(free.shape[0]):
        for s in range(free.shape[1]):
            x, y = free[i, s, 0, 0], free[i, s, 0, 1]
            a, b = 1.0 / (1.0 + math.exp(x * (y - x))), 1.0 / (1.0 + math.exp(y * (x - y)))
            determinant = 2.0 * (a + b)
            last_1 = (observed[i, 0] * (1.0 + b) - observed[i, 1] * (1.0 - a)) / determinant
            last_2 = (observed[i, 1] * (1.0 + a) - observed[i, 0] * (1.0 - b)) / determinant
            for k in range(2):
                candidates[i, s, k, 0, 0] = (1 - 2 * k) * last_1
                candidates[i, s, k, 0, 1] = (1 - 2 * k) * last_2
                log_weight[i, s, k] = -math.log(determinant)


class TwoLayersInLoops(TwoLayers):
    """The same with loops that numba compiles."""

    def fibre(self, observed, free, angles):
        """+-u B^-1."""
        n, nodes = free.shape[:2]
        candidates, log_weight = np.empty((n, nodes, 2, 1, 2)), np.empty((n, nodes, 2))
        _candidates(observed, free, candidates, log_weight)
        return candidates, log_weight


class Gated(Link):
    """y = tanh(2 h_1) h_2."""

    rows, tokens = 2, 1
    free_rows = 1

    def forward(self, h):
        """y."""
        return np.tanh(2.0 * h[..., 0, 0]) * h[..., 1, 0]

    def fibre(self, observed, free, angles):
        """y / tanh(2 h_1)."""
        gate = np.tanh(2.0 * free[..., 0, 0])
        return (observed[:, None] / gate)[:, :, None, None, None], -np.log(np.abs(gate))[:, :, None]


class Product(Link):
    """y = h_1 h_2 h_3."""

    rows, tokens = 3, 1
    free_rows = 2

    def forward(self, h):
        """y."""
        return h[..., 0].prod(axis=-1)

    def fibre(self, observed, free, angles):
        """y / (h_1 h_2)."""
        others = free[..., 0].prod(axis=-1)
        return (observed[:, None] / others)[:, :, None, None, None], -np.log(np.abs(others))[:, :, None]


class Committee(Link):
    """y = sign(h_1) + sign(h_2) + sign(h_3)."""

    rows, tokens = 3, 1
    sign_symmetry = "none"

    def forward(self, h):
        """y."""
        return np.sign(h[..., 0]).sum(axis=-1)

    def log_likelihood(self, observed, h):
        """0 or -inf."""
        return np.where(self.forward(h) == observed[:, None], 0.0, -np.inf)


def attention_of_two_tokens(z):
    """The entries of softmax(z z^T), softmax over rows, for two tokens: a tuple of four outputs."""
    x, y = z
    largest_x, largest_y = np.maximum(x * x, x * y), np.maximum(y * x, y * y)
    xx, xy = np.exp(x * x - largest_x), np.exp(x * y - largest_x)
    yx, yy = np.exp(y * x - largest_y), np.exp(y * y - largest_y)
    return xx / (xx + xy), xy / (xx + xy), yx / (yx + yy), yy / (yx + yy)


MODELS = {
    "two layers of attention in NumPy": (TwoLayers(), (0.8, 0.3)),
    "two layers of attention in loops of numba": (TwoLayersInLoops(), (0.8, 0.3)),
    "gated unit in NumPy": (Gated(), (0.8, 0.3)),
    "product of three in NumPy": (Product(), (0.8, 0.5, 0.3)),
    "committee of three in NumPy": (Committee(), (0.8, 0.5, 0.3)),
}


def rows(outputs, repeats):
    """One Row for each of `MODELS`: the time per node of its channel beside that of the provided kernel."""
    provided = DeepAttention(skip=1.0)
    V = np.diag([0.8, 0.3])
    observed, omega = typical_outputs(provided, V, outputs, seed=200)
    # The provided channel of two layers is a quadrature; its nodes of importance sampling serve three layers.
    nodes = Channel(TwoLayers(), 1.0, np.random.default_rng(0)).nodes[0].astype(np.float32)
    kernel = partial(two_token_moments, provided, observed, omega, V, nodes, shared_proposal(V, omega, 1))
    found = []
    for name, (link, variances) in MODELS.items():
        own = np.diag(variances)
        channel = Channel(link, 1.0, np.random.default_rng(0))
        posterior = partial(channel.posterior, *typical_outputs(link, own, outputs, seed=200), own)
        kernel()
        posterior()
        times = np.array(
            [
                (clocked(kernel, outputs * len(nodes))[0], clocked(posterior, 2 * outputs * SAMPLING_NODES)[0])
                for _ in range(repeats)
            ]
        )
        found.append(
            Row(
                f"channel of a user, per node: {name}", ours=Spread.of(times[:, 1]), baseline=Spread.of(times[:, 0]),
                ratio=Spread.of(times[:, 0] / times[:, 1]), note=f"baseline: {BESIDE}; ratio: its time over that of the user",
            )
        )  # fmt: skip
    return found
