"""Gibbs sampling of J_ij U[s_i, s_j] couplings for sixteen replicas side by side, in single precision, and their exchanges.

At a visit of site i every replica collects w_b = sum_j J_ij [s_j = b], and its field is h_a = sum_b U[a, b] w_b: L + C^2
operations, without memory of earlier visits, so that rounding errors do not add up. A replica is a lane of a block; it keeps the
place WIDTH s + lane of each colour s. The model is that of Rende et al. 2024 (arXiv:2304.07235), the exchange of replicas that
of Hukushima and Nemoto 1996.
"""

import math
from typing import NamedTuple

import numpy as np

from attention_limits.numerics.compiled import njit
from attention_limits.numerics.simd import float32_lanes
from attention_limits.numerics.simd.float32_lanes import WIDTH

# Sweeps between exact computations of the energies, which the sweeps change by increments in single precision.
REFRESH = 100
# Fields that the kernel accumulates at once.
ROWS = 4


class Couplings(NamedTuple):
    """J (L, L) and U (C, C); narrow_J and narrow_U, the same in single precision.

    narrow_U has rows of zeros up to a multiple of ROWS.
    """

    J: np.ndarray
    U: np.ndarray
    narrow_J: np.ndarray
    narrow_U: np.ndarray


class Replicas(NamedTuple):
    """All replicas, by block and lane.

    order (runs, K): order[r, k] is the replica of run r at betas[k], replica WIDTH block + lane. places, int32
    (blocks, L, WIDTH): WIDTH times the colour, plus the lane. states, uint64 (blocks, 4, WIDTH): the state of the random-number
    generator of each lane.
    """

    order: np.ndarray
    places: np.ndarray
    states: np.ndarray


class Saved(NamedTuple):
    """Results: colors, int8 (runs, n, K, L), and energies (runs, n, K), by temperature.

    The exchanges of the pairs (k, k + 1) are added to accepted and tried (runs, K - 1).
    """

    colors: np.ndarray
    energies: np.ndarray
    accepted: np.ndarray
    tried: np.ndarray


class _Space(NamedTuple):
    """Work space of a sweep: weights (C, WIDTH), fields (rows of narrow_U, WIDTH), uniform and chosen (1, WIDTH)."""

    weights: np.ndarray
    fields: np.ndarray
    uniform: np.ndarray
    chosen: np.ndarray


@njit
def _uniform(states, out):
    """Draw random numbers from [0, 1) into out (1, WIDTH); states (4, WIDTH) are those of xoshiro256+ (Blackman, Vigna 2021)."""
    for k in range(WIDTH):
        s0, s1, s2, s3 = states[0, k], states[1, k], states[2, k], states[3, k]
        # The upper 24 bits are those that single precision holds.
        out[0, k] = np.float32(np.int32((s0 + s3) >> np.uint64(40))) * np.float32(1.0 / 16777216.0)
        shifted = s1 << np.uint64(17)
        s2 ^= s0
        s3 ^= s1
        states[1, k] = s1 ^ s2
        states[0, k] = s0 ^ s3
        states[2, k] = s2 ^ shifted
        states[3, k] = (s3 << np.uint64(45)) | (s3 >> np.uint64(19))


@njit
def _collect(row, places, used, weights):
    """w_b = sum_j J_ij [s_j = b] into weights (C, WIDTH), of the first `used` lanes; row (L,) is J_i, places (L, WIDTH)."""
    flat = weights.reshape(-1)
    flat[:] = np.float32(0.0)
    for j in range(len(row)):
        coupling, place = row[j], places[j]
        # Maps of contacts have few couplings.
        if coupling != 0.0:
            for k in range(used):
                flat[np.uint32(place[k])] += coupling


@njit
def _fields(U, weights, fields):
    """h_a = sum_b U[a, b] w_b into fields (rows of U, WIDTH); their number is a multiple of ROWS, the last ones are zero."""
    zero = float32_lanes.full(np.float32(0.0))
    for a in range(0, len(fields), ROWS):
        first, second, third, fourth = zero, zero, zero, zero
        for b in range(len(weights)):
            weight = float32_lanes.load(weights, b)
            first = first + float32_lanes.full(U[a, b]) * weight
            second = second + float32_lanes.full(U[a + 1, b]) * weight
            third = third + float32_lanes.full(U[a + 2, b]) * weight
            fourth = fourth + float32_lanes.full(U[a + 3, b]) * weight
        float32_lanes.store(fields, a, first)
        float32_lanes.store(fields, a + 1, second)
        float32_lanes.store(fields, a + 2, third)
        float32_lanes.store(fields, a + 3, fourth)


