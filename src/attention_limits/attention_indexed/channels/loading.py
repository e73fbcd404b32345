"""Channels by the keys of a model: those provided by this package, and those of a Python file.

Classes are imported by name, so that an edit of one channel concerns no other one; `names.code_modules` lists what a model uses.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path

import numpy as np

from attention_limits.attention_indexed.channels.names import NAMES, place_of, untied_problem
from attention_limits.attention_indexed.channels.protocol import Channel
from attention_limits.attention_indexed.model.sizes import LEAST_TOKENS, MOST_TOKENS
from attention_limits.pipeline.base.errors import allowed_names


def load_channel(model: Mapping, project: Path) -> Channel:
    """The channel that the `model` section of a specification describes.

    Parameters
    ----------
    model : mapping
        `channel`: a name of `names.NAMES`, or `path/to/file.py:name` of a class derived from `OutputChannel`; `tokens`;
        `beta` for the softmax; `output_noise`: its variance, 0 or absent for none; `parameters`: keyword arguments of
        the class; `untied`: true for untied attention, false or absent for tied.
    project : Path
        Folder that relative paths start from.

    Raises
    ------
    ValueError
        If there is no such channel, if it does not take these parameters, or if it has neither noise nor a posterior.
    """
    name, noise, parameters = model["channel"], model.get("output_noise") or 0.0, model.get("parameters") or {}
    untied, of_file = bool(model.get("untied")), ":" in name
    if parameters and not of_file:
        raise ValueError(
            f"parameters: {', '.join(parameters)}: the channel {name} takes none; only a channel of a file does"
        )
    if of_file and not untied:
        return _named("sampled:SampledChannel")(_named("files:channel_of_file")(model, project))
    own_noise = noise if untied or name == "linear" else 0.0
    channel = make_channel(name, model["tokens"], model.get("beta", 1.0), untied, own_noise)
    if noise == own_noise:
        return channel
    if not hasattr(channel, "gradient"):
        raise ValueError(f"output_noise: {noise:g}: {name} has no posterior mean, so it takes no noise; allowed: 0")
    noisy = _named("output:GaussianNoise")(channel, noise)
    return _named("sampled:SampledChannel")(noisy, channel.distance)


def make_channel(name: str, tokens: int, beta: float = 1.0, untied: bool = False, noise: float = 0.0) -> Channel:
    """The provided channel of this name.

    Parameters
    ----------
    tokens : int
        M >= 1; at least 2 for softmax and hardmax.
    beta : float
        Inverse temperature of the softmax, > 0.
    untied : bool
        Whether queries and keys have different weights.
    noise : float
        Variance of the output noise of a linear channel, >= 0.

    Raises
    ------
    ValueError
        If there is no channel of this name, tied or untied, with this noise; if beta <= 0, or M is not from the `LEAST_TOKENS`
        to the `MOST_TOKENS` of the channel.
    """
    if tokens < 1 or not 0 < beta < np.inf:
        raise ValueError(f"need M >= 1 and 0 < beta < infinity, got {tokens} and {beta}")
    if untied and (problem := untied_problem(name, noise)):
        raise ValueError(problem)
    if name not in NAMES:
        raise ValueError(f"channel {name!r}: {allowed_names(name, NAMES)}")
    if noise and name != "linear":
        raise ValueError(f"noise: {noise:g}: the channel {name} takes no noise here; allowed: 0")
    if tokens < LEAST_TOKENS.get(name, 1):
        raise ValueError(f"{name} has at least {LEAST_TOKENS[name]} tokens, got {tokens}")
    if tokens > MOST_TOKENS.get(name, tokens):
        raise ValueError(f"{name} has up to {MOST_TOKENS[name]} tokens, got {tokens}")
    place = place_of(name, tokens, untied, noise)
    made = _named(place)
    if place.startswith("hardmax.two_tokens"):
        return made()
    return made(tokens, **({"beta": beta} if name == "softmax" else {}), **({"noise": noise} if noise else {}))


def _named(place: str) -> Callable:
    """The object `place`, module:name, of this folder."""
    module, _, name = place.partition(":")
    return getattr(import_module(f"{__package__}.{module}"), name)
