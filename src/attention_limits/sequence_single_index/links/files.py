"""Functions of fields in Python files, checked; imports nothing that compiles (the law of the fields: arXiv:2506.02651)."""

import functools
import inspect

import numpy as np

from attention_limits.pipeline.base.user_files import object_of_file
from attention_limits.sequence_single_index.links.checks import problems_of


def load_function(name, tokens, folder="."):
    """The function `name`, FILE.py:NAME below `folder`, after all checks at M = `tokens` fields.

    Raises
    ------
    ValueError
        If there is no such file or function, if the file cannot be executed, or if the function fails a check: the message holds
        the failing example.
    """
    function = object_of_file("function", name, folder, "function {}", callable)
    problems = problems_of(by_rows(function) if of_one_sequence(function, tokens) else function, tokens)
    if problems:
        raise ValueError(f"{name}: {'; '.join(problems)}")
    return function


def of_one_sequence(function, tokens):
    """Whether a `function` maps M = `tokens` fields to one number or P numbers, not rows (n, M) to (n,) or (n, P)."""
    # A function of one sequence never returns this number of rows.
    rows = np.random.default_rng(0).standard_normal((tokens**2 + 61, tokens))
    try:
        with np.errstate(all="ignore"):
            found = np.shape(function(rows.copy()))
        if found[:1] == rows.shape[:1]:
            return False
    except (Exception, SystemExit):
        # A function that fails on rows may run on one sequence.
        pass
    try:
        with np.errstate(all="ignore"):
            found = np.asarray(function(tuple(rows[0].tolist())), dtype=float)
    except (Exception, SystemExit):
        return False
    return found.ndim <= 1


def by_rows(function):
    """The function (n, M) -> (n,) or (n, P) that applies a `function` of one sequence to each row; attributes are kept."""

    @functools.wraps(function)
    def apply(z):
        return np.array([function(tuple(row)) for row in np.asarray(z, dtype=float).tolist()], dtype=float)

    return apply


def gradient_problem(function, gradient, tokens, seed=0):
    """The first place at which a given `gradient` of (z, l) is not the derivative of a `function` of one sequence, or None.

    Central differences at random fields of M = `tokens` tokens, drawn with a `seed`; within 1e-4 of the largest value.
    """
    if len(inspect.signature(gradient).parameters) != 2:
        return "gradient must take (z, l): the fields, and the number of the token by whose field it is the derivative"
    step = 1e-5
    for z in np.random.default_rng(seed).standard_normal((8, tokens)):
        for token in range(tokens):
            shift = step * (np.arange(tokens) == token)
            plus, minus = (np.asarray(function(tuple((z + s).tolist())), dtype=float) for s in (shift, -shift))
            found = np.asarray(gradient(tuple(z.tolist()), token), dtype=float)
            expected = (plus - minus) / (2.0 * step)
            if found.shape != expected.shape:
                return f"gradient must have the shape of the outputs, {expected.shape}, got {found.shape}"
            if np.max(np.abs(found - expected)) > 1e-4 * max(1.0, np.max(np.abs(expected))):
                where = ", ".join(f"{value:.6g}" for value in z)
                return (
                    f"gradient is not the derivative: by the field {token} at ({where}) {found.tolist()}, "
                    f"differences {expected.tolist()}"
                )
    return None
