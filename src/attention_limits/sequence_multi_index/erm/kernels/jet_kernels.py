"""Outputs of students with exact first and second derivatives with respect to the fields.

A jet of n variables is an array (1 + n + n (n + 1) / 2): value, gradient, and the Hessian's lower triangle by rows. A table
of jets is an array (slots, length of a jet); the functions below read and write its rows. The rules are those of derivatives,
derived in this module.

`table` is that table and n its number of variables.
"""

import math

from attention_limits.numerics.compiled import njit

# Places in the parameters of an attention student; heads count per layer, the last three are flags.
DEPTH, HEADS, TOKENS, SKIP, BETA, UNTIED, SOFTMAX, SEQUENCE = range(8)


@njit(error_model="numpy")
def multiply(table, a, b, out, n):
    """The jet in slot `out` = that in slot `a` times that in slot `b`; `out` may be one of the factors."""
    place = 1 + n
    for i in range(1, n + 1):
        for j in range(1, i + 1):
            crossed = table[a, i] * table[b, j] + table[a, j] * table[b, i]
            table[out, place] = table[a, 0] * table[b, place] + table[b, 0] * table[a, place] + crossed
            place += 1
    for i in range(1, n + 1):
        table[out, i] = table[a, 0] * table[b, i] + table[b, 0] * table[a, i]
    table[out, 0] = table[a, 0] * table[b, 0]


@njit(error_model="numpy")
def chain(table, a, value, first, second, n):
    """Replace jet a by f(a), where f has this value, first and second derivative."""
    place = 1 + n
    for i in range(1, n + 1):
        for j in range(1, i + 1):
            table[a, place] = first * table[a, place] + second * table[a, i] * table[a, j]
            place += 1
    for i in range(1, n + 1):
        table[a, i] = first * table[a, i]
    table[a, 0] = value


@njit(error_model="numpy")
def add(table, factor, a, out):
    """Jet `out` += factor times jet a."""
    for k in range(table.shape[1]):
        table[out, k] += factor * table[a, k]


@njit(error_model="numpy")
def clear(table, first, last):
    """Set the jets first ... last - 1 to zero."""
    for slot in range(first, last):
        for k in range(table.shape[1]):
            table[slot, k] = 0.0


@njit(error_model="numpy")
def sigmoid(x):
    """1 / (1 + exp(-x)) without overflow."""
    if x >= 0.0:
        return 1.0 / (1.0 + math.exp(-x))
    small = math.exp(x)
    return small / (1.0 + small)


@njit(error_model="numpy")
def _add_row_of_two(table, first, query, keys, free, beta, share, n):
    """`_add_row` for the softmax over two tokens: one sigmoid, the second weight is 1 minus the first one."""
    clear(table, free, free + 1)
    add(table, beta, keys, free)
    add(table, -beta, keys + 1, free)
    multiply(table, free, query, free, n)
    weight = sigmoid(table[free, 0])
    other = sigmoid(-table[free, 0])
    slope = weight * other
    chain(table, free, weight, slope, slope * (other - weight), n)
    add(table, share, free, first)
    add(table, -share, free, first + 1)
    table[first + 1, 0] += share


@njit(error_model="numpy")
def _add_row(table, first, query, keys, free, tokens, beta, share, softmax, n):
    """Add share softmax_b(beta q_a k_b), or share times the scores, to the row of a matrix that begins at slot `first`.

    `query` is the slot of q_a, `keys` the first slot of k, `free` the first of M + 1 free slots.
    """
    largest = -1e300
    for b in range(free, free + tokens):
        multiply(table, query, keys + b - free, b, n)
        for k in range(table.shape[1]):
            table[b, k] *= beta
        largest = max(largest, table[b, 0])
    if softmax:
        total = free + tokens
        clear(table, total, total + 1)
        for b in range(free, total):
            weight = math.exp(table[b, 0] - largest)
            chain(table, b, weight, weight, weight, n)
            add(table, 1.0, b, total)
        inverse = 1.0 / table[total, 0]
        chain(table, total, inverse, -(inverse**2), 2.0 * inverse**3, n)
        for b in range(free, total):
            multiply(table, b, total, b, n)
    for b in range(tokens):
        add(table, share, free + b, first + b)


