"""Phases of two layers: which fixed point is Bayes-optimal at which number of samples.

In reading order:

- free_entropy: its difference between two fixed points
- information: k_l as polynomials of the errors, for all widths at once
- branches: all fixed points at one width, and the thresholds between them

May import it: state_evolution, estimators.
"""
