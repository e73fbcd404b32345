"""Compiled links against the same links in NumPy, and the links that stay in NumPy."""

import numba
import numpy as np
import pytest
from smi_tools import sampling_problem

from attention_limits.sequence_multi_index.channels.sampling import importance
from attention_limits.sequence_multi_index.channels.sampling.compiled_links import compiled_link, reason_for_numpy
from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention
from attention_limits.sequence_multi_index.links.attention.rank import RankAttention
from attention_limits.sequence_multi_index.links.attention.untied import UntiedAttention
from attention_limits.sequence_multi_index.links.attention.untied_heads import UntiedHeads
from attention_limits.sequence_multi_index.links.heads.learned_readout import LearnedReadout
from attention_limits.sequence_multi_index.links.link import Link
from attention_limits.sequence_multi_index.links.wrappers import CorrelatedTokens, FunctionOfFields, OutputNoise
from own_models import Committee, Gated


class Length(Link):
    """y = |h|^2 of two rows, by an angle; the candidates of the other row have one common weight."""

    rows, tokens = 3, 1
    free_rows, angles = 1, 1
    sign_symmetry = "none"

    def forward(self, h):
        return h[..., 1, 0] ** 2 + h[..., 2, 0] ** 2 + 0.0 * h[..., 0, 0]

    def fibre(self, observed, free, angles):
        turn = np.pi * angles[None, :, 0] + 0.0 * free[..., 0, 0]
        length = np.sqrt(np.abs(observed))[:, None]
        one = np.stack([length * np.cos(turn), length * np.sin(turn)], axis=-1)
        return np.stack([one, -one], axis=2)[..., None], np.zeros((1, 1, 1))


class InLoops(Gated):
    """The gated unit, in a loop of numba."""

    def fibre(self, observed, free, angles):
        return _gated(observed, free)


@numba.njit
def _gated(observed, free):
    candidates, weight = np.empty((*free.shape[:2], 1, 1, 1)), np.empty((*free.shape[:2], 1))
    for i in range(len(free)):
        for s in range(free.shape[1]):
            gate = np.tanh(2.0 * free[i, s, 0, 0])
            candidates[i, s, 0, 0, 0] = observed[i] / gate
            weight[i, s, 0] = -np.log(abs(gate))
    return candidates, weight


def noisy(function, rows, tokens):
    return OutputNoise(FunctionOfFields(function, rows, tokens, {}), 0.3)


LINKS = {
    "fibre": Gated,
    "angles, one weight for all": Length,
    "discrete": Committee,
    "noise": lambda: noisy(lambda h: np.maximum(h[..., 0, :], 0.0).sum(axis=-1), 1, 3),
    "two noisy outputs": lambda: noisy(lambda h: np.stack([h[..., 0, 0], h[..., 1, 1] ** 2], axis=-1), 2, 2),
    "noisy attention of three tokens": lambda: OutputNoise(DeepAttention(skip=1.0, depth=2, tokens=3), 0.3),
    "attention of three tokens": lambda: DeepAttention(skip=1.0, depth=3, tokens=3),
    "linear attention": lambda: DeepAttention(skip=0.5, depth=2, tokens=3, activation="linear"),
    "untied attention of three tokens": lambda: UntiedAttention(depth=2, tokens=3),
    "three layers of rank three": lambda: RankAttention(rank=3, depth=3, tokens=3, readout=(1.0, 2.0, 0.5)),
    "learned readout": lambda: LearnedReadout(heads=2, untied=True, tokens=3),
    "untied heads": lambda: UntiedHeads(heads=3, tokens=3),
    "correlated tokens": lambda: OutputNoise(
        CorrelatedTokens(DeepAttention(skip=1.0), np.array([[1.0, 0.4], [0.4, 1.0]])), 0.3
    ),
}


def compile_from(monkeypatch, least):
    """Compile links from `least` nodes on."""
    for name in ("COMPILED_FROM", "COMPILED_FROM_IN_ALL"):
        monkeypatch.setattr(importance, name, least)


