"""Slow and independent implementations of the attention-indexed family, from its equations and from nothing of the package."""

from decimal import Decimal, localcontext

import numpy as np
from scipy.special import ndtr

# Digits: terms of the cubic cancel to (rho D)^2 of each other, and mmse(D) to rho D.
DIGITS = 90


def decimal_mmse(ratio: float, noise: float, nodes: int = 40) -> float:
    """mmse(D) = D - (4 pi^2 / 3) D^2 int mu^3, mu from the roots of the cubic z = 1/g + D g + rho / (sqrt(rho) - g).

    Chebyshev nodes of the second kind on each bulk, between the zeros of z'(g), all in decimal arithmetic of 90 digits.
    """
    with localcontext() as context:
        context.prec = DIGITS
        rho, D = Decimal(ratio), Decimal(noise)
        root, third, pi = rho.sqrt(), Decimal(1) / 3, _pi()

        def cube_root(x):
            return (abs(x) ** third).copy_sign(x) if x else x

        def density(z):
            # D g^3 + b g^2 + c g + e = 0 by Cardano: one real root and a pair of imaginary part sqrt(3)/2 |u - v|.
            b, c, e = -(z + D * root) / D, (z * root + 1 - rho) / D, -root / D
            p, q = c - b * b / 3, 2 * b**3 / 27 - b * c / 3 + e
            discriminant = q * q / 4 + p**3 / 27
            if discriminant <= 0:
                return Decimal(0)
            half = discriminant.sqrt()
            return Decimal(3).sqrt() / 2 * abs(cube_root(half - q / 2) + cube_root(half + q / 2)) / pi

        total = Decimal(0)
        for low, high in _bulks(rho, root, D):
            middle, half = (low + high) / 2, (high - low) / 2
            for k in range(1, nodes + 1):
                cosine = _cosine(pi * k / (nodes + 1))
                weight = half * pi / (nodes + 1) * (1 - cosine * cosine).sqrt()
                total += weight * density(middle + half * cosine) ** 3
        return float(D - 4 * pi**2 / 3 * D**2 * total)


def _pi():
    """pi by Machin's formula."""

    def arctan(inverse):
        x = term = Decimal(1) / inverse
        total, k = term, 1
        while abs(term) > Decimal(10) ** -(DIGITS + 5):
            term, k = -term / inverse**2, k + 2
            total += term / k
        return total + 0 * x

    return 16 * arctan(5) - 4 * arctan(239)


def _cosine(angle):
    total = term = Decimal(1)
    k = 0
    while abs(term) > Decimal(10) ** -DIGITS:
        k += 2
        term *= -angle * angle / (k * (k - 1))
        total += term
    return total


def _bulks(rho, root, D):
    """Ends (low, high) of the bulks of the spectrum: z at the zeros of z'(g)."""

    def z(g):
        return 1 / g + D * g + rho / (root - g)

    def slope(g):
        return D - 1 / (g * g) + rho / (root - g) ** 2

    def zero(negative, positive):
        for _ in range(280):
            middle = (negative + positive) / 2
            negative, positive = (middle, positive) if slope(middle) < 0 else (negative, middle)
        return z((negative + positive) / 2)

    far = 2 * (root + 1 / D.sqrt() + 1)
    tiny = Decimal(10) ** -40
    lowest, highest = zero(-tiny * root, -far), zero(tiny * root, root * (1 - tiny))
    if rho >= 1:
        return [(lowest, highest)]
    neck = root / (1 - rho ** (Decimal(1) / 3))
    if slope(neck) >= 0:
        return [(lowest, highest)]
    # Between the bulks g runs from the right end of the lower one, large, to the left end of the upper one.
    return [(lowest, zero(neck, far + neck)), (zero(neck, root * (1 + tiny)), highest)]


