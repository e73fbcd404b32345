"""The Hermite expansion of a link (see `quadrature`), by the rule that fits it, with checked errors."""

import numpy as np

from attention_limits.sequence_single_index.links.checks import decay_problem
from attention_limits.sequence_single_index.links.link import Link
from attention_limits.sequence_single_index.population_loss.quadrature import (
    Expansion,
    adaptive_expansion,
    grid_expansion,
    lifted_expansion,
    polynomial_expansion,
    sobol_expansion,
)

# Scramblings and nodes of the nets that check a quadrature, and of those that replace it. Their errors are `_WIDTH` standard
# errors: with 15 degrees of freedom one coefficient in 1e6 is outside.
_CHECK, _CHECK_NODES = 16, 2**11
_NET, _NET_NODES = 16, 2**13
_WIDTH = 8.0


def expand(link, degree, tolerance=1e-11) -> Expansion:
    """Coefficients F_kappa up to a total degree (see the module), with errors that cover the bias of the quadrature.

    A sum of Hermite polynomials needs no quadrature, a link of one direction a quadrature in one dimension. Up to six tokens the
    quadrature is a tensor Gauss-Hermite grid, or, up to two tokens where the grid misses the tolerance, adaptive. Scrambled nets
    of the Gaussian measure check it: a contradiction widens the error, and beyond one token the nets replace the numbers for
    which their error is smaller. Beyond six tokens the nets replace the quadrature. All rules can miss a feature of a probability
    below about 1e-4.

    Parameters
    ----------
    link : Link
    degree : int
        Highest total degree.
    tolerance : float
        Absolute error at which the adaptive quadrature stops.

    Raises
    ------
    ValueError
        If |F|^2 times the normal density has not decayed at the edge of the range: the second moment is infinite.
    """
    found = _quadrature(link, degree, tolerance)
    if link.symmetry in ("even", "odd"):
        forbidden = found.indices.sum(axis=1) % 2 == (link.symmetry == "even")
        found.values[forbidden] = found.errors[forbidden] = 0.0
    return found


def _quadrature(link, degree, tolerance):
    if link.terms is not None:
        return polynomial_expansion(link, degree)
    if link.direction is not None:
        along = Link(1, lambda x: link.function(x * link.direction))
        return lifted_expansion(expand(along, degree, tolerance), link, degree)
    problem = decay_problem(link)
    if problem:
        raise ValueError(problem)
    generator = np.random.default_rng(0)
    if link.tokens > 6:
        nets = sobol_expansion(link, degree, generator, nodes=_NET_NODES, scramblings=_NET)
        return Expansion(
            nets.indices, nets.values, _WIDTH * nets.errors, nets.square, _WIDTH * nets.square_errors
        )  # fmt: skip
    found = grid_expansion(link, degree)
    if link.tokens <= 2 and np.max(found.errors) > tolerance:
        found = _smaller(found, adaptive_expansion(link, degree, tolerance))
    return _checked(found, sobol_expansion(link, degree, generator, nodes=_CHECK_NODES, scramblings=_CHECK))


def _smaller(first, second):
    """Join two expansions: for each number, the value with the smaller error."""
    better, square = second.errors < first.errors, second.square_errors < first.square_errors
    return Expansion(
        first.indices,
        np.where(better, second.values, first.values),
        np.where(better, second.errors, first.errors),
        np.where(square, second.square, first.square),
        np.where(square, second.square_errors, first.square_errors),
    )


def _checked(found, nets):
    """A quadrature, its errors widened where nets contradict it; beyond one token, the nets where their error is smaller."""
    # A rule that sees less than half of the variance has missed a feature of the link.
    seen, net = (each.square[0] - np.sum(each.values[0] ** 2) for each in (found, nets))
    missed = np.inf if net > 2.0 * seen + 1e-12 * nets.square[0] else 0.0

    def widened(value, error, net, spread):
        gap, allowed = np.abs(value - net), _WIDTH * spread
        contradicts = gap > error + allowed + 1e-12 * np.abs(net)
        return np.where(contradicts, gap + allowed, error) + missed

    errors = widened(found.values, found.errors, nets.values, nets.errors)
    square_errors = widened(found.square, found.square_errors, nets.square, nets.square_errors)
    own = Expansion(found.indices, found.values, errors, found.square, square_errors)
    if found.indices.shape[1] == 1:
        # In one dimension all scramblings can miss a jump alike: their spread is no error.
        return own
    # A spread below rounding comes from few nodes, or from a symmetry of the nodes, which the grid has too.
    floor = 1e-12 * np.sqrt(nets.square[0])
    spread = np.maximum(_WIDTH * nets.errors, floor), np.maximum(_WIDTH * nets.square_errors, floor)
    return _smaller(own, Expansion(nets.indices, nets.values, spread[0], nets.square, spread[1]))
