"""The direction that attention SGD learns: Gaussian exit from the uninformed start, then nonlinear flow.

Near (e, m) = (0, 0) the overlaps are a Gaussian process that diffuses and grows (`positional_semantic.flow.LinearTheory`).
When they are far above the noise and still small, the flow dm/dtau, de/dtau (arXiv:2506.02651) takes over: one of the
trajectories leaves e^2 + m^2 < threshold at |e| = |m|, and P(semantic) is the Gaussian weight of the starts on its semantic
side. The theory leaves out the noise after the exit, of relative size (noise of the exit / threshold)^(1/2).
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import erf

from attention_limits.numerics.probability.hermite import gauss_hermite
from attention_limits.sequence_single_index.positional_semantic.flow import attention_drift

# Largest ratio of the noise of the exit to the threshold, and largest threshold. At larger values runs drift along e^2 + m^2 = 1
# before they escape, and noise decides the direction.
MOST_NOISE, MOST_THRESHOLD = 0.01, 0.7
# Squared radii, in units of the threshold, and angles at which the flow is computed.
_RADII, _ANGLES = (np.arange(5) + 1.0) / 5.0, (np.arange(5) + 0.5) * np.pi / 10.0
# Steps of the separating trajectory in the logarithms of the overlaps, and their number.
_STEP, _STEPS = 0.1, 200
# Nodes per overlap of its Gaussian law at the exit, and most steps of the flow after it.
_LAW, _LONGEST = 60, 2000
# Powers of (e^2, m^2) in the growth rates beyond the linear theory.
_POWERS = [(i, j) for degree in (1, 2, 3) for i in range(degree + 1) for j in [degree - i]]


@dataclass(frozen=True)
class FlowField:
    """Growth rates d log|e| / dtau and d log|m| / dtau inside of e^2 + m^2 <= threshold.

    Attributes
    ----------
    growth : array (2,)
        At the start.
    terms : array (9, 2)
        Coefficients of the products of powers of e^2 and m^2 up to degree three.
    """

    growth: np.ndarray
    terms: np.ndarray

    def rates(self, e, m):
        """Growth rates of (e, m), array (2,)."""
        return self.growth + np.array([e ** (2 * i) * m ** (2 * j) for i, j in _POWERS]) @ self.terms


def flow_field(theory, problem, learning_rate, threshold, nodes, batch=1) -> FlowField:
    """Least squares of the flow at 25 points, with the rates of the linear theory at the start.

    Parameters
    ----------
    theory : LinearTheory
    problem, learning_rate
        Of `positional_semantic.flow`.
    threshold : float
        Largest e^2 + m^2.
    nodes : GaussianNodes
        In four dimensions. Each is used with all signs of e and m, under which the exact flow is odd.
    batch : int
        Of `positional_semantic.flow`, as in the `theory`.
    """
    growth = learning_rate * theory.growth(learning_rate)
    points, rates = [], []
    for radius in np.sqrt(threshold * _RADII):
        for angle in _ANGLES:
            e, m = radius * np.cos(angle), radius * np.sin(angle)
            images = [
                np.array([s, t]) * attention_drift((s * e, t * m), problem, learning_rate, nodes, batch)
                for s in (1, -1)
                for t in (1, -1)
            ]
            points.append((e, m))
            rates.append(np.mean(images, axis=0) / (e, m))
    points = np.array(points)
    design = np.stack([points[:, 0] ** (2 * i) * points[:, 1] ** (2 * j) for i, j in _POWERS], axis=1)
    terms = np.empty((len(_POWERS), 2))
    for k in range(2):
        # The error of a rate goes like 1 / overlap.
        weight = points[:, k]
        rest = (np.array(rates)[:, k] - growth[k]) * weight
        terms[:, k] = np.linalg.lstsq(design * weight[:, None], rest, rcond=None)[0]
    return FlowField(growth, terms)


def separating_trajectory(field, threshold):
    """The trajectory of the FlowField `field` that leaves e^2 + m^2 < threshold at e = m, backward in time.

    Array (2, points) of e and m, or None if no trajectory leaves.
    """
    corner = np.sqrt(0.5 * threshold)

    def backward(x):
        rates = field.rates(*np.exp(x))
        return -rates / np.hypot(*rates)

    x = np.log([corner, corner])
    path = [x]
    for _ in range(_STEPS):
        k_1 = backward(x)
        k_2 = backward(x + 0.5 * _STEP * k_1)
        k_3 = backward(x + 0.5 * _STEP * k_2)
        k_4 = backward(x + _STEP * k_3)
        x = x + _STEP / 6.0 * (k_1 + 2.0 * k_2 + 2.0 * k_3 + k_4)
        # Backward in time, a trajectory that entered through the rim ends at the rim.
        if np.sum(np.exp(2.0 * x)) >= threshold:
            break
        path.append(x)
    return np.exp(np.array(path)).T if len(path) > 1 else None


def semantic_probability(theory, field, learning_rate, dimension, threshold):
    """P(|m| > |e|) when e^2 + m^2 first exceeds the threshold.

    Parameters
    ----------
    theory : LinearTheory
    field : FlowField
    learning_rate, dimension : float
        gamma and d.
    threshold : float
        Of e^2 + m^2.

    Returns
    -------
    float
        NaN if neither overlap grows at the start, if noise decides (MOST_NOISE, MOST_THRESHOLD), or if the overlap that grows
        faster at the start shrinks on the separating trajectory.
    """
    fast = int(np.argmax(field.growth))
    at_exit = _exit(theory, field, learning_rate, dimension, threshold)
    if at_exit is None:
        return np.nan
    _, spread = at_exit
    path = separating_trajectory(field, threshold)
    if path is None:
        return float(fast)
    quick, slow = path[fast, ::-1], path[1 - fast, ::-1]
    if np.any(np.diff(quick) <= 0.0):
        return np.nan
    x, weights = gauss_hermite(400)
    start = spread[fast] * np.abs(x)
    # Below its lowest point the linear theory continues the trajectory, above its highest point the diagonal |e| = |m| does.
    slope = (np.log(slow[1]) - np.log(slow[0])) / (np.log(quick[1]) - np.log(quick[0]))
    inside = np.exp(np.interp(np.log(start), np.log(quick), np.log(slow)))
    below = slow[0] * (start / quick[0]) ** slope
    edge = np.where(start < quick[0], below, np.where(start > quick[-1], start, inside))
    wins = float(weights @ erf(edge / (np.sqrt(2.0) * spread[1 - fast])))
    return wins if fast == 1 else 1.0 - wins


def _exit(theory, field, learning_rate, dimension, threshold):
    """Step of the exit and standard deviations (2,) of (e, m) at this step; None where the theory does not hold.

    At the exit the variance is the geometric mean of threshold and noise, where the noise is the variance that diffusion adds in
    one unit of growth.
    """
    fast = int(np.argmax(field.growth))
    if field.growth[fast] <= 0.0:
        return None
    noise = learning_rate / dimension * np.sum(theory.noise) / (2.0 * theory.growth(learning_rate)[fast])
    if not noise <= MOST_NOISE * threshold or threshold > MOST_THRESHOLD:
        return None
    step = theory.escape_step(learning_rate, dimension, np.sqrt(noise * threshold))
    return step, np.sqrt(theory.variance(learning_rate, dimension, step))


def mean_escape_step(theory, field, learning_rate, dimension, threshold):
    """Mean number of steps until e^2 + m^2 exceeds the threshold: Gaussian exit, then flow.

    From the exit at (e, m), between noise and threshold, the flow needs the time tau(e, m). The result is the mean of
    t = T_exit + d tau(e, m) over the Gaussian law of (e, m) at the exit. For a part of this law beyond the threshold, linear
    growth gives a negative tau.

    Parameters
    ----------
    theory : LinearTheory
    field : FlowField
    learning_rate, dimension : float
        gamma and d.
    threshold : float
        Of e^2 + m^2.

    Returns
    -------
    float
        NaN where the theory does not hold (`semantic_probability`), infinite where the flow stops on the way.
    """
    at_exit = _exit(theory, field, learning_rate, dimension, threshold)
    if at_exit is None:
        return np.nan
    exit_step, spread = at_exit
    x, weights = gauss_hermite(_LAW)
    half = x > 0.0
    e, m = (axis.ravel() for axis in np.meshgrid(spread[0] * x[half], spread[1] * x[half], indexing="ij"))
    weight = 4.0 * np.outer(weights[half], weights[half]).ravel()
    return exit_step + dimension * float(weight @ _flow_times(field, np.log([e, m]), threshold))


def _flow_times(field, x, threshold):
    """tau at which the flow from the logarithms x (2, n) of (e, m) reaches the threshold, array (n,)."""

    def rates(x):
        squares = np.exp(2.0 * x)
        table = np.stack([squares[0] ** i * squares[1] ** j for i, j in _POWERS])
        return field.growth[:, None] + field.terms.T @ table

    def excess(x):
        return np.log(np.sum(np.exp(2.0 * x), axis=0)) - np.log(threshold)

    before = excess(x)
    # From beyond the threshold, follow the faster linear growth back to it.
    times = np.where(before > 0.0, -0.5 * before / np.max(field.growth), np.inf)
    step = _STEP / np.max(np.abs(field.growth))
    moving = np.flatnonzero(before <= 0.0)
    x, before = x[:, moving], before[moving]
    for count in range(_LONGEST):
        k_1 = rates(x)
        k_2 = rates(x + 0.5 * step * k_1)
        k_3 = rates(x + 0.5 * step * k_2)
        k_4 = rates(x + step * k_3)
        x = x + step / 6.0 * (k_1 + 2.0 * k_2 + 2.0 * k_3 + k_4)
        after = excess(x)
        crossed = after > 0.0
        times[moving[crossed]] = step * (count + (before / (before - after))[crossed])
        # The fit of the field holds only inside of the threshold.
        moving, x, before = moving[~crossed], x[:, ~crossed], after[~crossed]
        if not len(moving):
            break
    return times
