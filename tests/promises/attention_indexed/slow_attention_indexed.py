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


def two_layer_information(V, skip, beta, count, rng, points=200):
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
        weight = -0.5 * np.sum(x**2, axis=0) - 3.0 * np.log(np.abs(e))
        weight = np.exp(weight - weight.max())
        z = np.sum(weight / weight.sum() * x, axis=(1, 2)).reshape(2, 2)
        found[k] = 2.0 * np.sum(z**2, axis=1)
    return found.mean(axis=0), found.std(axis=0, ddof=1) / np.sqrt(count)


def layer_information(model, V, count, rng, draws=20_000):
    """k_l = 2 E |z_l|^2 (2,) of two layers and its standard error, over `count` random outputs at variances V (2,).

    z_l are posterior means of the scores less their prior means, by plain draws from the prior of layer 1 with the likelihood of
    layer 2 as weight (softmax), or from the prior of both with equal outputs (hardmax). Two sets of draws give two estimates of
    z_l, whose product has no bias. An output that fewer than 20 draws carry in a set is left out; at most one of ten may be.
    """
    M, skip, beta = model["tokens"], model["skip"], model["beta"]
    diagonal = np.where(np.eye(M, dtype=bool), np.sqrt(2.0), 1.0)

    def symmetric(number):
        upper = np.triu(rng.standard_normal((number, M, M)) * diagonal)
        return upper + np.swapaxes(np.triu(upper, 1), 1, 2)

    def without_constant(h):
        return h - h.mean(axis=(-1, -2), keepdims=True)

    def mixing(h):
        weights = np.exp(beta * (h - h.max(axis=2, keepdims=True)))
        return weights / weights.sum(axis=2, keepdims=True) + skip * np.eye(M)

    found = []
    for _ in range(count):
        means = [np.sqrt(1.0 - v) * symmetric(1) for v in V]
        first, second = (mean + np.sqrt(v) * symmetric(1) for mean, v in zip(means, V, strict=True))
        B = mixing(first)
        output, sets = B @ second @ np.swapaxes(B, 1, 2), []
        for _ in range(2):
            x = symmetric(draws)
            B = mixing(means[0] + np.sqrt(V[0]) * x)
            if model["channel"] == "hardmax":
                y = symmetric(draws)
                h = B @ (means[1] + np.sqrt(V[1]) * y) @ np.swapaxes(B, 1, 2)
                weight = np.all(h.argmax(axis=2) == output.argmax(axis=2), axis=1).astype(float)
            else:
                inverse = np.linalg.inv(B)
                y = without_constant(inverse @ output @ np.swapaxes(inverse, 1, 2) - means[1]) / np.sqrt(V[1])
                logs = -0.25 * np.sum(y**2, axis=(1, 2)) - (M + 1) * np.linalg.slogdet(B)[1]
                weight = np.exp(logs - logs.max())
            carried = weight.sum() ** 2 / max(np.sum(weight**2), 1e-300)
            weight = weight / max(weight.sum(), 1e-300)
            sets.append((carried, [without_constant(np.einsum("n,nab->ab", weight, z)) for z in (x, y)]))
        if min(carried for carried, _ in sets) >= 20:
            # ||.||_F^2 = 2 |.|^2 in contrasts.
            found.append([np.sum(one * other) for one, other in zip(sets[0][1], sets[1][1], strict=True)])
    assert len(found) >= 0.9 * count
    return np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / np.sqrt(len(found))


def sampled_information(tokens, V, Q, count, rng, cut=400):
    """E 4 sum G^2 of the hardmax at V: mean, standard error, and a bound on what is missing of the mean.

    The average of sum_ab z_ab z'_ab / V^2 over pairs of independent scores h = omega + z of one posterior, the second by
    rejection: prior draws until the output of the first appears again. Pairs that have not met after `cut` draws are left out;
    their mean is between 0 and that of z^2.
    """

    def symmetric(number, variance):
        z = rng.standard_normal((number, tokens, tokens))
        return np.sqrt(0.5 * variance) * (z + z.transpose(0, 2, 1))

    omega, first = symmetric(count, Q - V), symmetric(count, V)
    output, products = np.argmax(omega + first, axis=2), np.zeros(count)
    waiting = np.arange(count)
    for _ in range(cut):
        second = symmetric(len(waiting), V)
        met = np.all(np.argmax(omega[waiting] + second, axis=2) == output[waiting], axis=1)
        pairs = waiting[met]
        products[pairs] = np.sum(first[pairs] * second[met], axis=(1, 2)) / V**2
        waiting = waiting[~met]
    missing = np.sum(first[waiting] ** 2) / V**2 / count
    return products.mean(), products.std(ddof=1) / np.sqrt(count), missing
