"""A staircase: the last direction is learned alone, the other two only after it."""

import numpy as np

from attention_limits.sequence_multi_index.links.link import Link


class Staircase(Link):
    """y = h_3^2 + sign(h_1 h_2 h_3)."""

    rows, tokens, sign_symmetry, free_rows = 3, 1, "none", 2

    def forward(self, h):
        return h[..., 2, 0] ** 2 + np.sign(np.prod(h[..., 0], axis=-1))

    def fibre(self, observed, free, angles):  # the sign is s = 1 or -1: h_3^2 = y - s
        pair = np.sign(np.prod(free[..., 0], axis=-1))
        sign = np.array([1.0, -1.0])
        square = observed[:, None] - sign
        size = np.sqrt(np.maximum(square, 1e-300))
        candidates = pair[:, :, None] * (sign * size)[:, None, :]
        log_weight = np.where(square > 0, -np.log(2.0 * size), -np.inf)
        return candidates[..., None, None], np.broadcast_to(log_weight[:, None, :], candidates.shape)
