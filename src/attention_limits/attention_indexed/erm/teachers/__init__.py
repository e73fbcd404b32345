"""The teacher of weight decay: the law of S* + delta Z, and its limits.

In reading order:

- unsymmetric: vanishing noise on an S* without symmetry
- table: spectral moments of any law by quadrature
- laws: tied, untied and rectangular teachers, and those of a file

May import it: the other modules of this folder's parent, estimators.
"""