def sign_information(ratio: float, published: bool = False, step: float = 0.3) -> float:
    """F = V E 4 sum_ab G_ab^2 of the hardmax of two tokens at q/V = `ratio`, by sums over means and outputs.

    u = (h_11 - h_12, h_22 - h_12) has mean m, of covariance q C, and covariance V C, C = [[3, 1], [1, 3]]. With the posterior
    mean a sqrt(V) of u - m given the signs of u, F = 2 E a^T C^-1 a. At V = 1 the probability of the signs and a are integrals
    over u_1 of a density and a normal distribution function. `published`: both slopes are the density at u = 0.
    """
    # Each mean on the scale sqrt(V / q) on which its sign becomes certain, in the coordinate asinh.
    scale = 1.0 / np.sqrt(1.0 + ratio)
    count = int(np.ceil(np.arcsinh(8.5 / scale) / step))
    x = step * np.arange(-count, count + 1)
    z, weight = scale * np.sinh(x), scale * np.cosh(x) * step
    first, second = np.meshgrid(z, z, indexing="ij")
    # m = sqrt(3 q) z, of correlation 1/3.
    squares = (first**2 - 2.0 / 3.0 * first * second + second**2) * 9.0 / 16.0
    chance = np.outer(weight, weight) * np.exp(-squares) * 3.0 / (2.0 * np.pi * np.sqrt(8.0))
    m = np.sqrt(3.0 * ratio) * np.array([first, second])
    inverse, total = np.array([[3.0, -1.0], [-1.0, 3.0]]) / 8.0, 0.0
    for signs in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
        P, a_1 = _half_space(m[0], m[1], *signs)
        _, a_2 = _half_space(m[1], m[0], *signs[::-1])
        seen = P > 1e-40
        if published:
            product = np.einsum("i...,ij,j...->...", m, inverse, m)
            slope = np.exp(-0.5 * product) / (2.0 * np.pi * np.sqrt(8.0)) * np.sqrt(3.0)
            squares = 2.0 * slope**2 * (6.0 + 2.0 * signs[0] * signs[1])
        else:
            a = np.array([a_1, a_2])
            squares = 2.0 * np.einsum("i...,ij,j...->...", a, inverse, a)
        total += np.sum(np.where(seen, chance * squares / np.where(seen, P, 1.0), 0.0))
    return float(total)


def _half_space(m_1, m_2, sign_1, sign_2):
    """Probability P of both signs, and P times the mean of u_1 - m_1, u normal about m with covariance C."""
    nodes, weights = np.polynomial.legendre.leggauss(60)
    far = 9.0 * np.sqrt(3.0)
    # sign_1 u_1 from zero, or from where the density begins, to where it ends.
    low = np.maximum(sign_1 * m_1 - far, 0.0)
    high = np.maximum(sign_1 * m_1 + far, low + 1e-12)
    P, mean = 0.0, 0.0
    for node, weight in zip(0.5 * (nodes + 1.0), 0.5 * weights, strict=True):
        away = sign_1 * (low + (high - low) * node) - m_1
        density = np.exp(-(away**2) / 6.0) / np.sqrt(6.0 * np.pi)
        given = ndtr(sign_2 * (m_2 + away / 3.0) / np.sqrt(8.0 / 3.0))
        P, mean = P + weight * (high - low) * density * given, mean + weight * (high - low) * density * given * away
    return P, mean


def adam(loss_gradient, start, steps: int, rate: float):
    """Weights after each of `steps` steps of Adam (Kingma, Ba 2014; 0.9, 0.999, 1e-8) in double precision."""
    W, first, second = start.copy(), np.zeros_like(start), np.zeros_like(start)
    path = []
    for t in range(1, steps + 1):
        g = loss_gradient(W)
        first, second = 0.9 * first + 0.1 * g, 0.999 * second + 0.001 * g**2
        W = W - rate * (first / (1 - 0.9**t)) / (np.sqrt(second / (1 - 0.999**t)) + 1e-8)
        path.append(W)
    return path


