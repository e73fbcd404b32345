"""Two linear regressions with the weights w and -w: each sample comes from one of both, which is hidden."""

from dataclasses import dataclass

import numpy as np

from attention_limits.sequence_multi_index.links.link import Link


@dataclass(frozen=True)
class Mixed(Link):
    """y = s h + noise with a hidden sign s."""

    variance: float = 0.25

    rows, tokens, sign_symmetry, noise_dimension = 1, 1, "rows", 2

    def forward(self, h):
        return np.abs(h[..., 0, 0])

    def observe(self, h, noise):
        return np.sign(noise[:, 0]) * h[:, 0, 0] + np.sqrt(self.variance) * noise[:, 1]

    def log_likelihood(self, observed, h):
        first, second = (-0.5 * (observed[:, None] - s * h[..., 0, 0]) ** 2 / self.variance for s in (1, -1))
        return np.logaddexp(first, second) - 0.5 * np.log(8 * np.pi * self.variance)

    def moments(self, observed, omega, V):  # exact: two normal laws
        mean, v = omega[:, 0, 0], V[0, 0]
        total = v + self.variance
        rests = np.stack([observed - mean, observed + mean])
        logs = -0.5 * rests**2 / total
        log_z = np.logaddexp(*logs)
        share, moves = np.exp(logs - log_z), v / total * np.stack([rests[0], -rests[1]])
        m = np.sum(share * moves, axis=0)
        spread = v * self.variance / total + np.sum(share * moves**2, axis=0) - m**2
        return log_z - 0.5 * np.log(8 * np.pi * total), m[:, None, None], spread[:, None, None, None, None]
