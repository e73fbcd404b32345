"""Two attention layers of extensive width (Boncoraglio et al. 2025, arXiv:2506.01582): V_l = mmse(1 / q_hat_l), q_hat_l =
alpha k_l / V_l.

V_l is the error of layer l, q_hat_l the precision of the data on it. k_l = 2 E|z_l|^2, z_l the posterior means of the
coordinates of its scores in prior standard deviations.

In reading order:

- state_evolution: both errors, for every model of two layers
- two_tokens/: softmax layers that read two tokens, exact; the kernel of a hardmax
- sampled, sampled_fields_kernels, sampled_posterior_kernels: more tokens, posterior sampled
- hardmax: a hardmax as the last layer
- phases/: free entropy, all fixed points, thresholds
- layers: what the models share
- contrasts: coordinates that a constant does not change
- generalization: errors of the output
- amp, fresh_data: simulation, and its errors of the output on fresh sequences

May import it: estimators.
"""
