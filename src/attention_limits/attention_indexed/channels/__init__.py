"""Channels: what an output y says about its scores h, of mean omega and variance V (Boncoraglio et al. 2025,
arXiv:2506.01582).

    G = E[h - omega | y] / (2 V),    information(V, Q) = E 4 sum_ab G_ab^2

G is the gradient (M x M), Q the prior variance of a score off the diagonal. The information is the precision that one sample
gains, per d^2.

In reading order:

- protocol: what a channel offers
- linear: the scores, with noise, and their softmax
- hardmax/: the position of the largest entry of each row
- untied: scores without symmetry
- output, one_score, sampled, files: any output or likelihood of a user, its posterior sampled; one noisy score by quadrature
- likelihood/: the likelihood of a user as compiled code, and the sampling around it
- identities: whether posterior or likelihood of a file are those of its outputs
- names, loading: channels by name, each loaded when it is used

May import it: state evolution, AMP, two_layers, erm, schema, estimators, reports.
"""
