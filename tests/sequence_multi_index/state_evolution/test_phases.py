"""Phases: known transitions of phase retrieval, random starts of a committee; and a layer that is held where it would be anyway
changes nothing."""

import numpy as np
import pytest
from smi_tools import channel_of, search_settings

import attention_limits as al
from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes
from attention_limits.sequence_multi_index import readings
from attention_limits.sequence_multi_index.channels.averages import node_dimension
from attention_limits.sequence_multi_index.channels.channel import Channel
from attention_limits.sequence_multi_index.estimators.at_point import completed
from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention
from attention_limits.sequence_multi_index.links.loading import load_link
from attention_limits.sequence_multi_index.priors.gaussian import as_prior
from attention_limits.sequence_multi_index.readings import EASY, HARD, IMPOSSIBLE
from attention_limits.sequence_multi_index.schema.bayes import PhasesSolver
from attention_limits.sequence_multi_index.state_evolution.fixed_point import solve
from attention_limits.sequence_multi_index.state_evolution.phases import branches, random_starts

pytestmark = pytest.mark.slow

ESTIMATOR = "sequence_multi_index.phase_comparison"
SETTINGS = completed(PhasesSolver(), warm_up=1, side_information=0.0, regularization=0.0)


def test_phases_of_phase_retrieval():
    """Noiseless real phase retrieval with Gaussian weights: weak recovery at 1/2, exact recovery possible from 1 on and found by
    approximate message passing from 1.128 on (Barbier et al. 2019, PNAS 116, 5451; Maillard et al. 2020, arXiv:2006.05228)."""
    alpha = [0.4, 0.6, 0.95, 1.05, 1.1, 1.2]
    cube = al.compute(ESTIMATOR, {"link": "phase_retrieval"}, {"alpha": alpha}, replicas=4)
    found = readings.phases(cube)
    np.testing.assert_array_equal(found.phase, [IMPOSSIBLE, EASY, EASY, HARD, HARD, EASY])
    np.testing.assert_array_equal(found.exact, [False] * 5 + [True])
    np.testing.assert_array_equal(found.unique, [True] * 3 + [False] * 2 + [True])
    # Exact recovery, and only that, has an unbounded free entropy.
    exact = np.isposinf(cube.free_entropy_by_start.sel(init="informed"))
    assert ((exact == (cube.alpha > 1.0)).all()).item()


@pytest.mark.parametrize(
    ("alpha", "prior", "diagonal", "off", "phase"),
    [(3.0, {}, 0.6529, 0.1615, EASY), (1.8, {"prior": {"name": "binary"}}, 0.4585, 0.2434, HARD)],
)
def test_random_starts_of_a_committee_end_at_the_specialised_point(alpha, prior, diagonal, off, phase):
    """Every start leaves the unspecialised overlap, (0.403, 0.402) for normal weights, which is unstable; exact values of
    `test_stability`. The informed start of binary weights keeps exact recovery, of larger free entropy: hard. One scrambling of
    256 nodes scatters by 1.4e-3: eight standard deviations of the mean of three, and the tolerance."""
    model, solver = {"link": "committee", "rows": 2, **prior}, {"starts": 2, "nodes": 256}
    cube = al.compute(ESTIMATOR, model, {"alpha": alpha}, solver=solver, replicas=3)
    assert cube.converged_by_start.all()
    overlap = cube.overlap_by_start.squeeze("alpha").mean("replica")
    overlap = overlap.drop_sel(init="informed") if prior else overlap
    wanted = np.array([[diagonal, off], [off, diagonal]])
    assert np.abs(overlap.values - wanted).max() <= 8 * 1.4e-3 / 3**0.5 + 1e-3
    found = readings.phases(cube)
    assert found.phase.item() == phase
    assert found.unique.item() == (phase == EASY)


def test_perfect_recovery_of_the_binary_perceptron_is_optimal_from_its_published_threshold_on():
    """1.245 (Gyorgyi 1990, Phys. Rev. A 41, 7097). Four standard errors of the joint gain, whose floor is that of few nodes, and
    0.002 for the chord between 1.2 and 1.3; the phases on both sides are decided."""
    model = {"link": "sign_product", "rows": 1, "prior": {"name": "binary"}}
    cube = al.compute(ESTIMATOR, model, {"alpha": [1.2, 1.3]}, solver={"nodes": 1024}, replicas=8)
    alpha, error = readings.equal_free_entropy(cube)
    assert error < 0.02
    assert abs(alpha - 1.245) < 4 * error + 0.002
    np.testing.assert_array_equal(readings.phases(cube).phase, [EASY, HARD])


def test_errors_of_few_nodes_are_the_signed_shifts_to_a_quarter_of_them():
    link = load_link({"link": "phase_retrieval"}, ".")
    channel, nodes = channel_of(link), gaussian_nodes(node_dimension(link), 64, np.random.default_rng(1))
    found, few = (branches(channel, 0.8, some, SETTINGS) for some in (nodes, nodes.head(16)))
    assert np.abs(found.overlap_node_error).min() > 1e-4
    np.testing.assert_allclose(found.overlap + 3**0.5 * found.overlap_node_error, few.overlap, atol=1e-12)
    np.testing.assert_allclose(
        found.free_entropy + 3**0.5 * found.free_entropy_node_error, few.free_entropy, atol=1e-12
    )


def test_random_starts_are_the_same_in_every_replica_and_diagonal_where_signs_are_free():
    for link, diagonal in ((DeepAttention(skip=1.0), True), (load_link({"link": "product", "rows": 2}, "."), False)):
        channel, prior = channel_of(link), as_prior(None, link)
        once, again = (random_starts(channel, prior, 3, np.random.default_rng(5)) for _ in range(2))
        np.testing.assert_array_equal(once, again)
        for q_hat in once:
            assert np.linalg.eigvalsh(q_hat)[0] > 0
            assert (q_hat[0, 1] == 0) == diagonal


def test_no_overlap_without_data():
    link = DeepAttention(skip=1.0)
    nodes = gaussian_nodes(node_dimension(link), 64, np.random.default_rng(1))
    found = branches(Channel(link, 0.75, np.random.default_rng(2)), 0.0, nodes, SETTINGS)
    assert not found.learned.any()
    np.testing.assert_array_equal(found.overlap, np.zeros((2, 2, 2)))


def test_a_layer_held_at_its_own_fixed_point_changes_nothing():
    link = DeepAttention(skip=1.0)
    nodes = gaussian_nodes(node_dimension(link), 256, np.random.default_rng(3))
    channel = Channel(link, 0.75, np.random.default_rng(4))
    tolerance = 1e-4
    free = np.diag(solve(channel, 0.9, nodes, 1e-3, search_settings(tolerance=tolerance)).value)
    for row in (0, 1):
        held = np.full(2, np.nan)
        held[row] = free[row]
        found = np.diag(solve(channel, 0.9, nodes, 1e-3, search_settings(tolerance=tolerance), held=held).value)
        # Each stops within `tolerance` of its fixed point per iteration, which a slow mode of rate 0.9 amplifies tenfold.
        assert np.allclose(found, free, atol=20 * tolerance)


def test_overlaps_are_held_only_where_they_are_diagonal():
    link = load_link({"link": "product", "rows": 2}, ".")
    nodes = gaussian_nodes(node_dimension(link), 16, np.random.default_rng(3))
    with pytest.raises(ValueError, match="diagonal"):
        solve(Channel(link, 0.5, np.random.default_rng(4)), 1.0, nodes, 1e-3, search_settings(), held=[0.5, np.nan])
