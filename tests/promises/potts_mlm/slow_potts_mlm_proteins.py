"""Slow and independent implementations for the promises on alignments, written from the definitions alone."""

import itertools

import numpy as np
from scipy.optimize import minimize


def letters_of(text, alphabet):
    """Rows of a FASTA text as positions in the alphabet; every other character is a gap."""
    entries = [entry.split("\n", 1) for entry in text.split(">")[1:]]
    rows = [body.replace("\n", "") for _, body in entries]
    gap = alphabet.index("-")
    return np.array([[alphabet.index(letter) if letter in alphabet else gap for letter in row] for row in rows])


def weights_of(rows, identity):
    """1 / number of rows with at least `identity` of the letters equal, by counting pair by pair."""
    sites = len(rows[0])
    needed = np.ceil(identity * sites - 1e-9)
    return np.array([1.0 / sum(sum(a == b for a, b in zip(s, t, strict=True)) >= needed for t in rows) for s in rows])


def full_pseudo_likelihood(rows, weights, colors, field_ridge, coupling_ridge):
    """Smallest objective of fields and couplings J_ij(a, b), site by site, by BFGS without gradients of ours."""
    count, sites = rows.shape
    onehot = np.eye(colors)[rows]
    total, fields, couplings = 0.0, [], []
    for i in range(sites):
        others = [j for j in range(sites) if j != i]
        x = onehot[:, others].reshape(count, -1)

        def value(flat, i=i, x=x):
            h, J = flat[:colors], flat[colors:].reshape(-1, colors)
            logits = h + x @ J
            highest = logits.max(axis=1, keepdims=True)
            p = np.exp(logits - highest)
            z = p.sum(axis=1, keepdims=True)
            loss = np.log(z[:, 0]) + highest[:, 0] - logits[np.arange(count), rows[:, i]]
            residual = (p / z - onehot[:, i]) * (weights / weights.sum() / sites)[:, None]
            gradient = np.concatenate(
                [residual.sum(axis=0) + field_ridge * h, (x.T @ residual + coupling_ridge * J).ravel()]
            )
            return weights @ loss / weights.sum() / sites + 0.5 * (
                field_ridge * h @ h + coupling_ridge * np.sum(J**2)
            ), gradient

        found = minimize(
            value, np.zeros(colors + (sites - 1) * colors**2), jac=True, method="BFGS", options={"gtol": 1e-9}
        )
        total += found.fun
        fields.append(found.x[:colors])
        couplings.append(found.x[colors:].reshape(sites - 1, colors, colors))
    return total, np.array(fields), np.array(couplings)


def scores_of(couplings, gap):
    """Corrected Frobenius norms of conditionals (L, L - 1, C, C), [i, other j, b, a], each formula by itself."""
    sites = len(couplings)
    full = np.zeros((sites, sites, *couplings.shape[2:]))
    for i in range(sites):
        for place, j in enumerate(j for j in range(sites) if j != i):
            J = couplings[i, place].T
            full[i, j] = J - J.mean(axis=0) - J.mean(axis=1, keepdims=True) + J.mean()
    norms = np.zeros((sites, sites))
    letters = [a for a in range(couplings.shape[2]) if a != gap]
    for i, j in itertools.permutations(range(sites), 2):
        joint = 0.5 * (full[i, j] + full[j, i].T)
        norms[i, j] = np.sqrt(sum(joint[a, b] ** 2 for a in letters for b in letters))
    out = np.zeros((sites, sites))
    for i, j in itertools.permutations(range(sites), 2):
        own, other = (np.delete(norms[k], k).mean() for k in (i, j))
        out[i, j] = norms[i, j] - own * other / norms[~np.eye(sites, dtype=bool)].mean()
    return out


def symmetric_pseudo_likelihood(rows, weights, colors, field_ridge, coupling_ridge):
    """Smallest objective over symmetric couplings, by BFGS; couplings (L, L - 1, C, C) as in `scores_of`, [i, other j, b, a]."""
    count, sites = rows.shape
    onehot, shares = np.eye(colors)[rows], weights / weights.sum() / sites
    pairs = list(itertools.combinations(range(sites), 2))

    def value(flat):
        h, J = flat[: sites * colors].reshape(sites, colors), flat[sites * colors :].reshape(-1, colors, colors)
        logits = np.broadcast_to(h, (count, sites, colors)).copy()
        for (i, j), own in zip(pairs, J, strict=True):
            # own[a, b] for colour a of site i and colour b of site j.
            logits[:, i] += onehot[:, j] @ own.T
            logits[:, j] += onehot[:, i] @ own
        highest = logits.max(axis=2, keepdims=True)
        p = np.exp(logits - highest)
        z = p.sum(axis=2, keepdims=True)
        losses = np.log(z[..., 0]) + highest[..., 0] - np.sum(logits * onehot, axis=2)
        residual = (p / z - onehot) * shares[:, None, None]
        slope_h = residual.sum(axis=0) + field_ridge * h
        slope_J = [
            residual[:, i].T @ onehot[:, j] + onehot[:, i].T @ residual[:, j] + 2.0 * coupling_ridge * own
            for (i, j), own in zip(pairs, J, strict=True)
        ]
        penalty = 0.5 * field_ridge * np.sum(h**2) + coupling_ridge * np.sum(J**2)
        return shares @ losses.sum(axis=1) + penalty, np.concatenate([slope_h.ravel(), np.ravel(slope_J)])

    size = sites * colors + len(pairs) * colors**2
    found = minimize(value, np.zeros(size), jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 5000})
    J = found.x[sites * colors :].reshape(-1, colors, colors)
    couplings = np.zeros((sites, sites - 1, colors, colors))
    for (i, j), own in zip(pairs, J, strict=True):
        couplings[i, j - 1], couplings[j, i] = own.T, own
    return found.fun, couplings
