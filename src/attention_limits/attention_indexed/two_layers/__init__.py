"""Two attention layers of extensive width (Boncoraglio et al. 2025, arXiv:2506.01582): V_l = mmse(1 / q_hat_l), q_hat_l =
alpha k_l / V_l.

In reading order:

- state_evolution: both errors, for every model of two layers
- two_tokens/: softmax layers that read two tokens, exact
- sampled, sampled_fields_kernels, sampled_posterior_kernels: more tokens, posterior sampled
- hardmax: a hardmax as the last layer
- contrasts: coordinates that a constant does not change
- amp, generalization: simulation and errors on a fresh sequence

May import it: estimators.
"""
