"""The command exponent: information exponents of a target and escape laws of SGD, without a run."""

import math
from pathlib import Path

import numpy as np

from attention_limits.pipeline.base.errors import SpecError
from attention_limits.sequence_single_index.links.link import target_and_student
from attention_limits.sequence_single_index.links.names import HERMITE, link_file
from attention_limits.sequence_single_index.population_loss.escape_law import escape_law
from attention_limits.sequence_single_index.population_loss.information_exponent import information_exponents
from attention_limits.sequence_single_index.schema.checks import link_problem
from attention_limits.sequence_single_index.schema.links import MOST_COEFFICIENTS

HEADS = ("target", "semantic", "positional")


def exponent_command(
    target: str, student: str | None, tokens: int, degree: int | None, weights: list[float], constant: float,
    position: list[float] | None, untied: bool, order: int, tolerance: float,
) -> None:  # fmt: skip
    """Print the exponents of a target for a student, with the coefficients, their errors and the escape laws.

    The numbers come from `information_exponent` and `escape_law`.

    Parameters
    ----------
    target, student : str
        Names of links, or FILE.py:NAME; without a student, the student is the target.
    tokens : int
        M.
    degree : int or None
    weights : list of float
    constant : float
        Of the target hermite.
    position : list of float or None
        Positional encoding of each token.
    untied : bool
        Each token of the student has its own weights.
    order : int
        Highest order.
    tolerance : float
        Absolute error at which an adaptive quadrature stops.

    Raises
    ------
    SpecError
        For links and options that do not fit together, and for a target that fails a check.
    """
    _check(target, tokens, degree, weights, position, order)
    signs = np.where(np.arange(tokens) % 2, -1.0, 1.0) if position is None else np.array(position)
    point = {
        "target": target, "student": student or target, "tokens": tokens, "degree": degree or 0, "weights": weights,
        "constant": constant,
    }  # fmt: skip
    files = [name for name in dict.fromkeys((target, student or target)) if link_file(name)]
    problems = [problem for problem in (link_problem(name, tokens) for name in files) if problem]
    if problems:
        raise SpecError(problems)
    try:
        links = target_and_student(point, Path())
        found = information_exponents(*links, signs, order, untied, tolerance)
    except ValueError as error:
        raise SpecError([str(error)]) from None
    weighted = "each token with its own weights" if untied else "tied weights"
    print(f"target {target}, student {student or 'the target itself'}, M = {tokens}, {weighted}")
    print(f"positional encoding: token l is shifted by e times {', '.join(f'{sign:g}' for sign in signs)}")
    for name, exponent in zip(HEADS, found, strict=True):
        print(f"{name}: {_answer(exponent, order)}")
        law = escape_law(exponent)
        # A target alone determines the power of d; its prefactor depends on the student.
        if law is not None and name != "target":
            print(f"    {law.text}")
    print(f"{'order':>5}" + "".join(f"  {name:>24}" for name in HEADS))
    for k in range(1, order + 1):
        print(f"{k:>5}" + "".join(f"  {_number(e.coefficients[k], e.errors[k]):>24}" for e in found))


def _check(target, tokens, degree, weights, position, order):
    """Raise SpecError for options of `exponent_command` that do not fit together."""
    if target == HERMITE and degree is None:
        raise SpecError(["--target hermite needs --degree, the degree of its polynomial"])
    if len(weights) not in (1, tokens):
        raise SpecError([f"--weights: {len(weights)} weights; allowed: one, or one per token ({tokens})"])
    if position is not None and len(position) != tokens:
        raise SpecError([f"--position: {len(position)} numbers; allowed: one per token ({tokens})"])
    count = math.comb(tokens + order, order)
    if count > MOST_COEFFICIENTS:
        raise SpecError(
            [f"--order {order}: {count} Hermite coefficients of {tokens} tokens; allowed: {MOST_COEFFICIENTS}"]
        )


def _answer(exponent, highest):
    """An information exponent in words."""
    if not exponent.decided:
        return f"undecided: the coefficient of order {exponent.undecided_order} is zero within its error, but not certainly zero"
    if exponent.order is None:
        return f"no order up to {highest}"
    return f"{exponent.order}" + ("" if exponent.descends else ", and the loss rises along it: the start attracts")


def _number(value, error):
    # Adding zero takes the sign from zero.
    return "" if np.isnan(value) else f"{value + 0.0:.9f} ± {error:.1e}"
