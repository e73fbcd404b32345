"""Nodes of the channel of empirical risk minimisation: the target's fields with their outputs, and the student's noise.

Linear regression needs second moments alone, which the points +-sqrt(d) e_i of d Gaussian variables have exactly. Two Gaussian
variables (one row and one token of student and target) have a product rule, exact to rounding for smooth losses. All other
models have scrambled Sobol nodes. The rules are derived in this module.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr

from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes
from attention_limits.sequence_multi_index.erm.losses import Loss, values
from attention_limits.sequence_multi_index.links.attention.layers import score_root
from attention_limits.sequence_multi_index.links.link import Link
from attention_limits.sequence_multi_index.priors.overlaps import symmetric_root

# The product rule: Gauss-Legendre points on each side of the target's field, equidistant ones of the student's noise.
# A kinked loss needs more of the latter.
HALF_POINTS, EVEN_POINTS, KINKED_POINTS, RANGE = 32, 241, 4001, 8.5


@dataclass(frozen=True)
class Nodes:
    """Nodes of the channel.

    Attributes
    ----------
    target : array (N, P*, M)
        h*, of covariance sigma^2 R over rows.
    student : array (N, P, M)
        Standard normal xi: omega = mu B^T + m (sigma^2 R)^-1 h* + root xi.
    outputs, clean : array (N, K)
        Outputs y of the target, with noise and without.
    anchors : array (N, S, P M)
        Fields of the student that fit the output.
    weights : array (N,)
        Their mean is one.
    positions : array (M, K)
        B.
    sigma : float
    field_covariance : array (P*, P*)
        sigma^2 R.
    random : bool
        Whether they are Sobol nodes, not those of a rule without error.
    """

    target: np.ndarray
    student: np.ndarray
    outputs: np.ndarray
    clean: np.ndarray
    anchors: np.ndarray
    weights: np.ndarray
    positions: np.ndarray
    sigma: float
    field_covariance: np.ndarray
    random: bool

    def parts(self, count) -> list["Nodes"]:
        """`count` parts of equal size of random nodes; each part is balanced."""
        names = ("target", "student", "outputs", "clean", "anchors", "weights")
        split = zip(*(np.split(getattr(self, name), count) for name in names), strict=True)
        return [replace(self, **dict(zip(names, part, strict=True))) for part in split]

    def mean(self, values):
        """Weighted mean over the nodes of `values` (N, ...)."""
        return np.tensordot(self.weights, values, axes=1) / len(self.weights)

    def errors(self, loss: Loss, omega) -> dict[str, float]:
        """Errors on fresh data, by the name of their variable; NaN where one is not defined.

        `omega` (N, P, M) is distributed like the student's fields of a fresh sequence. The plug-in error is that of the square
        loss, E |y - f(h)|^2 without the noise of y. Misclassification is the fraction of wrong signs, or of wrong rows.
        """
        flat = np.ascontiguousarray(omega).reshape(len(omega), -1)
        found = {"test_loss": float(self.mean(values(loss, self.outputs, flat)[0])), "misclassification": np.nan}
        clean = float(self.mean(values(loss, self.clean, flat)[0]))
        found["error_plug_in"] = 2.0 * clean if loss.name == "square" else np.nan
        if loss.name == "cross_entropy":
            wrong = np.argmax(self.clean.reshape(omega.shape), axis=1) != np.argmax(omega, axis=1)
            found["misclassification"] = float(self.mean(wrong.mean(axis=1)))
        return found

    def wrong_signs(self, pull, root, shift) -> float:
        """Fraction of wrong signs of omega = shift + pull h* + root xi, one field each, for outputs of +-1, else NaN.

        The outputs are those without noise: the sign of a field, or a constant. `shift` is mu B^T, the mean of the token.
        """
        if not np.all(np.abs(self.clean) == 1.0):
            return np.nan
        # The integral over xi is analytic.
        margin = self.clean[:, 0] * (shift + pull * self.target[:, 0, 0])
        return float(self.mean(ndtr(-margin / max(root, 1e-12))))


def make_nodes(
    loss: Loss, target: Link, student: Link, count: int, generator, sigma=1.0, positions=None, norm=None
) -> Nodes:
    """Nodes of a loss and a target.

    Parameters
    ----------
    loss : Loss
    target : Link
        M tokens, as many as the student's.
    student : Link
        The link of the loss.
    count : int
        Sobol nodes, a power of two; the other rules ignore it.
    generator : numpy.random.Generator
        Source of the scrambling.
    sigma : float
        Standard deviation of the components of a token.
    positions : array (M, K), optional
        B; none by default.
    norm : array (P*, P*), optional
        R = W* W*^T / D, by default the identity.

    Raises
    ------
    ValueError
        If target and student differ in their tokens.
    """
    if target.tokens != loss.tokens:
        raise ValueError(f"the target reads {target.tokens} tokens, the student {loss.tokens}")
    rows, tokens, noises = target.rows, target.tokens, target.noise_dimension
    fields = rows * tokens
    variables = fields + loss.fields + noises
    exact = loss.name == "square" and loss.convex and _bare(target).student == student.student
    if exact:
        points = np.sqrt(variables) * np.concatenate([np.eye(variables), -np.eye(variables)])
        weights = np.ones(len(points))
    elif variables == 2:
        points, weights = _product_rule(KINKED_POINTS if loss.kinked else EVEN_POINTS)
    else:
        points = gaussian_nodes(variables, count, generator, widening=1.0).points
        weights = np.ones(count)
    size = len(points)
    R = np.eye(rows) if norm is None else np.asarray(norm, dtype=float)
    own = sigma * np.einsum("pr,nra->npa", symmetric_root(R), points[:, :fields].reshape(size, rows, tokens))
    clean, outputs = outputs_of(target, own, points[:, fields + loss.fields :])
    return Nodes(
        own, points[:, fields : fields + loss.fields].reshape(size, loss.rows, tokens), outputs, clean,
        anchors_of(target, student, own), weights, np.zeros((tokens, 0)) if positions is None else np.array(positions, float),
        float(sigma), sigma**2 * R, not exact and variables != 2,
    )  # fmt: skip


def _bare(link: Link) -> Link:
    """A link without its output noise."""
    return getattr(link, "link", link)


def outputs_of(target: Link, fields, noise) -> tuple[np.ndarray, np.ndarray]:
    """Outputs (N, K) of the target without and with its noise (N, noise_dimension), from its fields (N, P*, M)."""
    clean = np.ascontiguousarray(target.forward(fields), dtype=float).reshape(len(fields), -1)
    return clean, target.observe(fields, noise).reshape(len(fields), -1) if target.noise_dimension else clean


def anchors_of(target: Link, student: Link, fields) -> np.ndarray:
    """Fields of the student that fit the output of the target at `fields` (N, P*, M): (N, S, P M), S = 0 where none are known."""
    if _bare(target) == student:
        return np.ascontiguousarray(fields).reshape(len(fields), 1, -1)
    if student.student and student.student[0] == "attention" and (student.rows, student.tokens) == (1, 2):
        attention = np.asarray(_bare(target).forward(fields), dtype=float)
        if attention.shape[1:] == (2, 2):
            # Rows that are no softmax of a rank-one score have no such point; any start will do.
            return score_root(attention, student.student[1][4])[0][:, None]
    return np.zeros((len(fields), 0, student.rows * student.tokens))


def _product_rule(even):
    """Points (N, 2) and weights of mean one: two Gauss-Legendre rules on the half lines times an equidistant one."""
    x, w = np.polynomial.legendre.leggauss(HALF_POINTS)
    half = 0.5 * RANGE * (x + 1.0)
    first = np.concatenate([-half[::-1], half])
    first_weight = np.concatenate([w[::-1], w]) * np.exp(-0.5 * first**2)
    second = np.linspace(-RANGE, RANGE, even)
    second_weight = np.exp(-0.5 * second**2)
    weights = np.outer(first_weight / first_weight.sum(), second_weight / second_weight.sum()).ravel()
    points = np.stack(np.meshgrid(first, second, indexing="ij"), axis=-1).reshape(-1, 2)
    return points, weights * len(weights)
