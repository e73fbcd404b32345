"""Slow and independent theory of untied attention: the denoising of Q K^T / sqrt(r d) from the roots of a quartic."""

import numpy as np


def quartic_mmse(ratio: float, noise: float, step: float = 0.1) -> float:
    """mmse(D) at D = `noise` from z = 1/g + D g + rho g / (rho - g^2): edges, roots and double exponential integration.

    In units z / sqrt(D) and sqrt(D) g, with the steps of the rule `step`, in extended precision. The error is D - (4 pi^2 / 3)
    D^2 int mu^3 for D < 1 and 1 - E (lambda - 2 D Re g)^2 beyond, where neither cancels more than the quadrature is right.
    """
    rho, D = np.longdouble(ratio), np.longdouble(noise)
    delta = rho * D
    t = np.arange(-int(4.0 / step), int(4.0 / step) + 1) * np.longdouble(step)
    # Places in (0, 1), with their distance to both ends, and weights.
    q = np.exp(np.pi * np.sinh(t))
    place, weight = q / (1.0 + q), step * np.pi * np.cosh(t) * q / (1.0 + q) ** 2
    cubes = squares = mass = np.longdouble(0.0)
    for low, high in _bulks(rho, delta):
        for z, w in zip(low + (high - low) * place, (high - low) * weight, strict=True):
            root = _transform(z, rho, delta)
            density = -root.imag / np.pi
            mass += 2.0 * w * density
            cubes += 2.0 * w * density**3
            squares += 2.0 * w * density * (z - 2.0 * root.real) ** 2
    assert abs(mass - 1.0) < 1e-4
    return float(D * (1.0 - 4.0 / 3.0 * np.pi**2 * cubes) if noise < 1 else 1.0 - D * squares)


def _bulks(rho, delta):
    """Ends of the support at z > 0 in units of sqrt(D): z at the real zeros s = D g^2 < 1 of the derivative of z, a cubic."""

    def derivative(s):
        return rho * s * (delta + s) - (delta - s) ** 2 * (1.0 - s)

    # Fine near s = delta, where the ends of a narrow bulk are, and near one.
    away = np.logspace(-12, -0.001, 4000).astype(np.longdouble)
    grid = np.concatenate([delta * (1.0 - away), delta * (1.0 + away), delta / away, 1.0 - away, away])
    grid = np.sort(grid[(grid > 0) & (grid < 1)])
    found, values = [], derivative(grid)
    for place in np.nonzero(np.sign(values[1:]) != np.sign(values[:-1]))[0]:
        low, high = grid[place], grid[place + 1]
        for _ in range(100):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if np.sign(derivative(middle)) == np.sign(values[place]) else (low, middle)
        found.append(0.5 * (low + high))
    ends = sorted(abs(1.0 / g + g + rho * g / (delta - g * g)) for g in np.sqrt(np.array(found)))
    assert len(ends) in (1, 3)
    return [(np.longdouble(0.0), ends[0])] if len(ends) == 1 else [(np.longdouble(0.0), ends[0]), (ends[1], ends[2])]


def _transform(z, rho, delta):
    """sqrt(D) g: the root of the quartic with the most negative imaginary part, from double precision by Newton's method."""
    coefficients = np.array([1.0, -z, 1.0 - rho - delta, z * delta, -delta], dtype=np.longdouble)
    starts = []
    for scale in (np.longdouble(1.0), np.sqrt(delta)):
        scaled = coefficients * scale ** np.arange(4, -1, -1)
        scaled = (scaled / np.abs(scaled).max()).astype(float)
        starts += [scale * root for root in np.roots(scaled)]
        starts += [scale / root for root in np.roots(scaled[::-1]) if root != 0]
    best = np.clongdouble(0.0)
    for start in starts:
        root = np.clongdouble(start)
        for _ in range(60):
            value = slope = np.clongdouble(0.0)
            size = np.longdouble(0.0)
            for c in coefficients:
                value, slope, size = value * root + c, slope * root + value, size * abs(root) + abs(c)
            if value == 0 or slope == 0:
                break
            root = root - value / slope
        if abs(value) < 1e-14 * size and root.imag < best.imag:
            best = root
    return best


def row_information(tokens, V, Q, count, rng, cut=400):
    """E 4 sum G^2 of the hardmax of untied attention at V: mean, standard error, and a bound on what is missing of the mean.

    One row: the average of sum_b z_b z'_b / V^2 over pairs of independent scores omega + z of one posterior, the second by
    rejection: prior draws until the output of the first appears again. M rows have M times as much. Pairs that have not met after
    `cut` draws are left out; their mean is between 0 and that of z^2.
    """
    omega = np.sqrt(Q - V) * rng.standard_normal((count, tokens))
    first = np.sqrt(V) * rng.standard_normal((count, tokens))
    output, products, waiting = np.argmax(omega + first, axis=1), np.zeros(count), np.arange(count)
    for _ in range(cut):
        second = np.sqrt(V) * rng.standard_normal((len(waiting), tokens))
        met = np.argmax(omega[waiting] + second, axis=1) == output[waiting]
        pairs = waiting[met]
        products[pairs] = np.sum(first[pairs] * second[met], axis=1) / V**2
        waiting = waiting[~met]
    missing = np.sum(first[waiting] ** 2) / V**2 / count
    return tokens * products.mean(), tokens * products.std(ddof=1) / np.sqrt(count), tokens * missing
