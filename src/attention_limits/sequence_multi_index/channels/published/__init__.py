"""The channel of the public program of Troiani et al. 2025 (arXiv:2502.00901): V^-1 int (h - omega) w / int w over boxes about
zero.

In reading order:

- gradient: g_out as the program computes it
- two_layers_kernels, three_layers_kernels: its integrands

May import it: state_evolution.published_map.
"""
