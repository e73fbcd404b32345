"""A staircase: the first direction is learned alone; the others are learned only after it."""

import numpy as np

from attention_limits.sequence_multi_index.links.link import Link


class Staircase(Link):
    """y = h_1^2 + sign(h_1 h_2 h_3)."""

    rows, tokens, sign_symmetry, free_rows = 3, 1, "none", 2
