"""Sequence single-index models: SGD of one attention layer (Arnaboldi et al. 2025, arXiv:2506.02651).

Rooms, from the ground up; each front page lists its modules:

- links: targets and students
- population_loss, sgd: Hermite series and information exponent; SGD in the overlaps
- large_dimension, positional_semantic: the limit of large d; the model that learns positions or meaning
- schema, estimators, reports, figures: keys, doors to the computation, the command exponent, pictures
"""
