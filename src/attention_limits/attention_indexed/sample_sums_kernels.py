"""Products of the tokens of a sequence, in the precision of the tokens; the sums are reordered to use vector registers.

Derived: the products that matrix AMP needs of each sequence (see `sample_sums`).
"""

from attention_limits.numerics.compiled import REORDERED, njit


@njit(fastmath=REORDERED)
def token_products(x, y, out):
    """out[m, a, b] = sum_c y[m, a, c] x[m, b, c], of x and y (n, T, d), into out (n, T, T)."""
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
    """`token_products` of x and y (n, T, d) into out (n, T, T), where they are symmetric in a and b."""
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
    """out[m, a] = sum_b G[m, a, b] x[m, b], of G (n, T, T) and x (n, T, d) in the same precision, into out (n, T, d)."""
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
