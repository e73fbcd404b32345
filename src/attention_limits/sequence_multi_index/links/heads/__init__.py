"""Attention of several heads, a softmax for each (Troiani et al. 2025, arXiv:2502.00901, appendix A.3).

In reading order:

- multi_head: tied heads, a row of weights for each
- untied_multi_head: a sum of the attention of heads with queries and keys
- learned_readout: heads whose readout is a row of weights too

May import it: links.loading by name, links.attention, and what may import links.
"""
