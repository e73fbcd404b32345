"""Two layers of extensive width: two starts, one fixed point or two, and the error of the nodes.

The seeds are fixed. Stochastic comparisons state their false-alarm rate.
"""

from pathlib import Path

import numpy as np
import pytest
from aim_tools import computed, estimator, load
from scipy import stats

from attention_limits.attention_indexed.readings import mean_of_passed
from attention_limits.attention_indexed.two_layers.hardmax import HardmaxLayers
from attention_limits.attention_indexed.two_layers.sampled import SampledLayers
from attention_limits.attention_indexed.two_layers.two_tokens.softmax import TwoLayers
from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes
from attention_limits.pipeline.cubes.readings import passed
from attention_limits.pipeline.experiments.yaml_reader import read_yaml

pytestmark = pytest.mark.slow

JUMP = {"ratio": 0.01, "skip": 0.0, "beta": 10.0, "channel": "hardmax"}
NAME = "two_layers_state_evolution"


def evolution(folder, model, alpha, replicas=1, **solver):
    """The dataset of the estimator at these alphas."""
    document = estimator(NAME, model, {"alpha": alpha}, replicas, solver={"tolerance": 1e-3, **solver})
    return computed(load(folder, document).estimators[NAME])


def test_near_a_jump_both_branches_are_stored_and_no_point_counts(tmp_path):
    """Width 0.01 at c = 0, beta = 10, alpha = 0.0322: V = (0.884, 0.292) from V = 1 and (0.257, 0.170) from V = 0.001 with 1024
    nodes, both stable. A scrambling of 128 nodes may lose a branch; one of its quarters then has both, or another one."""
    found = evolution(tmp_path, JUMP, [0.0322], replicas=2, nodes=128).isel(alpha=0)
    assert not np.any(passed(found, "mmse_by_layer", unique=True) == 1)
    assert np.all(np.isnan(mean_of_passed(found.expand_dims("alpha").sel(layer=1), "mmse_by_layer")[0]))
    both = (found.mmse_by_layer.sel(layer=1) > 0.8) & (found.mmse_informed_by_layer.sel(layer=1) < 0.35)
    assert np.any(both & (found.converged == 1) & (found.converged_informed == 1))
    change, error = (found[name].values for name in ("free_entropy_difference", "free_entropy_difference_node_error"))
    assert np.all(np.isfinite(change) == ((found.converged == 1) & (found.converged_informed == 1)).values)
    assert np.all(error[both.values] > 0)
    np.testing.assert_equal(found.bayes_optimal.values, np.where(np.abs(change) > 3.0 * error, change > 0, np.nan))


def test_points_that_count_lie_on_one_side_of_a_jump(tmp_path):
    """At both sides of the jump: the values of layer 1 that pass differ by less than the jump, a factor 3."""
    found = evolution(tmp_path, JUMP, [0.0315, 0.033], replicas=3, nodes=64)
    values = found.mmse_by_layer.sel(layer=1).where(passed(found, "mmse_by_layer", unique=True) == 1)
    spread = (values.max("replica") / values.min("replica")).values
    assert not np.any(spread[np.isfinite(spread)] > 1.5)


def test_one_fixed_point_is_called_unique(tmp_path):
    """Width one half: two layers have one fixed point far from recovery, and above it, where both errors vanish."""
    found = evolution(tmp_path, {"ratio": 0.5, "skip": 1.0}, [0.0, 0.2, 0.42], replicas=2, nodes=128)
    assert np.all(passed(found, "mmse_by_layer", unique=True) == 1)
    np.testing.assert_allclose(found.mmse_informed_by_layer, found.mmse_by_layer, rtol=0.02, atol=1e-6)
    assert np.all(found.mmse_by_layer.sel(alpha=0.42) < 1e-6)
    assert np.all(found.mmse_by_layer_node_error.sel(alpha=0.0) == 0)
    assert np.all(found.bayes_optimal == 0)
    assert np.all(found.free_entropy_difference == 0)


def test_an_iteration_without_a_fixed_point_is_not_called_unique(tmp_path):
    found = evolution(tmp_path, {"ratio": 0.5, "skip": 1.0}, [0.2], nodes=64, max_iterations=1)
    assert found.converged.item() == 0
    assert found.unique.item() == 0


