"""Sequence multi-index models: deep attention and other links of Gaussian sequences (Troiani et al. 2025, arXiv:2502.00901).

Rooms, from the ground up; each front page lists its modules:

- links: the output, and how it constrains the fields
- priors, data: law of the weights; sequences and teachers
- channels: posterior moments of the fields, and the denoiser of GAMP
- state_evolution, gamp, training: fixed points and phases; message passing; gradient descent
- weak_recovery, erm, questions: thresholds; empirical risk; the text experiment
- schema, estimators, reports, figures: keys, doors to the computation, checks and thresholds, pictures
"""
