"""The thresholds of one layer of attention-indexed models, in closed form."""

import math
from pathlib import Path

import numpy as np

from attention_limits.attention_indexed.loading import load_channel, load_prior
from attention_limits.attention_indexed.output_channel import GaussianNoise
from attention_limits.attention_indexed.sampled_channel import SampledChannel
from attention_limits.attention_indexed.specs_thresholds import Thresholds
from attention_limits.attention_indexed.state_evolution import curve, exact_recovery, tail, weak_recovery
from attention_limits.numerics.roots import bisect
from attention_limits.pipeline.errors import SpecError

# Noises D between which the error passes one half, at every width of the specification.
_SEARCHED = (1e-3, 1e10)
# V / Q at which a sampled channel shows the law of its information at small V, information ~ V^-power.
_SMALL = np.array([1e-3, 2e-4])
# Powers below this are a weaker law than 1 / V: a discontinuity has 1/2, noise 0. Powers within this of one are the law 1 / V.
_WEAKER, _SAME_LAW = 0.75, 0.02


def thresholds(asked: Thresholds, project: Path, report: bool) -> tuple[list[dict], dict]:
    """Weak recovery in the limit of small width; at the width of the model half of the error and exact recovery.

    At a positive width there is no weak recovery: the first samples reduce the error. The equations are those of
    `state_evolution` (Boncoraglio, Troiani, Erba, Zdeborova 2025, arXiv:2506.01582).

    Parameters
    ----------
    asked : Thresholds
    project : Path
        Folder that the path of a channel of a file starts from.
    report : bool
        Not needed: the answer comes at once.

    Returns
    -------
    rows : list of dict
        `threshold`: its name; `value` in the `normalisation` of its row, infinite where no number of samples is enough, NaN where
        it is unknown; `error`: bound on the error from the uncertain information of the channel, 0 where that is exact; `text`:
        the same in words.
    notes : dict
        Empty.

    Raises
    ------
    SpecError
        If there is no such channel, or it does not have so many tokens.
    """
    model = asked.model
    try:
        channel = load_channel(model.plain(), project)
        prior = load_prior(model.plain(), project) if model.ratio is not None else None
    except ValueError as error:
        raise SpecError([f"model: {error}"]) from None
    found = [("weak recovery at rho = 0", weak_recovery(channel), channel.uncertainty(1.0, 1.0), "n / (d r)")]
    if prior is not None:
        half = _half(channel, prior)
        found.append(("half of the error", half, channel.uncertainty(0.5, prior.Q), "n / d^2"))
        found.append(("exact recovery", *_recovery(channel, prior), "n / d^2"))
        if channel.ties is not None:
            law = tail(channel, prior, [1.0])[0]
            found.append(("error times (n / d^2)^2, large n / d^2", law, 0.0, "error (n / d^2)^2"))
    rows = []
    for name, value, uncertainty, normalisation in found:
        if math.isnan(value):
            text = (
                f"{name}: unknown; the information of the channel has neither the law 1/V nor a weaker one at small V"
            )
            rows.append(
                {"threshold": name, "value": value, "error": value, "normalisation": normalisation, "text": text}
            )
            continue
        error = value * uncertainty if uncertainty else 0.0
        if math.isnan(error):
            raise SpecError([f"model.channel: the nodes do not resolve the {name}; more noise is allowed"])
        text = f"{name}: {normalisation} = {value:.6g}" + (f" ± {error:.2g}" if error else "")
        rows.append({"threshold": name, "value": value, "error": error, "normalisation": normalisation, "text": text})
    return rows, {}


def _recovery(channel, prior):
    """Alpha of exact recovery, and its relative uncertainty.

    A sampled channel counts no equations; Gaussian noise leaves none. Otherwise its information I gives them as the limit of V I
    at V -> 0: a law I = K / V counts as K equations, a weaker one as none (`state_evolution.exact_recovery`). NaN where the table
    of I decides for neither.
    """
    if not isinstance(channel, SampledChannel) or isinstance(channel.model, GaussianNoise):
        return exact_recovery(channel, prior), 0.0
    V = prior.Q * _SMALL
    information, bounds = channel.information(V, prior.Q), channel.uncertainty(V, prior.Q)
    power, error = np.log(information[1] / information[0]) / np.log(V[0] / V[1]), np.sum(bounds) / np.log(V[0] / V[1])
    if power + error < _WEAKER:
        return np.inf, 0.0
    if abs(power - 1.0) <= error + _SAME_LAW:
        equations = V * information
        bound = bounds[1] + abs(equations[1] / equations[0] - 1.0)
        return 2.0 * prior.effective_dimension / float(equations[1]), float(bound)
    return np.nan, 0.0


def _half(channel, prior):
    """The alpha at which the error is one half: mmse(D) = 1/2 gives the noise D, which the curve maps to alpha."""
    noise = bisect(lambda D: prior.mmse(D) - 0.5, *_SEARCHED)
    return float(curve(channel, prior, noise).alpha)
