"""Sequence information exponents: how flat the population loss is at the uninformed start.

With G and F the normalised Hermite coefficients of target and student (`expansion`), the loss depends on the semantic
overlap m through -sum_k m^k C_k with C_k = sum over |kappa| = k of G_kappa . F_kappa (arXiv:2506.02651). The SIE is the
lowest k >= 1 with C_k != 0; SGD escapes along it if C_k > 0, or if k is odd, since the sign of m is free. With a positional
encoding the loss is a power series in (e, m); the positional exponent is the lowest degree with a direction of descent.
"""

from dataclasses import dataclass

import numpy as np

from attention_limits.numerics.probability.hermite import multi_indices, raising
from attention_limits.sequence_single_index.links.link import shifted
from attention_limits.sequence_single_index.population_loss.expansion import expand

# A coefficient that is below this, error included, is treated as zero.
ZERO = 1e-8


@dataclass(frozen=True)
class InformationExponent:
    """The lowest order of the target, of the loss in m, or of a descent in (e, m): see the function that returns it.

    Attributes
    ----------
    order : int or None
        None: every order up to the degree is below ZERO, or undecided.
    decided : bool
        False: within its error, the coefficient at `undecided_order` is zero within its error, but not certainly zero.
    descends : bool
        Whether the loss falls along this order: otherwise the start attracts.
    coefficients, errors : arrays (degree + 1,)
        C_k and absolute errors; for the positional exponent, the lowest value of the form of degree k over the directions
        on which all lower forms vanish (NaN where there are none).
    undecided_order : int or None
    """

    order: int | None
    decided: bool
    descends: bool
    coefficients: np.ndarray
    errors: np.ndarray
    undecided_order: int | None = None


def is_zero(value, error):
    """Whether a `value` with an `error` is zero. True: below ZERO with its error; False: above both; None: undecided."""
    if abs(value) + error < ZERO:
        return True
    return False if abs(value) > max(error, ZERO) else None


def target_exponent(target, degree=6, tolerance=1e-11) -> InformationExponent:
    """Lowest order, up to `degree`, at which the target has a Hermite coefficient: its exponent for a sufficiently rich student.

    `tolerance` is the absolute error at which an adaptive quadrature stops. `coefficients` are the norms
    sqrt(sum over |kappa| = k of |G_kappa|^2), their errors are those of `expansion.expand` and cover its bias: a target whose
    lower orders vanish by cancellation in many tokens can stay undecided. Raises ValueError when the second moment of the target
    is infinite.
    """
    G = expand(target, degree, tolerance=tolerance)
    total = G.indices.sum(axis=1)
    norms = [np.sqrt(np.sum(G.values[total == k] ** 2)) for k in range(degree + 1)]
    errors = [np.sqrt(np.sum(G.errors[total == k] ** 2)) for k in range(degree + 1)]
    return _lowest(np.array(norms), np.array(errors), always=True)


def sequence_exponent(target, student, degree=6, untied=False, tolerance=1e-11) -> InformationExponent:
    """SIE of a target for a student: the lowest order k >= 1 at which m^k enters the loss.

    Parameters
    ----------
    target, student : Link
        With the same number of tokens and outputs.
    degree : int
        Highest order looked at.
    untied : bool
        Every token has its own weights: the loss is a polynomial in m_1 ... m_M, and C_k is the largest possible gain
        of one monomial, max over |kappa| = k of G_kappa . F_kappa (its absolute value if any kappa_l is odd).
    tolerance : float
        Absolute error at which an adaptive quadrature stops.

    Raises
    ------
    ValueError
        If the links do not fit together, or a second moment is infinite.
    """
    G, F = _pair(target, student, degree, tolerance)
    product = np.sum(G.values * F.values, axis=1)
    error = np.sum(np.abs(G.values) * F.errors + np.abs(F.values) * G.errors + G.errors * F.errors, axis=1)
    total = G.indices.sum(axis=1)
    orders = range(degree + 1)
    if untied:
        free = np.any(G.indices % 2 == 1, axis=1)
        gain = np.where(free, np.abs(product), product)
        best = [_strongest(gain[total == k]) for k in orders]
        return _lowest(np.array(best), np.array([error[total == k].max() for k in orders]))
    coefficients = np.array([product[total == k].sum() for k in orders])
    errors = np.array([error[total == k].sum() for k in orders])
    return _lowest(coefficients, errors)


