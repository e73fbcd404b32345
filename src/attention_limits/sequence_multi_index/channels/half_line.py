"""Posterior moments of one field whose sign is the output: a normal law that is cut at zero.

With s = y omega / sqrt(V), phi and Phi the standard normal density and distribution function, and r = phi(s) / Phi(s),

    Z = Phi(s),    E[h - omega | y] = y sqrt(V) r,    Var(h | y) = V (1 - r (r + s))

(the perceptron channel, for example Barbier et al. 2019, Proc. Natl. Acad. Sci. 116, 5451).
"""

import numpy as np
from scipy.special import log_ndtr

# Below this s the formulas are differences of nearly equal numbers. There r = -s - 1 / s + 2 / s^3 is exact to 1e-9, and the
# variance V (1 / s^2 - 6 / s^4) to 1e-5.
FAR = -50.0


def half_line_moments(observed, omega, V):
    """Moments of n outputs.

    Parameters
    ----------
    observed : array (n,)
        y = 1 or -1.
    omega : array (n, 1, 1)
        Prior mean of h.
    V : array (1, 1)
        Prior variance.

    Returns
    -------
    log_z : array (n,)
        log Z.
    mean : array (n, 1)
        E[h - omega | y].
    second : array (n, 1, 1)
        E[(h - omega)^2 | y].
    effective : array (n,)
        Infinite: the moments are exact.
    """
    width = np.sqrt(V[0, 0])
    s = observed * omega[:, 0, 0] / width
    log_z = log_ndtr(s)
    far = s < FAR
    safe, near = np.where(far, s, FAR), np.where(far, 0.0, s)
    ratio = np.exp(-0.5 * near**2 - 0.5 * np.log(2.0 * np.pi) - log_ndtr(near))
    ratio = np.where(far, -safe - 1.0 / safe + 2.0 / safe**3, ratio)
    variance = np.where(far, 1.0 / safe**2 - 6.0 / safe**4, 1.0 - ratio * (ratio + s))
    mean = observed * width * ratio
    return log_z, mean[:, None], (V[0, 0] * variance + mean**2)[:, None, None], np.full(len(s), np.inf)
