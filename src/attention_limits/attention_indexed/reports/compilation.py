"""Whether the posterior of a channel is compiled: for check-channel, and for the line of a run (`pipeline.notices`)."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from attention_limits.attention_indexed.channels.files import channel_file, symmetric
from attention_limits.attention_indexed.channels.loading import load_channel
from attention_limits.attention_indexed.channels.output import LIKELIHOOD, described_by
from attention_limits.attention_indexed.channels.protocol import Channel
from attention_limits.numerics.tracing.plain_reasons import in_words

# Outputs of the comparison of the compiled likelihood with NumPy.
COMPARED = 32


def in_numpy(channel: Channel) -> str | None:
    """Why the program samples the posterior of a channel in NumPy. Empty if the channel is compiled, None if nothing is sampled.

    A likelihood is compiled once in a process: a run that follows, with another object of the same code, takes milliseconds.
    """
    if channel.closed_form or described_by(channel.model) != LIKELIHOOD:
        return None
    scores = symmetric(np.random.default_rng(0), (COMPARED, channel.tokens, channel.tokens))
    return in_words(channel.likelihood(channel.observe(scores, np.random.default_rng(0)))[1])


def of_model(specification: type, model: Mapping, project: Path) -> tuple[str, str] | None:
    """Name and `in_numpy` of the channel of a user in a `model`, with files below `project`; None where there is none.

    `specification`, the class of the estimator, decides nothing here.

    Raises ValueError where there is no such channel.
    """
    name = model.get("channel") or ""
    if channel_file(name, project) is None:
        return None
    reason = in_numpy(load_channel(model, project))
    return None if reason is None else (name, reason)