def test_the_nodes_of_the_experiment_suffice_next_to_recovery(tmp_path):
    """alpha_rec = 0.375: at 0.38 both layers are recovered in each of six scramblings. At 0.35, where 1024 nodes give 0.070(3),
    six scramblings scatter by at most 10 %; those of 128 nodes with squared means scatter by 14 % at c = 1 and by 60 % at c =
    0. The scatter is 3 %: false-alarm rate below 1e-6."""
    path = Path(__file__).parents[3] / "config" / "attention_indexed" / "experiments" / "two_layers_skip.yaml"
    solver = read_yaml(path)["estimators"][NAME]["solver"]
    found = evolution(tmp_path, {"ratio": 0.5, "skip": 1.0}, [0.35, 0.38], replicas=6, **solver)
    near = found.mmse_by_layer.sel(alpha=0.35, layer=1).values
    assert np.std(near, ddof=1) < 0.1 * np.mean(near)
    np.testing.assert_allclose(near.mean(), 0.070, atol=5 * 0.003)
    assert np.all(found.mmse_by_layer.sel(alpha=0.38) < 1e-6)


@pytest.mark.parametrize(
    ("model", "nodes", "V", "limit"),
    [
        (TwoLayers(), 128, (0.06, 0.008), 0.03),
        (SampledLayers(3), 64, (0.06, 0.008), 0.2),
    ],
)
def test_posterior_variances_scatter_less_than_squared_means(model, nodes, V, limit):
    """Next to recovery the sum of the k_l decides V. Standard deviation over 12 scramblings. With squared means and overlaps
    alone it is 0.14 and 0.50. The limit is at least twice that of 24 other scramblings: chi^2 of 11 degrees, false-alarm rate
    below 1e-4."""
    points = (gaussian_nodes(model.node_dimension, nodes, np.random.default_rng(seed), 1.0) for seed in range(12))
    found = [model.part(seed).averages(V, some).information.sum() for seed, some in enumerate(points)]
    assert np.std(found, ddof=1) < limit


def test_parts_of_a_hardmax_have_other_nodes_of_the_posterior():
    """The nodes of a posterior differ between groups of outputs and between parts, so that their error averages out."""
    model = HardmaxLayers(0.0, 10.0)
    nodes = gaussian_nodes(4, 32, np.random.default_rng(0), 1.0)
    first, second = (model.part(k).averages((0.85, 0.29), nodes).information for k in range(2))
    assert not np.allclose(first, second, rtol=1e-6)


@pytest.mark.parametrize(
    ("model", "alpha", "nodes"),
    [
        ({"ratio": 0.5, "skip": 1.0}, [0.15, 0.35], 64),
        ({"ratio": 0.5, "skip": 0.0, "channel": "hardmax"}, [0.5], 32),
    ],
)
def test_points_that_count_agree_with_four_times_the_nodes_and_iterations(tmp_path, model, alpha, nodes):
    """Sum over six scramblings and both layers of the squared deviations, over that of the squared stated errors of both runs. If
    the deviations were independent it had an F distribution of 12 and at least 18 degrees; the layers are correlated, so this
    takes 6 and 18: false-alarm rate 1e-3 per alpha."""
    few = evolution(tmp_path, model, alpha, replicas=6, nodes=nodes, max_iterations=100)
    many = evolution(tmp_path / "many", model, alpha, replicas=6, nodes=4 * nodes, max_iterations=400)
    for at in alpha:
        one, other = (found.sel(alpha=at).transpose("replica", "layer") for found in (few, many))
        good = (
            (passed(one, "mmse_by_layer", unique=True) == 1) & (passed(other, "mmse_by_layer", unique=True) == 1)
        ).values
        assert good.sum() >= 4
        deviation = (one.mmse_by_layer - other.mmse_by_layer.mean("replica")).values[good]
        error = one.mmse_by_layer_node_error.values[good] ** 2 + other.mmse_by_layer_node_error.values[good] ** 2
        ratio = np.sum(deviation**2 / error.mean(axis=0)) / deviation.size
        assert ratio < stats.f.isf(1e-3, good.sum(), 3 * good.sum())
        # The error is one: it is not larger than ten times the deviations.
        assert ratio > 0.01
