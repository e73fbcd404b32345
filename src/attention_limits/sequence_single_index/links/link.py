"""Links: the functions that targets and students apply to the fields of one sequence.

A link maps fields z (n, M), one per token, to outputs (n, P). The fields are z*_l = g_l . u* for the target and
z_l = g_l . u + epsilon_l e for the student (arXiv:2506.02651); the link depends on neither overlap.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from attention_limits.sequence_single_index.links import built_in
from attention_limits.sequence_single_index.links.files import by_rows, load_function, of_one_sequence
from attention_limits.sequence_single_index.links.names import HERMITE, link_file, name_problem


@dataclass(frozen=True)
class Link:
    """A function of the fields of a sequence.

    Attributes
    ----------
    tokens : int
        Number of tokens M >= 1.
    function : callable
        (n, M) -> (n,) or (n, P).
    direction : array (M,), optional
        Unit vector v of a link that depends on v . z alone: its expansion needs one dimension only.
    terms : {degree k: weights (M,)}, optional
        The link is constant + sum_kl weights_kl He_k(z_l): its expansion needs no quadrature.
    constant : float
    symmetry : "even", "odd" or "permutation", optional
        F(-z) = F(z), F(-z) = -F(z), or the same F for every order of the tokens.

    Raises
    ------
    ValueError
        Without a token.
    """

    tokens: int
    function: Callable
    direction: np.ndarray | None = None
    terms: dict | None = None
    constant: float = 0.0
    symmetry: str | None = None

    def __post_init__(self):
        if self.tokens < 1:
            raise ValueError(f"a sequence needs at least one token, got tokens = {self.tokens}")

    def __call__(self, z):
        """Outputs (n, P) of the fields z (n, M).

        Raises
        ------
        ValueError
            If the function returns the wrong shape or values that are not finite.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            values = np.asarray(self.function(z), dtype=float)
        if values.shape[:1] != z.shape[:1] or values.ndim > 2:
            raise ValueError(f"a link must map (n, {self.tokens}) to (n,) or (n, P), got {z.shape} -> {values.shape}")
        if not np.all(np.isfinite(values)):
            bad = int(np.argmin(np.isfinite(values.reshape(len(z), -1)).all(axis=1)))
            raise ValueError(
                "a link must be finite: it has no finite second moment, or it is undefined for some fields; "
                f"F({', '.join(f'{field:.6g}' for field in z[bad])}) = {values[bad]}"
            )
        return values.reshape(len(z), -1)


def shifted(link, shift) -> Link:
    """The link of the fields z + shift, with the shift along its direction if it has one."""
    return Link(link.tokens, lambda z: link.function(z + shift), link.direction)


def over_sequences(function):
    """The function (n, M) -> (n,) or (n, P) of a `function` of one sequence that accepts arrays as fields (`built_in`)."""
    return lambda z: np.array(function(z.T)).T


def hermite_sum(tokens, terms, constant=0.0) -> Link:
    """constant + sum_k sum_l weights_kl He_k(z_l), He_k not normalised.

    Parameters
    ----------
    tokens : int
        M.
    terms : {degree k: weights (tokens,)}
    constant : float
    """
    terms = {int(k): np.broadcast_to(np.asarray(weights, dtype=float), (tokens,)) for k, weights in terms.items()}
    functions = [over_sequences(built_in.hermite_sum(k, weights, 0.0)) for k, weights in terms.items()]
    return Link(tokens, lambda z: constant + sum(function(z) for function in functions), terms=terms, constant=constant)


def softmax_attention(z):
    """softmax over the rows of z z^T, array (n, M, M), of fields z (n, M)."""
    return np.stack(built_in.full_attention(z.T), axis=-1).reshape(len(z), z.shape[1], z.shape[1])


def named_link(name, tokens, folder=".") -> Link:
    """A built-in link by its name, or the link of `path/to/file.py:function`.

    Parameters
    ----------
    name : str
    tokens : int
        M.
    folder : path
        Relative paths start from it.

    Raises
    ------
    ValueError
        If there is no such built-in link, file or function, or if the function fails a check (`links.files`).
    """
    problem = name_problem(name, folder)
    if problem:
        raise ValueError(problem)
    if link_file(name) is None:
        direction = np.full(tokens, 1.0 / np.sqrt(tokens)) if name in built_in.OF_THE_SUM else None
        return Link(tokens, over_sequences(built_in.FUNCTIONS[name]), direction)
    function = load_function(name, tokens, folder)
    symmetry = getattr(function, "symmetry", None)
    return Link(tokens, by_rows(function) if of_one_sequence(function, tokens) else function, symmetry=symmetry)


def target_and_student(point, project) -> tuple[Link, Link]:
    """The links of the keys target, student, tokens, degree, weights and constant of `point`; paths start from `project`."""
    tokens = int(point["tokens"])
    if point["target"] == HERMITE:
        target = hermite_sum(tokens, {int(point["degree"]): point["weights"]}, point["constant"])
    else:
        target = named_link(point["target"], tokens, project)
    # A student with the name of the target is the target itself, a sum of Hermite polynomials included.
    student = target if point["student"] == point["target"] else named_link(point["student"], tokens, project)
    return target, student
