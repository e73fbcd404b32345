"""Weight decay, by replica-symmetric state evolution (arXiv:2509.24914, arXiv:2505.17958).

    min_(S >= 0) sum_mu ||y_mu - f(h_mu(S))||_F^2 + lambda d tr S

In reading order:

- spectral, spectral_kernels: moments of the proximal denoiser of the nuclear norm
- linear, softmax, softmax_kernels: state evolution by output
- semicircle: limits of vanishing noise
- teachers/: the laws of S* + delta Z
- thresholds: interpolation without decay, and the decay that leaves nothing
- estimate, best_decay: one point, and the decay of the smallest error
- simulations/: minimisation and message passing on one data set

May import it: estimators.
"""
