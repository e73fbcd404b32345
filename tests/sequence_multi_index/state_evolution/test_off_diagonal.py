"""Overlaps between different layers of deep attention vanish, although nothing in the iteration keeps Q diagonal.

The sign of every layer is free, so that a diagonal Q stays diagonal, and the state evolution keeps it so. Troiani et al. 2025
(arXiv:2502.00901, appendix) state that a Q that is not diagonal becomes diagonal, and that GAMP has overlaps between layers of
order D^(-1/2) alone.
"""

import numpy as np
import pytest
from smi_tools import channel_of, gamp_settings, node_sets

from attention_limits.sequence_multi_index.channels.averages import channel_averages
from attention_limits.sequence_multi_index.gamp import gamp
from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention
from attention_limits.sequence_multi_index.priors.overlaps import overlap_from_precision

pytestmark = pytest.mark.slow

LINK = DeepAttention(1.0)
CHANNEL = channel_of(LINK, 0.75)


def iterated(overlap, nodes):
    """Q after 40 steps at alpha = 0.9 without the symmetry of signs, and the largest |Q_12| of the last ten."""
    path = []
    for _ in range(40):
        overlap = overlap_from_precision(0.9 * channel_averages(CHANNEL, overlap, nodes).information)
        path.append(abs(overlap[0, 1]))
    return overlap, max(path[-10:])


def test_a_generic_start_of_the_state_evolution_becomes_diagonal():
    """Q_12 is that of a diagonal start on the same nodes: what is left is their scatter, at most 0.01 on 128 nodes, and the mean
    of four scramblings is zero within it. Student's law of three degrees of freedom at 5.8 errors: one false alarm in a hundred
    over the choice of the seed, which is fixed."""
    rng, left = np.random.default_rng(62), []
    for nodes in node_sets(LINK, 128, 4, seed=61):
        root = rng.standard_normal((2, 2))
        start = root @ root.T / (1.0 + np.linalg.eigvalsh(root @ root.T)[-1])
        assert abs(start[0, 1]) > 0.05
        (overlap, largest), (diagonal, _) = (iterated(begin, nodes) for begin in (start, np.diag(np.diag(start))))
        assert largest < 0.01
        np.testing.assert_allclose(overlap, diagonal, atol=0.02)
        assert diagonal[0, 0] > 0.1
        left.append(overlap[0, 1])
    assert abs(np.mean(left)) < 5.8 * np.std(left, ddof=1) / 2.0


def test_overlaps_between_layers_fall_like_the_root_of_the_dimension():
    """D times the squared cosine between the estimate of one layer and the teacher of the other one, mean over 20 data sets:
    about 1.9 at every D. Independent cosines have chi^2 with 20 to 40 degrees of freedom, and Fisher's ratio exceeds 4 with a
    probability below 2e-3. Cosines that do not fall have the ratio 12, and cosines of order 1 / D the ratio 1/12."""
    means = []
    for dimension in (50, 600):
        squares = []
        for seed in range(20):
            generator = np.random.default_rng((78, dimension, seed))
            data = gamp.gaussian_dataset(LINK, dimension, int(0.6 * dimension), generator)
            run = gamp.run(CHANNEL, data, generator, gamp_settings(max_iterations=15))
            lengths = np.outer(np.diag(run.norm[-1]), np.mean(data.teacher**2, axis=1))
            cosines = run.overlap[-1] / np.sqrt(lengths)
            squares += [cosines[0, 1] ** 2, cosines[1, 0] ** 2]
        means.append(dimension * np.mean(squares))
    assert 0.25 < means[1] / means[0] < 4.0
    assert 0.5 < means[1] < 8.0
