"""Gaussian sequences with a teacher, and the overlap of an estimate with it. The data of Troiani et al. 2025
(arXiv:2502.00901): x ~ N(0, I), Y = g(W x / sqrt(D)).

In reading order:

- sequences: tokens and weights of one data set
- teacher_overlap: overlaps up to the signs and rotations that the output leaves free

May import it: erm, schema, estimators.
"""
