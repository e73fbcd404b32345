"""Channels and laws of S by the keys of a model: those provided by this package, and those of a Python file."""

from collections.abc import Mapping
from pathlib import Path

from attention_limits.attention_indexed.channel import Channel, NoisyLinear, make_channel
from attention_limits.attention_indexed.channel_files import channel_file, channel_of_file
from attention_limits.attention_indexed.model import aspect_problem
from attention_limits.attention_indexed.output_channel import GaussianNoise
from attention_limits.attention_indexed.priors import Invariant, Prior, Wishart
from attention_limits.attention_indexed.rectangular_prior import product_law
from attention_limits.attention_indexed.sampled_channel import SampledChannel
from attention_limits.attention_indexed.spectrum_files import law_of_file
from attention_limits.attention_indexed.untied_channel import make_untied_channel


def load_channel(model: Mapping, project: Path) -> Channel:
    """The channel that the `model` section of a specification describes.

    Parameters
    ----------
    model : mapping
        `channel`: a name of `channel.CHANNELS`, or `path/to/file.py:name` of a class derived from `OutputChannel`; `tokens`;
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
    of_file = channel_file(name, project) is not None
    if parameters and not of_file:
        raise ValueError(
            f"parameters: {', '.join(parameters)}: the channel {name} takes none; only a channel of a file does"
        )
    if model.get("untied"):
        return make_untied_channel(name, model["tokens"], model.get("beta", 1.0), noise)
    if of_file:
        return SampledChannel(channel_of_file(model, project))
    channel = make_channel(name, model["tokens"], model.get("beta", 1.0))
    if not noise:
        return channel
    if name == "linear":
        return NoisyLinear(model["tokens"], noise)
    if not hasattr(channel, "gradient"):
        raise ValueError(f"output_noise: {noise:g}: {name} has no posterior mean, so it takes no noise; allowed: 0")
    return SampledChannel(GaussianNoise(channel, noise), channel.distance)


def load_prior(model: Mapping, project: Path) -> Prior:
    """The law of S of the keys `ratio`, `spectrum`, `untied` and `aspect` of a specification, with files below `project`.

    Raises ValueError as `spectrum_files.law_of_file`, for a spectrum of an untied model, and as `model.aspect_problem`.
    """
    untied, aspect, spectrum = model.get("untied", False), model.get("aspect", 1.0), model.get("spectrum")
    problem = aspect_problem(aspect, untied, model["ratio"])
    if problem:
        raise ValueError(f"aspect: {problem}")
    if untied:
        if spectrum is not None:
            raise ValueError(f"spectrum: {spectrum}: eigenvalues of a symmetric S; allowed: untied: false")
        return product_law(model["ratio"], aspect)
    if spectrum is None:
        return Wishart(model["ratio"])
    return Invariant(law_of_file(spectrum, model["ratio"], project))
