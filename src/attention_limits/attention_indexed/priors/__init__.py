"""Laws of S: their error mmse(D) in Gaussian noise of the variance D, their denoiser and draws (Boncoraglio et al. 2025,
arXiv:2506.01582).

In reading order:

- prior: what a law offers
- symmetric, wishart: S = W W^T / sqrt(r d), the model of the paper
- invariant, spectra, files: any law of the eigenvalues
- product, rectangular: S = Q K^T / sqrt(r d) of untied attention
- denoisers/: the posterior mean of singular values and eigenvalues
- loading: laws by the keys of a model, each loaded when it is used

May import it: state evolution, AMP, two_layers, erm, estimators, reports.
"""
