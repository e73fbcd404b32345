"""Slow and independent computations for weight decay: spectra from roots of polynomials, minima by a general minimiser."""

import numpy as np
from scipy.optimize import minimize


def spectrum(ratio, noise, nodes=160):
    """Eigenvalues x of S + sqrt(D) Z, mu dx and Re g at Gauss-Legendre nodes in the cosine of each bulk.

    g solves D g^3 - (x + D root) g^2 + (x root + 1 - rho) g - root = 0, root = sqrt(rho). The ends of the bulks are extrema of
    x(g) = 1/g + D g + rho / (root - g).
    """
    root = np.sqrt(ratio)
    square = np.polynomial.polynomial.polymul([root, -1.0], [root, -1.0])
    turning = np.polynomial.polynomial.polymul([0.0, 0.0, noise], square)
    turning = np.polynomial.polynomial.polyadd(turning, [0.0, 0.0, ratio])
    turning = np.polynomial.polynomial.polysub(turning, square)
    g = np.roots(turning[::-1])
    g = np.sort(g[np.abs(g.imag) < 1e-9 * np.abs(g)].real)
    ends = np.sort(1.0 / g + noise * g + ratio / (root - g))
    x, weights = np.polynomial.legendre.leggauss(nodes)
    angle = 0.5 * np.pi * (x + 1.0)
    values, steps = [], []
    for low, high in zip(ends[::2], ends[1::2], strict=True):
        values.append(0.5 * (high + low) - 0.5 * (high - low) * np.cos(angle))
        steps.append(0.5 * (high - low) * np.sin(angle) * 0.5 * np.pi * weights)
    values, steps = np.concatenate(values), np.concatenate(steps)
    cubic = [np.roots([noise, -(v + noise * root), v * root + 1.0 - ratio, -root]) for v in values]
    chosen = np.array([roots[np.argmin(roots.imag)] for roots in cubic])
    return values, -chosen.imag / np.pi * steps, chosen.real


def shrunk(values, mass, transform, threshold, noise):
    """Error, rank, trace and response of (Y - eps)_+ by sums over the nodes; the cut at eps falls between nodes."""
    f = np.maximum(values - threshold, 0.0)
    theta = 2.0 * np.sum(f * transform * mass)
    rank = np.sum(mass[values > threshold])
    below = np.sum((values**2 * mass)[values <= threshold])
    return threshold**2 * rank + below + (2.0 * theta - 1.0) * noise, rank, np.sum(f * mass), theta


def least_objective(sequences, outputs, beta, decay, starts, generator):
    """The least training objective of several runs of L-BFGS on a square factor, with sums over samples written out."""
    dimension = sequences.shape[2]

    def objective(flat):
        W = flat.reshape(dimension, dimension)
        S = W @ W.T / dimension
        total = decay * dimension * np.trace(S)
        slope = decay * dimension * np.eye(dimension)
        for x, y in zip(sequences, outputs, strict=True):
            h = (x @ S @ x.T - np.trace(S) * np.eye(len(x))) / np.sqrt(dimension)
            if beta is None:
                residual, back = h - y, 2.0 * (h - y)
            else:
                P = np.exp(beta * (h - h.max(axis=1, keepdims=True)))
                P /= P.sum(axis=1, keepdims=True)
                residual = P - y
                back = np.array([
                    2.0 * beta * (np.diag(p) - np.outer(p, p)) @ r for p, r in zip(P, residual, strict=True)
                ])  # fmt: skip
            total += np.sum(residual**2)
            slope += (x.T @ back @ x - np.trace(back) * np.eye(dimension)) / np.sqrt(dimension)
        return total, ((slope + slope.T) @ W / dimension).ravel()

    options = {"maxiter": 3000, "maxfun": 6000, "ftol": 1e-13, "gtol": 1e-9}
    first = [generator.standard_normal(dimension**2) for _ in range(starts)]
    return min(minimize(objective, x, jac=True, method="L-BFGS-B", options=options).fun for x in first)
