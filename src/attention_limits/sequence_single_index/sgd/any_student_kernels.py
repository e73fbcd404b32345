"""One step of online SGD, in the space of the overlaps, of any student and target of the fields of a sequence.

As in `fixed_students_kernels`: off the span of teacher, positions and student, the tokens are independent of the coefficients
D of the gradient, and one chi^2 draw replaces them, so that the law is exact at every d (arXiv:2506.02651). `functions_kernels`
computes D, for the sequences of eight runs at once.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from attention_limits.numerics.simd.float64_lanes import WIDTH, full, load, maximum, sqrt, store
from attention_limits.sequence_single_index.sgd.functions_kernels import make_gradient


class State(NamedTuple):
    """First indices into the state of an update: m, e and `square`, r^2, of the groups of weights; their number `groups`.

    A tied student has one group, (e_1 ... e_r, m), and no r^2; an untied one M, (m_1 ... m_M, e_11 ... e_Mr, r_1^2 ... r_M^2).
    """

    m: int
    e: int
    square: int
    groups: int


def layout(tokens, rank, untied):
    """`State` for M = `tokens` and r = `rank`, of an `untied` or a tied student."""
    return State(0, tokens, tokens * (1 + rank), tokens) if untied else State(rank, 0, rank + 1, 1)


def _make_fields(tokens, rank, untied):
    """(state, draws, row, places, shifts, z) -> None, writes the fields z (M, 8) of the students on one sequence of each run."""
    m_at, e_at, square_at, _ = layout(tokens, rank, untied)
    rest_at = (1 + rank) * tokens

    @njit(nogil=True)
    def fields(state, draws, row, places, shifts, z):
        for token in range(tokens):
            own = token if untied else 0
            m = load(state, m_at + own)
            left = load(state, square_at + own) if untied else full(1.0)
            left = left - m * m
            field = m * (load(draws, row + token) + shifts[token])
            for j in range(rank):
                e = load(state, e_at + own * rank + j)
                left = left - e * e
                field = field + e * (load(draws, row + (1 + j) * tokens + token) + places[token * rank + j])
            store(z, token, field + sqrt(maximum(left, 0.0)) * load(draws, row + rest_at + token))

    return fields


def _make_sums(tokens, rank, untied):
    """(draws, row, places, shifts, D (M, 8), sums) -> None, adds the gradient of a sequence to the sums of each group of weights.

    `sums` (groups * (r + 3), 8): the gradient along the basis of the positions, the teacher and the rest of the student; |D|^2.
    """
    teacher, rest, square, width = rank, rank + 1, rank + 2, rank + 3
    rest_at = (1 + rank) * tokens

    @njit(nogil=True)
    def add(draws, row, places, shifts, D, sums):
        for token in range(tokens):
            first = (token if untied else 0) * width
            slope = load(D, token)
            for j in range(rank):
                along = load(draws, row + (1 + j) * tokens + token) + places[token * rank + j]
                store(sums, first + j, load(sums, first + j) + slope * along)
            along = load(draws, row + token) + shifts[token]
            store(sums, first + teacher, load(sums, first + teacher) + slope * along)
            store(sums, first + rest, load(sums, first + rest) + slope * load(draws, row + rest_at + token))
            store(sums, first + square, load(sums, first + square) + slope * slope)

    return add


def _make_step(tokens, rank, untied):
    """(state, sums, chi, row, eta) -> |e|^2 + m^2, moves the states along the sums of `_make_sums` and normalises them."""
    m_at, e_at, square_at, groups = layout(tokens, rank, untied)
    rest_sum, square_sum, width = rank + 1, rank + 2, rank + 3

    @njit(nogil=True)
    def step(state, sums, chi, row, eta):
        total, known = full(0.0), full(0.0)
        for group in range(groups):
            first = group * width
            square = full(0.0)
            for j in range(rank + 1):
                x = load(state, m_at + group if j == rank else e_at + group * rank + j)
                square = square + x * x
            rest = sqrt(maximum((load(state, square_at + group) if untied else full(1.0)) - square, 0.0))
            square = full(0.0)
            for j in range(rank + 1):
                place = m_at + group if j == rank else e_at + group * rank + j
                x = load(state, place) - eta * load(sums, first + j)
                store(state, place, x)
                square = square + x * x
            rest = rest - eta * load(sums, first + rest_sum)
            size = square + rest * rest + eta * eta * load(sums, first + square_sum) * load(chi, row + group)
            if untied:
                store(state, square_at + group, size)
            total = total + size
            known = known + square
        scale = total / groups
        length = sqrt(scale)
        for i in range(square_at):
            store(state, i, load(state, i) / length)
        if untied:
            for i in range(groups):
                store(state, square_at + i, load(state, square_at + i) / scale)
        return known / (groups * scale)

    return step


def make_update(target, student, loss, tokens, outputs, rank, untied):
    """The update (state, draws, chi, at, parameters, learned) of `fixed_students_kernels` for one student and target.

    Parameters
    ----------
    target, student : jitted functions
        From `make_values` and `make_slopes`, for eight sequences (`any_student.of_lanes`).
    loss : int
        HALF_SQUARE, SQUARE, NORM or LOGISTIC.
    tokens, outputs, rank : int
        M, P, and the dimension r of the span of the positional vectors.
    untied : bool
        Each token has its own weights, all normalised together: sum of r_l^2 = M.

    Returns
    -------
    jitted function
        To be compiled for `lanes_kernels.UPDATE`. state as in `State`: overlaps e with an orthonormal basis of the positions
        and m with the teacher, untied the squared lengths r^2 too. The draws of a sequence are (a_1 ... a_M, pi_11 ... pi_M1
        ... pi_Mr, xi_1 ... xi_M), the components of the tokens along teacher, basis of the positions and rest of the student.
        chi: 1 draw, untied M. parameters: eta, batch, components (M, r) of the positional vectors, and their overlaps (M,) with
        the teacher. The first row of learned is |e|^2 + m^2, untied its mean over the tokens.
    """
    gradient = make_gradient(target, student, loss, tokens, outputs)
    fields, add, step = (make(tokens, rank, untied) for make in (_make_fields, _make_sums, _make_step))
    groups, numbers, shifts_at = tokens if untied else 1, tokens * (rank + 2), 2 + tokens * rank

    @njit(nogil=True)
    def update(state, draws, chi, at, parameters, learned):
        batch, places, shifts = int(parameters[1]), parameters[2:shifts_at], parameters[shifts_at:]
        z, D, work = np.empty((tokens, WIDTH)), np.empty((tokens, WIDTH)), np.empty((outputs * (tokens + 3), WIDTH))
        sums = np.zeros((groups * (rank + 3), WIDTH))
        for b in range(batch):
            row = (at * batch + b) * numbers
            fields(state, draws, row, places, shifts, z)
            gradient(draws[row : row + tokens], z, work, D)
            add(draws, row, places, shifts, D, sums)
        store(learned, 0, step(state, sums, chi, at * groups, parameters[0] / batch))

    return update


def make_gradients(target, student, loss, tokens, outputs, rank):
    """Gradients of a tied student at Gaussian nodes; `target`, `student`, `loss`, `tokens`, `outputs`, `rank`: see `make_update`.

    Returns
    -------
    jitted function
        (nodes (n, 2 M), state (r + 1,), components (M, r), shifts (M,)) -> array (n, r + 3). nodes[i] = (eta_1 ... eta_M,
        c_1 ... c_M), and z_l = c_l + sum_j e_j P_lj + m t_l, z*_l = m c_l + sqrt(1 - m^2) eta_l, with the shifts t; columns:
        sum_l D_l P_lj for each j, D . t, D . eta, |D|^2.
    """

    gradient = make_gradient(target, student, loss, tokens, outputs)

    @njit(nogil=True)
    def gradients(nodes, state, places, shifts):
        found = np.zeros((len(nodes), rank + 3))
        star, z, D = np.empty(tokens), np.empty(tokens), np.empty(tokens)
        work = np.empty(outputs * (tokens + 3))
        rest = math.sqrt(max(0.0, 1.0 - state[rank] ** 2))
        for n in range(len(nodes)):
            for token in range(tokens):
                centred = nodes[n, tokens + token]
                star[token] = state[rank] * centred + rest * nodes[n, token]
                z[token] = centred + state[rank] * shifts[token]
                for j in range(rank):
                    z[token] += state[j] * places[token, j]
            gradient(star, z, work, D)
            for token in range(tokens):
                for j in range(rank):
                    found[n, j] += D[token] * places[token, j]
                found[n, rank] += D[token] * shifts[token]
                found[n, rank + 1] += D[token] * nodes[n, token]
                found[n, rank + 2] += D[token] * D[token]
        return found

    return gradients


def make_untied_gradients(target, student, loss, tokens, outputs, rank):
    """Means of the gradient of an untied student over Gaussian nodes.

    `target`, `student`, `loss`, `tokens`, `outputs`, `rank`: see `make_update`.

    Returns
    -------
    jitted function
        (nodes (n, 2 M), weights (n,), state, components (M, r), shifts (M,)) -> array (M, 4): the means of D_l, D_l c_l,
        D_l eta_l and D_l^2; state of an untied student as in `State`, nodes as in `make_gradients`:
        z_l = r_l c_l + sum_j e_lj P_lj + m_l t_l and z*_l = rho_l c_l + sqrt(1 - rho_l^2) eta_l, rho_l = m_l / r_l.
    """
    gradient = make_gradient(target, student, loss, tokens, outputs)
    m_at, e_at, square_at, _ = layout(tokens, rank, True)

    @njit(nogil=True)
    def gradients(nodes, weights, state, places, shifts):
        found = np.zeros((tokens, 4))
        star, z, D = np.empty(tokens), np.empty(tokens), np.empty(tokens)
        work = np.empty(outputs * (tokens + 3))
        length, along, across, fixed = np.empty(tokens), np.empty(tokens), np.empty(tokens), np.empty(tokens)
        for token in range(tokens):
            length[token] = math.sqrt(state[square_at + token])
            along[token] = state[m_at + token] / length[token]
            across[token] = math.sqrt(max(0.0, 1.0 - along[token] ** 2))
            fixed[token] = state[m_at + token] * shifts[token]
            for j in range(rank):
                fixed[token] += state[e_at + token * rank + j] * places[token, j]
        for n in range(len(nodes)):
            for token in range(tokens):
                centred = nodes[n, tokens + token]
                star[token] = along[token] * centred + across[token] * nodes[n, token]
                z[token] = length[token] * centred + fixed[token]
            gradient(star, z, work, D)
            for token in range(tokens):
                weighted = weights[n] * D[token]
                found[token, 0] += weighted
                found[token, 1] += weighted * nodes[n, tokens + token]
                found[token, 2] += weighted * nodes[n, token]
                found[token, 3] += weighted * D[token]
        return found / len(nodes)

    return gradients