def _strongest(gain):
    """The largest gain, or the largest loss when no monomial gains."""
    return gain.max() if gain.max() > ZERO else gain[np.argmax(np.abs(gain))]


def _pair(target, student, degree, tolerance):
    if target.tokens != student.tokens:
        raise ValueError(f"target and student must have the same tokens, got {target.tokens} and {student.tokens}")
    G, F = (expand(link, degree, tolerance=tolerance) for link in (target, student))
    if G.values.shape != F.values.shape:
        raise ValueError(
            f"target and student must have the same number of outputs, got {G.values.shape[1]} and {F.values.shape[1]}"
        )
    return G, F


def _lowest(coefficients, errors, always=False):
    for order in range(1, len(coefficients)):
        verdict = is_zero(coefficients[order], errors[order])
        if verdict is None:
            return InformationExponent(None, False, False, coefficients, errors, order)
        if not verdict:
            descends = always or order % 2 == 1 or coefficients[order] > 0
            return InformationExponent(order, True, bool(descends), coefficients, errors)
    return InformationExponent(None, True, False, coefficients, errors)


@dataclass(frozen=True)
class InformationExponents:
    """The three exponents of a target for a student.

    Attributes
    ----------
    target, semantic, positional : InformationExponent
        From `target_exponent`, `sequence_exponent` and `positional_exponent`.
    """

    target: InformationExponent
    semantic: InformationExponent
    positional: InformationExponent

    def __iter__(self):
        return iter((self.target, self.semantic, self.positional))


def information_exponents(target, student, position, degree=6, untied=False, tolerance=1e-11) -> InformationExponents:
    """All exponents; `target`, `student`, `position`, `degree`, `untied`, `tolerance` as in the functions below and above.

    Raises ValueError if the links do not fit together, or a second moment is infinite.
    """
    return InformationExponents(
        target_exponent(target, degree, tolerance),
        sequence_exponent(target, student, degree, untied, tolerance),
        positional_exponent(target, student, position, degree, tolerance),
    )


def loss_forms(target, student, position, degree=6, tolerance=1e-11):
    """Taylor coefficients of the population loss at the uninformed start.

    R(e, m) = R(0, 0) + sum over 1 <= i + j <= degree of r[i, j] e^i m^j for tied students.

    Parameters
    ----------
    target, student : Link
        With the same number of tokens and outputs.
    position : array (M,)
        Signs epsilon_l with which the positional encoding is added to the tokens.
    degree : int
        Highest order looked at.
    tolerance : float
        Absolute error at which an adaptive quadrature stops.

    Returns
    -------
    r, errors : arrays (degree + 1, degree + 1)
        Zero where i + j > degree; r[0, 0] is zero.

    Raises
    ------
    ValueError
        If the links do not fit together, or a second moment is infinite.
    """
    # Shifted by zero, so that a polynomial student is expanded together with its square.
    G, F = _pair(target, shifted(student, 0.0), degree, tolerance)
    up = raising(multi_indices(target.tokens, degree), degree - 1)
    position = np.asarray(position, dtype=float)
    r, errors = np.zeros((2, degree + 1, degree + 1))
    # |F|^2 is one more output: its first coefficient is the second moment.
    values, sizes = np.column_stack([F.values, F.square]), np.column_stack([F.errors, F.square_errors])
    total = G.indices.sum(axis=1)
    factorial = 1.0
    for i in range(degree + 1):
        known = len(values)
        product = np.sum(G.values[:known] * values[:, :-1], axis=1)
        error = np.sum(
            np.abs(G.values[:known]) * sizes[:, :-1] + (np.abs(values[:, :-1]) + sizes[:, :-1]) * G.errors[:known],
            axis=1,
        )
        for j in range(degree - i + 1):
            chosen = total[:known] == j
            r[i, j] = -product[chosen].sum() / factorial
            errors[i, j] = error[chosen].sum() / factorial
        r[i, 0] += 0.5 * values[0, -1] / factorial
        errors[i, 0] += 0.5 * sizes[0, -1] / factorial
        if i < degree:
            values, sizes = _shift_derivative(values, sizes, G.indices, up, position, degree - i - 1)
            factorial *= i + 1
    r[0, 0] = errors[0, 0] = 0.0
    return r, errors


