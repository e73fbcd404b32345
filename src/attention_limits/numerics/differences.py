"""Central differences of eighth order: sums over f(x + step OFFSETS) with these weights, over step or step^2.

The truncation errors are step^8 f^(9) / 630 and step^8 f^(10) / 3150.
"""

import numpy as np

OFFSETS = np.arange(-4, 5)
FIRST = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0, 4 / 5, -1 / 5, 4 / 105, -1 / 280])
SECOND = np.array([-1 / 560, 8 / 315, -1 / 5, 8 / 5, -205 / 72, 8 / 5, -1 / 5, 8 / 315, -1 / 560])
