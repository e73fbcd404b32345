"""Two attention layers of extensive width that read two tokens: model, channel, averages.

Derived for this project; one layer is that of Boncoraglio et al. 2025 (arXiv:2506.01582). The layers have independent weights, as
in `model`. Only the traceless part S~_l = S_l - (tr S_l / d) I acts:

    h^1 = X S~_1 X^T / sqrt(d),    B = c I + softmax_rows(beta h^1),
    h^2 = B (X S~_2 X^T / sqrt(d)) B^T,    y = softmax_rows(beta h^2).

The second layer reads the tokens B X, as in deep attention. The raw scores of layer l are X S~_l X^T / sqrt(d). Without the trace
they have variance 2 on the diagonal and 1 off it, and are independent. (With the trace, which is known, the scores of the layers
would be correlated, and the data would give information on S_1 and S_2 jointly; see docs/attention_indexed_two_layers.md.)

For M = 2, y determines h^2 up to one constant. Given h^1, the raw scores of layer 2 are then known up to a constant, and the
posterior is a two-dimensional integral (`two_tokens.posterior_kernels`). In whitened posterior means z_l in R^2 of the
differences (h_11 - h_12, h_22 - h_12) of layer l, the state evolution (`two_layers.state_evolution`) needs

    k_l = 2 E |z_l|^2 = 4 V_l E ||G_l||_F^2,

with k_1 + k_2 -> 4, twice the two equations of an output, as V -> 0. E tr G_1 G_2 = 0, since the model is symmetric under
a simultaneous change of sign of S~_2 and of h^2. More tokens and a hardmax are in `two_layers.sampled` and `two_layers.hardmax`.
"""

from dataclasses import dataclass

import numpy as np

from attention_limits.attention_indexed.model.scores import log_attention
from attention_limits.attention_indexed.two_layers.layers import Averages, TwoTokens
from attention_limits.attention_indexed.two_layers.two_tokens.posterior_kernels import posterior
from attention_limits.numerics.probability.statistics import with_controls

# Standard deviations of the sum and of the difference of (h_11 - h_12, h_22 - h_12), at unit variance off the diagonal.
SPREADS = np.sqrt([8.0, 4.0])


def contrasts(h):
    """Sum and difference (..., 2) of (h_11 - h_12, h_22 - h_12) of symmetric scores h (..., 2, 2)."""
    first, second = h[..., 0, 0] - h[..., 0, 1], h[..., 1, 1] - h[..., 0, 1]
    return np.stack([first + second, first - second], axis=-1)


def slopes(z, V):
    """G_l = E[h^l - omega^l | y] / (2 V_l), symmetric matrices (n, 2, 2, 2), of whitened means z (n, 2, 2).

    The output does not depend on a constant added to h, so the entries of G_l sum to zero: ||G_l||_F^2 = |z_l|^2 / (2 V_l).
    """
    s, d = np.moveaxis(z * SPREADS / (2.0 * np.sqrt(V)[:, None]), -1, 0)
    off = -0.25 * s
    return np.stack([np.stack([0.5 * (s + d) + off, off], -1), np.stack([off, 0.5 * (s - d) + off], -1)], -2)


@dataclass(frozen=True)
class TwoLayers(TwoTokens):
    """Softmax in both layers."""

    equations = 2
    # Prior means and deviations of two sums and two differences.
    node_dimension = 8
    contrasts = staticmethod(contrasts)
    slopes = staticmethod(slopes)

    def part(self, number):
        """The model itself, for the part of any `number` of the nodes of an average: its posterior needs no nodes."""
        return self

    def log_output(self, first, second):
        """log y (n, 2, 2) of the raw scores of both layers, `first` and `second` (n, 2, 2); y itself may round to zero."""
        return log_attention(self.last_scores(first, second), self.beta)

    def output(self, first, second):
        """y (n, 2, 2) of raw scores of the layers, `first` and `second` (n, 2, 2)."""
        return np.exp(self.log_output(first, second))

    def observe(self, log_y):
        """Sum and difference (n, 2) of (h^2_11 - h^2_12, h^2_22 - h^2_12): outputs `log_y` (n, 2, 2) contain no more."""
        logs = log_y / self.beta
        first, second = logs[:, 0, 0] - logs[:, 0, 1], logs[:, 1, 1] - logs[:, 1, 0]
        return np.stack([first + second, first - second], axis=1)

    def observed(self, first, second):
        """`observe` of the outputs of raw scores of the layers, `first` and `second` (n, 2, 2)."""
        return self.observe(self.log_output(first, second))

    def posterior(self, a, means, V):
        """Posterior of outputs a (n, 2), as in `observe`, at prior means (n, 2, 2) of `contrasts` and variances V (2,).

        Returns
        -------
        log_z : array (n,)
            Log density of a.
        z : array (n, 2, 2)
            Posterior means of the contrasts minus their prior means, in units of sqrt(V_l) SPREADS.
        spread : array (n, 2)
            Posterior variances in these units, summed over the two contrasts of a layer: E |z_l|^2 = 2 - E spread_l.
        resolved : bool array (n,)
            Whether the quadrature met its accuracy check.
        """
        return posterior(
            np.ascontiguousarray(a, float),
            np.ascontiguousarray(means, float),
            np.asarray(V, float),
            self.skip,
            self.beta,
        )

    def averages(self, V, nodes) -> Averages:
        """Averages over outputs at variances V (2,), on Gaussian nodes of dimension `node_dimension`.

        |z_l|^2, the product of z_l with the true deviations and 2 - spread_l have the same expectation (Nishimori). The third
        scatters least, and not at all where the posterior is normal; the others are its control variates.
        """
        V = np.asarray(V, float)
        points = nodes.points.reshape(len(nodes), 2, 2, 2)
        means = points[:, 0] * SPREADS * np.sqrt(1.0 - V)[:, None]
        truth = points[:, 1]
        a = _forward(self, means + truth * SPREADS * np.sqrt(V)[:, None])
        _, z, spread, resolved = self.posterior(a, means, V)
        weights = nodes.weights[:, None]
        estimates = (2.0 - spread, np.sum(z**2, axis=2), np.sum(z * truth, axis=2))
        combined = with_controls(*(weights * estimate for estimate in estimates))
        return Averages(2.0 * combined.mean(axis=0), float(resolved.mean()))


def _forward(model, fields):
    """`TwoLayers.observe` (n, 2) of contrasts (n, 2, 2) of the raw scores; equation of `two_tokens.posterior_kernels`."""
    (u_s, u_d), (v_s, v_d) = np.moveaxis(fields, 0, -1)
    first, second = (1.0 / (1.0 + np.exp(-0.5 * model.beta * u)) for u in (u_s + u_d, u_s - u_d))
    e = model.skip + first + second - 1.0
    return np.stack([e**2 * v_s, e * ((model.skip + 1.0) * v_d - (second - first) * v_s)], axis=1)
