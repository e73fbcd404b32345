"""Posterior of the scores of two softmax layers that read two tokens, by an adaptive lattice (Boncoraglio et al. 2025,
arXiv:2506.01582).

In reading order:

- softmax: model, channel, averages
- posterior_kernels: moments
- lattice_kernels, cut_kernels: the lattice, and the density for c < 1
- hardmax_kernels: sums over sampled scores for `two_layers.hardmax`

May import it: two_layers.
"""
