"""Tempered Gibbs sampling of J_ij U[s_i, s_j] couplings with incremental local fields.

A replica in state s keeps h_ia = sum_j J_ij U[a, s_j] (J_ii = 0). Changing s_i from a to b changes the energy by
-(h_ib - h_ia) and the field of site j by J_ji (U[b, :] - U[a, :]), since U is symmetric. The model is that of Rende et al. 2024
(arXiv:2304.07235), the exchange of replicas that of Hukushima and Nemoto 1996.
"""

import math

import numpy as np
from numba import njit

from attention_limits.numerics.fast_math import exp


@njit
def initialise(J, U, states, fields, energies):
    """Compute fields (K, L, C) and energies (K,) of states (K, L); J (L, L) with zero diagonal and U (C, C) are symmetric."""
    replicas, sites, colors = fields.shape
    for k in range(replicas):
        energies[k] = 0.0
        for i in range(sites):
            for a in range(colors):
                fields[k, i, a] = 0.0
            for j in range(sites):
                for a in range(colors):
                    fields[k, i, a] += J[i, j] * U[states[k, j], a]
            energies[k] -= 0.5 * fields[k, i, states[k, i]]


@njit(fastmath={"nnan", "nsz", "reassoc", "contract"})
def _draw(field, beta, weights, uniform):
    """A colour from softmax(beta field) by inversion of a uniform number in [0, 1)."""
    colors = len(field)
    highest = field[0]
    for a in range(colors):
        highest = max(highest, field[a])
    total = 0.0
    for a in range(colors):
        weights[a] = exp(beta * (field[a] - highest))
        total += weights[a]
    left = uniform * total
    for a in range(colors - 1):
        left -= weights[a]
        if left < 0.0:
            return a
    return colors - 1


@njit(fastmath={"nnan", "nsz", "contract"})
def _recolor(J, difference, fields, site):
    """Add J_{j, site} times the row `difference` to the field of every site j."""
    sites, colors = fields.shape
    for j in range(sites):
        coupling = J[site, j]
        for a in range(colors):
            fields[j, a] += coupling * difference[a]


@njit
def _sweep(rng, J, U, beta, state, fields, energy, random_sites, weights, difference):
    """One Gibbs sweep of a replica, which changes state (L,) and fields (L, C); the new energy. The last two (C,) are scratch."""
    sites, colors = fields.shape
    for visit in range(sites):
        i = min(int(rng.random() * sites), sites - 1) if random_sites else visit
        old = state[i]
        new = _draw(fields[i], beta, weights, rng.random())
        if new != old:
            energy -= fields[i, new] - fields[i, old]
            for a in range(colors):
                difference[a] = U[new, a] - U[old, a]
            _recolor(J, difference, fields, i)
            state[i] = new
    return energy


@njit
def _exchange(rng, betas, order, energies, first, accepted, tried):
    """Offer an exchange to the pairs (k, k + 1) of the ladder with k = first, first + 2, ..."""
    for k in range(first, len(betas) - 1, 2):
        tried[k] += 1
        if swap_accepted(betas[k], betas[k + 1], energies[order[k]], energies[order[k + 1]], rng.random()):
            order[k], order[k + 1] = order[k + 1], order[k]
            accepted[k] += 1


@njit
def temper(
    rng, J, U, betas, order, states, fields, energies, random_sites, gap, colors_out, energies_out, accepted, tried
):
    """Sweep K replicas, exchange neighbours on the ladder after every sweep, and save every `gap` sweeps.

    Parameters
    ----------
    rng : numpy Generator
    J : (L, L), U : (C, C)
    betas : (K,), increasing
    order : (K,) whole numbers, changed
        order[k] is the replica at betas[k].
    states : (K, L), fields : (K, L, C), energies : (K,), changed
    random_sites : bool
        L sites drawn with replacement per sweep instead of the sites in order.
    gap : int
        Sweeps between saved configurations.
    colors_out : int8 (n, K, L), energies_out : (n, K), written
        Saved by temperature.
    accepted, tried : (K - 1,), increased
        Exchanges of the pairs (k, k + 1).
    """
    ladder, sites, colors = fields.shape
    weights, difference = np.empty(colors), np.empty(colors)
    for saved in range(len(colors_out)):
        for sweep in range(gap):
            for k in range(ladder):
                r = order[k]
                energies[r] = _sweep(
                    rng, J, U, betas[k], states[r], fields[r], energies[r], random_sites, weights, difference
                )
            # Even and odd pairs take turns.
            _exchange(rng, betas, order, energies, (saved * gap + sweep) % 2, accepted, tried)
        for k in range(ladder):
            energies_out[saved, k] = energies[order[k]]
            for i in range(sites):
                colors_out[saved, k, i] = states[order[k], i]
        # Rounding errors of the increments must not add up over a run.
        initialise(J, U, states, fields, energies)


@njit
def swap_accepted(beta, other_beta, energy, other_energy, uniform):
    """Metropolis rule of an exchange: accepted with probability min(1, exp((beta - beta') (E - E'))).

    `energy` E at `beta`, `other_energy` E' at `other_beta` (beta'); `uniform` is a random number in [0, 1).
    """
    gain = (beta - other_beta) * (energy - other_energy)
    return gain >= 0.0 or uniform < math.exp(gain)
