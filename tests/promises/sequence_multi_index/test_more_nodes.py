"""What is flagged as good agrees with a run of four times the nodes, or four times the iterations, within its stated error.

All runs are seeded. Limits are those of Student's law with the fewest degrees of freedom of the two runs; the docstrings say how
often a correct program fails with another seed.
"""

from types import SimpleNamespace

import numpy as np
import pytest

from attention_limits.pipeline.base.streams import Streams
from attention_limits.sequence_multi_index.channels.channel import Channel
from attention_limits.sequence_multi_index.estimators.bayes import held_overlap
from attention_limits.sequence_multi_index.estimators.thresholds import (
    exact_recovery,
    shallow_growth,
    staircase,
    threshold_atlas,
)
from attention_limits.sequence_multi_index.gamp import gamp
from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention
from attention_limits.sequence_multi_index.readings import (
    branch_of_layer,
    growth_factors_at_threshold,
    growth_threshold,
    layer_threshold_and_error,
    recovery,
)
from attention_limits.sequence_multi_index.schema.bayes import GampSolver

pytestmark = pytest.mark.slow

TWO_LAYERS = {"link": "deep_attention", "depth": 2, "tokens": 2, "skip": 1.0, "beta": 1.0}
# Student's t of three degrees of freedom exceeds this with probability 1e-3.
LIMIT = 12.9


def run(estimator, model, grid, solver, replicas, seed):
    name = estimator.__name__.rpartition(".")[2]
    spec = {
        "estimator": name, "model": model, "grid": grid, "replicas": list(range(replicas)), "project": ".",
        "solver": SimpleNamespace(**solver),
    }  # fmt: skip
    return estimator.run(spec, Streams(seed, "sequence_multi_index", "more nodes"))


def assert_agree(few, many):
    """Two (value, error) within LIMIT standard errors of their difference."""
    assert abs(few[0] - many[0]) <= LIMIT * np.hypot(few[1], many[1])


def test_thresholds_of_the_staircase():
    """Both layers of two, c = 0 and 1, 128 nodes against 512: four comparisons, each fails with a probability of 1e-3."""
    solver = {"nodes_at_zero": 512, "tolerance": 1e-3, "resolution": 0.5}
    grid = {"skip": [0.0, 1.0]}
    few, many = (run(staircase, TWO_LAYERS, grid, solver | {"nodes": nodes}, 4, nodes) for nodes in (128, 512))
    assert np.isfinite(few.threshold_error).all()
    assert np.isfinite(few.threshold_node_error).all()
    assert few.step_converged.all()
    for layer in (1, 2):
        pairs = zip(*layer_threshold_and_error(few, layer), *layer_threshold_and_error(many, layer), strict=True)
        for value, error, wanted, known in pairs:
            assert_agree((value, error), (wanted, known))
            assert error < 0.1 * value


def test_threshold_of_one_branch_is_the_same_from_two_estimators():
    """Layer 1 of three with layer 3 known, c = 0.5: the atlas and the growth factors; fails with a probability of 1e-3.

    The atlas names the branch. On it the factor of layer 2 is 0.326(3) there (16 scramblings of 4096 nodes): its threshold is
    that of another branch.
    """
    model = {"link": "deep_attention", "depth": 3, "tokens": 2, "beta": 1.0}
    solver = {"nodes": 128, "nodes_at_zero": 512, "tolerance": 1e-3, "resolution": 0.5, "steps": 2, "layers": 3}
    steps = run(threshold_atlas, model, {"skip": [0.5]}, solver, 4, 1).isel(skip=0)
    grid = {"skip": [0.5], "held": [0.87, 0.91, 0.94, 0.96]}
    growth = run(shallow_growth, model, grid, {"nodes": 128, "resolution": 0.5, "layers": 3}, 4, 2).isel(skip=0)
    branch = branch_of_layer(steps, 1)
    np.testing.assert_array_equal(branch.known, [False, False, True])
    assert not branch.together.any()
    value, error = growth_threshold(growth, 1)
    assert_agree(layer_threshold_and_error(steps, 1), (value, error))
    assert error < 0.1 * value
    factor, uncertain = (values[1] for values in growth_factors_at_threshold(growth, 1))
    assert_agree((factor, uncertain), (0.326, 0.003))
    assert factor + 3 * uncertain < 1


def test_held_overlaps():
    """The first layer while the last one is held, 128 nodes against 512: each replica within the node errors of all replicas.

    One node error is one draw of the error of a replica; their root mean square over four replicas and the scatter of the others
    give Student's limit with three degrees of freedom. Eight comparisons with a probability of 1e-3 each.
    """
    grid = {"alpha": [1.2], "held": [0.5, 0.97]}
    solver = {"tolerance": 1e-3, "max_iterations": 200, "warm_up": 4, "start": 1e-3, "resolution": 0.5}
    few, many = (run(held_overlap, TWO_LAYERS, grid, solver | {"nodes": nodes}, 4, nodes) for nodes in (128, 512))
    good = (few.held_converged & few.held_unique).sel(held_layer=2).isel(alpha=0).transpose("held", "replica").values
    assert good.mean() > 0.8
    overlap, error, wanted = (
        part.sel(held_layer=2, layer=1).isel(alpha=0).transpose("held", "replica").values
        for part in (few.layer_overlap, few.layer_overlap_node_error, many.layer_overlap)
    )
    stated = np.sqrt(np.mean(error**2, axis=1))[:, None]
    known = wanted.std(axis=1, ddof=1)[:, None] / 2
    away = np.abs(overlap - wanted.mean(axis=1)[:, None])
    # The iteration stops at a relative change of 1e-3.
    assert np.all((away <= LIMIT * np.hypot(stated, known) + 2e-3)[good])
    assert np.all(stated < 0.2)


def test_exact_recovery():
    """Phase retrieval, 128 nodes against 512; fails with a probability of 1e-3."""
    model, grid = {"link": "phase_retrieval"}, {"noise": [0.0]}
    solver = {"tolerance": 1e-3, "max_iterations": 500, "highest": 4.0, "width": 0.02, "resolution": 0.5}
    few, many = (run(exact_recovery, model, grid, solver | {"nodes": nodes}, 4, nodes) for nodes in (128, 512))
    assert few.recovery_converged.all()
    assert_agree(recovery(few), recovery(many))
    assert recovery(few)[1] < 0.2


@pytest.mark.parametrize("tolerance", [1e-2, 3e-3])
def test_gamp_stays_where_it_has_converged(tolerance):
    """Two layers at D = 300: four times the iterations move a converged overlap by less than five tolerances; no chance."""
    link, converged = DeepAttention(1.0), 0
    for seed, alpha in ((0, 0.3), (2, 0.6), (3, 0.3), (4, 0.3)):
        data = gamp.gaussian_dataset(link, 300, round(300 * alpha), np.random.default_rng([seed, 0]))
        channel = Channel(link, 0.5, np.random.default_rng(0))
        settings = GampSolver(max_iterations=60, tolerance=tolerance)
        found = gamp.run(channel, data, np.random.default_rng([seed, 1]), settings)
        if not found.converged:
            continue
        converged += 1
        longer = settings.model_copy(update={"max_iterations": 4 * len(found.overlap), "tolerance": 0.0})
        end = gamp.run(channel, data, np.random.default_rng([seed, 1]), longer)
        assert np.all(np.abs(end.overlap[-1] - found.overlap[-1]) <= 5 * tolerance)
    assert converged > 0
