"""The estimator of importance sampling against its definition, output by output, with scipy's normal laws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal
from smi_tools import sampling_problem

from attention_limits.sequence_multi_index.channels.sampling.importance import Proposals, fibre_moments
from attention_limits.sequence_multi_index.links.link import Link


class Table(Link):
    """A link whose candidates and log-weights are smooth functions of the free rows; one in five candidates is missing."""

    def __init__(self, free, bound, tokens, candidates, angles):
        self.rows, self.tokens, self.free_rows, self.angles = free + bound, tokens, free, angles
        self.bound, self.candidates = bound, candidates
        rng = np.random.default_rng([free, bound, tokens, candidates, angles])
        self.slope = rng.standard_normal((candidates, bound * tokens, free * tokens + angles))

    def fibre(self, observed, free, angles):
        n, nodes = free.shape[:2]
        flat = free.reshape(n, nodes, -1)
        read = np.concatenate([flat, np.broadcast_to(angles, (n, *angles.shape))], axis=2)
        found = np.sin(np.einsum("kij,nsj->nski", self.slope, read) + observed[:, None, None, None])
        weight = 0.5 * found.sum(axis=3)
        weight[found[..., 0] > 0.8] = -np.inf
        # A missing candidate may hold anything.
        found[np.isneginf(weight)] = np.nan
        return found.reshape(n, nodes, self.candidates, self.bound, self.tokens), weight


class Likelihood(Link):
    """A likelihood of all rows."""

    def __init__(self, rows, tokens):
        self.rows, self.tokens = rows, tokens

    def log_likelihood(self, observed, h):
        return -0.5 * (observed[:, None] - np.sin(h).sum(axis=(2, 3))) ** 2


def by_definition(link, observed, omega, V, nodes, proposals):
    """log Z, mean, second moments and effective sample size of one output."""
    free = link.rows if hasattr(link, "log_likelihood") else link.free_rows
    d, tokens = free * link.tokens, link.tokens
    everything = np.kron(V, np.eye(tokens))
    several = proposals.centre.shape[1]
    per_node, first, second, count = [], 0.0, 0.0, several * len(nodes)
    for k in range(several):
        for node in nodes:
            x = proposals.centre[0, k] + proposals.spread[0, k] @ node[:d]
            mixture = np.mean(
                [
                    multivariate_normal.pdf(
                        x, proposals.centre[0, j], proposals.spread[0, j] @ proposals.spread[0, j].T
                    )
                    for j in range(several)
                ]
            )
            fields = (omega[0, :free].ravel() + x).reshape(1, 1, free, tokens)
            if free == link.rows:
                parts = [(x, np.exp(link.log_likelihood(observed, fields)[0, 0]))]
            else:
                candidates, weight = link.fibre(observed, fields, node[None, d:])
                there = np.isfinite(weight[0, 0])
                bound = (candidates[0, 0][there] - omega[0, free:]).reshape(there.sum(), link.bound * tokens)
                parts = [(np.append(x, rest), np.exp(w)) for rest, w in zip(bound, weight[0, 0][there], strict=True)]
            # The law of all rows, over the proposals of the drawn ones.
            weights = [w * multivariate_normal.pdf(h, np.zeros(len(h)), everything) / mixture for h, w in parts]
            per_node.append(sum(weights))
            for (h, _), w in zip(parts, weights, strict=True):
                first, second = first + w * h, second + w * np.outer(h, h)
    total = sum(per_node)
    if total == 0.0:
        return -np.inf, np.zeros(len(everything)), everything, 0.0
    return np.log(total / count), first / total, second / total, total**2 / np.sum(np.square(per_node))


def assert_by_definition(link, free, several, seed):
    observed, omega, V, nodes, proposals = sampling_problem(link, free, several, seed)
    found = fibre_moments(link, observed, omega, V, nodes, proposals)
    for i in range(len(observed)):
        own = Proposals(proposals.centre[i : i + 1], proposals.spread[i : i + 1])
        expected = by_definition(link, observed[i : i + 1], omega[i : i + 1], V, nodes, own)
        for values, one in zip(found, expected, strict=True):
            np.testing.assert_allclose(values[i], one, rtol=1e-8, atol=1e-10)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 3), st.integers(1, 2), st.integers(1, 3), st.integers(1, 3), st.integers(0, 2), st.integers(1, 3),
    st.integers(0, 2**20),
)  # fmt: skip
def test_a_fibre(free, bound, tokens, candidates, angles, several, seed):
    assert_by_definition(Table(free, bound, tokens, candidates, angles), free, several, seed)


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 4), st.integers(1, 3), st.integers(1, 3), st.integers(0, 2**20))
def test_a_likelihood(rows, tokens, several, seed):
    assert_by_definition(Likelihood(rows, tokens), rows, several, seed)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_weight_that_is_no_number_is_not_resolved(bad):
    link = Likelihood(2, 1)
    observed, omega, V, nodes, proposals = sampling_problem(link, 2, 1, 0)
    right = fibre_moments(link, observed, omega, V, nodes, proposals)
    link.log_likelihood = lambda y, h: np.where(y[:, None] == y[1], bad, Likelihood.log_likelihood(link, y, h))
    log_z, mean, second, effective = fibre_moments(link, observed, omega, V, nodes, proposals)
    assert np.isnan(log_z[1])
    assert np.isnan(mean[1]).all()
    assert np.isnan(second[1]).all()
    assert effective[1] == 0
    for values, one in zip((log_z, mean, second, effective), right, strict=True):
        np.testing.assert_array_equal(np.delete(values, 1, axis=0), np.delete(one, 1, axis=0))


def test_an_output_that_nothing_explains_keeps_the_prior():
    link = Likelihood(2, 2)
    observed, omega, V, nodes, proposals = sampling_problem(link, 2, 2, 1)
    link.log_likelihood = lambda y, h: np.full(h.shape[:2], -np.inf)
    log_z, mean, second, effective = fibre_moments(link, observed, omega, V, nodes, proposals)
    assert np.isneginf(log_z).all()
    assert not mean.any()
    assert not effective.any()
    np.testing.assert_array_equal(second, np.broadcast_to(np.kron(V, np.eye(2)), second.shape))
