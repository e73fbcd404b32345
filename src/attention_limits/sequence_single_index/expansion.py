"""Hermite expansions of links: F_kappa(shift) = E[F(z + shift) h_kappa(z)], h_kappa normalised, z standard normal.

With He in place of h, F_kappa = E[F He_kappa] / sqrt(kappa!), so that products of two coefficients carry the 1 / kappa! of
the population loss (arXiv:2506.02651).
"""

from dataclasses import dataclass

import numpy as np
from scipy.integrate import cubature

from attention_limits.numerics.gaussian_nodes import gaussian_nodes
from attention_limits.numerics.hermite import gauss_hermite, hermite_values, multi_indices, tensor_coefficients
from attention_limits.numerics.statistics import mean_and_error
from attention_limits.sequence_single_index.links import Link

# Beyond this the standard normal density is below 1e-22.
RANGE = 10.0
# Ends, below and above zero, of a second adaptive quadrature: its intervals end elsewhere.
_OTHER_RANGE = 10.37, 10.93
# Nodes per axis of the tensor grids: about 1e5 nodes in all.
NODES = {1: 400, 2: 256, 3: 60, 4: 20, 5: 11, 6: 7}
# Rule of the adaptive quadrature and its largest number of subdivisions, by dimension.
_ADAPTIVE = {1: ("gk21", 1000), 2: ("gk15", 150)}
# Scramblings and nodes of the nets that check a quadrature, and of those that stand alone. Their errors are `_WIDTH` standard
# errors: with 15 degrees of freedom one coefficient in 1e6 is outside.
_CHECK, _CHECK_NODES = 16, 2**11
_NET, _NET_NODES = 16, 2**13
_WIDTH = 8.0


@dataclass(frozen=True)
class Expansion:
    """Hermite coefficients of a link.

    Attributes
    ----------
    indices : array (n, L)
        Multi-indices kappa, sorted by total degree.
    values, errors : arrays (n, P)
        Normalised coefficients and the absolute errors that the quadrature estimates for them.
    square, square_errors : arrays (n,)
        The same for |F|^2; the first is the second moment. A sum of Hermite polynomials has only that one, the others are NaN.
    """

    indices: np.ndarray
    values: np.ndarray
    errors: np.ndarray
    square: np.ndarray
    square_errors: np.ndarray


