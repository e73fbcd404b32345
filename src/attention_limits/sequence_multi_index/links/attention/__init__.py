"""Layers of attention (Troiani et al. 2025, arXiv:2502.00901). h_l are the fields of layer l, one column per token; c is the skip
strength. The output is y = S_L.

    B_0 = I,    S_l = softmax_rows(beta (h_l B_(l-1))^T (h_l B_(l-1))),    B_l = B_(l-1) (c I + S_l^T)

In reading order:

- base: what layers with a skip connection share
- deep: tied layers of rank one, the model of the paper
- layers: the product of layers and the inversion of a layer that reads two tokens
- rank, untied, untied_heads: more rows per layer
- positional, sequence_output: other outputs
- all_fields: every set of fields with a given output, where the output has more numbers than the fields
- large_depth: many layers, and their limits

May import it: links.loading by name, and what may import links.
"""
