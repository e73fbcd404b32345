"""Hardmax of several tokens: exact posterior means, information between exact limits, all outputs without data.

The position of the largest entry of row a, a -> y_a, is a map of the tokens. Rows grow along it, so that it ends in a row that is
its own best (h_aa) or in two rows that share an entry: an output is a set of components, each of one or two rooted trees. A tree
is the sorted tuple of the trees below its root, a component that of its trees, an output that of its components. Derived for the
model of Boncoraglio et al. 2025 (arXiv:2506.01582).
"""

from collections import Counter
from dataclasses import dataclass
from functools import cache
from math import factorial

import numpy as np

from attention_limits.attention_indexed.channels.hardmax.limits import polynomial_limits, tie_information
from attention_limits.attention_indexed.channels.hardmax.output import HardmaxOutput, gradient_of_means
from attention_limits.attention_indexed.channels.hardmax.posterior_kernels import posteriors

# Step of the central difference of the gradient: relative error of f'(1) about 1e-4.
_STEP = 0.02


@dataclass(frozen=True)
class ManyHardmax(HardmaxOutput):
    """y_a = position of the largest entry of row a; a `protocol.Posterior` of M = `tokens` from 2 to 8."""

    tokens: int

    def uncertainty(self, V, Q):
        """Bound on the relative error of the information, the same at every V and Q."""
        return _limits(self.tokens).uncertainty

    def information(self, V, Q):
        """E 4 sum_ab G_ab^2 at posterior variance V (...) and prior variance Q."""
        return _limits(self.tokens).information(V, Q)

    def gradient(self, observed, omega, V):
        """G given the positions `observed` (n, M), omega (n, M, M) and V > 0."""
        means = np.empty(omega.shape)
        posteriors(observed, omega / np.sqrt(V), means, np.empty(len(omega)))
        return gradient_of_means(means, V)


@cache
def _limits(tokens):
    without_data, slope, entropy = without_samples(tokens)
    return polynomial_limits(tie_information(tokens), without_data, slope, 2.0 * entropy)


def without_samples(tokens: int) -> tuple[float, float, float]:
    """f(1), f'(1) and the entropy of the output without data, M = `tokens`.

    With g_e = d log P / d omega_e by the independent entries e, of variance v_e V: E 4 sum_ab G_ab^2 = 2 E sum_e v_e g_e^2, and
    its slope in q is 2 E sum_ee' v_e v_e' (d g_e / d omega_e')^2.
    """
    best, number = outputs(tokens)
    omega, means = np.zeros((len(best), tokens, tokens)), np.empty((len(best), tokens, tokens))
    probability = np.empty(len(best))
    posteriors(best, omega, means, probability)
    weight = number * probability
    information = float(weight @ np.sum(means**2, axis=(1, 2)))
    slope, plus, minus, unused = 0.0, np.empty_like(means), np.empty_like(means), np.empty(len(best))
    for a in range(tokens):
        for b in range(a, tokens):
            omega[:, a, b] = omega[:, b, a] = _STEP
            posteriors(best, omega, plus, unused)
            posteriors(best, -omega, minus, unused)
            omega[:, a, b] = omega[:, b, a] = 0.0
            variance = 2.0 if a == b else 1.0
            slope += variance * float(weight @ np.sum(((plus - minus) / (2.0 * _STEP)) ** 2, axis=(1, 2)))
    return information, information - 2.0 * slope, float(-weight @ np.log(probability))


def outputs(tokens: int) -> tuple[np.ndarray, np.ndarray]:
    """One output y of each kind, array (m, M) of positions, and the number of outputs of this kind, array (m,)."""
    kinds = list(_multisets(tokens, _components))
    best = np.array([_labelled(kind, tokens) for kind in kinds])
    return best, np.array([factorial(tokens) // _symmetries(kind) for kind in kinds])


def _multisets(total, kinds, largest=None):
    """Tuples of members of kinds(size) whose sizes add up to `total`, each multiset once, in falling order."""
    if total == 0:
        yield ()
        return
    for size in range(min(total, largest[0] if largest else total), 0, -1):
        for number, member in enumerate(kinds(size)):
            if largest and (size, number) > largest:
                break
            for rest in _multisets(total - size, kinds, (size, number)):
                yield (member, *rest)


@cache
def _trees(size):
    return tuple(_multisets(size - 1, _trees))


@cache
def _components(size):
    """One tree, or two whose roots are each other's best."""
    return tuple(roots for roots in _multisets(size, _trees) if len(roots) <= 2)


def _symmetries(kind):
    """Number of permutations of tokens that do not change the nested tuple."""
    count = 1
    for member, times in Counter(kind).items():
        count *= _symmetries(member) ** times * factorial(times)
    return count


def _labelled(kind, tokens):
    best, free = [0] * tokens, iter(range(tokens))

    def grow(tree, above):
        row = next(free)
        best[row] = row if above is None else above
        for branch in tree:
            grow(branch, row)
        return row

    for component in kind:
        roots = [grow(tree, None) for tree in component]
        best[roots[0]], best[roots[-1]] = roots[-1], roots[0]
    return best
