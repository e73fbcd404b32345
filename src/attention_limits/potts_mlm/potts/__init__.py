"""The generalised Potts model of Rende et al. 2024 (arXiv:2304.07235): H(s) = -1/2 sum_ij J_ij U[s_i, s_j], P(s) = exp(-beta
H(s)) / Z.

In reading order:

- model: Hamiltonian, conditionals, and the couplings of a specification
- gibbs, gibbs_kernels: parallel tempering, tests of equilibrium
- tuning: the temperature of a given Hamming distance
- recovery: the error of learned couplings
- contacts: contacts of a protein from couplings

May import it: attention, proteins, schema, estimators, figures (recovery alone).
"""