def descent_problem(X, y, beta):
    """Functions of weights: mean squared training error and gradient of the loss; X (n, T, d), y (n, T, T)."""
    d = X.shape[2]

    def fields(W):
        S = W @ W.T / np.sqrt(W.shape[1] * d)
        return (np.einsum("nai,ij,nbj->nab", X, S, X) - np.trace(S) * np.eye(X.shape[1])) / np.sqrt(d)

    def outputs(W):
        h = beta * fields(W)
        e = np.exp(h - h.max(axis=2, keepdims=True))
        return e / e.sum(axis=2, keepdims=True)

    def error(W):
        return np.mean(np.sum((outputs(W) - y) ** 2, axis=(1, 2)))

    def gradient(W):
        p = outputs(W)
        r = 2.0 * (p - y) / d
        by_h = beta * p * (r - np.sum(r * p, axis=2, keepdims=True))
        by_S = (np.einsum("nab,nai,nbj->ij", by_h, X, X) - np.einsum("naa->", by_h) * np.eye(d)) / np.sqrt(d)
        return (by_S + by_S.T) @ W / np.sqrt(W.shape[1] * d)

    return error, gradient


def plain_amp(X, observe, score, S, ratio, damping=0.8, iterations=300):
    """Error ||S - S_hat||^2 / d of the AMP of a linear-type output, or None if it has not settled.

    The n x d x d x T x T tensor of all products, and the roots of cubics.
    `score(omega)` (n, T, T) is h - omega as far as the output tells it, `observe` the number K of equations.
    """
    n, T, d = X.shape
    F = np.einsum("nai,nbj->nabij", X, X)
    F = 0.5 * (F + F.transpose(0, 1, 2, 4, 3)) - np.eye(T)[None, :, :, None, None] * np.eye(d)
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


def two_layer_information(V, skip, beta, count, rng, points=250):
    """k_l = 2 E |z_l|^2 (2,) of two layers and its standard error, over `count` random outputs at variances V (2,).

    z_l are the posterior means of sum and difference of (h_11 - h_12, h_22 - h_12) of the raw fields of layer l less their prior
    means, in prior standard deviations, on a lattice of points x points over the whole prior of layer 1.
    """
    widths = np.sqrt([8.0, 4.0])
    found = np.empty((count, 2))
    for k in range(count):
        mean = np.sqrt(1.0 - V)[:, None] * widths * rng.standard_normal((2, 2))
        truth = mean + np.sqrt(V)[:, None] * widths * rng.standard_normal((2, 2))
        u_1, u_2 = 0.5 * (truth[0, 0] + truth[0, 1]), 0.5 * (truth[0, 0] - truth[0, 1])
        s_1, s_2 = (1.0 / (1.0 + np.exp(-beta * u)) for u in (u_1, u_2))
        e = skip + s_1 + s_2 - 1.0
        a_s, a_d = e**2 * truth[1, 0], e * ((skip + 1.0) * truth[1, 1] - (s_2 - s_1) * truth[1, 0])
        u = (np.arange(points) + 0.5) / points * 2.0 - 1.0
        half = 7.0 * np.sqrt(3.0 * V[0])
        u_1 = 0.5 * (mean[0, 0] + mean[0, 1]) + half * u[:, None]
        u_2 = 0.5 * (mean[0, 0] - mean[0, 1]) + half * u
        s_1, s_2 = (1.0 / (1.0 + np.exp(-np.clip(beta * x, -700, 700))) for x in (u_1, u_2))
        e = skip + s_1 + s_2 - 1.0
        v_s = a_s / e**2
        v_d = (a_d / e + (s_2 - s_1) * v_s) / (skip + 1.0)
        x = np.stack([u_1 + u_2 - mean[0, 0], u_1 - u_2 - mean[0, 1], v_s - mean[1, 0], v_d - mean[1, 1]])
        x /= (np.sqrt(V)[:, None] * widths).ravel()[:, None, None]
        weight = -0.5 * np.sum(x**2, axis=0) - 3.0 * np.log(e)
        weight = np.exp(weight - weight.max())
        z = np.sum(weight / weight.sum() * x, axis=(1, 2)).reshape(2, 2)
        found[k] = 2.0 * np.sum(z**2, axis=1)
    return found.mean(axis=0), found.std(axis=0, ddof=1) / np.sqrt(count)
