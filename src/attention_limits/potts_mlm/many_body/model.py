"""Potts models with terms of q sites: H(s) = -sum_q strength_q sum_(e in E_q) T_q[s_e1, ..., s_eq], P(s) = exp(-H(s)) / Z.

E_q is a list of sets of q sites, T_q a tensor of the colours, symmetric in its q indices and of zero sum over each of them: its
terms then have no part that fewer sites could give, as in the zero-sum gauge of two sites. Two sites, E_2 with all pairs and
weights would be the generalised Potts model of Rende et al. 2024 (arXiv:2304.07235).
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np

# Enumeration holds all C**L states in memory.
MAX_STATES = 1 << 20


@dataclass(frozen=True)
class Terms:
    """All terms of one order q.

    Attributes
    ----------
    sites : integer array (n, q)
        The sites of each term, all different.
    tensor : array (C,) * q
        strength_q T_q, symmetric.
    """

    sites: np.ndarray
    tensor: np.ndarray

    @property
    def order(self) -> int:
        """Number q of sites of a term."""
        return self.sites.shape[1]


@dataclass(frozen=True)
class ManyBody:
    """A Potts model of L = `sites` sites with C = `colors` colours and `terms` of one or more orders.

    Raises
    ------
    ValueError
        When a term names a site outside of the model or twice, or a tensor has another shape or is not symmetric.
    """

    sites: int
    colors: int
    terms: tuple[Terms, ...]

    def __post_init__(self):
        for part in self.terms:
            chosen, tensor = part.sites, part.tensor
            if chosen.ndim != 2 or (chosen.size and not 0 <= chosen.min() <= chosen.max() < self.sites):
                raise ValueError(f"terms of order {tensor.ndim}: sites must be (n, q) and lie in 0 to {self.sites - 1}")
            if any(len(set(row)) < len(row) for row in chosen.tolist()):
                raise ValueError(f"terms of order {part.order}: a term names a site twice")
            if tensor.shape != (self.colors,) * part.order:
                raise ValueError(f"tensor of shape {tensor.shape}: must be {(self.colors,) * part.order}")
            if not all(np.allclose(tensor, tensor.swapaxes(0, axis)) for axis in range(1, part.order)):
                raise ValueError(f"tensor of order {part.order}: must be symmetric")

    def fields_of(self, site: int, states, order: int | None = None) -> np.ndarray:
        """Local fields h_a of the colours a at one `site`, from states (n, L): array (n, C); of all terms, or of one `order`."""
        found = np.zeros((len(states), self.colors))
        for part in self.terms:
            if order not in (None, part.order):
                continue
            for chosen in part.sites[np.any(part.sites == site, axis=1)]:
                # The tensor is symmetric: its last index is that of the site.
                found += part.tensor[tuple(states[:, other] for other in chosen if other != site)]
        return found

    def fields(self, states, order: int | None = None) -> np.ndarray:
        """Local fields at every site of integer states (n, L): array (n, L, C); of all terms, or of one `order`."""
        return np.stack([self.fields_of(site, states, order) for site in range(self.sites)], axis=1)

    def energy(self, states) -> np.ndarray:
        """H of integer states (n, L): array (n,)."""
        found = np.zeros(len(states))
        for part in self.terms:
            for chosen in part.sites:
                found -= part.tensor[tuple(states[:, site] for site in chosen)]
        return found

    def losses(self, states) -> np.ndarray:
        """-log p(s_i | s_-i) of integer states (n, L) at every site, in nats: array (n, L)."""
        fields = self.fields(states)
        highest = fields.max(axis=2, keepdims=True)
        total = np.log(np.exp(fields - highest).sum(axis=2)) + highest[..., 0]
        return total - np.take_along_axis(fields, np.asarray(states)[..., None], axis=2)[..., 0]

    def enumerate(self) -> tuple[np.ndarray, np.ndarray]:
        """All states (C**L, L), last site fastest, and their probabilities (C**L,). Raises ValueError above 2**20 states."""
        if self.colors**self.sites > MAX_STATES:
            raise ValueError(f"{self.colors}**{self.sites} states: at most {MAX_STATES} can be enumerated")
        states = np.array(list(itertools.product(range(self.colors), repeat=self.sites)))
        weights = -self.energy(states)
        weights = np.exp(weights - weights.max())
        return states, weights / weights.sum()


def pure_tensor(order: int, colors: int, rng: np.random.Generator) -> np.ndarray:
    """A Gaussian tensor (colors,) * order drawn by `rng`, symmetric, of zero sum over each index, and of unit mean square."""
    tensor = rng.standard_normal((colors,) * order)
    tensor = sum(tensor.transpose(axes) for axes in itertools.permutations(range(order)))
    for axis in range(order):
        tensor = tensor - tensor.mean(axis=axis, keepdims=True)
    return tensor / np.sqrt(np.mean(tensor**2))


def random_terms(order: int, count: int, sites: int, rng: np.random.Generator) -> np.ndarray:
    """`count` different sets of `order` of the `sites` sites, as evenly spread as a random order allows: array (count, order).

    The sites of one random order after the other are cut into sets, so that no site has two terms more than another, except where
    a set would stand twice or hold a site twice. `rng` draws the orders. Raises ValueError when there are not so many sets.
    """
    if count > math.comb(sites, order):
        raise ValueError(f"{count} terms of order {order}: {sites} sites have {math.comb(sites, order)}")
    found, queue = [], []
    while len(found) < count:
        while len(queue) < order:
            queue += rng.permutation(sites).tolist()
        chosen, queue = sorted(queue[:order]), queue[order:]
        if len(set(chosen)) == order and chosen not in found:
            found.append(chosen)
    return np.array(found)


def make_model(model: dict, orders, rng_of) -> ManyBody:
    """The model of a specification with terms of these `orders`; `rng_of(order)` is the Generator of the terms of an order.

    Terms of order q have the tensor strength T_q / sqrt(n q / L), with a T_q of `pure_tensor`: at random colours the mean square
    of the local field is strength^2 for each order, whatever the number n = `terms` of its terms.
    """
    sites, colors, count = model["sites"], model["colors"], model["terms"]
    parts = []
    for order in orders:
        rng = rng_of(order)
        scale = model["strength"] / np.sqrt(count * order / sites)
        chosen = random_terms(order, count, sites, rng)
        parts.append(Terms(chosen, scale * pure_tensor(order, colors, rng)))
    return ManyBody(sites, colors, tuple(parts))
