"""Slow and independent implementations for the promises of the sequence multi-index family: plain loops, brute force, quadrature.

Nothing here imports the package. Fields h are arrays (n, P, M) throughout.
"""

import numpy as np


def softmax(scores):
    """Softmax over the last axis."""
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def attend(queries, keys, beta):
    """Attention matrix S_ab = softmax_b(beta q_a k_b) of arrays (n, M), array (n, M, M)."""
    return softmax(beta * queries[:, :, None] * keys[:, None, :])


def through_layers(h, layers, keep, gain):
    """Pass the tokens through attention layers: x_a <- keep x_a + gain sum_b S_ab x_b, token by token.

    `layers` are functions from the fields (n, rows, M) that a layer reads to S (n, M, M), each with the numbers of its rows.
    Returns what every row of h reads after all layers, and the map of the tokens themselves, (n, M, M).
    """
    n, rows, tokens = h.shape
    fields = np.concatenate([h, np.broadcast_to(np.eye(tokens), (n, tokens, tokens))], axis=1)
    for mine, attention in layers:
        fields = keep * fields + gain * np.einsum("nab,nrb->nra", attention(fields[:, mine]), fields, optimize=True)
    return fields[:, :rows], fields[:, rows:]


def forward(model, h):
    """Output of a provided link, array (n, ...), from the definitions of docs/links.md; `model` as in an experiment."""
    link, beta, skip = model["link"], model.get("beta", 1.0), model.get("skip", 1.0)
    rows = h.shape[1]
    if link == "deep_attention":

        def scores(f):
            u = f[:, 0]
            linear = model.get("activation") == "linear"
            return beta * u[:, :, None] * u[:, None, :] if linear else attend(u, u, beta)

        read, _ = through_layers(h, [([k], scores) for k in range(rows - 1)], skip, 1.0)
        return scores(read[:, -1:])
    if link == "untied":

        def scores(f):
            return attend(f[:, 1], f[:, 0], beta)

        read, _ = through_layers(h, [([2 * k, 2 * k + 1], scores) for k in range(rows // 2 - 1)], skip, 1.0)
        return scores(read[:, -2:])
    if link == "multi_head":
        heads = model["heads"]

        def scores(f):
            return sum(attend(f[:, k], f[:, k], beta) for k in range(heads)) / heads

        blocks = [list(range(first, first + heads)) for first in range(0, rows, heads)]
        read, _ = through_layers(h, [(block, scores) for block in blocks[:-1]], skip, 1.0)
        return scores(read[:, blocks[-1]])
    if link in ("rank_attention", "untied_heads"):
        width = model["rank"] if link == "rank_attention" else 2 * model["heads"]
        half = 0 if link == "rank_attention" else model["heads"]

        def scores(f):
            logits = sum(f[:, half + k][:, :, None] * f[:, k][:, None, :] for k in range(width - half))
            return softmax(beta * logits)

        blocks = [list(range(first, first + width)) for first in range(0, rows, width)]
        read, _ = through_layers(h, [(block, scores) for block in blocks[:-1]], skip, 1.0)
        return scores(read[:, blocks[-1]])
    if link == "sequence_output":
        layers = [([k], lambda f: attend(f[:, 0], f[:, 0], beta)) for k in range(rows)]
        # Token a of the output is sum_b y_ba x_b.
        return through_layers(h, layers, skip, 1.0)[1]
    if link in ("rescaled_attention", "committee_depth"):
        gain = model["ratio"] / rows
        if link == "rescaled_attention":
            layers = [([k], lambda f: attend(f[:, 0], f[:, 0], beta)) for k in range(rows - 1)]
            u = through_layers(h, layers, 1.0, gain)[0][:, -1]
        else:
            u = h[:, -1].copy()
            for k in range(rows - 1):
                u += gain * np.einsum("nab,nb->na", attend(h[:, k], h[:, k], beta), h[:, -1])
        return attend(u, u, beta)
    z = h[:, :, 0]
    if link == "phase_retrieval":
        return z[:, 0] ** 2
    if link == "product":
        return z.prod(axis=1)
    if link == "monomial":
        return np.prod([z[:, k] ** a for k, a in enumerate(model["exponents"])], axis=0)
    if link == "sum_of_squares":
        return (z**2).sum(axis=1)
    signs = np.where(z < 0, -1.0, 1.0)
    return signs.prod(axis=1) if link == "sign_product" else signs.sum(axis=1)


def brute_posterior(model, omega, V, output, samples, rng):
    """First and second moments of h - omega given an output, by prior samples that carry their likelihood, and their errors.

    For noisy outputs (`model` has noise) and discrete ones, whose likelihood is one or zero. `omega` (P, M), `V` (P, P); the
    result is two arrays (P M + P M (P M + 1) / 2,).
    """
    d = np.einsum("pq,nqa->npa", np.linalg.cholesky(V), rng.standard_normal((samples, *omega.shape)))
    y = forward(model, omega + d)
    if model.get("noise", 0.0) > 0:
        squares = ((y - output) ** 2).reshape(samples, -1).sum(axis=1)
        weights = np.exp(-(squares - squares.min()) / (2.0 * model["noise"]))
    else:
        weights = (y == output).astype(float)
    weights /= weights.sum()
    values = with_products(d.reshape(samples, -1))
    mean = weights @ values
    return mean, np.sqrt(weights**2 @ (values - mean) ** 2)


def with_products(d):
    """Columns (n, S) and their S (S + 1) / 2 products."""
    rows, columns = np.triu_indices(d.shape[1])
    return np.concatenate([d, d[:, rows] * d[:, columns]], axis=1)


def two_layer_moments(u, omega, V, skip, beta):
    """First and second moments (4 + 10,) of h - omega of two layers and two tokens, by dense sums, and their error.

    u (2,) is the score root up to its sign, omega (2, 2), V (2, 2) diagonal. The second layer is +-A^-1 u, A = S(z) + c I, whose
    determinant vanishes where the tokens agree for c = 0: their difference is even in logarithm. The error is the largest
    difference from the sums over every second value of the sum and of the difference of the tokens.
    """
    width = np.sqrt(2.0 * V[0, 0])
    total = omega[0].sum() + width * np.linspace(-6.5, 6.5, 401)
    logarithm = np.linspace(np.log(1e-6), np.log(abs(omega[0, 0] - omega[0, 1]) + 6.5 * width), 501)
    difference = np.concatenate([-np.exp(logarithm), np.exp(logarithm)])
    both = np.stack([total[None] + difference[:, None], total[None] - difference[:, None]], axis=-1)
    z = 0.5 * both.reshape(-1, 2)
    first = 1.0 / (1.0 + np.exp(np.clip(beta * z[:, 0] * (z[:, 0] - z[:, 1]), -700.0, 700.0)))
    second = 1.0 / (1.0 + np.exp(np.clip(beta * z[:, 1] * (z[:, 1] - z[:, 0]), -700.0, 700.0)))
    # A = [[1 - first + c, first], [second, 1 - second + c]]
    determinant = (1.0 + skip) * (skip + _difference_kept(z, beta))
    other = np.stack(
        [(1.0 - second + skip) * u[0] - first * u[1], (1.0 - first + skip) * u[1] - second * u[0]], axis=-1
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        other = np.where(determinant[:, None] > 0, other / determinant[:, None], np.inf)
    found = []
    for step in (1, 2):
        sums = np.zeros(15)
        here = (slice(None, None, step), slice(None, None, step))
        used = np.arange(len(z)).reshape(len(difference), len(total))
        # The two signs of the difference are thinned alike.
        used = np.concatenate([used[: len(logarithm)][here].ravel(), used[len(logarithm) :][here].ravel()])
        for sign in (1.0, -1.0):
            d = np.concatenate([z[used], sign * other[used]], axis=1) - omega.reshape(4)
            exponent = -0.5 * (d**2 @ np.repeat(1.0 / np.diag(V), 2))
            there = np.isfinite(exponent) & (exponent > -700.0)
            d, weight = d[there], np.exp(exponent[there]) * np.abs(z[used, 0] - z[used, 1])[there]
            weight = weight / determinant[used][there]
            sums += np.concatenate([[weight.sum()], weight @ with_products(d)])
        found.append(sums[1:] / sums[0])
    return found[0], np.abs(found[0] - found[1]).max()


def _difference_kept(z, beta):
    """1 - S_12 - S_21 of the softmax attention of two tokens z (n, 2), without cancellation where they agree."""
    one, two = (np.clip(beta * z[:, k] * (z[:, k] - z[:, 1 - k]), -700.0, 700.0) for k in (0, 1))
    # (1 - e^-(one + two)) / ((1 + e^-one) (1 + e^-two)), and one + two = beta (z_1 - z_2)^2.
    scale = np.exp(-np.logaddexp(0.0, -one) - np.logaddexp(0.0, -two))
    return -np.expm1(-beta * (z[:, 0] - z[:, 1]) ** 2) * scale


def sign_overlap(alpha, iterations=4000, start=1e-3):
    """Overlap of phase retrieval y = h^2 at alpha, by Gauss-Hermite quadrature: E[h | y] = |h| tanh(omega |h| / V)."""
    x, w = np.polynomial.hermite_e.hermegauss(120)
    w = np.outer(w, w) / w.sum() ** 2
    q = start
    for _ in range(iterations):
        omega, h = np.sqrt(q) * x[:, None], np.sqrt(q) * x[:, None] + np.sqrt(1.0 - q) * x[None, :]
        g = (np.abs(h) * np.tanh(omega * np.abs(h) / (1.0 - q)) - omega) / (1.0 - q)
        q_hat = alpha * np.sum(w * g**2)
        q = min(q_hat / (1.0 + q_hat), 1.0 - 1e-6)
    return q


def phase_retrieval_free_entropy(overlap, alpha):
    """Phi of y = h^2 at an overlap, by a dense sum: log Z = log sum_(+-) N(+-|h|; omega, V) / (2 |h|)."""
    x = np.linspace(-8.0, 8.0, 1600)
    weight = np.exp(-0.5 * x**2) / np.exp(-0.5 * x**2).sum()
    variance = 1.0 - overlap
    omega = np.sqrt(overlap) * x[:, None]
    h = np.abs(omega + np.sqrt(variance) * x[None, :])
    both = np.logaddexp(-0.5 * (h - omega) ** 2 / variance, -0.5 * (h + omega) ** 2 / variance)
    log_z = both - 0.5 * np.log(2.0 * np.pi * variance) - np.log(2.0 * np.maximum(h, 1e-3))
    return 0.5 * (overlap + np.log(variance)) + alpha * np.sum(np.outer(weight, weight) * log_z)


def noisy_phase_retrieval_threshold(noise):
    """alpha of weak recovery of y = h^2 + sqrt(noise) xi: 1 / E (E[h^2 | y] - 1)^2, by dense sums over h and y."""
    h = np.linspace(0.0, 8.0, 2001)
    prior = np.exp(-0.5 * h**2)
    width = np.sqrt(noise)
    y = np.linspace(-8.0 * width, 50.0 + 8.0 * width, 6001)
    density, second = np.empty((2, len(y)))
    for k, value in enumerate(y):
        joint = prior * np.exp(-0.5 * (value - h**2) ** 2 / noise)
        density[k], second[k] = joint.sum(), joint @ h**2
    excess = np.divide(second, density, out=np.ones_like(density), where=density > 0) - 1.0
    return density.sum() / np.sum(density * excess**2)


def gamp_of_phase_retrieval(x, y, start, start_overlap, steps):
    """Estimates (steps, D) and variances (steps,) of y = (x w)^2 / D, by the equations for one row and one token."""
    dimension = x.shape[1]
    w, V, reaction, estimates, variances = start, 1.0 - start_overlap, 0.0, [], []
    for _ in range(steps):
        omega = x @ w / np.sqrt(dimension) - reaction
        mean = np.sqrt(y) * np.tanh(omega * np.sqrt(y) / V)
        g, slope = (mean - omega) / V, (y - mean**2) / V**2 - 1.0 / V
        precision = max(-slope.sum() / dimension, 0.0)
        V = 1.0 / (1.0 + precision)
        w = V * (x.T @ g / np.sqrt(dimension) + precision * w)
        reaction = V * g
        estimates.append(w), variances.append(V)
    return np.array(estimates), np.array(variances)


def mean_map(ratio, beta, tokens, nodes=1000, steps=30):
    """Logarithm of lambda(kappa) of infinitely many layers, by plain random fields and Runge-Kutta steps, and its standard error.

    B(kappa) is e^kappa on the mean of the tokens and lambda on their differences; the error is from eight sets of fields.
    """
    found = []
    for seed in range(8):
        h = np.random.default_rng(seed).standard_normal((max(16, nodes // tokens), tokens))
        mean = h.mean(axis=1, keepdims=True)

        def growth(t, logarithm, h=h, mean=mean):
            u = np.exp(t) * mean + np.exp(logarithm) * (h - mean)
            return (np.trace(attend(u, u, beta), axis1=1, axis2=2).mean() - 1.0) / (tokens - 1.0)

        value, step = 0.0, ratio / steps
        for k in range(steps):
            first = growth(k * step, value)
            second = growth((k + 0.5) * step, value + 0.5 * step * first)
            third = growth((k + 0.5) * step, value + 0.5 * step * second)
            fourth = growth((k + 1) * step, value + step * third)
            value += step * (first + 2.0 * second + 2.0 * third + fourth) / 6.0
        found.append(value)
    return np.mean(found), np.std(found, ddof=1) / np.sqrt(8.0)


def output_of_mean_map(h, ratio, logarithm, beta):
    """softmax_rows(beta u u^T), (n, M, M), of u = B h, h (n, M); B is e^ratio on the mean and exp(logarithm) on the rest."""
    mean = h.mean(axis=1, keepdims=True)
    u = np.exp(ratio) * mean + np.exp(logarithm) * (h - mean)
    return attend(u, u, beta)


def gamp_by_samples(x, candidates, start, hint, options, steps, messages):
    """Estimates (steps, D) of one Gaussian row, with the variance of every sample or of every message, by loops.

    x (N, M, D) are tokens, and `candidates` (N, K, M) the fields that an output leaves, all of one weight. `hint` are the
    precision and the target (D,) of the side information; `options` has `start_overlap`, `damping` and `regularization`. A
    precision of the data stays above -1/2.
    """
    (count, tokens, dimension), old = x.shape, options["damping"]
    x = x / np.sqrt(dimension)
    mean, variance = np.tile(start, (count, 1)), np.full((count, dimension), 1.0 - options["start_overlap"])
    onsager, estimate, found = np.zeros((count, tokens)), start, []
    for _ in range(steps):
        b, A, outputs = np.zeros((count, dimension)), np.zeros((count, dimension)), np.zeros((count, tokens))
        for mu in range(count):
            for i in range(dimension):
                others = [j for j in range(dimension) if j != i or not messages]
                omega = sum(mean[mu, j] * x[mu, :, j] for j in others) - onsager[mu]
                V = sum(variance[mu, j] * np.outer(x[mu, :, j], x[mu, :, j]) for j in others)
                g, dg = _of_candidates(candidates[mu], omega, V + options["regularization"] * np.eye(tokens))
                b[mu, i], A[mu, i], outputs[mu] = x[mu, :, i] @ g, -x[mu, :, i] @ dg @ x[mu, :, i], g
        target, precision = b.sum(axis=0) + hint[1], np.maximum(A.sum(axis=0), -0.5)
        if messages:
            estimate = target / (1.0 + hint[0] + precision)
            cavity = 1.0 / (1.0 + hint[0] + np.maximum(A.sum(axis=0) - A, -0.5))
            mean = (1.0 - old) * cavity * (target - b) + old * mean
            variance = (1.0 - old) * cavity + old * variance
        else:
            posterior = 1.0 / (1.0 + hint[0] + precision)
            estimate = (1.0 - old) * posterior * (target + precision * estimate) + old * estimate
            reaction = np.array([(token * posterior) @ token.T @ g for token, g in zip(x, outputs, strict=True)])
            onsager = (1.0 - old) * reaction + old * onsager
            mean, variance = np.tile(estimate, (count, 1)), (1.0 - old) * posterior + old * variance
        found.append(estimate)
    return np.array(found)


def _of_candidates(candidates, omega, V):
    """g (M,) and dg (M, M) of fields (K, M) of one weight in a Gaussian of mean omega and covariance V."""
    away, inverse = candidates - omega, np.linalg.inv(V)
    exponents = np.array([-0.5 * one @ inverse @ one for one in away])
    weights = np.exp(exponents - exponents.max())
    weights /= weights.sum()
    mean = weights @ away
    covariance = sum(weight * np.outer(one - mean, one - mean) for weight, one in zip(weights, away, strict=True))
    return inverse @ mean, inverse @ covariance @ inverse - inverse
