"""Posterior moments by importance sampling on quasi-random nodes: free rows are drawn, the output fixes the others (Troiani et
al. 2025, arXiv:2502.00901).

In reading order:

- importance: any link
- compiled_links: what the link says, compiled from its NumPy functions
- importance_kernels: its fields at the nodes, and the moments over candidates and nodes
- two_tokens: softmax layers of two tokens, the arrays of its kernels
- two_tokens_kernels: moments over the nodes
- two_tokens_layers_kernels: the fields at the nodes of one pass

May import it: channels.channel, state_evolution.exchangeable, reports.
"""
