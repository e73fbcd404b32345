"""Checked before any job: the link of an experiment exists, is sound, and can be inferred from; text files are required."""

from pathlib import Path

from attention_limits.sequence_multi_index.links.checking import problems_of
from attention_limits.sequence_multi_index.links.link import inference
from attention_limits.sequence_multi_index.links.loading import NOT_OF_THE_LINK, code_file, code_module, load_link

# Kinds that only run the link forward; all others with a link infer from its output.
FORWARD_ONLY = frozenset({"gaussian_sequences", "batch_reuse_sgd", "online_sgd"})
# Beyond this the quick check alone takes minutes, and no number of nodes samples the posterior.
MOST_ROWS = 128


def problems(estimator) -> list[tuple[tuple[str, ...], str]]:
    """What is wrong with the link of an estimator, at every value of each of its parameters that is scanned."""
    if estimator.name == "trec":
        return _unrequired_files(estimator)
    if "link" not in estimator.model:
        return []
    scanned = {key: values for key, values in estimator.grid.items() if key not in NOT_OF_THE_LINK}
    first = {**estimator.model, **{key: values[0] for key, values in scanned.items()}}
    found = _link_problems(estimator, first, ("model",))
    if found:
        return found
    for key, values in scanned.items():
        for value in values[1:]:
            problems_there = _link_problems(estimator, {**first, key: value}, ("grid", key))
            found += [(keys, f"{value!r}: {problem}") for keys, problem in problems_there]
    return found


def code_files(estimator) -> list[Path]:
    """The file that defines the link, if it is a user's own and exists."""
    path = code_file(estimator.model["link"], estimator.project) if "link" in estimator.model else None
    return [path] if path is not None and path.is_file() else []


def code_modules(estimator) -> list[str]:
    """The module that defines the link, if it is a provided one."""
    module = code_module(estimator.model["link"]) if "link" in estimator.model else None
    return [] if module is None else [module]


def _link_problems(estimator, parameters, keys):
    infers = estimator.name not in FORWARD_ONLY
    try:
        link = load_link(parameters, estimator.project)
        if infers and link.rows > MOST_ROWS:
            return [
                (
                    keys,
                    f"{parameters['link']} has {link.rows} rows: allowed: {MOST_ROWS}, of which a posterior is sampled",
                )
            ]
        # A provided link runs forward at every parameter; how well its output can be inverted depends on them.
        own = code_file(parameters["link"], estimator.project) is not None
        found = problems_of(link) if own or infers else []
        if not found and infers:
            inference(link)
    except ValueError as error:
        return [(keys, str(error))]
    return [(keys, problem) for problem in found]


def _unrequired_files(estimator):
    """Files of a text corpus that the experiment does not require, so that an edit to them would go unseen."""
    found = []
    for key, built_in in (("corpus", "generated"), ("vocabulary", "words")):
        name = estimator.model[key]
        if name != built_in and name not in estimator.requires:
            found.append((("model", key), f"{name!r}: allowed: {built_in}, or a file that is listed under `requires`"))
    return found