@njit
def _draw(fields, beta, uniform, weights, chosen):
    """Colours from softmax(beta h) by inversion of uniform numbers, into chosen (1, WIDTH); weights (C, WIDTH) is scratch."""
    colors = len(weights)
    highest = float32_lanes.load(fields, 0)
    for a in range(1, colors):
        highest = float32_lanes.maximum(highest, float32_lanes.load(fields, a))
    slope, total = float32_lanes.load(beta, 0), float32_lanes.full(np.float32(0.0))
    for a in range(colors):
        weight = float32_lanes.exp(slope * (float32_lanes.load(fields, a) - highest))
        total = total + weight
        float32_lanes.store(weights, a, weight)
    left, new = total * float32_lanes.load(uniform, 0), float32_lanes.full(np.float32(0.0))
    # The colour is the number of sums w_0 + ... + w_a that do not exceed the drawn one.
    for a in range(colors - 1):
        left = left - float32_lanes.load(weights, a)
        new = new + float32_lanes.nonnegative(left)
    float32_lanes.store(chosen, 0, new)


@njit
def _sweep(rng, J, U, block, used, random_sites, space):
    """One Gibbs sweep of the first `used` lanes of a block, which changes its places (L, WIDTH) and energies (WIDTH,).

    block = (beta (1, WIDTH), places, energies, states (4, WIDTH)); J and U in single precision, see `Couplings`.
    """
    beta, places, energies, states = block
    weights, fields, uniform, chosen = space
    sites = len(places)
    for visit in range(sites):
        i = min(int(rng.random() * sites), sites - 1) if random_sites else visit
        _collect(J[i], places, used, weights)
        _fields(U, weights, fields)
        _uniform(states, uniform)
        _draw(fields, beta, uniform, weights, chosen)
        own = places[i]
        for k in range(used):
            new = int(chosen[0, k])
            energies[k] -= fields[new, k] - fields[own[k] // WIDTH, k]
            own[k] = new * WIDTH + k


@njit
def total_energies(J, U, places, energies):
    """H of each replica into energies (blocks, WIDTH), in double precision.

    J (L, L) has a zero diagonal, U is (C, C); places (blocks, L, WIDTH) as in `Replicas`.
    """
    blocks, sites, width = places.shape
    for block in range(blocks):
        for k in range(width):
            total = 0.0
            for i in range(sites):
                a = places[block, i, k] // WIDTH
                for j in range(i):
                    total -= J[i, j] * U[a, places[block, j, k] // WIDTH]
            energies[block, k] = total


@njit
def _exchange(rng, betas, order, energies, first, accepted, tried):
    """Offer an exchange to the pairs (k, k + 1) of the ladder of each run with k = first, first + 2, ..."""
    for run in range(len(order)):
        for k in range(first, len(betas) - 1, 2):
            tried[run, k] += 1
            low, high = order[run, k], order[run, k + 1]
            if swap_accepted(betas[k], betas[k + 1], energies[low], energies[high], rng.random()):
                order[run, k], order[run, k + 1] = high, low
                accepted[run, k] += 1


@njit
def temper(rng, couplings, betas, replicas, random_sites, gap, saved):
    """Sweep all replicas, exchange neighbours on the ladder of a run after every sweep, and save every `gap` sweeps.

    Parameters
    ----------
    rng : numpy Generator
        Of the exchanges and the random sites.
    couplings : Couplings
    betas : (K,), increasing
    replicas : Replicas, changed
    random_sites : bool
        L sites drawn with replacement per sweep, the same for a block, instead of the sites in order.
    gap : int
        Sweeps between saved configurations.
    saved : Saved, written
    """
    J, U, narrow_J, narrow_U = couplings
    order, places, states = replicas
    blocks, sites, width = places.shape
    space = _Space(
        np.empty((U.shape[0], width), dtype=np.float32), np.empty((narrow_U.shape[0], width), dtype=np.float32),
        np.empty((1, width), dtype=np.float32), np.empty((1, width), dtype=np.float32),
    )  # fmt: skip
    # Lanes without a replica stay at beta = 0, with their first colours.
    beta = np.zeros((blocks, 1, width), dtype=np.float32)
    energies = np.empty((blocks, width))
    flat = energies.reshape(-1)
    for number in range(saved.colors.shape[1]):
        for sweep in range(gap):
            if sweep % REFRESH == 0:
                total_energies(J, U, places, energies)
            for run in range(len(order)):
                for k in range(len(betas)):
                    beta[order[run, k] // width, 0, order[run, k] % width] = betas[k]
            for block in range(blocks):
                one = beta[block], places[block], energies[block], states[block]
                used = min(width, order.size - block * width)
                _sweep(rng, narrow_J, narrow_U, one, used, random_sites, space)
            # Even and odd pairs take turns.
            _exchange(rng, betas, order, flat, (number * gap + sweep) % 2, saved.accepted, saved.tried)
        total_energies(J, U, places, energies)
        for run in range(len(order)):
            for k in range(len(betas)):
                replica = order[run, k]
                saved.energies[run, number, k] = flat[replica]
                for i in range(sites):
                    saved.colors[run, number, k, i] = places[replica // width, i, replica % width] // WIDTH


@njit
def swap_accepted(beta, other_beta, energy, other_energy, uniform):
    """Metropolis rule of an exchange: accepted with probability min(1, exp((beta - beta') (E - E'))).

    `energy` E at `beta`, `other_energy` E' at `other_beta` (beta'); `uniform` is a random number in [0, 1).
    """
    gain = (beta - other_beta) * (energy - other_energy)
    return gain >= 0.0 or uniform < math.exp(gain)
