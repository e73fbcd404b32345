"""Masked language modelling on Potts data (Rende et al. 2024, arXiv:2304.07235).

Rooms, from the ground up; each front page lists its modules:

- potts, descent: Hamiltonian, Gibbs sampling, recovery; L-BFGS
- attention, transformer, replica: single layers; encoders; theory of masked Gaussian sequences
- many_body: terms of several sites, stacked factored attention
- proteins: alignments
- schema, estimators, figures: keys, doors to the computation, pictures
"""
