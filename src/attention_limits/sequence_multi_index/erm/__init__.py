"""Empirical risk minimisation with a ridge, by replica-symmetric state evolution at zero temperature (arXiv:2402.03902 for a
model with two solutions; equations for any student and loss in `state_evolution`).

    min_W sum_mu l(y_mu, W x_mu / sqrt(D)) + lambda / 2 |W|^2

In reading order:

- losses, students: the loss of an output, the fitted link
- prox, kernels/: the proximal operator of a loss of many fields
- nodes: the nodes of the channel
- state_evolution: the closed equations
- transition, optimal_ridge: where solutions exchange, and the ridge of the smallest test loss
- minimisation, gamp: simulations on one data set, and whether the objective determines an overlap
- task: all of it for a grid point

May import it: schema, estimators.
"""
