"""Losses of the fields of a student and their proximal operators, compiled; derivatives are exact (jets, derived in the
modules).

In reading order:

- loss_kernels: losses with gradient and Hessian
- jet_kernels: outputs of students with derivatives
- prox_kernels: the proximal operator at its global minimum

May import it: erm.
"""
