"""Converged end points of the state evolution are stable: overlaps that are not diagonal, and links of two rows.

Exact values: a quadrature of the committee machine of two rows over the plane of fields, iterated from every start by a separate
program (the committee of Aubin et al. 2018, arXiv:1806.05451, with the outputs -2, 0, 2).
"""

import numpy as np
import pytest
from smi_tools import channel_of, node_sets, search_settings

from attention_limits.sequence_multi_index.channels import channel as channels
from attention_limits.sequence_multi_index.estimators.at_point import completed
from attention_limits.sequence_multi_index.links.link import SAMPLING, SECTORS
from attention_limits.sequence_multi_index.links.loading import load_link
from attention_limits.sequence_multi_index.priors.mixture import binary
from attention_limits.sequence_multi_index.priors.overlaps import from_coordinates, to_coordinates
from attention_limits.sequence_multi_index.state_evolution.fixed_point import solve
from attention_limits.sequence_multi_index.state_evolution.phases import branches
from attention_limits.sequence_multi_index.state_evolution.stability import growth

pytestmark = pytest.mark.slow

SETTINGS = search_settings(tolerance=1e-3, max_iterations=300)
COMMITTEE = load_link({"link": "committee", "rows": 2}, ".")
PRODUCT = load_link({"link": "product", "rows": 2}, ".")
# (alpha, prior, Q_11, Q_12)
COMMITTEE_POINTS = [(3.0, None, 0.6529, 0.1615), (1.8, binary(2, 0.0), 0.4585, 0.2434)]


@pytest.mark.parametrize(("alpha", "prior", "diagonal", "off"), COMMITTEE_POINTS)
def test_committee_of_two_rows_specialises(alpha, prior, diagonal, off):
    """From the uninformed start, with a warm-up or without, and for normal weights from the informed one too; binary weights keep
    exact recovery. Eight scramblings of 512 nodes scatter by 7e-4
    around the exact value: four standard deviations of one of them and the tolerance, so about one alarm in a thousand runs."""
    channel = channel_of(COMMITTEE)
    assert channel.method == SECTORS
    informed = [(0.999, 1)] if prior is None else []
    for seed, (start, warm_up) in enumerate([(1e-3, 1), (1e-3, 4), *informed]):
        settings = search_settings(tolerance=1e-3, max_iterations=300, warm_up=warm_up)
        found = solve(channel, alpha, node_sets(COMMITTEE, 512, 1, seed)[0], start, settings, prior=prior)
        assert found.converged
        np.testing.assert_allclose(found.value, [[diagonal, off], [off, diagonal]], atol=4 * 7e-4 + 1e-3)


@pytest.mark.parametrize("replica", [2, 3, 7])
def test_a_saddle_of_few_nodes_is_left_or_not_called_converged(replica, monkeypatch):
    """The committee sampled on 128 nodes, without its exact channel. On these scramblings the noise in the direction (1, -1)
    is negative at zero, and the iteration ended at the unspecialised overlap (0.40, 0.40). The noise of one scrambling is 0.1."""
    monkeypatch.setattr(channels, "without_sampling", lambda link: (SAMPLING, None))
    nodes = node_sets(COMMITTEE, 128, 8, seed=71)[replica]
    channel = channel_of(COMMITTEE, 0.35, seed=(72, replica))
    assert channel.method == SAMPLING
    found = solve(channel, 3.0, nodes, 1e-3, search_settings(tolerance=1e-3, max_iterations=60))
    assert not found.converged or np.linalg.eigvalsh(found.value)[0] > 0.1


@pytest.mark.parametrize("alpha", [1.4, 2.1])
@pytest.mark.parametrize("start", [1e-3, 0.999])
def test_no_direction_of_a_product_of_two_fields_stays_at_zero(alpha, start):
    """An exact quadrature in the rotated fields has one fixed point, with both eigenvalues above 0.4 at alpha = 1.4, and more
    data give no less. 256 nodes scatter by 0.05."""
    for seed, nodes in enumerate(node_sets(PRODUCT, 256, 2, seed=51)):
        found = solve(channel_of(PRODUCT, 0.35, seed=(52, seed)), alpha, nodes, start, SETTINGS)
        assert not found.converged or np.linalg.eigvalsh(found.value)[0] > 0.25


def test_both_starts_of_a_product_of_two_fields_end_at_one_point_above_its_threshold():
    for seed, nodes in enumerate(node_sets(PRODUCT, 256, 2, seed=53)):
        found = branches(channel_of(PRODUCT, 0.35, seed=(54, seed)), 1.4, nodes, completed(SETTINGS, gap=0.01))
        assert not found.converged.all() or np.abs(found.overlap[0] - found.overlap[1]).max() < 0.05


def test_every_eigenvalue_is_seeded():
    """A matrix of rank one, whose rows have the correlation -1: the dead eigenvalue becomes the seed, and grows from there."""
    q_hat = np.array([[1.0, -1.0], [-1.0, 1.0]])
    seeded = from_coordinates(to_coordinates(q_hat, 1e-4), 2)
    np.testing.assert_allclose(np.linalg.eigvalsh(seeded), [1e-4, 2.0], rtol=1e-9)
    np.testing.assert_allclose(from_coordinates(to_coordinates(q_hat, 1e-4), 2, 1e-4), q_hat, atol=1e-9)


def test_the_largest_rate_of_growth_is_that_of_the_map():
    """A linear map around its fixed point: eigenvalues 1.5 (direction (1, -1)) and 0.8."""
    matrix = 0.8 * 0.5 * np.ones((2, 2)) + 1.5 * 0.5 * np.array([[1.0, -1.0], [-1.0, 1.0]])
    rate, change = growth(lambda x: matrix @ (x - 1.0) + 1.0, np.ones(2), np.array([1.0, 0.2]))
    assert rate == pytest.approx(1.5, rel=0.05)
    assert abs(change[0] + change[1]) < 0.3 * abs(change[0])
    rate, _ = growth(lambda x: 0.8 * x, np.zeros(2), np.array([1.0, 0.2]))
    assert rate == pytest.approx(0.8)
