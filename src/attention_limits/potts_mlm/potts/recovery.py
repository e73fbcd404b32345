"""Distances between learned and true couplings that ignore the freedom of a factor; for Rende et al. 2024 (arXiv:2304.07235)."""

import numpy as np


def site_error(attention, J) -> float:
    """err_J = sqrt(1 - cos^2(A, J)) of `attention` A and J, both (L, L): 0 for A proportional to J, 1 for orthogonal."""
    cosine = np.sum(attention * J) / (np.linalg.norm(attention) * np.linalg.norm(J))
    return float(np.sqrt(max(0.0, 1.0 - cosine**2)))


def full_error(attention, values, J, U, beta: float) -> float:
    """err_full = ||A x V_c - beta J x U_c|| / ||beta J x U_c||, where V_c is V minus the mean of each of its columns.

    `attention` is A and J is (L, L); `values` is V and U is (C, C); x is the outer product.
    """
    V, U = values - values.mean(axis=0), U - U.mean(axis=0)
    truth = beta**2 * np.sum(J**2) * np.sum(U**2)
    product = beta * np.sum(attention * J) * np.sum(V * U)
    square = np.sum(attention**2) * np.sum(V**2)
    return float(np.sqrt(max(0.0, (square - 2.0 * product + truth) / truth)))


def contact_precision(attention, J) -> float:
    """Fraction of contacts, J_ij > 0, among the pairs of sites with the largest |A_ij + A_ji|.

    The number of these pairs is the number of contacts. NaN where no pair or every pair is a contact, or J is missing.
    `attention` A and J are (L, L).
    """
    upper = np.triu_indices(len(J), 1)
    contacts = J[upper] > 0
    count = int(contacts.sum())
    if np.isnan(J).any() or np.any(J[upper] < 0) or count in (0, len(contacts)):
        return np.nan
    order = np.argsort(-np.abs((attention + attention.T)[upper]), kind="stable")
    return float(contacts[order[:count]].mean())


def chance(J) -> float:
    """Fraction of contacts, J_ij > 0, among all pairs of sites, J (L, L): the precision of a random choice."""
    return float(np.mean(J[np.triu_indices(len(J), 1)] > 0))
