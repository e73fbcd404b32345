"""The estimate of weight decay at one point: errors, energies, spectrum and stability, for linear and softmax outputs.

Everything refers to a softmax at inverse temperature beta or to linear scores, with outputs f(h* + sqrt(tau) xi) as in
`softmax` and `linear`. The free energy is the value of the replica functional,

    phi = alpha E [loss + ||Delta||^2 / (4 V)] + q_hat V / 4 + m_hat m / 2 - Sigma_hat q / 2.

The state evolution is its stationary point, where it equals the objective alpha E loss + lambda tr S / d. The solution is
stable against replica symmetry breaking where the replicon is below one (for an untied teacher half of it, and the double
integral of `table.TableLaw.squared_response`),

    (2 alpha E ||d Delta / d omega||^2 / Theta^2) int int (((x - eps)_+ - (x' - eps)_+) / (x - x'))^2 mu mu < 1.

Derived in this module, for the state evolution of Boncoraglio, Erba, Troiani, Krzakala, Zdeborova 2025, arXiv:2509.24914.
"""

from dataclasses import dataclass

import numpy as np

from attention_limits.attention_indexed.channels.linear import Linear, Softmax
from attention_limits.attention_indexed.channels.untied import UntiedLinear, UntiedSoftmax
from attention_limits.attention_indexed.erm import linear, softmax
from attention_limits.attention_indexed.erm.teachers.laws import OfSpectrum, Tied, Untied, as_teacher
from attention_limits.attention_indexed.erm.thresholds import least_decay_of_nothing
from attention_limits.numerics.probability.statistics import node_error

# Points of the density of each bulk.
PLACES = 101


@dataclass(frozen=True)
class Task:
    """The problem of a `teacher` of `teachers.laws`, or rho of a tied one.

    tau = `score_noise`, M = `tokens`, and beta, None for linear outputs.
    """

    teacher: float | Tied | OfSpectrum | Untied
    score_noise: float
    tokens: int
    beta: float | None

    @property
    def channel(self) -> Linear:
        """The output of scores without noise."""
        if self.law.symmetric:
            return Linear(self.tokens) if self.beta is None else Softmax(self.tokens, self.beta)
        return UntiedLinear(self.tokens) if self.beta is None else UntiedSoftmax(self.tokens, self.beta)

    @property
    def law(self) -> Tied | OfSpectrum | Untied:
        """The teacher."""
        return as_teacher(self.teacher)

    @property
    def equations(self) -> int:
        """K, the equations that an output gives."""
        return self.channel.equations


@dataclass(frozen=True)
class Overlaps:
    """Overlaps and spectral moments of S = eta (S* + delta Z - eps)_+.

    Attributes
    ----------
    q, m : float
        tr S^2 / d and tr S S* / d.
    scale, delta, threshold : float
        eta, delta and eps.
    theta, rank : float
        Theta of `spectral`, and the rank of S per d.
    trace, error : float
        tr S / d, and the error ||S - S*||^2 / d.
    """

    q: float
    m: float
    scale: float
    delta: float
    threshold: float
    theta: float
    rank: float
    trace: float
    error: float


def linear_points(task: Task, alpha, decay) -> list[dict]:
    """The variables of linear outputs of the `task` at each alpha (n,); lambda = `decay` (n,) >= 0."""
    equations = task.equations * np.asarray(alpha, dtype=float)
    found = linear.solve(equations, task.law, task.score_noise, decay)
    return of_linear(task, equations, found)


def limit_points(task: Task, alpha, nodes: softmax.Nodes) -> list[dict]:
    """The variables of a softmax without score noise as the decay vanishes, at each alpha (n,).

    `task` has a beta and tau = 0; averages over the `nodes` give the test loss.
    """
    rows = linear_points(task, alpha, np.zeros(len(alpha)))
    problem = softmax.Problem(1.0, 0.0, 0.0, task.law, task.tokens, task.beta)
    for row in rows:
        row["test_loss"] = softmax.loss_of_fresh_outputs(problem, nodes, row["learned_norm"], row["learned_overlap"])
    return rows


def of_linear(task: Task, equations, found: linear.LinearSolution) -> list[dict]:
    """The variables of the solutions `found` (n,) of linear outputs of the `task` at alpha K = `equations` (n,)."""
    names = linear.LinearSolution.__dataclass_fields__
    rows = zip(*(np.broadcast_to(getattr(found, name), equations.shape) for name in names), strict=True)
    return [
        _linear_point(task, e, linear.LinearSolution(*map(float, row))) for e, row in zip(equations, rows, strict=True)
    ]


def _linear_point(task, equations, at):
    K, alpha = task.equations, equations / task.equations
    m = at.J + at.threshold * at.A - at.delta**2 * at.theta
    overlaps = Overlaps(at.J, m, 1.0, at.delta, at.threshold, at.theta, at.rank, at.A, at.error)
    left = max(1.0 - at.theta / equations, 0.0)
    # Where the noise vanishes, alpha K delta^2 = mse + tau.
    training = K * (at.error + task.score_noise) * left**2
    # Sigma_hat = m_hat = 4 (alpha K - Theta), q_hat = m_hat^2 delta^2, V = Theta / Sigma_hat.
    hat = 4.0 * equations * left
    free = alpha * training + 0.5 * hat * (at.delta**2 * at.theta + m - at.J)
    learns = at.rank > 0 and at.delta > 0
    squared = task.law.law([at.delta]).squared_response(at.threshold) if learns else 0.0
    return {
        **_common(task, alpha, at.decay, overlaps, training, free),
        "test_loss": K * (at.error + task.score_noise),
        **_flags(squared / equations, 1.0),
        "residual": 0.0,
        "iterations": 0,
        "converged": bool(np.isfinite(at.error)),
    }


