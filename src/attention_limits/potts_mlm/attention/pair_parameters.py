"""Parameters of attention with fields and heads, the couplings that they compose, and their ridges.

The model is that of `pair`; its gradient is derived in this module.
"""

import functools
from dataclasses import dataclass

import numpy as np

from attention_limits.potts_mlm.attention.factored import attention_of, softmax_pull_back


@dataclass(frozen=True)
class Shape:
    """Sizes of a model, and the place of its parameters in one flat array.

    The order is: fields h (L, C); then J (L, L, C, C) of a full model, or A (heads, L, L), respectively its factors Q and K
    (heads, L, rank) each with A = Q K^T, and V (heads, C, C). J_ij(a, b) stands at [i, j, b, a], V^h_ab at [h, b, a].

    Attributes
    ----------
    sites, colors : int
        L and C.
    heads : int
        0 are independent sites.
    rank : int or None
        Rank of A before its diagonal is left out; None for a free A.
    attention : "raw" or "softmax"
        A itself, or the softmax of its rows as in `factored.fit`.
    full : bool
        J itself is the parameter; `heads`, `rank` and `attention` are not used.
    """

    sites: int
    colors: int
    heads: int
    rank: int | None = None
    attention: str = "raw"
    full: bool = False

    @property
    def convex(self) -> bool:
        """Whether the loss is a convex function of the parameters."""
        return self.full or self.heads == 0

    @functools.cached_property
    def parts(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of the arrays in the order of the parameters."""
        sites, colors, heads = self.sites, self.colors, self.heads
        if self.full:
            return (sites, colors), (sites, sites, colors, colors)
        attention = ((heads, sites, sites),) if self.rank is None else ((heads, sites, self.rank),) * 2
        return (sites, colors), *attention, (heads, colors, colors)

    @property
    def size(self) -> int:
        """Number of parameters."""
        return sum(int(np.prod(part)) for part in self.parts)

    def split(self, flat) -> list[np.ndarray]:
        """Views of the arrays in `flat` (size,)."""
        ends = np.cumsum([int(np.prod(part)) for part in self.parts])
        return [piece.reshape(part) for piece, part in zip(np.split(flat, ends[:-1]), self.parts, strict=True)]


@dataclass(frozen=True)
class Ridge:
    """Weights of half the squared norms that are added to the loss per site.

    Attributes
    ----------
    fields : float >= 0
        Of h.
    couplings : float >= 0
        Of J, for any number of heads.
    weights : float >= 0
        Of A, or of Q and K, and of V.
    """

    fields: float = 0.0
    couplings: float = 0.0
    weights: float = 0.0


def composed(parameters, shape: Shape) -> tuple[np.ndarray, np.ndarray]:
    """Fields (L, C) and couplings (L, L, C, C) of flat `parameters` of `shape`; J_ij(a, b) at [i, j, b, a]."""
    fields, *rest = shape.split(parameters)
    if shape.full:
        return fields, rest[0]
    sites, colors, heads = shape.sites, shape.colors, shape.heads
    flat = _attention(rest, shape).reshape(heads, sites**2).T @ rest[-1].reshape(heads, colors**2)
    return fields, flat.reshape(sites, sites, colors, colors)


def _attention(rest, shape):
    """A (heads, L, L), zero diagonals."""
    scores = rest[0] if shape.rank is None else rest[0] @ rest[1].swapaxes(1, 2)
    if shape.attention == "raw":
        hollow = scores.copy()
        hollow[:, range(shape.sites), range(shape.sites)] = 0.0
        return hollow
    return np.stack([attention_of(head, shape.attention) for head in scores]) if shape.heads else scores


def pull_back(rest, d_couplings, d_rest, shape: Shape) -> None:
    """Write the gradients in A (or Q and K) and V of all heads into `d_rest`; `d_couplings` is the gradient in J (L, L, C, C).

    `rest` are the parameters of `shape` without the fields, as `Shape.split` returns them, `d_rest` arrays of the same shapes.
    """
    heads, sites, values = shape.heads, shape.sites, rest[-1]
    flat = d_couplings.reshape(sites**2, -1)
    d_attention = (values.reshape(heads, shape.colors**2) @ flat.T).reshape(heads, sites, sites)
    d_rest[-1][:] = (_attention(rest, shape).reshape(heads, sites**2) @ flat).reshape(values.shape)
    scores = rest[0] if shape.rank is None else rest[0] @ rest[1].swapaxes(1, 2)
    if shape.attention == "softmax":
        for head in range(heads):
            d_attention[head] = softmax_pull_back(scores[head], d_attention[head])
    if shape.rank is None:
        d_rest[0][:] = d_attention
    else:
        d_rest[0][:] = d_attention @ rest[1]
        d_rest[1][:] = d_attention.swapaxes(1, 2) @ rest[0]


def penalty(parameters, couplings, shape: Shape, ridge: Ridge) -> float:
    """Half of each ridge times its squared norm, at flat `parameters` of `shape` and the `couplings` that they compose."""
    fields, *rest = shape.split(parameters)
    total = ridge.fields * np.vdot(fields, fields) + ridge.couplings * np.vdot(couplings, couplings)
    if not shape.full:
        total += ridge.weights * sum(np.vdot(part, part) for part in rest)
    return 0.5 * float(total)
