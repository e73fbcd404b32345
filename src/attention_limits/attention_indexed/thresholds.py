"""The thresholds of one layer of attention-indexed models, in closed form."""

from pathlib import Path

from attention_limits.attention_indexed.channel import make_channel
from attention_limits.attention_indexed.denoiser import mmse
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
        Not needed: a channel has no file.
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
        If the channel does not have so many tokens.
    """
    model = asked.model
    try:
        channel = make_channel(model.channel, model.tokens, model.beta)
    except ValueError as error:
        raise SpecError([f"model.tokens: {error}"]) from None
    found = [("weak recovery at rho = 0", weak_recovery(channel), channel.uncertainty, "n / (d r)")]
    if model.ratio is not None:
        found.append(("half of the error", _half(channel, model.ratio), channel.uncertainty, "n / d^2"))
        found.append(("exact recovery", exact_recovery(channel, model.ratio), 0.0, "n / d^2"))
        if channel.ties is not None:
            law = tail(channel, model.ratio, [1.0])[0]
            found.append(("error times (n / d^2)^2, large n / d^2", law, 0.0, "error (n / d^2)^2"))
    rows = []
    for name, value, uncertainty, normalisation in found:
        error = value * uncertainty if uncertainty else 0.0
        text = f"{name}: {normalisation} = {value:.6g}" + (f" ± {error:.2g}" if error else "")
        rows.append({"threshold": name, "value": value, "error": error, "normalisation": normalisation, "text": text})
    return rows, {}


def _half(channel, ratio):
    """The alpha at which the error is one half: mmse(D) = 1/2 gives the noise D, which the curve maps to alpha."""
    noise = bisect(lambda D: mmse(ratio, D) - 0.5, *_SEARCHED)
    return float(curve(channel, ratio, noise).alpha)
