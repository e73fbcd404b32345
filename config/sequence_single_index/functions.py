"""Students and targets of the experiments that are not built in: functions of the fields of one sequence."""

import math


def mean_tanh(z):
    """M^(-1/2) sum_l tanh z_l."""
    total = 0.0
    for field in z:
        total += math.tanh(field)
    return total / math.sqrt(len(z))


mean_tanh.symmetry = "odd"


def staircase(z):
    """sqrt(M) (z_1 + z_1 z_2 + z_1 z_2 z_3)."""
    return math.sqrt(len(z)) * (z[0] + z[0] * z[1] + z[0] * z[1] * z[2])


def square_of_sum(z):
    """(sum_l z_l)^2 / M: a network whose activation is the square."""
    total = 0.0
    for field in z:
        total += field
    return total * total / len(z)


def first_token(z):
    """sqrt(M) z_1."""
    return math.sqrt(len(z)) * z[0]


def square_target(z):
    """(2 M)^(-1/2) sum_l (z_l^2 - 1)."""
    total = 0.0
    for field in z:
        total += field * field - 1.0
    return total / math.sqrt(2.0 * len(z))
