"""State evolution of two layers of extensive width, for every model of them.

    q_hat_l = alpha k_l / V_l,    V_l = mmse(rho, 1 / q_hat_l),

with k_l from the `averages` of `two_layers.TwoLayers`, `sampled_layers.SampledLayers` or `hardmax_layers.HardmaxLayers`.
Derived in docs/attention_indexed_two_layers.md.
"""

import math

import numpy as np

from attention_limits.attention_indexed.denoiser import effective_dimension, mmse
from attention_limits.attention_indexed.hardmax_layers import HardmaxLayers
from attention_limits.attention_indexed.sampled_layers import SampledLayers
from attention_limits.attention_indexed.two_layers import TwoLayers
from attention_limits.numerics.fixed_point import FixedPoint, iterate

# A smaller V counts as exact recovery.
RECOVERED = 1e-7

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


def solve(
    model: Model,
    ratio: float,
    alpha: float,
    nodes,
    start=(1.0, 1.0),
    tolerance=1e-4,
    max_iterations=200,
    lookahead=8,
) -> FixedPoint:
    """Errors V (2,) of both layers by state evolution; the residual is relative. Below RECOVERED both are exactly known.

    Parameters
    ----------
    model
    ratio, alpha : float
        rho, and n / d^2.
    nodes : GaussianNodes
        Of dimension `model.node_dimension`.
    start : array (2,)
        First V: 1, the uninformed start, or less.
    tolerance, max_iterations, lookahead
        As in `numerics.fixed_point.iterate`, in log V.
    """
    if alpha == 0:
        return FixedPoint(np.ones(2), 0.0, 0, True)

    def step(log_v):
        V = np.exp(np.clip(log_v, math.log(0.1 * RECOVERED), 0.0))
        # Where the data hardly inform about a layer, noise of the nodes can make its information negative.
        information = np.maximum(model.averages(V, nodes).information, 1e-12)
        return np.log(np.maximum(mmse(ratio, V / (alpha * information)), 0.1 * RECOVERED))

    point = iterate(
        step,
        np.log(start),
        tolerance,
        max_iterations,
        lookahead,
        arrived=lambda x: bool(np.all(x < math.log(RECOVERED))),
    )
    return FixedPoint(np.exp(point.value), point.residual, point.iterations, point.converged)
