"""One layer of attention under online SGD: one point of its population loss, by plain Monte Carlo.

Model (Arnaboldi, Loureiro, Stephan, Krzakala, Zdeborová 2025, arXiv:2506.02651): sequences of M = 2 tokens g_l in R^d, standard
normal. The teacher reads z*_l = g_l . u*, the student z_l = (g_l + epsilon_l p) . u with the positional encoding p and
epsilon = (+1, -1); u, u* and p are unit vectors, p is orthogonal to u*. Target and student of Figure 1:

    g(z*) = He_2(z*_1) + He_2(z*_2),    F(z) = Tr softmax_rows(z z^T) / sqrt 2,    He_2(z) = z^2 - 1.

In high dimension the state of SGD is m = u . u* (meaning) and e = u . p (position), and SGD descends the population loss

    R(e, m) = 1/2 E |g(z*) - F(z)|^2,    z_l = m z*_l + epsilon_l e + sqrt(1 - m^2) xi_l,    z*, xi standard normal.
"""

import numpy as np

E, M = 0.5, 0.8
SAMPLES, BATCHES = 100_000, 40


def target(z):
    """g (n, 1) from the fields of the teacher (n, 2)."""
    return np.sum(z**2 - 1.0, axis=1, keepdims=True)


def student(z):
    """F (n, 1) from the fields of the student (n, 2)."""
    scores = np.exp(z[:, :, None] * (z[:, None, :] - z[:, :, None]))
    return np.sum(1.0 / scores.sum(axis=2), axis=1, keepdims=True) / np.sqrt(2.0)


def losses(target, student, e, m, normals):
    """1/2 |g - F|^2 (n,) on normal numbers (n, 4), z* and xi; `target` and `student` give arrays (n, P)."""
    teacher, xi = normals[:, :2], normals[:, 2:]
    z = m * teacher + e * np.array([1.0, -1.0]) + np.sqrt(1.0 - m**2) * xi
    return 0.5 * np.sum((target(teacher) - student(z)) ** 2, axis=1)


def compute():
    """R(e, m), and its standard error over batches of sequences."""
    rng = np.random.default_rng(0)
    means = [losses(target, student, E, M, rng.standard_normal((SAMPLES, 4))).mean() for _ in range(BATCHES)]
    return np.mean(means), np.std(means, ddof=1) / np.sqrt(BATCHES)


def library():
    """R of the library."""
    import attention_limits as al

    model = {"target": "hermite", "student": "trace_attention", "weights": [1.0, 1.0]}
    cube = al.compute("sequence_single_index.landscape", model=model, grid={"degree": [2]}, solver={"points": 11})
    return cube.loss.sel(e=E, m=M, method="nearest").item()


if __name__ == "__main__":
    value, error = compute()
    print(f"R at e = {E}, m = {M}: naive {value:.4f} ± {error:.4f}, library {library():.4f}")
