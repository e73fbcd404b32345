"""Students and targets of the experiments that are not built in: functions of the fields of one sequence."""

import math


def mean_tanh(z):
    """L^(-1/2) sum_l tanh z_l."""
    total = 0.0
    for field in z:
        total += math.tanh(field)
    return total / math.sqrt(len(z))


mean_tanh.symmetry = "odd"


def staircase(z):
    """sqrt(L) (z_1 + z_1 z_2 + z_1 z_2 z_3)."""
    return math.sqrt(len(z)) * (z[0] + z[0] * z[1] + z[0] * z[1] * z[2])
