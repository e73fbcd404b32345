"""Slow and independent simulations of the attention-indexed family: message passing and gradient descent in double precision."""

import numpy as np

# Half of the distance of one to the next number of single precision.
UNIT = 2.0**-24


def adam(loss_gradient, start, steps: int, rate: float, rounded):
    """Weights after 0, ..., `steps` steps of Adam (Kingma, Ba 2014; 0.9, 0.999, 1e-8) in double precision.

    `rounded` rounds the weights of each step, and 0.9^t and 0.999^t: the difference of the latter from one is 0.001 at first, and
    its relative error 1000 u, the largest of all.
    """
    W, first, second = start.copy(), np.zeros_like(start), np.zeros_like(start)
    path = [W]
    for t in range(1, steps + 1):
        g = loss_gradient(W)
        first, second = 0.9 * first + 0.1 * g, 0.999 * second + 0.001 * g**2
        W = rounded(W - rate * (first / (1 - rounded(0.9**t))) / (np.sqrt(second / (1 - rounded(0.999**t))) + 1e-8))
        path.append(W)
    return path


class Rounding:
    """Rounding of single precision as random numbers of the generator `rng`; none without a generator.

    A sum of m terms has the error sqrt(m) u sum |terms| times a number of order one, u = `UNIT` (Higham, Mary 2019, SIAM J. Sci.
    Comput. 41, A2815: rounding errors are independent and of mean zero); here this number is standard normal.
    """

    def __init__(self, rng=None):
        self._rng = rng

    def sum(self, exact, sizes, terms):
        """`exact` with the error of a sum of `terms` terms whose absolute values add up to `sizes`, of the same shape."""
        if self._rng is None:
            return exact
        return exact + np.sqrt(terms) * UNIT * sizes * self._rng.standard_normal(np.shape(exact))

    def __call__(self, values):
        """Each number rounded once."""
        return self.sum(values, np.abs(values), 1)


def descent_problem(X, y, beta, rounding):
    """Functions of weights W (d, r): mean squared training error and gradient of the loss; X (n, M, d), y (n, M, M)."""
    (n, M, d), diagonal, y = X.shape, np.eye(X.shape[1]), rounding(y)
    tokens = X.reshape(-1, d)

    def outputs(W):
        r = W.shape[1]
        f = rounding.sum(tokens @ W, np.abs(tokens) @ np.abs(W), d).reshape(n, M, r)
        pairs, sizes = f @ f.transpose(0, 2, 1), np.abs(f) @ np.abs(f).transpose(0, 2, 1)
        trace = rounding.sum(np.sum(W**2), np.sum(W**2), W.size)
        h = beta * (rounding.sum(pairs, sizes, r) - trace * diagonal) / (np.sqrt(r) * d)
        e = np.exp(h - h.max(axis=2, keepdims=True))
        p = e / e.sum(axis=2, keepdims=True)
        # Exponential, sum and quotient.
        return f, rounding.sum(p, p, M + 2)

    def error(W):
        squares = (outputs(W)[1] - y) ** 2
        return rounding.sum(np.sum(squares), np.sum(squares), squares.size) / n

    def gradient(W):
        f, p = outputs(W)
        c = 2.0 * (p - y) / d
        mean = np.sum(c * p, axis=2, keepdims=True)
        sizes = np.sum(np.abs(c) * p, axis=2, keepdims=True)
        by_h = rounding.sum(beta * p * (c - mean), beta * p * (np.abs(c) + sizes), M)
        by_h = (by_h + by_h.transpose(0, 2, 1)) / (np.sqrt(W.shape[1]) * d)
        moved, traces = (by_h @ f).reshape(-1, W.shape[1]), np.einsum("naa->", by_h)
        magnitude = np.abs(tokens).T @ (np.abs(by_h) @ np.abs(f)).reshape(-1, W.shape[1])
        magnitude += np.einsum("naa->", np.abs(by_h)) * np.abs(W)
        return rounding.sum(tokens.T @ moved - traces * W, magnitude, n * M * M)

    return error, gradient


def plain_amp(X, observe, score, S, ratio, damping=0.8, iterations=300):
    """Error ||S - S_hat||^2 / d of the AMP of a linear-type output, or None if it has not settled.

    The n x d x d x M x M tensor of all products, and the roots of cubics.
    `score(omega)` (n, M, M) is h - omega as far as the output determines it, `observe` the number K of equations.
    """
    n, M, d = X.shape
    F = np.einsum("nai,nbj->nabij", X, X)
    F = 0.5 * (F + F.transpose(0, 1, 2, 4, 3)) - np.eye(M)[None, :, :, None, None] * np.eye(d)
    F /= np.sqrt(d)
    estimate, reaction = np.sqrt(ratio) * np.eye(d), 0.0
    for _ in range(iterations):
        residual = score(np.einsum("nabij,ij->nab", F, estimate) - reaction)
        V = np.sum(residual**2) / (observe * n)
        G, D = residual / (2.0 * V), V * d * d / (observe * n)
        R = estimate + 2.0 * D / d * np.einsum("nab,nabij->ij", G, F)
        values, vectors = np.linalg.eigh(R)
        xi, slope = cubic_shrink(values, ratio, D)
        gap = values[:, None] - values
        near = np.abs(gap) < 1e-6 * np.ptp(values)
        quotient = np.where(near, 0.5 * (slope[:, None] + slope), (xi[:, None] - xi) / np.where(near, 1.0, gap))
        new = (vectors * xi) @ vectors.T
        change = np.linalg.norm(new - estimate) / np.linalg.norm(S)
        if not change < 10.0:
            return None
        estimate = (1.0 - damping) * new + damping * estimate
        reaction = (1.0 - damping) * 2.0 * D * (quotient.sum() + slope.sum()) / d**2 * G + damping * reaction
    return np.sum((S - estimate) ** 2) / d if change < 1e-3 else None


def cubic_shrink(values, ratio, D):
    """lambda - 2 D Re g(lambda) from the roots of the cubic, and its derivative; outside of merged bulks, its nearest end."""
    root = np.sqrt(ratio)

    def transform(x):
        roots = np.roots([D, -(x + D * root), x * root + 1.0 - ratio, -root])
        if np.max(np.abs(roots.imag)) > 1e-9 * np.max(np.abs(roots)):
            return roots[np.argmin(roots.imag)]
        # Outside of the spectrum, where z(g) decreases.
        return roots[np.argmin((D - 1.0 / roots**2 + ratio / (root - roots) ** 2).real)]

    # Zeros of z'(g): D g^2 (root - g)^2 + rho g^2 - (root - g)^2 = 0.
    edges = np.roots([D, -2.0 * D * root, D * ratio + ratio - 1.0, 2.0 * root, -ratio])
    g = edges.real[np.abs(edges.imag) < 1e-9 * np.abs(edges)]
    ends = np.sort(1.0 / g + D * g + ratio / (root - g)).reshape(-1, 2)
    xi, slope = np.empty_like(values), np.empty_like(values)
    for k, x in enumerate(values):
        moved = np.clip(x, ends[:, 0], ends[:, 1]) if len(ends) == 1 else np.array([x])
        at = moved[np.argmin(np.abs(moved - x))]
        g = transform(at)
        xi[k] = max(at - 2.0 * D * g.real, 0.0)
        inverse = 1.0 / (D - 1.0 / g**2 + ratio / (root - g) ** 2)
        slope[k] = 1.0 - 2.0 * D * inverse.real if at == x and xi[k] > 0 else 0.0
    return xi, slope
