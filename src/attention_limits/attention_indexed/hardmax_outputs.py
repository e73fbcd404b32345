"""All outputs of a hardmax of T tokens without data, up to the names of the tokens.

The position of the largest entry of row a, a -> y_a, is a map of the tokens. Rows grow along it, so that it ends in a row that is
its own best (h_aa) or in two rows that share an entry: an output is a set of components, each of one or two rooted trees. A tree
is the sorted tuple of the trees below its root, a component that of its trees, an output that of its components.
"""

from collections import Counter
from functools import cache
from math import factorial

import numpy as np


def outputs(tokens: int) -> tuple[np.ndarray, np.ndarray]:
    """One output y of each kind, array (m, T) of positions, and the number of outputs of this kind, array (m,)."""
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
