"""Figures: effects of finite dimension. Each module has `draw(cubes)`, which computes nothing; the caption stands beside it.

AMP at several dimensions (`finite_size`), its first iterations (`iterations`), the exact posterior (`exact_posterior`), gradient
descent (`descent_limit`), all channels (`channel_sizes`); `laws` in 1/d.
"""