@njit(error_model="numpy")
def attention(z, parameters, offset, table):
    """Jets of the output of attention layers (`links.attention.deep`, `multi_head`, `sequence_output`); see `slots`.

    Fields z (P M,), rows after each other. A layer has H heads of one row, or of two (key, query). The parameters begin at
    `offset`. Returns the first of the M^2 slots of `table` that hold the output.
    """
    n = z.size
    depth, heads, tokens = (
        int(parameters[offset + DEPTH]),
        int(parameters[offset + HEADS]),
        int(parameters[offset + TOKENS]),
    )
    skip, beta = parameters[offset + SKIP], parameters[offset + BETA]
    per_head = 2 if parameters[offset + UNTIED] != 0.0 else 1
    softmax, sequence = parameters[offset + SOFTMAX] != 0.0, parameters[offset + SEQUENCE] != 0.0
    per_layer = heads * per_head
    rows = depth * per_layer
    # The rows of the identity pass through the layers like fields: token b of e_a is B_ab.
    all_rows = rows + (tokens if sequence else 0)
    matrix = all_rows * tokens
    free = matrix + tokens * tokens
    clear(table, 0, matrix)
    for slot in range(n):
        table[slot, 0] = z[slot]
        table[slot, 1 + slot] = 1.0
    for slot in range(n, matrix, tokens + 1):
        table[slot, 0] = 1.0
    for layer in range(depth):
        clear(table, matrix, free)
        for head in range(heads):
            key = (layer * per_layer + head * per_head) * tokens
            query = key + (per_head - 1) * tokens
            for a in range(tokens):
                first = matrix + a * tokens
                if softmax and tokens == 2:
                    _add_row_of_two(table, first, query + a, key, free, beta, 1.0 / heads, n)
                else:
                    _add_row(table, first, query + a, key, free, tokens, beta, 1.0 / heads, softmax, n)
        if layer == depth - 1 and not sequence:
            return matrix
        for row in range((layer + 1) * per_layer, all_rows):
            clear(table, free, free + tokens)
            for a in range(tokens):
                add(table, skip, row * tokens + a, free + a)
                for b in range(tokens):
                    multiply(table, matrix + a * tokens + b, row * tokens + b, free + tokens, n)
                    add(table, 1.0, free + tokens, free + a)
            clear(table, row * tokens, (row + 1) * tokens)
            for a in range(tokens):
                add(table, 1.0, free + a, row * tokens + a)
    return rows * tokens


@njit(error_model="numpy")
def polynomial(z, parameters, offset, table):
    """Jet, in slot 0, of the product of the powers z_p^a_p (`links.one_token.Monomial`), or of sum_p z_p^2 where all a_p are 0.

    Fields z (P,); the a_p begin at `offset` of the parameters.
    """
    n = z.size
    clear(table, 0, 1)
    if parameters[offset] == 0.0:
        place = 1 + n
        for i in range(n):
            table[0, 0] += z[i] ** 2
            table[0, 1 + i] = 2.0 * z[i]
            place += i
            table[0, place] = 2.0
            place += 1
        return 0
    table[0, 0] = 1.0
    for i in range(n):
        clear(table, 1, 2)
        table[1, 0] = z[i]
        table[1, 1 + i] = 1.0
        for _ in range(int(parameters[offset + i])):
            multiply(table, 0, 1, 0, n)
    return 0


def slots(parameters) -> int:
    """Slots of the table that `attention` needs at these parameters."""
    depth, heads, tokens = (int(parameters[place]) for place in (DEPTH, HEADS, TOKENS))
    rows = depth * heads * (1 + int(parameters[UNTIED])) + tokens * int(parameters[SEQUENCE])
    return (rows + tokens + 1) * tokens + tokens + 2


def is_tied_softmax_of_two(parameters) -> bool:
    """Whether these parameters describe one tied softmax layer of one head that reads two tokens and returns its matrix."""
    kind = {DEPTH: 1, HEADS: 1, TOKENS: 2, UNTIED: 0, SOFTMAX: 1, SEQUENCE: 0}
    return all(parameters[place] == value for place, value in kind.items())
