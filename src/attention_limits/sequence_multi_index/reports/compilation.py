"""Whether the posterior of a link is compiled: for check-link, and for the line of a run (`pipeline.notices`)."""

from collections.abc import Mapping
from pathlib import Path

from attention_limits.numerics.tracing.plain_reasons import in_words
from attention_limits.sequence_multi_index.channels.exact import without_sampling
from attention_limits.sequence_multi_index.channels.sampling.compiled_links import reason_for_numpy
from attention_limits.sequence_multi_index.links.link import POSTERIOR, SAMPLING, Link, inference
from attention_limits.sequence_multi_index.links.loading import code_file, load_link


def in_numpy(link: Link) -> str | None:
    """Why the program samples the posterior of a link in NumPy. Empty if the link is compiled, None if nothing is sampled.

    A link is compiled once in a process: a run that follows, with another object of the same code, takes milliseconds.
    """
    try:
        inference(link)
    except ValueError:
        return None
    if without_sampling(link)[0] != SAMPLING or link.posterior_methods[0] != SAMPLING:
        return None
    return in_words(reason_for_numpy(link))


def of_model(specification: type, model: Mapping, project: Path) -> tuple[str, str] | None:
    """Name and `in_numpy` of the link of a user in a `model`, with files below `project`; None where there is none.

    `specification` is the class of the estimator: one that only runs the link forward samples nothing.

    Raises ValueError where there is no such link.
    """
    # A question for thresholds says nothing about its needs.
    needs = getattr(specification, "needs", {POSTERIOR})
    if POSTERIOR not in needs or code_file(model["link"], project) is None:
        return None
    reason = in_numpy(load_link(model, project))
    return None if reason is None else (model["link"], reason)
