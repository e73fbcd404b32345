"""The thresholds of one layer of attention-indexed models, in closed form."""

from pathlib import Path

import pandas as pd

from attention_limits.attention_indexed.channel import make_channel
from attention_limits.attention_indexed.specs_thresholds import Thresholds
from attention_limits.attention_indexed.state_evolution import exact_recovery, weak_recovery
from attention_limits.pipeline.errors import SpecError


def thresholds(asked: Thresholds, project: Path, report: bool) -> pd.DataFrame:
    """Exact recovery at the width of the model, and weak recovery in the limit of small width (`state_evolution`).

    Parameters
    ----------
    asked : Thresholds
    project : Path
        Not needed: a channel has no file.
    report : bool
        Not needed: the answer comes at once.

    Returns
    -------
    DataFrame
        `value` in the `normalisation` of its row, infinite where no number of samples is enough; `error`: bound on the error from
        the uncertain information of the channel, 0 where that is exact; `text`: the same in words.

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
        found.append(("exact recovery", exact_recovery(channel, model.ratio), 0.0, "n / d^2"))
    rows = []
    for name, value, uncertainty, normalisation in found:
        error = value * uncertainty if uncertainty else 0.0
        text = f"{name}: {normalisation} = {value:.6g}" + (f" ± {error:.2g}" if error else "")
        rows.append({"threshold": name, "value": value, "error": error, "normalisation": normalisation, "text": text})
    return pd.DataFrame(rows).set_index("threshold")
