"""Attention of extensive width: one point of the learning curve of hardmax attention, by a plain fixed point.

Model (Boncoraglio, Troiani, Erba, Zdeborová 2025, arXiv:2506.01582): S = W W^T / sqrt(r d) with a standard normal W (d, r),
rho = r / d; n = alpha d^2 samples of M = 2 standard normal tokens x_a in R^d; h_ab = (x_a^T S x_b - delta_ab tr S) / sqrt(d).
Hardmax shows which entry of each row of h is the largest: the output is s_1 = sign(h_11 - h_12), s_2 = sign(h_22 - h_12).

State evolution of the error V = ||S - S_hat||^2 / d, which is 1 without data, with Q = tr S^2 / d = 1 + rho:

    V = mmse(1 / q_hat),    q_hat = 2 alpha E[3 g_1^2 + 3 g_2^2 + 2 g_1 g_2],    g = d log P(s | m) / dm.

Given the estimate, u = (h_11 - h_12, h_22 - h_12) has the law N(m, V C), C = [[3, 1], [1, 3]]; m has the law N(0, (Q - V) C).
"""

import numpy as np
from scipy.integrate import quad
from scipy.stats import multivariate_normal, norm

RATIO, ALPHA = 0.5, 0.5


def mmse(ratio, noise):
    """Error of the denoiser of S + sqrt(D) GOE at noise D: D - 4 pi^2 / 3 D^2 int density^3."""
    root = np.sqrt(ratio)

    def density(value):
        # D g^3 - (z + D sqrt(rho)) g^2 + (z sqrt(rho) + 1 - rho) g - sqrt(rho) = 0, for the Stieltjes transform g(z).
        g = np.roots([noise, -(value + noise * root), value * root + 1.0 - ratio, -root])
        return np.max(np.abs(g.imag)) / np.pi

    wide = 2.0 * np.sqrt(noise) + (1.0 + root) ** 2 / root
    cubes = quad(lambda value: density(value) ** 3, -2.0 * np.sqrt(noise) - 0.1, wide, limit=200)[0]
    return noise - 4.0 * np.pi**2 / 3.0 * noise**2 * cubes


def information(ratio, V, nodes=60):
    """q_hat / alpha: a sum over the four outputs s, and a Gauss-Hermite rule of nodes^2 points over m."""
    C = np.array([[3.0, 1.0], [1.0, 3.0]])
    x, weight = np.polynomial.hermite_e.hermegauss(nodes)
    m = np.array(np.meshgrid(x, x)).reshape(2, -1).T @ np.linalg.cholesky((1.0 + ratio - V) * C).T
    weight = np.outer(weight, weight).ravel() / (2.0 * np.pi)
    total = 0.0
    for s in np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]]):
        kappa, r = s * m / np.sqrt(3.0 * V), s[0] * s[1] / 3.0
        P = multivariate_normal.cdf(kappa, cov=[[1.0, r], [r, 1.0]])
        dP = s * norm.pdf(kappa) * norm.cdf((kappa[:, ::-1] - r * kappa) / np.sqrt(1.0 - r**2)) / np.sqrt(3.0 * V)
        squares = 3.0 * dP[:, 0] ** 2 + 3.0 * dP[:, 1] ** 2 + 2.0 * dP[:, 0] * dP[:, 1]
        # Signs that hardly occur carry no weight, and their P is all rounding.
        total += np.sum(weight * np.where(P > 1e-12, squares / np.maximum(P, 1e-12), 0.0))
    return 2.0 * total


def learning_point(ratio, precision, tolerance=1e-6):
    """V at one alpha: iterates V = mmse(1 / q_hat) from V = 1; `precision` gives q_hat from V."""
    V = 1.0
    for _ in range(10_000):
        new = mmse(ratio, 1.0 / precision(V))
        if abs(new - V) < tolerance:
            break
        V = new
    return new


def compute():
    """V, and its error: the change with fewer nodes, and the rest of the iteration, ten times its last step."""
    fine, coarse = (learning_point(RATIO, lambda V, n=n: ALPHA * information(RATIO, V, n)) for n in (60, 40))
    return fine, abs(fine - coarse) + 1e-5


def library():
    """V of the library."""
    import attention_limits as al

    model = {"channel": "hardmax", "tokens": 2, "ratio": RATIO}
    return al.compute("attention_indexed.state_evolution", model=model, grid={"alpha": [ALPHA]}).mmse.item()


if __name__ == "__main__":
    value, error = compute()
    print(f"V at alpha = {ALPHA}, rho = {RATIO}: naive {value:.6f} ± {error:.6f}, library {library():.6f}")