def expand(link, degree, tolerance=1e-11) -> Expansion:
    """Coefficients F_kappa up to a total degree (see the module), with errors that cover the bias of the quadrature.

    A sum of Hermite polynomials needs no quadrature, a link of one direction a quadrature in one dimension. Up to six tokens the
    quadrature is a tensor Gauss-Hermite grid, or, up to two tokens where the grid misses the tolerance, adaptive. Scrambled nets
    of the Gaussian measure check it: a contradiction widens the error, and beyond one token the nets replace the numbers that
    they know better. Beyond six tokens the nets stand alone. They all can miss a feature of a probability below about 1e-4.

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
        return _polynomial_expansion(link, degree)
    if link.direction is not None:
        along = Link(1, lambda x: link.function(x * link.direction))
        return _lifted(expand(along, degree, tolerance), link, degree)
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
        found = _smaller(found, _adaptive_expansion(link, degree, tolerance))
    return _checked(found, sobol_expansion(link, degree, generator, nodes=_CHECK_NODES, scramblings=_CHECK))


def _adaptive_expansion(link, degree, tolerance):
    indices = multi_indices(link.tokens, degree)

    def integrand(x):
        density = np.exp(-0.5 * np.sum(x**2, axis=1)) / (2 * np.pi) ** (0.5 * link.tokens)
        return np.einsum("kn,np,n->nkp", _products(indices, hermite_values(x, degree)), _with_square(link, x), density)

    # Bisection resolves links with kinks or jumps; the errors cover the rest.
    rule, subdivisions = _ADAPTIVE[link.tokens]
    first, other = (
        cubature(
            integrand, -np.full(link.tokens, low), np.full(link.tokens, high), rule=rule, rtol=0.0, atol=tolerance,
            max_subdivisions=subdivisions,
        )
        for low, high in ((RANGE, RANGE), _OTHER_RANGE)
    )  # fmt: skip
    # A jump between the end of an interval and its first node leaves no error there: intervals with other ends see it.
    gap = np.abs(first.estimate - other.estimate)
    value, error = first.estimate, first.error + other.error + 3.0 * gap
    # A single error can vanish by cancellation.
    error = np.maximum(error, np.sqrt(np.mean(error**2, axis=0)))
    return Expansion(indices, value[:, :-1], error[:, :-1], value[:, -1], error[:, -1])


def _lifted(along, link, degree):
    """The coefficients of F(v . z) from those of F: F_k sqrt(k! / kappa!) v^kappa with k = |kappa|."""
    indices = multi_indices(link.tokens, degree)
    total, factorial = indices.sum(axis=1), _factorials(degree)
    factor = np.sqrt(factorial[total] / factorial[indices].prod(axis=1)) * np.prod(link.direction**indices, axis=1)
    size = np.abs(factor)
    return Expansion(
        indices, factor[:, None] * along.values[total], size[:, None] * along.errors[total], factor * along.square[total],
        size * along.square_errors[total],
    )  # fmt: skip


def _smaller(first, second):
    """Of two expansions, number by number that with the smaller error."""
    better, square = second.errors < first.errors, second.square_errors < first.square_errors
    return Expansion(
        first.indices,
        np.where(better, second.values, first.values),
        np.where(better, second.errors, first.errors),
        np.where(square, second.square, first.square),
        np.where(square, second.square_errors, first.square_errors),
    )


def _checked(found, nets):
    """A quadrature with its errors widened where nets contradict it; beyond one token the nets where their error is smaller."""
    # A rule that sees less than half of the variance has missed a feature of the link.
    seen, there = (each.square[0] - np.sum(each.values[0] ** 2) for each in (found, nets))
    missed = np.inf if there > 2.0 * seen + 1e-12 * nets.square[0] else 0.0

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
    # Less spread than rounding comes from few nodes, or from a symmetry that the grid has too.
    floor = 1e-12 * np.sqrt(nets.square[0])
    spread = np.maximum(_WIDTH * nets.errors, floor), np.maximum(_WIDTH * nets.square_errors, floor)
    return _smaller(own, Expansion(nets.indices, nets.values, spread[0], nets.square, spread[1]))


def _polynomial_expansion(link, degree):
    """The coefficients of a sum of Hermite polynomials, exact but for rounding."""
    highest = max(link.terms, default=0)
    indices = multi_indices(link.tokens, degree)
    factorial = _factorials(highest)
    values = np.zeros(len(indices))
    values[0] = link.constant
    square = np.full(len(indices), np.nan)
    square[0] = link.constant**2
    for k, weights in link.terms.items():
        for token, weight in enumerate(weights):
            unit = np.where(np.arange(link.tokens) == token, k, 0)
            values[np.all(indices == unit, axis=1)] += weight * np.sqrt(factorial[k])
            square[0] += weight**2 * factorial[k]
    scale = np.finfo(float).eps * np.abs(values)
    return Expansion(indices, values[:, None], scale[:, None], square, np.finfo(float).eps * square)


def _with_square(link, fields):
    """Outputs of the link, and the sum of their squares as one more."""
    values = link(fields)
    return np.concatenate([values, np.sum(values**2, axis=1, keepdims=True)], axis=1)


def _products(indices, tables):
    """prod_l tables[kappa_l, ..., l], array (n, ...), from the products of each half of the tokens."""
    tokens = indices.shape[1]
    if tokens == 1:
        return tables[indices[:, 0], ..., 0]
    parts = []
    for half in (slice(None, tokens // 2), slice(tokens // 2, None)):
        rows, back = np.unique(indices[:, half], axis=0, return_inverse=True)
        parts.append(_products(rows, tables[..., half])[back])
    return parts[0] * parts[1]


def decay_problem(link) -> str | None:
    """Why the second moment of a `link` is infinite or out of reach, with an example, or None.

    Its integrand must be negligible on the boundary of the range.
    """
    line = np.linspace(-RANGE, RANGE, 41)
    plane = np.stack(np.meshgrid(*[line] * min(link.tokens, 2)), axis=-1).reshape(-1, min(link.tokens, 2))
    points = np.zeros((len(plane) + len(line), link.tokens))
    points[: len(plane), : plane.shape[1]] = plane
    points[len(plane) :] = line[:, None]
    size = _with_square(link, points)[:, -1] * np.exp(-0.5 * np.sum(points**2, axis=1))
    outside = np.max(np.abs(points), axis=1) >= RANGE
    worst = int(np.argmax(np.where(outside, size, -1.0)))
    if size[worst] <= 1e-9 * np.max(size):
        return None
    where = ", ".join(f"{value:g}" for value in points[worst])
    norm = np.sqrt(_with_square(link, points[[worst]])[0, -1])
    return (
        "the second moment of the link is infinite or out of reach: |F(z)|^2 times the normal density has not decayed at "
        f"|z| = {RANGE:g}; |F({where})| = {norm:.4g}"
    )


def _factorials(degree):
    return np.cumprod([1.0, *range(1, degree + 1)])


def grid_expansion(link, degree, shift=0.0, nodes=None) -> Expansion:
    """Coefficients of F(z + shift) of a link of at most six tokens on a Gauss-Hermite grid.

    Two coarser grids, with an eighth and a quarter fewer nodes, change each coefficient. Its error is three times the larger
    change, and at least three times the root mean square of these changes over all coefficients that change: at kinks and jumps
    a single change can be small by chance. Coefficients that vanish by a symmetry of the grid do not change.

    Parameters
    ----------
    link : Link
    degree : int
        Highest total degree.
    shift : array (L,) or float
        Added to the fields.
    nodes : int, optional
        Nodes per axis.
    """
    count = NODES[link.tokens] if nodes is None else nodes
    indices = multi_indices(link.tokens, degree)
    rows = tuple(indices.T)
    fine = _grid_values(link, degree, shift, count)[rows]
    coarser = [_grid_values(link, degree, shift, count - max(1, count // part))[rows] for part in (8, 4)]
    change = np.abs(fine - coarser)
    size = np.sqrt(fine[0, -1])
    rounding = 1e-13 * np.array([size] * (fine.shape[1] - 1) + [fine[0, -1]])
    changed = change > rounding
    common = np.sqrt(np.sum(np.where(changed, change, 0.0) ** 2, axis=(0, 1)) / np.maximum(changed.sum(axis=(0, 1)), 1))
    errors = np.where(changed.any(axis=0), 3.0 * np.maximum(change.max(axis=0), common), rounding)
    return Expansion(indices, fine[:, :-1], errors[:, :-1], fine[:, -1], errors[:, -1])


def _grid_values(link, degree, shift, count):
    nodes, _ = gauss_hermite(count)
    mesh = np.stack(np.meshgrid(*[nodes] * link.tokens, indexing="ij"), axis=-1)
    values = _with_square(link, (mesh + shift).reshape(-1, link.tokens))
    return tensor_coefficients(values.reshape(*mesh.shape[:-1], -1), link.tokens, degree)


def sobol_expansion(link, degree, generator, shift=0.0, nodes=2**14, scramblings=8) -> Expansion:
    """Coefficients of F(z + shift) of any number of tokens on scrambled Sobol nodes; errors are standard errors over scramblings.

    Every node is used with both signs: coefficients that vanish by parity vanish exactly.

    Parameters
    ----------
    link : Link
    degree : int
        Highest total degree.
    generator : numpy.random.Generator
    shift : array (L,) or float
        Added to the fields.
    nodes : int
        Nodes per scrambling, a power of two.
    scramblings : int
        Number of independent estimates, at least 2 for errors.
    """
    indices = multi_indices(link.tokens, degree)
    odd = indices.sum(axis=1) % 2 == 1
    # The weights of wider nodes spread exponentially in the dimension.
    widening = 1.15 if link.tokens <= 8 else 1.0
    found = []
    for child in generator.spawn(scramblings):
        drawn = gaussian_nodes(link.tokens, nodes, child, widening)
        total = 0.0
        # Blocks keep the table of all products of polynomials small.
        for block in np.array_split(np.arange(nodes), max(1, nodes * len(indices) // 2**22)):
            z, weights = drawn.points[block], 0.5 * drawn.weights[block, None]
            plus, minus = _with_square(link, z + shift), _with_square(link, shift - z)
            table = _products(indices, hermite_values(z, degree))
            sums = np.empty((len(indices), plus.shape[1]))
            sums[~odd] = table[~odd] @ (weights * (plus + minus))
            sums[odd] = table[odd] @ (weights * (plus - minus))
            total = total + sums
        found.append(total / nodes)
    values, errors = mean_and_error(found)
    return Expansion(indices, values[:, :-1], errors[:, :-1], values[:, -1], errors[:, -1])
