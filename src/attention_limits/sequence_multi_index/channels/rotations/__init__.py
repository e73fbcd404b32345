"""Exact posterior moments of one layer of rank p that reads two tokens: the output fixes lengths, and directions are free
(Troiani et al. 2025, arXiv:2502.00901).

In reading order:

- moments: the interface
- angle_kernels: p = 2, a trapezoid rule over one angle
- sphere_kernels: p > 2, a vector of known length

May import it: channels.channel.
"""
