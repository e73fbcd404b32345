"""Slow and independent: SGD with all d components of every weight, and losses by quadrature over all fields at once."""

import functools

import numpy as np


def he(k, x):
    """He_k / sqrt(k!) from the coefficients of numpy."""
    return np.polynomial.hermite_e.hermeval(x, [0.0] * k + [1.0]) / np.sqrt(np.prod(np.arange(1.0, k + 1)))


def start_weights(overlap, shape, dimension, generator):
    """Unit vectors with an overlap with the first axis, array (*shape, dimension)."""
    rest = generator.standard_normal((*shape, dimension))
    rest[..., 0] = 0.0
    rest /= np.linalg.norm(rest, axis=-1, keepdims=True)
    weights = np.sqrt(1.0 - overlap**2) * rest
    weights[..., 0] = overlap
    return weights


def feed_forward_sgd(tokens, dimension, rate, steps, runs, shared, generator):
    """relu(M^(-1/2) sum w_l x_l) on sum_l He_2 / sqrt 2, loss (y - f)^2: overlaps after each step, array (steps, runs)."""
    o = dimension**-0.5
    weights = start_weights(o / np.hypot(o, 1.0 - o), (runs, 1 if shared else tokens), dimension, generator)
    found = []
    for _ in range(steps):
        x = generator.standard_normal((runs, tokens, dimension))
        y = np.sum(x[..., 0] ** 2 - 1.0, axis=1) / np.sqrt(2.0)
        h = np.sum(x * weights, axis=(1, 2)) / np.sqrt(tokens)
        slope = -2.0 * (y - np.maximum(h, 0.0)) * (h > 0.0) / np.sqrt(tokens)
        gradient = slope[:, None, None] * (x.sum(axis=1, keepdims=True) if shared else x)
        weights = weights - rate / dimension * gradient
        weights /= np.sqrt(np.sum(weights**2, axis=(1, 2), keepdims=True) / weights.shape[1])
        found.append(np.sqrt(np.mean(weights[..., 0] ** 2, axis=1)))
    return np.array(found)


def hermite_sgd(order, tokens, dimension, rate, steps, runs, generator):
    """M^(-1/2) sum_l h_k for student and target, loss half the squared error: |m| after each step, array (steps, runs)."""
    weights = start_weights(dimension**-0.5, (runs,), dimension, generator)
    found = []
    for _ in range(steps):
        x = generator.standard_normal((runs, tokens, dimension))
        z = np.einsum("rld,rd->rl", x, weights)
        miss = (he(order, x[..., 0]) - he(order, z)).sum(axis=1) / tokens
        slope = np.sqrt(order) * he(order - 1, z)
        weights = weights + rate / dimension * np.einsum("r,rl,rld->rd", miss, slope, x)
        weights /= np.linalg.norm(weights, axis=1, keepdims=True)
        found.append(np.abs(weights[:, 0]))
    return np.array(found)


def attention(z):
    scores = np.exp(z[..., :, None] * z[..., None, :])
    return scores / scores.sum(axis=-1, keepdims=True)


def attention_target(star, a, omega):
    fixed = np.exp(a**2 * np.array([[1.0, -1.0], [-1.0, 1.0]]) - a**2)
    return (1.0 - omega) * attention(star) + omega * fixed / fixed.sum(axis=1, keepdims=True)


def attention_error(z, target, loss):
    square = np.sum((target - attention(z)) ** 2, axis=(-1, -2))
    return np.sqrt(square) if loss == "frobenius" else 0.5 * square


def attention_slopes(z, target, loss, step=1e-6):
    """Derivatives of the loss by the two fields, by central differences."""
    shifts = step * np.eye(2)
    sides = [(attention_error(z + s, target, loss) - attention_error(z - s, target, loss)) / (2 * step) for s in shifts]
    return np.stack(sides, axis=-1)


