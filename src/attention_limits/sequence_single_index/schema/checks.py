"""Cross checks of the target and the student of an experiment; each problem names the failing example.

The estimators need links with finite values and second moments, and equal numbers of outputs (arXiv:2506.02651).
"""

import functools

from attention_limits.sequence_single_index.links.checks import decay_problem
from attention_limits.sequence_single_index.links.link import named_link
from attention_limits.sequence_single_index.links.names import link_file, outputs


def unsound(model, named, lengths, project):
    """The functions of files that fail a check, each with the failing example at the smallest number of tokens.

    Parameters
    ----------
    model : dict
        Keys of the model of an experiment.
    named : list of str
        Keys whose values are names of links.
    lengths : list of float
        Numbers of tokens.
    project : path
        Paths of functions start from it.

    Returns
    -------
    list of ((str, str), str)
        Section and key, and the problem.
    """
    found = []
    for key in named:
        if link_file(model[key], project) is None:
            continue
        for tokens in sorted(set(lengths)):
            problem = link_problem(model[key], int(tokens), project)
            if problem:
                found.append((("model", key), f"with {tokens:g} tokens: {problem}"))
                break
    return found


def link_problem(name, tokens, folder="."):
    """The problem with the link `name` of M = `tokens` tokens, of a file below `folder`, or None."""
    file = link_file(name, folder)
    code = file.read_bytes() if file is not None and file.is_file() else b""
    return _link_problem(name, tokens, folder, file and file.absolute(), code)


@functools.cache
def _link_problem(name, tokens, folder, *file):
    # Many experiments, estimators and scales share a link. Its file may change, so place and bytes belong to the key.
    try:
        problem = decay_problem(named_link(name, tokens, folder))
    except ValueError as error:
        return str(error)
    return problem and f"{name}: {problem}"


def unequal_outputs(model, lengths):
    """The problem, as `unsound` returns it, of a target and a student of a `model` with different numbers of outputs.

    `lengths` are the numbers of tokens; the names alone decide.
    """
    target, student = model["target"], model["student"]
    for tokens in lengths:
        of_target, of_student = outputs(target, tokens), outputs(student, tokens)
        if None not in (of_target, of_student) and of_target != of_student:
            text = f"{student!r}: {of_student} outputs of {tokens} tokens, the target {target!r} has {of_target}; allowed: equal"
            return [(("model", "student"), text)]
    return []
