"""The checks of a link, as a function and as the command check-link, without an experiment file.

They are derived in `channel_checks`.
"""

import re
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from attention_limits.numerics.tracing.plain_reasons import in_words
from attention_limits.pipeline.base.errors import SpecError
from attention_limits.pipeline.checks import Check, require_passed
from attention_limits.sequence_multi_index.channels.channel import Channel
from attention_limits.sequence_multi_index.links.declarations import problems_of
from attention_limits.sequence_multi_index.links.link import GRADIENT, Link, inference, require
from attention_limits.sequence_multi_index.links.loading import load_link
from attention_limits.sequence_multi_index.reports.channel_checks import channel_checks
from attention_limits.sequence_multi_index.reports.compilation import in_numpy


def check_link(link: Link, outputs: int = 1024, resolution: float = 0.75, seed: int = 0) -> list[Check]:
    """All checks of a link: that it does what it declares, and that its channel is a density with the posterior it claims.

    The first one counts the problems of `declarations.problems_of`; where there are any, or no channel, it is the only one.
    The others are those of `channel_checks`, for the channel and, where the link has one, for its channel for V = v I. A
    correct link fails each statistical one with the probability `checks.FALSE_ALARM`, over the seeds.

    Parameters
    ----------
    link : Link
    outputs : int
        Number of random outputs of each statistical check, at least 2.
    resolution : float
        See `channel.Channel`.
    seed : int
        Seed of the random fields, outputs and nodes.
    """
    problems = problems_of(link, seed=seed)
    found = [Check("problems of output, symmetry and inverse", float(len(problems)), note="; ".join(problems))]
    if problems or not _has_channel(link):
        return found
    for isotropic in (False, True)[: 1 + bool(link.isotropic_method)]:
        rng = np.random.default_rng([seed, 1])
        found += channel_checks(Channel(link, resolution, rng, isotropic), outputs, rng)
    return found


def _has_channel(link):
    try:
        inference(link)
    except ValueError:
        return False
    return True


def check_link_command(link: str, parameters: dict, outputs: int, resolution: float, seed: int) -> None:
    """Print the sizes of a link and its checks on `outputs` outputs. Raises SpecError with all checks that fail.

    `link` is the name of a provided link or FILE.py:NAME, `parameters` its keyword arguments, `resolution` the accuracy of the
    channel, `seed` the seed of the fields.
    """
    model = sound_link({"link": link, **parameters}, Path(), seed)
    print(f"{link}: {model.rows} rows, {model.tokens} tokens, sign symmetry {model.sign_symmetry}")
    print(f"gradient descent: {_descent_report(model)}")
    try:
        form = inference(model)
    except ValueError as error:
        print(f"good for simulations only: {error}")
        return
    print(f"output, symmetry and {form} agree with each other")
    if (reason := in_numpy(model)) is not None:
        print(
            f"posterior by sampling: {f'in NumPy, since {reason}' if reason else 'compiled from its NumPy functions'}"
        )
    require_passed(link, check_link(model, outputs, resolution, seed))


def _descent_report(link: Link) -> str:
    if find_spec("jax") is None:
        return 'not tested: jax is not installed, pip install "attention-limits[training]"'
    # A late import: JAX takes a second.
    from attention_limits.sequence_multi_index.links.jax_forward import problem_of

    try:
        require(link, {GRADIENT})
    except ValueError as error:
        return str(error)
    # The message of JAX stands between the name of the link and the advice.
    problem = re.sub(r"(?<=: ).*(?=\. Write it with NumPy)", lambda found: in_words(found[0]), problem_of(link))
    return problem or "JAX differentiates the output"


def sound_link(model: dict, project: Path, seed: int) -> Link:
    """The link of the keys `model`, with files below `project`, if it passes its quick check on fields with this `seed`.

    Raises SpecError with all problems otherwise.
    """
    try:
        link = load_link(model, project)
    except ValueError as error:
        raise SpecError([str(error)]) from None
    found = problems_of(link, seed=seed)
    if found:
        raise SpecError([f"{model['link']}: {problem}" for problem in found])
    return link