def attention_sgd(a, omega, loss, dimension, rate, steps, runs, generator):
    """Softmax attention with positional encoding (+p, -p), p the second axis: (e, m) after each step, array (steps, runs, 2)."""
    weights = np.zeros((runs, dimension))
    weights[:, 2] = 1.0
    found = []
    for _ in range(steps):
        x = generator.standard_normal((runs, 2, dimension))
        target = attention_target(x[..., 0], a, omega)
        x[:, 0, 1] += 1.0
        x[:, 1, 1] -= 1.0
        z = np.einsum("rld,rd->rl", x, weights)
        weights = weights - rate / dimension * np.einsum("rl,rld->rd", attention_slopes(z, target, loss), x)
        weights /= np.linalg.norm(weights, axis=1, keepdims=True)
        found.append(weights[:, 1::-1].copy())
    return np.array(found)


@functools.cache
def joint_nodes(count):
    """Gauss-Hermite nodes of (z*_1, z*_2, zeta_1, zeta_2): two arrays (n, 2), and weights (n,)."""
    x, w = np.polynomial.hermite_e.hermegauss(count)
    points = np.stack(np.meshgrid(x, x, x, x, indexing="ij"), axis=-1).reshape(-1, 4)
    weights = np.prod(np.stack(np.meshgrid(w, w, w, w, indexing="ij"), axis=-1).reshape(-1, 4), axis=1)
    keep = weights > 1e-32 * weights.sum()
    return points[keep, :2], points[keep, 2:], weights[keep] / weights.sum()


def joint_fields(count, e, m):
    """(z*, z, weights) at overlaps e and m."""
    star, rest, weights = joint_nodes(count)
    return star, m * star + np.sqrt(max(0.0, 1.0 - m**2)) * rest + e * np.array([1.0, -1.0]), weights


@functools.cache
def attention_means(e, m, count=26):
    """E phi_e, E phi_e^2 and E phi* phi_e of the first diagonal entry phi: one row of the softmax."""
    star, z, weights = joint_fields(count, e, m)
    phi_star, phi = (1.0 / (1.0 + np.exp(x[:, 0] * (x[:, 1] - x[:, 0]))) for x in (star, z))
    return weights @ phi, weights @ phi**2, weights @ (phi_star * phi)


def attention_loss(a, omega, e, m):
    """1/2 E||T - S||^2: four entries, equal in pairs, so that it is 2 E d^2 with d the error of the first."""
    abar = 1.0 / (1.0 + np.exp(-2.0 * a**2))
    own, square, cross = attention_means(e, m)
    mean, power, _ = attention_means(0.0, 0.0)
    constant = (1 - omega) ** 2 * power + 2 * omega * (1 - omega) * abar * mean + (omega * abar) ** 2
    return 2.0 * (constant + square - 2.0 * (1 - omega) * cross - 2.0 * omega * abar * own)


def curvature(a, omega, points):
    """Second derivative along an even path from its values at 0, h, 2h: `points` are three pairs (e, m), h = 0.2."""
    start, one, two = (attention_loss(a, omega, *point) for point in points)
    return (16.0 * (one - start) - (two - start)) / (6.0 * 0.2**2)


POSITION = [(0.0, 0.0), (0.2, 0.0), (0.4, 0.0)]
TEACHER = [(0.0, 0.0), (0.0, 0.2), (0.0, 0.4)]
FROM_POSITION = [(float(np.cos(t)), float(np.sin(t))) for t in (0.0, 0.2, 0.4)]
FROM_TEACHER = [(float(np.sin(t)), float(np.cos(t))) for t in (0.0, 0.2, 0.4)]


def arc_losses(a, omega, count=25):
    """Loss on `count` angles of the arc from the positional (0) to the semantic corner (pi / 2): angles, losses."""
    angles = np.linspace(0.0, 0.5 * np.pi, count)
    return angles, np.array([attention_loss(a, omega, float(np.cos(t)), float(np.sin(t))) for t in angles])


def linear_sgd(a, omega, loss, samples, generator):
    """Plain samples at e = m = 0: V = E|D|^2, E(D . a)^2, V + E(D . epsilon)^2 with their standard errors, arrays (3,)."""
    star, z = generator.standard_normal((2, samples, 2))
    slopes = attention_slopes(z, attention_target(star, a, omega), loss)
    total = np.sum(slopes**2, axis=1)
    values = np.stack([total, np.sum(slopes * star, axis=1) ** 2, total + (slopes[:, 0] - slopes[:, 1]) ** 2])
    return values.mean(axis=1), values.std(axis=1) / np.sqrt(samples)


