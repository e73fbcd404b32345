"""Weight decay on one data set (equations: docs/erm.md).

In reading order:

- objective: the training objective
- minimisation: L-BFGS and proximal gradient
- message_passing: message passing with the proximal operators

May import it: estimators.
"""
