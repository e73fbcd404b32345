"""State evolution of two layers of extensive width, for every model of them.

    q_hat_l = alpha k_l / V_l,    V_l = mmse(rho, 1 / q_hat_l),

with k_l from the `averages` of `softmax.TwoLayers`, `two_layers.sampled.SampledLayers` or `two_layers.hardmax.HardmaxLayers`.
Derived in docs/attention_indexed_two_layers.md.

The map can have two stable fixed points. Message passing follows the one of the uninformed start. The fixed point of the informed
start, next to V = 0, is another one where a jump is near. `compare` finds both, and their free entropies select the
Bayes-optimal one.
"""

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from attention_limits.attention_indexed.priors.denoisers.wishart import effective_dimension, mmse
from attention_limits.attention_indexed.two_layers.hardmax import HardmaxLayers
from attention_limits.attention_indexed.two_layers.layers import LEAST
from attention_limits.attention_indexed.two_layers.phases.free_entropy import difference
from attention_limits.attention_indexed.two_layers.sampled import SampledLayers
from attention_limits.attention_indexed.two_layers.two_tokens.softmax import TwoLayers
from attention_limits.numerics.probability.statistics import PARTS, node_error
from attention_limits.numerics.solvers.fixed_point import FixedPoint, iterate

# See `numerics.solvers.fixed_point.iterate`.
LOOKAHEAD = 8
# A smaller V counts as exact recovery.
RECOVERED = 1e-7
# Largest difference of the errors of one fixed point from two starts: relative, and absolute for errors near zero.
SAME, ZERO = 0.1, 1e-4
# Standard errors that decide the sign of a difference of free entropies.
DECIDES = 3.0

Model = TwoLayers | SampledLayers | HardmaxLayers


def model_of(point: dict, seed: int) -> Model:
    """The model of a `point` with `tokens`, `channel`, `skip` and `beta`; `seed` of the nodes of a sampled posterior."""
    if point["channel"] == "hardmax":
        return HardmaxLayers(point["skip"], point["beta"], seed)
    if point["tokens"] == 2:
        return TwoLayers(point["skip"], point["beta"])
    return SampledLayers(point["tokens"], point["skip"], point["beta"], seed=seed)


def recovery_threshold(model: Model, ratio: float) -> float:
    """The alpha with as many equations as parameters: nu d^2 parameters per layer of the width `ratio`.

    Infinite where an output of the `model` is coarser than an equation.
    """
    if model.equations is None:
        return math.inf
    return float(model.layers / model.equations * effective_dimension(ratio))


class Settings(Protocol):
    """The settings that the search reads; the section `schema.two_layers.TwoLayersStateEvolution.Solver` has them.

    Attributes
    ----------
    tolerance : float
        Largest accepted change of log V per iteration.
    max_iterations : int
        Largest number of evaluations of the map.
    informed_start : float
        Error V at which the informed start begins.
    """

    tolerance: float
    max_iterations: int
    informed_start: float


def solve(model: Model, ratio: float, alpha: float, nodes, settings: Settings, start=(1.0, 1.0)) -> FixedPoint:
    """Errors V (2,) of both layers by state evolution; the residual is relative. Below RECOVERED both are exactly known.

    Parameters
    ----------
    model
    ratio, alpha : float
        rho, and n / d^2.
    nodes : GaussianNodes
        Of dimension `model.node_dimension`.
    settings : Settings
    start : array (2,)
        First V: 1, the uninformed start, or less.
    """
    if alpha == 0:
        return FixedPoint(np.ones(2), 0.0, 0, True)

    def step(log_v):
        V = np.exp(np.clip(log_v, math.log(0.1 * RECOVERED), 0.0))
        information = np.maximum(model.averages(V, nodes).information, LEAST)
        return np.log(np.maximum(mmse(ratio, V / (alpha * information)), 0.1 * RECOVERED))

    point = iterate(
        step, np.log(start), settings.tolerance, settings.max_iterations, LOOKAHEAD,
        arrived=lambda x: bool(np.all(x < math.log(RECOVERED))),
    )  # fmt: skip
    return FixedPoint(np.exp(point.value), point.residual, point.iterations, point.converged)


@dataclass(frozen=True)
class Comparison:
    """Fixed points of both starts on all nodes, and of their parts.

    Attributes
    ----------
    uninformed, informed : FixedPoint
    parts : array (PARTS, 2)
        V of the uninformed start on each part of the nodes.
    unique : bool
        Whether both starts end at one fixed point, on all nodes and on each part of them: with fewer nodes there would be no
        other answer. False where a start did not converge on all nodes.
    free_entropy, free_entropy_error : float
        F of the informed fixed point minus that of the uninformed one, on all nodes, and its error from the parts of the nodes.
        Zero where both starts end at one fixed point, +infinity where only the informed one recovers both layers exactly, NaN
        where a start did not converge.
    bayes_optimal : float
        The start that ends at the Bayes-optimal fixed point: 0 uninformed, or both where it is unique; 1 informed; NaN where the
        sign of the difference of F is not known at DECIDES standard errors.
    """

    uninformed: FixedPoint
    informed: FixedPoint
    parts: np.ndarray
    unique: bool
    free_entropy: float
    free_entropy_error: float
    bayes_optimal: float


def compare(model: Model, ratio: float, alpha: float, nodes, settings: Settings) -> Comparison:
    """Fixed points from V = 1 and from the informed start, on all `nodes` and on PARTS parts of them.

    The `model`, `ratio`, `alpha` and `settings` are those of `solve`. The map is monotone: from V = 1
    the errors fall to the largest fixed point, so that one of exact recovery is the only one.
    """

    def both(part, some):
        first = solve(part, ratio, alpha, some, settings)
        if np.all(first.value < RECOVERED):
            return first, first
        return first, solve(part, ratio, alpha, some, settings, np.full(2, settings.informed_start))

    whole = first, last = both(model, nodes)
    blocks = [(model.part(k), some) for k, some in enumerate(nodes.blocks(PARTS))]
    parts = [both(*block) for block in blocks]
    converged = first.converged and last.converged
    meets = [_same(*(point.value for point in pair)) for pair in (whole, *parts)]
    unique = converged and all(meets)
    if not converged:
        change = error = math.nan
    elif meets[0]:
        change = error = 0.0
    else:
        change, error = _free_entropy(model, ratio, alpha, nodes, blocks, first.value, last.value)
    decided = unique or abs(change) > DECIDES * error
    optimal = float(change > 0) if decided else math.nan
    return Comparison(*whole, np.array([part[0].value for part in parts]), unique, change, error, optimal)


def _free_entropy(model, ratio, alpha, nodes, blocks, first, last):
    """F(`last`) - F(`first`) and its error.

    The parts have the two points of all nodes: F is stationary there, and a part may not have both fixed points.
    """
    if np.all(last < RECOVERED):
        # A continuous output leaves F without bound; from outputs that are coarser nothing is recovered at finite alpha.
        return (math.inf, 0.0) if model.equations is not None else (math.nan, math.nan)
    found = [
        difference(lambda V, part=part, some=some: part.averages(V, some).information, ratio, alpha, first, last)
        for part, some in ((model, nodes), *blocks)
    ]
    return found[0], float(node_error(found[0], found[1:]))


def _same(first, second):
    """Whether two errors V (2,) are one fixed point, within the accuracy of an iteration."""
    return bool(np.all(np.abs(first - second) <= np.maximum(SAME * np.maximum(first, second), ZERO)))
