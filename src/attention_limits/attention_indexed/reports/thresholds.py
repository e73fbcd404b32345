"""The thresholds of one layer of attention-indexed models."""

import itertools
import math
from pathlib import Path

from attention_limits.attention_indexed.channels.loading import load_channel
from attention_limits.attention_indexed.priors.loading import load_prior
from attention_limits.attention_indexed.priors.wishart import SmallWidth
from attention_limits.attention_indexed.schema.thresholds import Thresholds
from attention_limits.attention_indexed.state_evolution.curve import (
    exact_recovery,
    law_of_small_errors,
    samples_of_error,
    tail,
    weak_recovery,
)
from attention_limits.attention_indexed.state_evolution.phases import (
    SAME,
    channel_doubt,
    hard_ranges,
    information_known,
    phases,
)
from attention_limits.attention_indexed.state_evolution.uniqueness import FACTORS, FOLLOWED, uniqueness
from attention_limits.pipeline.base.errors import SpecError

_WIDE, _SMALL = "n / d^2", "n / (d r)"
# What the first line says about uniqueness.
_UNIQUE = {
    FACTORS: "Bayes-optimal: one fixed point at every alpha, because V / D falls with D and V information(V) rises with V",
    FOLLOWED: "Bayes-optimal: one fixed point at every alpha, because alpha(D) falls with D",
}
_SEVERAL = "several fixed points at some alpha: the Bayes-optimal one has the largest free entropy"
_UNKNOWN = "the uncertain information of the channel leaves open whether there are several fixed points"


def thresholds(asked: Thresholds, project: Path, report: bool) -> tuple[list[dict], dict]:
    """Weak recovery in the limit of small width; at the width of the model half of the error and exact recovery.

    At a positive width there is no weak recovery: the first samples reduce the error. Where the curve turns, exact recovery is
    that of the informed solution; more rows give the begin of the informed branch, and for each range of hard learning the
    information-theoretic threshold, where the Bayes-optimal error jumps, and the algorithmic one, where message passing leaves
    its branch. Message passing reaches exact recovery there at the earliest. The equations are those of `state_evolution.curve`
    and `state_evolution.phases` (Boncoraglio, Troiani, Erba, Zdeborova 2025, arXiv:2506.01582).

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
        `method`: what makes the fixed point Bayes-optimal; `warning` where this is not known.

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
    found = [("weak recovery at rho = 0", weak_recovery(channel), channel.uncertainty(1.0, 1.0), _SMALL)]
    notes = {}
    # Only a posterior has a free entropy: not the published hardmax.
    bayes = hasattr(channel, "gradient")
    if bayes and model.spectrum is None:
        found += _hard(phases(channel, SmallWidth()), " at rho = 0", _SMALL)
    if prior is not None:
        half, at_half = samples_of_error(channel, prior, 0.5), channel.uncertainty(0.5, prior.Q)
        found.append(("half of the error", half, at_half, _WIDE))
        recovery = exact_recovery(channel, prior), law_of_small_errors(channel, prior.Q)[1]
        found.append(("exact recovery", *recovery, _WIDE))
        if bayes:
            own = phases(channel, prior)
            found += [*_informed(own), *_hard(own, "", _WIDE)]
            by = uniqueness(own).by
            notes = {"warning": _UNKNOWN} if math.isnan(by) else {"method": _UNIQUE.get(by, _SEVERAL)}
        if channel.ties is not None:
            law = tail(channel, prior, [1.0])[0]
            found.append(("error times (n / d^2)^2, large n / d^2", law, 0.0, "error (n / d^2)^2"))
    return [_row(*part) for part in found], notes


def _informed(found):
    """The row of the begin of the informed branch, where there are several solutions."""
    table, rows = found.potential.curve, []
    for before, branch in itertools.pairwise(found.branches):
        if branch.begin < (1.0 - SAME) * before.end:
            exact = branch.first == len(table.mmse)
            V = 0.0 if exact else table.mmse[branch.first]
            rows.append(("begin of the informed branch", branch.begin, float(channel_doubt(found, V)), _WIDE))
    return [min(rows, key=lambda row: row[1])] if rows and information_known(found) else []


def _hard(found, where, normalisation):
    """Name, value, relative error and normalisation of both ends of each hard range, if the information is known."""
    rows = []
    for number, hard in enumerate(hard_ranges(found) if information_known(found) else [], 1):
        which = where if number == 1 else f"{where}, {number}"
        for name, jump in (("information-theoretic", hard.begin), ("algorithmic", hard.end)):
            rows.append((f"{name} threshold{which}", jump.alpha, jump.error / jump.alpha, normalisation))
    return rows


def _row(name, value, uncertainty, normalisation):
    """One row of `thresholds` from a value and its relative error."""
    row = {"threshold": name, "value": value, "error": 0.0, "normalisation": normalisation}
    if math.isnan(value):
        text = "unknown; the information of the channel has neither the law 1/V nor a weaker one at small V"
        return {**row, "error": value, "text": f"{name}: {text}"}
    if uncertainty:
        row["error"] = float(value * uncertainty) if math.isfinite(value) else 0.0
    if math.isnan(row["error"]):
        raise SpecError([f"model.channel: the nodes do not resolve the {name}; more noise is allowed"])
    text = f"{name}: {normalisation} = {value:.6g}" + (f" ± {row['error']:.2g}" if row["error"] else "")
    if math.isinf(value) and normalisation == _SMALL:
        text += ": the output hides the sign of unknown scores, D = infinity stays a stable fixed point"
    return {**row, "text": text}
