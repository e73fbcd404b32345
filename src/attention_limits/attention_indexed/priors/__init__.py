"""Laws of S: their error mmse(D) in Gaussian noise of the variance D, their denoiser and draws (Boncoraglio et al. 2025,
arXiv:2506.01582).

In reading order:

- prior: what a law offers
- pieces: the law of the spectrum of S + sqrt(D) Z on pieces of its support
- wishart: symmetric S; S = W W^T / sqrt(r d), the model of the paper
- invariant, spectra: any law of the eigenvalues
- product, rectangular: S without symmetry; S = Q K^T / sqrt(r d) of untied attention
- denoisers/: the posterior mean of singular values and eigenvalues
- tabulated: the error of laws without a closed form
- loading: laws by the keys of a model, each loaded when it is used

May import it: state evolution, AMP, two_layers, erm, schema, estimators, reports.
"""
