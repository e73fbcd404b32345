"""Newton's method for the one equation that the replica theory of Gaussian sequences comes down to (derived in `replica`)."""

import math

from numba import vectorize

STEPS = 200


@vectorize(["float64(float64, float64, float64)"])
def root(gamma, ridge, alpha):
    """The z >= 0 with ridge z + z g(gamma + z) = alpha, g(x) = 2 / (x + sqrt(x^2 - 4)); infinite if there is none.

    z g(gamma + z) is an average of z / (z + c), c > 0, over the semicircle law: increasing and concave. Newton's iteration
    from z = 0 therefore approaches the root from below, without safeguards. There is none for ridge = 0 and alpha >= 1; then
    and there alone the left-hand side is bounded, and the closed form for alpha < 1 is used.
    """
    if ridge == 0.0:
        if alpha >= 1.0:
            return math.inf
        return 0.5 * alpha * (gamma + math.sqrt(gamma * gamma - 4.0 * (1.0 - alpha))) / (1.0 - alpha)
    z = 0.0
    for _ in range(STEPS):
        x = gamma + z
        width = math.sqrt(x * x - 4.0)
        g = 2.0 / (x + width)
        missing = alpha - z * (ridge + g)
        step = missing / (ridge + g - z * g / width)
        z += step
        # Rounding ends the approach from below.
        if step <= 1e-15 * z:
            break
    return z