LOSSES = {
    "half_square": lambda y, f: 0.5 * np.sum((y - f) ** 2, axis=-1),
    "square": lambda y, f: np.sum((y - f) ** 2, axis=-1),
    "frobenius": lambda y, f: np.sqrt(np.sum((y - f) ** 2, axis=-1)),
    "logistic": lambda y, f: np.sum(np.logaddexp(0.0, -y * f), axis=-1),
}


def any_sgd(target, student, loss, vectors, untied, overlap, dimension, rate, batch, steps, runs, generator):
    """Any student: overlaps (steps, runs, M) with the teacher, and with positional vectors, and |e|^2 + m^2 (steps, runs).

    `target` and `student` map (..., M) to (..., P); derivatives are central differences. The positional vectors have components
    (M, r) off the teacher; all overlaps are equal to `overlap` at the start, or those of random weights where it is None.
    """
    tokens, rank = vectors.shape
    places = np.zeros((tokens, dimension))
    places[:, 1 : rank + 1] = vectors
    weights = np.zeros((runs, tokens if untied else 1, dimension))
    if overlap is None:
        weights = generator.standard_normal(weights.shape)
        weights /= np.linalg.norm(weights, axis=2, keepdims=True)
    else:
        weights[..., : rank + 1], weights[..., rank + 1] = overlap, np.sqrt(1.0 - (rank + 1) * overlap**2)
    found, step = [], 1e-6
    for _ in range(steps):
        x = generator.standard_normal((runs, batch, tokens, dimension))
        y = target(x[..., 0])
        encoded = x + places
        z = np.sum(encoded * weights[:, None], axis=-1)
        slopes = np.stack(
            [LOSSES[loss](y, student(z + s)) - LOSSES[loss](y, student(z - s)) for s in step * np.eye(tokens)], axis=-1
        ) / (2.0 * step)
        gradient = slopes[..., None] * encoded
        gradient = gradient.mean(axis=1) if untied else gradient.sum(axis=2, keepdims=True).mean(axis=1)
        weights = weights - rate / dimension * gradient
        weights /= np.sqrt(np.sum(weights**2, axis=(1, 2), keepdims=True) / weights.shape[1])
        every = np.broadcast_to(weights, (runs, tokens, dimension))
        found.append(
            (every[..., 0].copy(), np.sum(every * places, axis=-1), np.sum(weights[..., : rank + 1] ** 2, axis=(1, 2)))
        )
    m, e, size = (np.array(part) for part in zip(*found, strict=True))
    return m, e, size / weights.shape[1]


def trace_losses(tokens, e, m, weight, count, generator):
    """1/2 (y - f)^2 of `count` sequences: y the `weight` times sum_l He_2, f = M^(-1/2) Tr softmax, positions +p, -p, +p ..."""
    signs = np.where(np.arange(tokens) % 2, -1.0, 1.0)
    star, rest = generator.standard_normal((2, count, tokens))
    z = m * star + np.sqrt(max(0.0, 1.0 - m**2)) * rest + e * signs
    trace = np.trace(attention(z), axis1=-2, axis2=-1) / np.sqrt(tokens)
    return 0.5 * (weight * np.sum(star**2 - 1.0, axis=1) - trace) ** 2


def token_losses(tokens, e, m, a, omega, count, generator):
    """1/2 ||T - S||^2 of `count` sequences of tokens with positional vectors +p, -p, +p ..., all from one generator."""
    signs = np.where(np.arange(tokens) % 2, -1.0, 1.0)
    star, pi, rest = generator.standard_normal((3, count, tokens))
    z = m * star + e * (pi + signs) + np.sqrt(max(0.0, 1.0 - e**2 - m**2)) * rest
    target = (1.0 - omega) * attention(star) + omega * attention(a * signs)
    return 0.5 * np.sum((target - attention(z)) ** 2, axis=(-1, -2))
