"""Approximate message passing for the matrix S of one data set (Boncoraglio et al. 2025, arXiv:2506.01582).

In reading order:

- matrix_amp: the algorithm
- sample_sums, sample_sums_kernels: its sums over the samples
- schedule: damping and end
- fresh_data: errors of an estimate on fresh sequences

May import it: two_layers, erm, estimators.
"""
