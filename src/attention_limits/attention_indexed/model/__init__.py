"""Attention of extensive width (Boncoraglio et al. 2025, arXiv:2506.01582): x_a in R^d, S = W W^T / sqrt(r d) with r = rho d.

    h_ab = (x_a^T S x_b - delta_ab tr S) / sqrt(d),    y = softmax(beta h)

In reading order:

- sizes: n, d and r, and the memory of a simulation
- scores: weights, sequences, scores and attention
- untied: S of untied weights, and its symmetric and antisymmetric part
- score_law: the law of the scores of a fresh sequence, and its nodes

May import it: every other room of the family.
"""
