"""Channels: the posterior moments of the fields h given an output y, h ~ N(omega, V), and the denoiser of GAMP.

    g_out = V^-1 (E[h | y] - omega),    dg_out = V^-1 Cov(h | y) V^-1 - V^-1    (Troiani et al. 2025, arXiv:2502.00901)

One folder or module per method; `channel` chooses the method that fits a link.

In reading order:

- posterior: moments, Z, and the denoiser g_out
- channel: chooses the method that computes them
- averages: averages over outputs, E_y, at an overlap
- half_line, cells, sectors, intervals: moments of signs and of a few discrete outputs of one or two fields
- one_field: a noisy output of one field
- exact: chooses one of these
- rotations/: one layer of rank two or more, one integral over an angle or a sphere
- trapezoid/: two layers of two tokens, a two-dimensional rule
- sampling/: any other link, by importance sampling
- published/: the quadratures of the public program of the paper
- single_precision: decides which nodes single precision can hold

May import it: state evolution, GAMP, weak recovery, estimators, reports.
"""
