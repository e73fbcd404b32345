"""Complex phase retrieval, y = |h|^2. The real and the imaginary part of the field are the fields of two tokens."""

import numpy as np
from scipy.special import i0e, i1e

from attention_limits.sequence_multi_index.links.link import Link


class ComplexPhaseRetrieval(Link):
    """One row of 2 D real weights reads the tokens (Re x, -Im x) and (Im x, Re x)."""

    rows, tokens, sign_symmetry, angles = 1, 2, "rows", 2

    def forward(self, h):
        return np.sum(h[..., 0, :] ** 2, axis=-1)

    def fibre(self, observed, free, angles):  # a circle of radius sqrt(y): dh = dy dphi / 2
        points = np.sqrt(observed)[:, None, None] * angles / np.linalg.norm(angles, axis=1, keepdims=True)
        return points[:, :, None, None, :], np.full((*points.shape[:2], 1), np.log(np.pi))

    def moments(self, observed, omega, V):  # exact: a von Mises law on the circle
        v, length = V[0, 0], np.linalg.norm(omega[:, 0], axis=1)
        unit = omega[:, 0] / np.maximum(length, 1e-300)[:, None]
        radius, k = np.sqrt(observed), np.sqrt(observed) * length / v
        first = i1e(k) / i0e(k)  # mean cosine with omega
        log_z = np.log(i0e(k)) - 0.5 * (radius - length) ** 2 / v - np.log(2 * v)
        mean = (radius * first)[:, None] * unit - omega[:, 0]
        along = 1.0 - np.where(k > 1e-8, first / np.maximum(k, 1e-8), 0.5)  # mean squared cosine
        outer = np.einsum("na,nb->nab", unit, unit)
        square = along[:, None, None] * outer + (1.0 - along)[:, None, None] * (np.eye(2) - outer)
        covariance = observed[:, None, None] * (square - first[:, None, None] ** 2 * outer)
        return log_z, mean[:, None, :], covariance[:, None, :, None, :]
