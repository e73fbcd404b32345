"""Figures: effects of finite dimension. Each module has `draw(cubes)`, which computes nothing; the caption stands beside it.

In reading order:

- finite_size: AMP at several dimensions
- iterations: its first iterations
- exact_posterior: the exact posterior of small layers
- descent_limit: gradient descent
- channel_sizes: AMP with every channel
- laws: the law in 1/d that these figures draw
"""
