"""Fits by L-BFGS (Liu and Nocedal 1989), and the schedule of a training.

In reading order:

- lbfgs, lbfgs_kernels: the minimiser, and how many starts agree
- minima: fits of an attention layer from several starts, the smallest objective first
- epochs: evaluations and learning rates

May import it: attention, transformer, proteins.
"""