def _shift_derivative(values, errors, indices, up, position, degree):
    """d/de of the coefficients of F(z + e epsilon): f_kappa' = sum_l epsilon_l sqrt(kappa_l + 1) f_(kappa + 1_l)."""
    known = np.sum(indices.sum(axis=1) <= degree)
    factor = position * np.sqrt(indices[:known] + 1.0)
    raised = up[:known]
    return (
        np.einsum("nl,nlp->np", factor, values[raised]),
        np.einsum("nl,nlp->np", np.abs(factor), errors[raised]),
    )


def positional_exponent(target, student, position, degree=6, tolerance=1e-11) -> InformationExponent:
    """Lowest degree in (e, m) at which a straight path from (0, 0) lowers the loss.

    At each degree the search keeps only the directions on which all lower forms vanish: where a lower form is positive, the path
    climbs. `target`, `student`, `position`, `degree`, `tolerance` and the ValueError raised as for `loss_forms`.
    """
    r, errors = loss_forms(target, student, position, degree, tolerance)
    # Forms of symmetric problems vanish on axes and diagonals; the roots of each form are added below.
    angles = np.linspace(0.0, np.pi, 3601)[:-1]
    lowest, error = np.full(degree + 1, np.nan), np.full(degree + 1, np.nan)
    lower_forms = []
    for k in range(1, degree + 1):
        form = np.array([r[k - j, j] for j in range(k + 1)])
        spread = float(sum(errors[k - j, j] for j in range(k + 1)))
        alive = angles
        for other in lower_forms:
            alive = alive[np.abs(_on_directions(other, alive)) < 10 * ZERO]
        if len(alive) == 0:
            break
        values = _on_directions(form, alive)
        # A form of odd degree changes sign with the direction.
        lowest[k] = -np.max(np.abs(values)) if k % 2 else np.min(values)
        error[k] = spread
        largest = float(np.max(np.abs(values)))
        if is_zero(largest, spread) is None or (lowest[k] < 0 and is_zero(lowest[k], spread) is None):
            return InformationExponent(None, False, False, lowest, error, k)
        if lowest[k] < -ZERO:
            return InformationExponent(k, True, True, lowest, error)
        if largest > ZERO:
            lower_forms.append(form)
            angles = np.concatenate([angles, _root_angles(form)])
    return InformationExponent(None, True, False, lowest, error)


def _on_directions(form, angles):
    """sum_j form[j] e^(k-j) m^j at e = cos, m = sin of the angles."""
    k = len(form) - 1
    return sum(form[j] * np.cos(angles) ** (k - j) * np.sin(angles) ** j for j in range(k + 1))


def _root_angles(form):
    """Directions on which a form vanishes: roots of the polynomial in tan, double roots included."""
    roots = np.roots(np.where(np.abs(form) < ZERO, 0.0, form)[::-1])
    real = roots.real[np.abs(roots.imag) < 1e-6]
    return np.concatenate([np.arctan(real) % np.pi, [0.5 * np.pi]])
