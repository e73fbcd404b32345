"""Potts models with terms of two, three and more sites, and stacked layers of factored attention that learn them.

Rende et al. 2024 (arXiv:2304.07235) name this as the next step; Rende, Gerace, Laio, Goldt 2024 (NeurIPS, arXiv:2410.19637) stack
factored attention with the activation x^2.

In reading order:

- model: Hamiltonian, conditionals, and the random terms of a specification
- gibbs: independent chains side by side, and their test of equilibrium
- stacked: stacked factored attention and its training
- orders: how much of each order of interaction the logits contain

May import it: schema, estimators.
"""
