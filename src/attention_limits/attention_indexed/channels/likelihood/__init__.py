"""Sampling with the likelihood of a user as compiled code.

In reading order:

- compiled_likelihood: the likelihood as one loop over nodes, from its NumPy functions
- sampled_kernels: the posterior mean around this loop

May import it: channels.
"""
