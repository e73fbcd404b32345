"""Fits by L-BFGS (Liu and Nocedal 1989), and the schedule of a training.

In reading order:

- lbfgs, lbfgs_kernels: the minimiser, and how many starts agree
- epochs: evaluations and learning rates

May import it: attention, transformer, proteins.
"""