@pytest.mark.parametrize("several", [1, 2])
@pytest.mark.parametrize("nodes", [128, 300])
@pytest.mark.parametrize("name", LINKS)
def test_moments_are_those_of_numpy(monkeypatch, name, nodes, several):
    link = LINKS[name]()
    free = importance.drawn_rows(link)
    _, omega, V, drawn, proposals = sampling_problem(link, free, several, seed=5, n=5, count=nodes)
    rng = np.random.default_rng(6)
    h = rng.standard_normal((5, link.rows, link.tokens))
    observed = np.asarray(link.observe(h, rng.standard_normal((5, link.noise_dimension))), float)
    found = []
    for least in (0, 10**9):
        compile_from(monkeypatch, least)
        found.append(importance.fibre_moments(link, observed, omega, V, drawn, proposals))
    assert reason_for_numpy(link) == ""
    for compiled, numpy in zip(*found, strict=True):
        np.testing.assert_allclose(compiled, numpy, rtol=1e-8, atol=1e-9)


def test_a_changed_attribute_is_compiled_again(monkeypatch):
    class Scaled(Gated):
        scale = 2.0

        def fibre(self, observed, free, angles):
            candidates, weight = super().fibre(observed, free, angles)
            return self.scale * candidates, weight

    compile_from(monkeypatch, 0)
    link = Scaled()
    observed, omega, V, drawn, proposals = sampling_problem(link, 1, 1, seed=5, count=128)
    found = []
    for scale in (2.0, 3.0):
        link.scale = scale
        found.append(importance.fibre_moments(link, observed, omega, V, drawn, proposals)[1])
    compile_from(monkeypatch, 10**9)
    again = importance.fibre_moments(link, observed, omega, V, drawn, proposals)[1]
    np.testing.assert_allclose(found[1], again, rtol=1e-9)
    assert not np.allclose(found[0], again)


def test_a_loop_of_numba_stays_as_it_is():
    assert compiled_link(InLoops()) is None
    assert reason_for_numpy(InLoops()) == "it calls a function that numba compiled"


def test_a_function_that_answers_otherwise_when_it_is_recorded_stays_in_numpy():
    class Slices(Gated):
        """A slice that is changed: a view in NumPy, a copy when recorded."""

        def fibre(self, observed, free, angles):
            gate = free * 1.0
            part = gate[..., 0]
            part[...] = 0.5
            return gate[..., None, :, :] * observed[:, None, None, None, None], np.zeros((*free.shape[:2], 1))

    assert compiled_link(Slices()) is None
    assert reason_for_numpy(Slices()) == "its loop gives other numbers than NumPy"


def test_without_jax_links_stay_in_numpy(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "attention_limits.numerics.tracing.node_loop", None)
    assert reason_for_numpy(Gated()) == "JAX, of the extra `training`, is not installed"


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_bad_weight_of_a_loop_is_not_resolved(monkeypatch, bad):
    class Bad(Committee):
        def log_likelihood(self, observed, h):
            return np.where((observed[:, None] > 2.5) & (h[..., 0, 0] > 0.7), bad, super().log_likelihood(observed, h))

    compile_from(monkeypatch, 0)
    link = Bad()
    _, omega, V, nodes, proposals = sampling_problem(link, 3, 1, seed=0, n=3, count=256)
    log_z, mean, _, effective = importance.fibre_moments(link, np.array([1.0, 3.0, -1.0]), omega, V, nodes, proposals)
    assert compiled_link(link)
    assert np.isnan(log_z[1])
    assert np.isnan(mean[1]).all()
    assert effective[1] == 0
    assert np.isfinite(log_z[[0, 2]]).all()


def test_numbers_of_an_output_do_not_depend_on_the_other_outputs():
    """From COMPILED_FROM nodes on few outputs are compiled as many are: equal to the last bit."""
    link = LearnedReadout(heads=2)
    _, omega, V, drawn, proposals = sampling_problem(link, 2, 1, seed=5, n=800, count=importance.COMPILED_FROM)
    observed = link.observe(np.random.default_rng(6).standard_normal((800, link.rows, link.tokens)))
    assert len(observed) * len(drawn) >= importance.COMPILED_FROM_IN_ALL
    few = importance.Proposals(proposals.centre[:3], proposals.spread[:3])
    whole = importance.fibre_moments(link, observed, omega, V, drawn, proposals)
    part = importance.fibre_moments(link, observed[:3], omega[:3], V, drawn, few)
    for one, all_ in zip(part, whole, strict=True):
        np.testing.assert_array_equal(one, all_[:3])