def _flags(replicon, resolved):
    return {"replicon": replicon, "replica_symmetric": bool(replicon < 1), "resolved": resolved}


def with_node_errors(rows: list[dict], parts: list[list[dict]]) -> list[dict]:
    """The variables `rows` at each alpha with the errors of `mse` and `test_loss` from the finite number of nodes.

    `parts` holds the variables on each of equal parts of the nodes (`node_error`); without parts, for averages in closed form,
    the errors are zero.
    """
    together = zip(*parts, strict=True) if parts else [()] * len(rows)
    return [
        row
        | {
            f"{name}_node_error": float(node_error(row[name], [part[name] for part in some])) if some else 0.0
            for name in ("mse", "test_loss")
        }
        for row, some in zip(rows, together, strict=True)
    ]


def _mixing(task, overlaps):
    """A of `generalization` for the pair of the score of S* and that of S."""
    q, m = overlaps.q, overlaps.m
    along = m / np.sqrt(q) if q > 0 else 0.0
    return np.array([[along, np.sqrt(max(task.law.Q - along**2, 0.0))], [np.sqrt(q), 0.0]])


def _common(task, alpha, decay, overlaps, training, free):
    density = np.full((2, 2, PLACES), np.nan)
    if overlaps.rank > 0 and overlaps.delta > 0:
        density = np.stack(task.law.law([overlaps.delta]).density(overlaps.threshold, PLACES))
    return {
        "mse": overlaps.error,
        "learned_rank": overlaps.rank,
        "learned_trace": overlaps.trace,
        "learned_norm": overlaps.q,
        "learned_overlap": overlaps.m,
        "training_loss": training,
        "objective": alpha * training + decay * overlaps.trace,
        "free_energy": free,
        "spectrum_value": overlaps.scale * density[0],
        "spectrum_density": density[1] / overlaps.scale,
        "mixing": _mixing(task, overlaps),
    }


def softmax_points(
    task: Task, alpha, decay: float, nodes: softmax.Nodes, tolerance: float, max_iterations: int
) -> list[dict]:
    """The variables of a softmax of the `task` at each alpha (n,) and one lambda = `decay` > 0.

    `nodes`, `tolerance` and `max_iterations` of the fixed point are as in `softmax.solve`.
    """
    problems = [softmax.Problem(value, decay, task.score_noise, task.law, task.tokens, task.beta) for value in alpha]
    equations = np.array([softmax.start_equations(problem) for problem in problems])
    # The linear problem must learn something, so that the iteration does not start at S = 0.
    most = 0.5 * least_decay_of_nothing(equations, task.law, task.score_noise)
    start = linear.solve(equations, task.law, task.score_noise, np.minimum(softmax.start_decay(problems[0]), most))
    rows = zip(*(getattr(start, name) for name in linear.LinearSolution.__dataclass_fields__), strict=True)
    return [
        _softmax_point(task, problem, nodes, linear.LinearSolution(*map(float, row)), tolerance, max_iterations)
        for problem, row in zip(problems, rows, strict=True)
    ]


def _replicon(task, problem, at, theta, law, threshold):
    if not theta:
        return np.nan
    return task.channel.law.diagonal * problem.alpha * at.squares / theta**2 * law.squared_response(threshold)


def _softmax_point(task, problem, nodes, start, tolerance, max_iterations):
    zero = softmax.without_learning(problem, nodes)
    if zero is not None:
        nothing = Overlaps(0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, task.law.Q)
        common = _common(task, problem.alpha, problem.decay, nothing, zero, problem.alpha * zero)
        return {**common, "test_loss": zero, **_flags(0.0, 1.0), "residual": 0.0, "iterations": 0, "converged": True}
    at = softmax.solve(problem, nodes, start, tolerance, max_iterations)
    delta, threshold, scale = np.sqrt(at.q_hat) / at.m_hat, 2.0 * problem.decay / at.m_hat, at.m_hat / at.sigma_hat
    law = task.law.law([delta])
    moments = law.moments([threshold])
    rank, theta, A = (float(value[0]) for value in (moments.rank, moments.theta, moments.A))
    error = task.law.Q - 2.0 * at.m + at.q
    overlaps = Overlaps(at.q, at.m, scale, delta, threshold, theta, rank, scale * A, error)
    free = problem.alpha * (at.loss + at.penalty) + 0.25 * at.q_hat * at.V
    free += 0.5 * (at.m_hat * at.m - at.sigma_hat * at.q)
    return {
        **_common(task, problem.alpha, problem.decay, overlaps, at.loss, free),
        "test_loss": softmax.loss_of_fresh_outputs(problem, nodes, at.q, at.m),
        **_flags(_replicon(task, problem, at, theta, law, threshold), at.resolved),
        "residual": at.residual,
        "iterations": at.iterations,
        "converged": at.converged,
    }
