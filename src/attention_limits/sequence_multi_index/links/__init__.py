"""Links: the output y = g(h) of a sequence multi-index model of Troiani et al. 2025 (arXiv:2502.00901), h = W x / sqrt(D) the
P fields of each of the M tokens.

A link gives the output, and how the output constrains the fields: as a fibre (the fields that give y, with their density)
or as a likelihood P(y | h).

In reading order:

- link: the class to derive from, and what a solver can require of it
- declarations: whether a link agrees with what it declares
- attention/: layers of softmax attention
- heads/: several heads with a softmax each
- one_token, linear: multi-index models of independent samples, regression and classification
- wrappers: correlated tokens and output noise around any link
- sectors, intervals, invariances: structure that the program reads off the output of any link
- jax_forward: the forward pass in JAX
- loading: links by name

May import it: every other room of the family.
"""
