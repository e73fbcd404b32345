"""Layers of softmax attention: S_l = softmax_rows(beta h_l^T h_l), B_l = (c I + S_l) B_(l-1), y the last S_L (Troiani et al.
2025, arXiv:2502.00901).

In reading order:

- deep: tied layers of rank one, the model of the paper
- layers: the product of layers and the inversion of a layer that reads two tokens
- rank, multi_head, untied, untied_heads: more rows per layer
- positional, sequence_output: other outputs
- large_depth: many layers, and their limits

May import it: links.loading by name, and what may import links.
"""
