"""Products of the tokens of a sequence, in the precision of the tokens; the sums are reordered to use vector registers.

Derived: the products that matrix AMP needs of each sequence (see `sample_sums`).
"""

from attention_limits.numerics.compiled import REORDERED, njit


@njit(fastmath=REORDERED)
def token_products(x, y, out):
    """out[m, a, b] = sum_c y[m, a, c] x[m, b, c], of x and y (n, M, d), into out (n, M, M)."""
    count, tokens, dimension = x.shape
    for m in range(count):
        for a in range(tokens):
            for b in range(tokens):
                total = y[m, a, 0] * x[m, b, 0]
                for c in range(1, dimension):
                    total += y[m, a, c] * x[m, b, c]
                out[m, a, b] = total


@njit(fastmath=REORDERED)
def symmetric_products(x, y, out):
    """`token_products` of x and y (n, M, d) into out (n, M, M), where they are symmetric in a and b."""
    count, tokens, dimension = x.shape
    for m in range(count):
        for a in range(tokens):
            for b in range(a, tokens):
                total = y[m, a, 0] * x[m, b, 0]
                for c in range(1, dimension):
                    total += y[m, a, c] * x[m, b, c]
                out[m, a, b] = out[m, b, a] = total


@njit(fastmath=REORDERED)
def mix_tokens(G, x, out):
    """out[m, a] = sum_b G[m, a, b] x[m, b], of G (n, M, M) and x (n, M, d) in the same precision, into out (n, M, d)."""
    count, tokens, dimension = x.shape
    for m in range(count):
        for a in range(tokens):
            weight = G[m, a, 0]
            for c in range(dimension):
                out[m, a, c] = weight * x[m, 0, c]
            for b in range(1, tokens):
                weight = G[m, a, b]
                for c in range(dimension):
                    out[m, a, c] += weight * x[m, b, c]


@njit
def differences(x, out):
    """out[m, b] = x[m, b] - x[m, M - 1], of x (n, M, d), into out (n, M - 1, d)."""
    count, tokens, dimension = x.shape
    for m in range(count):
        for b in range(tokens - 1):
            for c in range(dimension):
                out[m, b, c] = x[m, b, c] - x[m, tokens - 1, c]


@njit(fastmath=REORDERED)
def shifted_products(x, y, out):
    """out[m, a, b] = x_a^T S x_b - x_M^T S x_M into out (n, M, M), of x (n, M, d) and y (n, M - 1, d), y_b = S (x_b - x_M).

    It is x_a . y_b + x_M . y_a for a, b < M, and x_M . y_a for b = M.
    """
    count, tokens, dimension = x.shape
    last = tokens - 1
    for m in range(count):
        for a in range(last):
            total = y[m, a, 0] * x[m, last, 0]
            for c in range(1, dimension):
                total += y[m, a, c] * x[m, last, c]
            out[m, a, last] = out[m, last, a] = total
            for b in range(a + 1):
                total = y[m, b, 0] * x[m, a, 0]
                for c in range(1, dimension):
                    total += y[m, b, c] * x[m, a, c]
                out[m, a, b] = out[m, b, a] = total + out[m, a, last]
        out[m, last, last] = 0.0


@njit(fastmath=REORDERED)
def mix_differences(G, x, out):
    """out[m, b] = sum_{a<M} G[m, a, b] x[m, a] + (g_b + G[m, M, b]) x[m, M], g_b the sum over all a of G[m, a, b].

    G is (n, M, M), x (n, M, d) of the same precision, out (n, M - 1, d).
    """
    count, tokens, dimension = x.shape
    last = tokens - 1
    for m in range(count):
        for b in range(last):
            weight = G[m, last, b]
            for a in range(tokens):
                weight += G[m, a, b]
            for c in range(dimension):
                out[m, b, c] = weight * x[m, last, c]
            for a in range(last):
                weight = G[m, a, b]
                for c in range(dimension):
                    out[m, b, c] += weight * x[m, a, c]
