"""Masked tokens of a Potts model: the excess loss of factored attention, by Gibbs sampling and gradient descent.

Model (Rende, Gerace, Laio, Goldt 2024, Phys. Rev. Research 6, 023057): sequences s of L sites with C colours have the law

    P(s) ~ exp(-beta H),                  H = -1/2 sum_(i != j) J_ij U[s_i, s_j],
    p(s_i = a | s_-i) = softmax_a(beta sum_(j != i) J_ij U[a, s_j]).

Factored attention predicts a masked site from all others, with its own attention A (L, L) and values V (C, C):

    loss = -(1 / (M L)) sum_(m, i) log softmax_a(sum_(j != i) A_ij V[a, s_mj]) at a = s_mi.

This is the pseudo-likelihood of a Potts model with the couplings A_ij V_ab, so A = J, V = beta U has the smallest expected loss.
Figure 2 shows the test loss of a fit to M sequences above this optimal loss.
"""

import numpy as np

SITES, COLORS, BETA = 5, 3, 0.5
TRAINING, TEST = 500, 20_000


def couplings(rng):
    """J (L, L) with zero diagonal and U (C, C): symmetric, normal."""
    J, U = (np.triu(rng.standard_normal((size, size))) for size in (SITES, COLORS))
    J, U = J + np.triu(J, 1).T, U + np.triu(U, 1).T
    np.fill_diagonal(J, 0.0)
    return J, U


def sweep(J, U, beta, states, rng):
    """Draw every site of all chains (M, L) in turn from its law given the others. Changes `states`."""
    for i in range(len(J)):
        fields = np.einsum("j,mja->ma", J[i], U[states])
        weights = np.exp(beta * (fields - fields.max(axis=1, keepdims=True)))
        below = np.cumsum(weights, axis=1) / weights.sum(axis=1, keepdims=True)
        states[:, i] = np.sum(rng.random((len(states), 1)) >= below[:, :-1], axis=1)


def draw(J, U, count, rng, sweeps=30):
    """Sequences (count, L): the ends of independent chains."""
    states = rng.integers(0, COLORS, (count, SITES))
    for _ in range(sweeps):
        sweep(J, U, BETA, states, rng)
    return states


def losses(attention, values, sequences):
    """Loss of each sequence (M,), the probabilities, the one-hot sequences and the values they give, each (M, L, C)."""
    onehot = np.eye(len(values))[sequences]
    received = np.einsum("ab,mjb->mja", values, onehot)
    logits = np.einsum("ij,mja->mia", attention, received)
    weights = np.exp(logits - logits.max(axis=2, keepdims=True))
    probability = weights / weights.sum(axis=2, keepdims=True)
    return -np.mean(np.log(np.sum(probability * onehot, axis=2)), axis=1), probability, onehot, received


def objective(attention, values, sequences):
    """Loss and gradients (dA, dV) with one-hot arrays and einsum."""
    loss, probability, onehot, received = losses(attention, values, sequences)
    residual = (probability - onehot) / (len(sequences) * len(attention))
    d_attention = np.einsum("mia,mja->ij", residual, received)
    np.fill_diagonal(d_attention, 0.0)
    d_values = np.einsum("mia,ij,mjb->ab", residual, attention, onehot, optimize=True)
    return loss.mean(), d_attention, d_values


def fit(sequences, rng, rate=0.5, steps=4000):
    """A and V by gradient descent from small random numbers."""
    attention, values = 0.3 * rng.standard_normal((SITES, SITES)), 0.3 * rng.standard_normal((COLORS, COLORS))
    np.fill_diagonal(attention, 0.0)
    for _ in range(steps):
        _, d_attention, d_values = objective(attention, values, sequences)
        attention, values = attention - rate * d_attention, values - rate * d_values
    return attention, values


def data():
    """J, U, and sequences for training and test."""
    rng = np.random.default_rng(0)
    J, U = couplings(rng)
    return J, U, draw(J, U, TRAINING, rng), draw(J, U, TEST, rng)


def compute():
    """Test loss of the fit above that of the model, and its standard error over test sequences."""
    J, U, training, test = data()
    excess = losses(*fit(training, np.random.default_rng(1)), test)[0] - losses(J, BETA * U, test)[0]
    return excess.mean(), excess.std(ddof=1) / np.sqrt(TEST)


def library():
    """The excess of the fit of the library to the same training sequences, summed over all sequences of the model."""
    from attention_limits.potts_mlm.attention import factored
    from attention_limits.potts_mlm.potts import model
    from attention_limits.potts_mlm.schema.samples import Descent

    J, U, training, _ = data()
    found = factored.fit(training, COLORS, np.random.default_rng(1), "raw", 0.0, Descent())
    states, probability = model.Potts(J, U).enumerate(BETA)
    return probability @ (losses(found.attention, found.values, states)[0] - losses(J, BETA * U, states)[0])


if __name__ == "__main__":
    value, error = compute()
    print(f"excess loss at M = {TRAINING}: naive {value:.5f} ± {error:.5f}, library {library():.5f}")
