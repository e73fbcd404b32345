"""Attention of several heads, a softmax for each (Troiani et al. 2025, arXiv:2502.00901, appendix A.3).

In reading order:

- untied_multi_head: a sum of the attention of heads with queries and keys
- learned_readout: heads whose readout is a row of weights too
- all_fields: every set of fields with a given output, where the output has more numbers than the fields

May import it: links.loading by name, links.attention, and what may import links.
"""
