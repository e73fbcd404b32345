"""Gradient descent on the squared loss of any link, on fresh batches or with batch reuse (Troiani et al. 2025,
arXiv:2502.00901).

In reading order:

- gradient_descent: any link, by automatic differentiation
- two_tokens_kernels: softmax layers of rank one that read two tokens

May import it: estimators.
"""
