"""Outputs of students with exact first and second derivatives with respect to the fields, of eight points side by side.

A jet of n variables has 1 + n + n (n + 1) / 2 parts, each eight numbers (`numerics.simd.float64_lanes`): value, gradient, and the
Hessian's lower triangle by rows. A table of jets is an array (slots times the parts of a jet, 8); the functions below read and
write its jets. The rules are those of derivatives, derived in this module.

`table` is that table and n its number of variables.
"""

from attention_limits.numerics.compiled import njit
from attention_limits.numerics.simd.float64_lanes import WIDTH, exp, full, less, load, maximum, store, where, with_sign
from attention_limits.numerics.tracing.elementary import LANES

# Places in the parameters of an attention student; heads count per layer, the last three are flags.
DEPTH, HEADS, TOKENS, SKIP, BETA, UNTIED, SOFTMAX, SEQUENCE = range(8)


@njit(inline="always")
def row_of(row, block):
    """Place of eight numbers in an array (rows, LANES), in units of eight: those of a `row` and a `block` of eight lanes."""
    return row * (LANES // WIDTH) + block


@njit(inline="always")
def parts(n):
    """The parts of a jet of n variables."""
    return 1 + n + n * (n + 1) // 2


@njit(error_model="numpy")
def sigmoids(x):
    """1 / (1 + exp(-x)) and 1 / (1 + exp(x)) of lanes x, to rounding."""
    small = exp(-1.0 * with_sign(x, 1.0))
    larger = 1.0 / (1.0 + small)
    smaller = small * larger
    negative = less(x, 0.0)
    return where(negative, smaller, larger), where(negative, larger, smaller)


@njit(error_model="numpy")
def multiply(table, a, b, out, n):
    """The jet in slot `out` = that in slot `a` times that in slot `b`; `out` may be one of the factors."""
    length = parts(n)
    a, b, out = a * length, b * length, out * length
    value, other = load(table, a), load(table, b)
    place = 1 + n
    for i in range(1, n + 1):
        slope, other_slope = load(table, a + i), load(table, b + i)
        for j in range(1, i + 1):
            crossed = slope * load(table, b + j) + load(table, a + j) * other_slope
            store(table, out + place, value * load(table, b + place) + other * load(table, a + place) + crossed)
            place += 1
    for i in range(1, n + 1):
        store(table, out + i, value * load(table, b + i) + other * load(table, a + i))
    store(table, out, value * other)


@njit(error_model="numpy")
def chain(table, a, value, first, second, n):
    """Replace jet a by f(a), where f has this value, first and second derivative, all lanes."""
    a *= parts(n)
    place = a + 1 + n
    for i in range(1, n + 1):
        scaled = second * load(table, a + i)
        for j in range(1, i + 1):
            store(table, place, first * load(table, place) + scaled * load(table, a + j))
            place += 1
    for i in range(1, n + 1):
        store(table, a + i, first * load(table, a + i))
    store(table, a, value)


@njit(error_model="numpy")
def add(table, factor, a, out, n):
    """Jet `out` += the number `factor` times jet a."""
    length = parts(n)
    for k in range(length):
        store(table, out * length + k, load(table, out * length + k) + factor * load(table, a * length + k))


@njit(error_model="numpy")
def clear(table, first, last, n):
    """Set the jets first ... last - 1 to zero."""
    for k in range(first * parts(n), last * parts(n)):
        store(table, k, full(0.0))


@njit(error_model="numpy")
def put_field(table, slot, i, z, block, n):
    """Jet `slot` = the field of index `i` of a `block` of z (n, LANES)."""
    clear(table, slot, slot + 1, n)
    store(table, slot * parts(n), load(z, row_of(i, block)))
    store(table, slot * parts(n) + 1 + i, full(1.0))


@njit(error_model="numpy")
def _add_row_of_two(table, first, query, keys, free, beta, share, n):
    """`_add_row` for the softmax over two tokens: one sigmoid, the second weight is 1 minus the first one."""
    clear(table, free, free + 1, n)
    add(table, beta, keys, free, n)
    add(table, -beta, keys + 1, free, n)
    multiply(table, free, query, free, n)
    weight, other = sigmoids(load(table, free * parts(n)))
    slope = weight * other
    chain(table, free, weight, slope, slope * (other - weight), n)
    add(table, share, free, first, n)
    add(table, -share, free, first + 1, n)
    value = (first + 1) * parts(n)
    store(table, value, load(table, value) + share)


@njit(error_model="numpy")
def _add_row(table, first, query, keys, free, tokens, beta, share, softmax, n):
    """Add share softmax_b(beta q_a k_b), or share times the scores, to the row of a matrix that begins at slot `first`.

    `query` is the slot of q_a, `keys` the first slot of k, `free` the first of M + 1 free slots.
    """
    length = parts(n)
    largest = full(-1e300)
    for b in range(free, free + tokens):
        multiply(table, query, keys + b - free, b, n)
        for k in range(b * length, (b + 1) * length):
            store(table, k, beta * load(table, k))
        largest = maximum(largest, load(table, b * length))
    if softmax:
        total = free + tokens
        clear(table, total, total + 1, n)
        for b in range(free, total):
            weight = exp(load(table, b * length) - largest)
            chain(table, b, weight, weight, weight, n)
            add(table, 1.0, b, total, n)
        inverse = 1.0 / load(table, total * length)
        square = inverse * inverse
        chain(table, total, inverse, -1.0 * square, 2.0 * inverse * square, n)
        for b in range(free, total):
            multiply(table, b, total, b, n)
    for b in range(tokens):
        add(table, share, free + b, first + b, n)


@njit(error_model="numpy")
def attention(z, block, parameters, offset, table):
    """Jets of the output of attention layers (`links.attention.deep`, `multi_head`, `sequence_output`); see `slots`.

    A `block` of fields z (P M, LANES), rows after each other. A layer has H heads of one row, or of two (key, query). The
    parameters begin at `offset`. Returns the first of the M^2 slots of `table` that hold the output.
    """
    n = z.shape[0]
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
    for slot in range(n):
        put_field(table, slot, slot, z, block, n)
    clear(table, n, matrix, n)
    for slot in range(n, matrix, tokens + 1):
        store(table, slot * parts(n), full(1.0))
    for layer in range(depth):
        clear(table, matrix, free, n)
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
            clear(table, free, free + tokens, n)
            for a in range(tokens):
                add(table, skip, row * tokens + a, free + a, n)
                for b in range(tokens):
                    multiply(table, matrix + a * tokens + b, row * tokens + b, free + tokens, n)
                    add(table, 1.0, free + tokens, free + a, n)
            clear(table, row * tokens, (row + 1) * tokens, n)
            for a in range(tokens):
                add(table, 1.0, free + a, row * tokens + a, n)
    return rows * tokens


@njit(error_model="numpy")
def polynomial(z, block, parameters, offset, table):
    """Jet, in slot 0, of the product of the powers z_p^a_p (`links.one_token.Monomial`), or of sum_p z_p^2 where all a_p are 0.

    A `block` of fields z (P, LANES); the a_p begin at `offset` of the parameters.
    """
    n = z.shape[0]
    clear(table, 0, 1, n)
    if parameters[offset] == 0.0:
        place, total = 1 + n, full(0.0)
        for i in range(n):
            field = load(z, row_of(i, block))
            total = total + field * field
            store(table, 1 + i, 2.0 * field)
            place += i
            store(table, place, full(2.0))
            place += 1
        store(table, 0, total)
        return 0
    store(table, 0, full(1.0))
    for i in range(n):
        put_field(table, 1, i, z, block, n)
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
