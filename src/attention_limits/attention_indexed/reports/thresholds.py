"""The thresholds of one layer of attention-indexed models, in closed form."""

import math
from pathlib import Path

from attention_limits.attention_indexed.channels.loading import load_channel
from attention_limits.attention_indexed.priors.loading import load_prior
from attention_limits.attention_indexed.schema.thresholds import Thresholds
from attention_limits.attention_indexed.state_evolution.curve import (
    exact_recovery,
    law_of_small_errors,
    samples_of_error,
    several_solutions,
    tail,
    weak_recovery,
)
from attention_limits.pipeline.base.errors import SpecError


def thresholds(asked: Thresholds, project: Path, report: bool) -> tuple[list[dict], dict]:
    """Weak recovery in the limit of small width; at the width of the model half of the error and exact recovery.

    At a positive width there is no weak recovery: the first samples reduce the error. Where the curve turns, exact recovery is
    that of the informed solution; two more rows give the ends of the range with several solutions. Message passing reaches exact
    recovery at the end of its branch at the earliest. The equations are those of `state_evolution.curve` (Boncoraglio,
    Troiani, Erba, Zdeborova 2025, arXiv:2506.01582).

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
        half, at_half = samples_of_error(channel, prior, 0.5), channel.uncertainty(0.5, prior.Q)
        found.append(("half of the error", half, at_half, "n / d^2"))
        recovery = exact_recovery(channel, prior), law_of_small_errors(channel, prior.Q)[1]
        found.append(("exact recovery", *recovery, "n / d^2"))
        begin, end = several_solutions(channel, prior)
        if math.isfinite(end):
            found.append(("begin of the informed branch", begin, max(at_half, recovery[1]), "n / d^2"))
            found.append(("end of the uninformed branch", end, at_half, "n / d^2"))
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
