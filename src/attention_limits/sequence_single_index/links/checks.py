"""Whether a link is a function of one sequence with finite values and the symmetry that it declares.

The symmetries are F(-z) = F(z), F(-z) = -F(z), and equal values for every order of the tokens; a target without a finite second
moment has no information exponent (arXiv:2506.02651). `problems_of` tests seeded random fields, which is
quick; `decay_problem` tests the second moment.
"""

from collections.abc import Iterator

import numpy as np

# Symmetries that a function can declare, in its attribute `symmetry`.
SYMMETRIES = ("even", "odd", "permutation")
# Random fields, half of them three times as wide as the law of the fields.
_COUNT, _WIDE = 64, 3.0
# Largest accepted difference of values that must be equal, relative to the largest value.
_ACCURACY = 1e-9
# Sizes of a function whose square is neither infinite nor zero by rounding.
_SMALLEST, _LARGEST = 1e-100, 1e100


def problems_of(function, tokens, seed=0) -> list[str]:
    """The problems of a `function` (n, M) -> (n,) or (n, P) at random fields, each with the failing example.

    Parameters
    ----------
    function : callable
        A declared symmetry is its attribute `symmetry`: even, F(-z) = F(z); odd, F(-z) = -F(z); permutation, F is the same for
        every order of the tokens.
    tokens, seed : int
        Number of tokens M; seed of the fields.
    """
    symmetry = getattr(function, "symmetry", None)
    if symmetry is not None and symmetry not in SYMMETRIES:
        return [f"symmetry must be one of {', '.join(SYMMETRIES)}, is {symmetry!r}"]
    generator = np.random.default_rng(seed)
    z = generator.standard_normal((_COUNT, tokens)) * np.where(np.arange(_COUNT) % 2, _WIDE, 1.0)[:, None]
    try:
        return list(_problems(function, symmetry, z))
    except (Exception, SystemExit) as error:
        # A function of a file may raise anything; the message gives the shape of its fields.
        return [f"it fails on fields of shape {z.shape}: {type(error).__name__}: {error}"]


def _problems(function, symmetry, z) -> Iterator[str]:
    given = z.copy()
    with np.errstate(all="ignore"):
        y = np.asarray(function(given))
    if not np.array_equal(given, z):
        yield "it changes the fields that it is given"
        return
    if y.ndim not in (1, 2) or len(y) != len(z) or y.size == 0:
        yield f"it must map fields (n, {z.shape[1]}) to (n,) or (n, P): fields {z.shape} gave {y.shape}"
        return
    if not (np.issubdtype(y.dtype, np.floating) or np.issubdtype(y.dtype, np.integer) or y.dtype == bool):
        yield f"it must return real numbers, returns {y.dtype}"
        return
    y = y.reshape(len(z), -1).astype(float)
    bad = np.flatnonzero(~np.isfinite(y).all(axis=1))
    if len(bad):
        yield f"it must be finite: {_example(z[bad[0]], y[bad[0]])}"
        return
    largest = int(np.argmax(np.max(np.abs(y), axis=1)))
    if np.array_equal(y, np.broadcast_to(y[:1], y.shape)):
        yield f"it does not depend on the fields: {_example(z[0], y[0])}, and all of {len(z)} random fields give the same"
        return
    if not _SMALLEST < np.max(np.abs(y)) < _LARGEST:
        yield f"its square is infinite or zero by rounding: {_example(z[largest], y[largest])}; allowed: sizes of 1e-100 to 1e100"
        return
    allowed = _ACCURACY * max(1.0, float(np.max(np.abs(y))))

    def values(fields):
        return np.asarray(function(fields), dtype=float).reshape(len(fields), -1)

    for row in range(4):
        alone = values(z[row : row + 1].copy())[0]
        if not np.allclose(alone, y[row], rtol=0.0, atol=allowed):
            yield (
                "each row must depend on the fields of that row alone, without random numbers: "
                f"{_example(z[row], y[row])} among {len(z)} rows, {_numbers(alone)} alone"
            )
            return
    if symmetry in ("even", "odd"):
        images, sign = [-z], 1.0 if symmetry == "even" else -1.0
    else:
        # The exchange of two tokens and the cycle of all generate every order.
        tokens = z.shape[1]
        exchange = [1, 0, *range(2, tokens)] if tokens > 1 else [0]
        images, sign = [z[:, exchange], np.roll(z, 1, axis=1)] if symmetry else [], 1.0
    for image in images:
        mirrored = values(image.copy())
        gap = np.max(np.abs(mirrored - sign * y), axis=1)
        worst = int(np.argmax(gap))
        if gap[worst] > allowed:
            yield (
                f"it declares the symmetry {symmetry!r} and breaks it: {_example(z[worst], y[worst])}, "
                f"{_example(image[worst], mirrored[worst])}"
            )
            return


def _example(z, y):
    return f"F({_numbers(z)}) = {_numbers(y)}"


def _numbers(values):
    """The first numbers of an array."""
    shown = ", ".join(f"{value:.6g}" for value in values[:6])
    return shown + (", ..." if len(values) > 6 else "")


# Beyond this the standard normal density is below 1e-22.
RANGE = 10.0


def decay_problem(link) -> str | None:
    """Why the second moment of a `link` is infinite or out of reach, with an example, or None.

    Its integrand must be negligible on the boundary of the range.
    """
    line = np.linspace(-RANGE, RANGE, 41)
    plane = np.stack(np.meshgrid(*[line] * min(link.tokens, 2)), axis=-1).reshape(-1, min(link.tokens, 2))
    points = np.zeros((len(plane) + len(line), link.tokens))
    points[: len(plane), : plane.shape[1]] = plane
    points[len(plane) :] = line[:, None]
    size = np.sum(link(points) ** 2, axis=1) * np.exp(-0.5 * np.sum(points**2, axis=1))
    outside = np.max(np.abs(points), axis=1) >= RANGE
    worst = int(np.argmax(np.where(outside, size, -1.0)))
    if size[worst] <= 1e-9 * np.max(size):
        return None
    where = ", ".join(f"{value:g}" for value in points[worst])
    norm = np.linalg.norm(link(points[[worst]]))
    return (
        "the second moment of the link is infinite or out of reach: |F(z)|^2 times the normal density has not decayed at "
        f"|z| = {RANGE:g}; |F({where})| = {norm:.4g}"
    )
