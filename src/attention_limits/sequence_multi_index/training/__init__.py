"""Gradient descent on the squared loss of any link, on fresh batches or with batch reuse (Troiani et al. 2025,
arXiv:2502.00901).

In reading order:

- outputs: the output of the teacher
- gradient_descent: any link, by automatic differentiation
- two_tokens_kernels: softmax layers of rank one that read two tokens
- signs, flow: differential equations of the overlaps, the limit of one pass at large dimension

May import it: estimators.
"""
