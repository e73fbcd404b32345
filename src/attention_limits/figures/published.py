"""Published values that the figures compare with, as printed by their source."""

import numpy as np

# Troiani et al. 2025 (arXiv:2502.00901), state-evolution curve BO_2w.csv of their code: alpha, Q_11, Q_22.
SMI_FIG1_OVERLAPS = np.array(
    [
        [0.3, 0.0, 0.218], [0.5, 0.0, 0.773], [0.7, 0.0, 0.964], [0.8333, 0.187, 0.992], [0.9, 0.451, 0.993],
        [1.0, 0.614, 0.995], [1.2, 0.823, 0.998], [1.4, 0.911, 1.0], [1.6, 0.920, 0.999],
    ]
)  # fmt: skip

# The same, gen_error_BO_2w.csv: alpha, error.
SMI_FIG1_ERRORS = np.array(
    [
        [0.1, 0.3865], [0.3, 0.3493], [0.5, 0.1829], [0.7, 0.0636], [0.8, 0.0466], [0.9, 0.0290], [1.0, 0.0222],
        [1.2, 0.0120], [1.4, 0.0055], [1.6, 0.0062],
    ]
)  # fmt: skip

# The same, alpha_critical.csv: skip, alpha_1, alpha_2.
SMI_FIG1_THRESHOLDS = np.array(
    [
        [0.0001, 0.318, 0.195], [0.1, 0.422, 0.191], [0.5, 0.755, 0.186], [1.0, 0.794, 0.144], [1.5, 0.658, 0.124],
        [2.0, 0.513, 0.112], [3.0, 0.304, 0.094], [4.0, 0.196, 0.083],
    ]
)  # fmt: skip
