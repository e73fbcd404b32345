"""Transformer encoders trained by masked-token prediction (Rende et al. 2024, arXiv:2304.07235).

In reading order:

- transformer: shape, training, losses
- transformer_kernels: forward and backward pass
- folded_kernels: two matrices of a layer in place of four
- encoder_kernels: the blocks of an encoder

May import it: estimators.
"""
