"""Attention indexed by extensive-width matrices (Boncoraglio, Troiani, Erba, Zdeborova 2025, arXiv:2506.01582).

Rooms, from the ground up; each front page lists its modules:

- model: scores, attention, sizes
- channels, priors: information of an output; laws of S and their denoisers
- state_evolution, amp, training: learning curves; matrix AMP; gradient descent and posterior samples
- two_layers, erm: two layers; weight decay
- schema, estimators, reports, figures: keys, doors to the computation, checks and thresholds, pictures
"""
