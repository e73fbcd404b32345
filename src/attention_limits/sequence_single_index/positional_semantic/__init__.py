"""The positional-semantic model: does attention learn positions or meaning first? Its loss, phases, and the exit of SGD
(Arnaboldi et al. 2025, arXiv:2506.02651).

In reading order:

- loss: the population loss, from tables
- phase_diagram: the direction that SGD learns first, and the best one
- flow, exit: SGD at large d, and the probability of each direction
- many_tokens, several_positions: more tokens, general positional vectors

May import it: estimators.
"""
