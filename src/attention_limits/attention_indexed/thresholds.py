"""The thresholds of one layer of attention-indexed models, in closed form."""

import math
from pathlib import Path

from attention_limits.attention_indexed.loading import load_channel
from attention_limits.attention_indexed.priors import load_prior
from attention_limits.attention_indexed.specs_thresholds import Thresholds
from attention_limits.attention_indexed.state_evolution import curve, exact_recovery, tail, weak_recovery
from attention_limits.numerics.roots import bisect
from attention_limits.pipeline.errors import SpecError

# Noises D between which the error passes one half, at every width of the specification.
_SEARCHED = (1e-3, 1e10)


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
        `threshold`: its name; `value` in the `normalisation` of its row, infinite where no number of samples is enough; `error`:
        bound on the error from the uncertain information of the channel, 0 where that is exact; `text`: the same in words.
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
        found.append(("exact recovery", exact_recovery(channel, prior), 0.0, "n / d^2"))
        if channel.ties is not None:
            law = tail(channel, prior, [1.0])[0]
            found.append(("error times (n / d^2)^2, large n / d^2", law, 0.0, "error (n / d^2)^2"))
    rows = []
    for name, value, uncertainty, normalisation in found:
        error = value * uncertainty if uncertainty else 0.0
        if math.isnan(error):
            raise SpecError([f"model.channel: the nodes do not resolve the {name}; more noise is allowed"])
        text = f"{name}: {normalisation} = {value:.6g}" + (f" ± {error:.2g}" if error else "")
        rows.append({"threshold": name, "value": value, "error": error, "normalisation": normalisation, "text": text})
    return rows, {}


def _half(channel, prior):
    """The alpha at which the error is one half: mmse(D) = 1/2 gives the noise D, which the curve maps to alpha."""
    noise = bisect(lambda D: prior.mmse(D) - 0.5, *_SEARCHED)
    return float(curve(channel, prior, noise).alpha)
