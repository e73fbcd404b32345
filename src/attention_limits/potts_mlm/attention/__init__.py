"""Single attention layers that predict masked sites: logits_ia = sum_(j != i) A_ij V[a, s_j] (Rende et al. 2024,
arXiv:2304.07235).

In reading order:

- training_sets: the sequences that all learners share
- factored, factored_kernels: factored attention, by L-BFGS
- factored_training: the same by stochastic gradient descent
- mixed, mixed_kernels: scores that read colours and positions
- pair, pair_parameters, pair_kernels: fields, heads, and full pseudo-likelihood
- single_precision_kernels: sixteen sequences side by side

May import it: proteins, estimators.
"""
