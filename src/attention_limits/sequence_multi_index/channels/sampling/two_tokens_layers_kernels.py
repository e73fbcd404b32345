"""The fields of `sampling.two_tokens_kernels` at the nodes of one pass: drawn from a proposal, sent through the layers, with
their log-weights.

Derived for this project, with the equations of `sampling.two_tokens_kernels`. All arrays end in the axis of the nodes, PASS; F
= L - 1 layers are drawn. `skip` is c; w_s and w_d are sum and difference over tokens of the fields that a layer reads.
Everything is in the precision of the arrays, single or double.
"""

import numpy as np

from attention_limits.numerics.compiled import FAST, njit
from attention_limits.numerics.fast_math import exp_of

# Nodes per pass: the work space of one pass stays in the first-level cache.
PASS = 128
# Below this the last layer would be so large that its weight is zero; products of five inverses still are in range.
SMALLEST_KAPPA = np.float32(1e-20)
# Constants in single precision: an operation with an array keeps the precision of the array.
ZERO, HALF, ONE, TWO, THREE, FOUR, FIVE, SIX = (np.float32(x) for x in (0, 0.5, 1, 2, 3, 4, 5, 6))
# Exponents are cut at this number, where 1 + exp has the digits of exp, or of 1.
_LARGEST_EXPONENT = np.float32(80.0)
_SMALL = np.float32(0.01)


@njit(fastmath=FAST, error_model="numpy")
def _attend(w_s, w_d, kappa, tau, skip, beta):
    """Write kappa and tau of the attention of tokens with sums w_s and differences w_d, all (PASS,)."""
    for i in range(PASS):
        s = w_s[i]
        d = w_d[i]
        # e_1 = exp(-beta w_1 d), e_2 = exp(beta w_2 d): S_12 = e_1 / (1 + e_1), S_21 = e_2 / (1 + e_2).
        e1 = exp_of(max(-_LARGEST_EXPONENT, min(_LARGEST_EXPONENT, -HALF * beta * d * (s + d))))
        e2 = exp_of(max(-_LARGEST_EXPONENT, min(_LARGEST_EXPONENT, HALF * beta * d * (s - d))))
        inverse = ONE / ((ONE + e1) * (ONE + e2))
        # 1 - e_1 e_2 = 1 - exp(-x): for small x the difference would be rounded, even below zero.
        x = beta * d * d
        series = x * (ONE - x / TWO * (ONE - x / THREE * (ONE - x / FOUR * (ONE - x / FIVE * (ONE - x / SIX)))))
        kappa[i] = max(skip + (series if x < _SMALL else ONE - e1 * e2) * inverse, SMALLEST_KAPPA)
        tau[i] = (e1 - e2) * inverse


@njit(fastmath=FAST, error_model="numpy")
def _pass_on(w_s, w_d, kappa, tau, skip):
    """Replace tokens by the output A w of a layer."""
    for i in range(PASS):
        w_s[i] = (ONE + skip) * w_s[i] - tau[i] * w_d[i]
        w_d[i] *= kappa[i]


@njit(fastmath=FAST, error_model="numpy")
def last_layer(u_s, u_d, kappa, tau, skip, v_1, v_2, factor):
    """Write v_1, v_2 of v = A_1^-1 ... A_{L-1}^-1 u and factor = 1 / prod_l kappa_l.

    u_s and u_d are sum and difference of u; kappa and tau are (L - 1, PASS); `skip` is c.
    """
    for i in range(PASS):
        v_1[i] = u_s
        v_2[i] = u_d
        factor[i] = ONE
    for layer in range(kappa.shape[0] - 1, -1, -1):
        for i in range(PASS):
            inverse = ONE / kappa[layer, i]
            v_2[i] *= inverse
            v_1[i] = (v_1[i] + tau[layer, i] * v_2[i]) * (ONE / (ONE + skip))
            factor[i] *= inverse
    for i in range(PASS):
        s = v_1[i]
        d = v_2[i]
        v_1[i] = HALF * (s + d)
        v_2[i] = HALF * (s - d)


