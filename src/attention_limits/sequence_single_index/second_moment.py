"""Whether a link has a finite second moment E|F(z)|^2, z standard normal, without which it has no information exponent.

Imports nothing that takes long (the law of the fields: arXiv:2506.02651).
"""

import numpy as np

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
