"""Newton's method for the one equation of the replica theory of Gaussian sequences (derived in `replica.theory`)."""

import math

from numba import vectorize

# Largest number of iterations. At alpha = 1 a ridge of 1e-300 needs some 500 doublings of z.
STEPS = 2000


@vectorize(["float64(float64, float64, float64)"])
def root(gamma, ridge, alpha):
    """The z >= 0 with ridge z + z g(gamma + z) = alpha, g(x) = 2 / (x + sqrt(x^2 - 4)); infinite if there is none.

    z g(gamma + z) is an average of z / (z + c), c > 0, over the semicircle law: increasing and concave. Therefore Newton's
    iteration from z = 0 approaches the root from below, without safeguards. Without ridge the root has a closed form for
    alpha < 1, and there is none for alpha >= 1. No difference of close numbers enters: 1 - z g = g (gamma - g), and with
    w = sqrt(x^2 - 4), 1 - z / w = (gamma^2 - 4 + 2 gamma z) / (w (w + z)).
    """
    square = (gamma - 2.0) * (gamma + 2.0)
    if ridge == 0.0:
        if alpha >= 1.0:
            return math.inf
        return 0.5 * alpha * (gamma + math.sqrt(square + 4.0 * alpha)) / (1.0 - alpha)
    z = 0.0
    for _ in range(STEPS):
        # (gamma - 2) + z keeps the digits that x - 2 loses.
        width = math.sqrt((gamma - 2.0) + z) * math.sqrt(gamma + z + 2.0)
        g = 2.0 / (gamma + z + width)
        missing = alpha - z * (ridge + g) if alpha < 0.5 else (alpha - 1.0) + g * (gamma - g) - ridge * z
        step = missing / (ridge + g * (square / width + 2.0 * gamma * (z / width)) / (width + z))
        z += step
        # Rounding ends the approach from below.
        if step <= 1e-15 * z:
            break
    return z
