"""Two layers of attention of rank one: one point of the state evolution, by plain Monte Carlo.

Model (Troiani, Cui, Dandi, Krzakala, Zdeborová 2025, arXiv:2502.00901): n = alpha D sequences of M = 2 tokens x_a in R^D, weights
w_1, w_2 in R^D, all standard normal; fields h_la = w_l . x_a / sqrt(D), skip strength c. The output is the attention matrix y:

    A(z) = softmax_rows(z z^T) + c I,    u = A(h_1) h_2,    y = softmax_rows(u u^T).

y determines u up to its sign. State evolution of the overlaps q_l of the estimated with the true weights of layer l, V = 1 - q:

    omega_l ~ N(0, q_l), h_l ~ N(omega_l, V_l);    g_l = (E[h_l | y, omega] - omega_l) / V_l;
    q_hat_l = alpha E sum_a g_la^2,    q_l = q_hat_l / (1 + q_hat_l).

Both layers keep independent errors: the output does not change with the sign of w_1 or w_2, so q is diagonal.
"""

import numpy as np
from scipy.stats import norm, qmc

SKIP, ALPHA = 1.0, 0.5
SAMPLES, REPLICAS, ITERATIONS = 1024, 16, 40
# Nodes (K, 2) of h_1 - omega_1 in units of its prior standard deviation.
GRID = np.array(np.meshgrid(*np.linspace([-4.0, -4.0], 4.0, 15).T)).reshape(2, -1).T


def attention(z):
    """softmax_rows(z z^T) + c I (..., 2, 2) from the fields z (..., 2)."""
    weights = np.exp(z[..., :, None] * (z[..., None, :] - z[..., :, None]))
    return weights / weights.sum(axis=-1, keepdims=True) + SKIP * np.eye(2)


def posterior_means(u, omega, V):
    """E[h | y] (2, n, 2): a sum over the grid of h_1 and over both signs of u, which give h_2 = +-A(h_1)^-1 u."""
    first = omega[0][:, None, :] + np.sqrt(V[0]) * GRID
    A = attention(first)
    determinant = A[..., 0, 0] * A[..., 1, 1] - A[..., 0, 1] * A[..., 1, 0]
    adjugate = np.array([[A[..., 1, 1], -A[..., 0, 1]], [-A[..., 1, 0], A[..., 0, 0]]])
    second = np.einsum("abnk,nb->nka", adjugate / determinant, u)
    total, means = 0.0, 0.0
    for sign in (1.0, -1.0):
        squares = np.sum(GRID**2, axis=1) + np.sum((sign * second - omega[1][:, None, :]) ** 2, axis=2) / V[1]
        weight = np.exp(-0.5 * squares) / determinant
        total = total + weight.sum(axis=1)
        means = means + np.array([np.einsum("nk,nka->na", weight, h) for h in (first, sign * second)])
    return means / total[:, None]


def overlaps(alpha, rng):
    """Fixed point q (2,) of the state evolution from q = 0.1, on the same random numbers in every iteration."""
    # Scrambled Sobol points spread more evenly than independent ones, so fewer are enough.
    x, noise = norm.ppf(qmc.Sobol(8, rng=rng).random(SAMPLES)).T.reshape(2, 2, 2, SAMPLES).swapaxes(2, 3)
    q = np.full(2, 0.1)
    for _ in range(ITERATIONS):
        V = 1.0 - q
        omega = np.sqrt(q)[:, None, None] * x
        h = omega + np.sqrt(V)[:, None, None] * noise
        u = np.einsum("nab,nb->na", attention(h[0]), h[1])
        g = (posterior_means(u, omega, V) - omega) / V[:, None, None]
        q_hat = alpha * np.mean(np.sum(g**2, axis=2), axis=1)
        q = q_hat / (1.0 + q_hat)
    return q


def compute():
    """q_2 of the second layer, and its standard error over replicas."""
    found = [overlaps(ALPHA, np.random.default_rng(seed))[1] for seed in range(REPLICAS)]
    return np.mean(found), np.std(found, ddof=1) / np.sqrt(REPLICAS)


def library():
    """q_2 of the library."""
    import attention_limits as al

    model = {"link": "deep_attention", "depth": 2, "tokens": 2, "skip": SKIP}
    settings = {"grid": {"alpha": [ALPHA]}, "replicas": 4, "solver": {"nodes": 4096}}
    cube = al.compute("sequence_multi_index.state_evolution", model=model, **settings)
    return cube.overlap.isel(layer=1, layer_star=1).mean().item()


if __name__ == "__main__":
    value, error = compute()
    print(f"q_2 at alpha = {ALPHA}, c = {SKIP}: naive {value:.4f} ± {error:.4f}, library {library():.4f}")