@njit(fastmath=FAST, error_model="numpy")
def draw(nodes, centre, spread, fields):
    """Write the deviations centre + spread x of the free rows from omega; nodes x and fields are (2 F, PASS)."""
    for j in range(nodes.shape[0]):
        out = fields[j]
        moved = centre[j]
        for i in range(PASS):
            out[i] = moved
        for k in range(j + 1):
            factor = spread[j, k]
            if factor != ZERO:
                for i in range(PASS):
                    out[i] += factor * nodes[k, i]


@njit(fastmath=FAST, error_model="numpy")
def compare(half_squares, log_volume, deviation, whitening, xi, log_weight):
    """Write log_weight = log_volume + 1/2 sum (x^2 - xi^2), xi = whitening (deviation).

    half_squares is 1/2 sum x^2; xi is a work space (PASS,).
    """
    for i in range(PASS):
        log_weight[i] = log_volume + half_squares[i]
    for k in range(deviation.shape[0]):
        for a in range(2):
            for i in range(PASS):
                xi[i] = ZERO
            for j in range(k + 1):
                for i in range(PASS):
                    xi[i] += whitening[k, j] * deviation[j, a, i]
            for i in range(PASS):
                log_weight[i] -= HALF * xi[i] * xi[i]


@njit(fastmath=FAST, error_model="numpy")
def share(half_squares, fields, centre, inverse, log_ratio, squares, xi, factor):
    """Multiply factor by 2 / (1 + q' / q), q the density drawn from and q' that of the other proposal.

    q' has the `centre` and the `inverse` of its spread, and is exp(-log_ratio) times as wide. half_squares is 1/2 sum x^2 of the
    nodes x; squares and xi are work spaces.
    """
    for i in range(PASS):
        squares[i] = ZERO
    for j in range(fields.shape[0]):
        for i in range(PASS):
            xi[i] = ZERO
        for k in range(j + 1):
            slope = inverse[j, k]
            if slope != ZERO:
                moved = centre[k]
                for i in range(PASS):
                    xi[i] += slope * (fields[k, i] - moved)
        for i in range(PASS):
            squares[i] += xi[i] * xi[i]
    for i in range(PASS):
        excess = log_ratio + half_squares[i] - HALF * squares[i]
        factor[i] *= TWO / (ONE + exp_of(max(-_LARGEST_EXPONENT, min(_LARGEST_EXPONENT, excess))))


@njit(fastmath=FAST, error_model="numpy")
def _tokens(omega, deviation, w_s, w_d, mu_1, mu_2, regression):
    """Write sum and difference of the fields omega + deviation of a layer; add its share to the mean of the last layer."""
    for i in range(PASS):
        w_s[i] = omega[0] + omega[1] + deviation[0, i] + deviation[1, i]
        w_d[i] = omega[0] - omega[1] + deviation[0, i] - deviation[1, i]
        mu_1[i] += regression * deviation[0, i]
        mu_2[i] += regression * deviation[1, i]


@njit(error_model="numpy")
def read_layers(omega, deviation, kappa, tau, model, w_s, w_d, mu_1, mu_2):
    """Write kappa and tau (F, PASS) of the first layers with fields omega + deviation, and the mean of the last layer.

    mu_1 and mu_2 are that mean; `model` is the `sampling.two_tokens_kernels.Model`; w_s and w_d are work spaces.
    """
    free = deviation.shape[0]
    mu_1[:] = omega[free, 0]
    mu_2[:] = omega[free, 1]
    for layer in range(free):
        _tokens(omega[layer], deviation[layer], w_s, w_d, mu_1, mu_2, model.regression[layer])
        for before in range(layer):
            _pass_on(w_s, w_d, kappa[before], tau[before], model.skip)
        _attend(w_s, w_d, kappa[layer], tau[layer], model.skip, model.beta)
