"""Hardmax: y_a is the position of the largest entry of row a of the scores (model of Boncoraglio et al. 2025
(arXiv:2506.01582); posterior means derived).

In reading order:

- two_tokens, pair_kernels: two signs, bivariate normal probabilities
- many_tokens, posterior_kernels, grid_kernels: any number of tokens
- limits: the information between limits that are known exactly
- distance: the probability that two outputs differ
- untied: rows that are independent

May import it: channels.loading by name, two_layers.
"""
