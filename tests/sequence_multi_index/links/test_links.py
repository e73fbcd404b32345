"""Links keep what they declare, the checks find those that do not, and load_link finds links and refuses wrong parameters."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from links_under_test import LINKS, VARIANTS
from scipy.stats import norm

from attention_limits.pipeline.base.provenance import closure
from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention
from attention_limits.sequence_multi_index.links.attention.large_depth import (
    CommitteeDepth,
    RescaledAttention,
    average_transfer,
)
from attention_limits.sequence_multi_index.links.attention.layers import log_jacobian, score_root
from attention_limits.sequence_multi_index.links.attention.sequence_output import SequenceOutput
from attention_limits.sequence_multi_index.links.declarations import problems_of
from attention_limits.sequence_multi_index.links.link import Link
from attention_limits.sequence_multi_index.links.loading import PROVIDED, code_module, load_link
from attention_limits.sequence_multi_index.links.one_token import Monomial, SignProduct
from attention_limits.sequence_multi_index.links.wrappers import OutputNoise


def test_every_provided_link_is_under_test():
    assert set(VARIANTS) == set(PROVIDED)


@pytest.mark.parametrize("name", LINKS)
def test_provided_links_have_no_problems(name):
    # Shapes, determinism, sign symmetry, candidates that reproduce the output, and the truth among them.
    assert [problems_of(LINKS[name], seed=seed) for seed in range(3)] == [[], [], []]


@pytest.mark.parametrize("exponents", [(1,), (2,), (1, 1), (3, 2), (2, 4), (1, 2, 3)])
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_monomials_go_around_the_fibre(exponents, data):
    link = Monomial(exponents)
    fields = st.one_of(st.floats(0.05, 4.0), st.floats(-4.0, -0.05))
    h = data.draw(arrays(float, (1, link.rows, 1), elements=fields))
    candidates, log_weight = link.fibre(link.observe(h), h[:, None, :-1], np.zeros((1, 0)))
    assert np.all(np.isfinite(log_weight))
    assert np.min(np.abs(candidates[0, 0, :, 0, 0] - h[0, -1, 0])) < 1e-9
    slope = exponents[-1] * link.forward(h) / h[:, -1, 0]
    assert np.allclose(log_weight, -np.log(np.abs(slope)), atol=1e-9)


def test_score_roots_have_the_stated_jacobian():
    rng = np.random.default_rng(0)
    u, beta, step = rng.standard_normal((50, 2)), 1.3, 1e-6
    link = DeepAttention(depth=1, beta=beta)
    root, valid, log_change = score_root(link.attention(u), beta)
    assert valid.all()
    assert np.allclose(np.abs(root), np.abs(u), rtol=1e-6)
    slopes = []
    for shift in step * np.eye(2):
        difference = link.attention(u + shift) - link.attention(u - shift)
        slopes.append(np.stack([difference[:, 0, 1], difference[:, 1, 0]], axis=1) / (2.0 * step))
    determinant = np.abs(np.linalg.det(np.stack(slopes, axis=2)))
    assert np.allclose(np.exp(log_change), determinant, rtol=1e-6, atol=1e-9)
    assert np.allclose(log_jacobian(u, link.attention(u), beta), log_change, rtol=1e-9, atol=1e-9)


def test_what_is_no_attention_matrix_has_no_score_root():
    wrong = np.array([[[0.4, 0.6], [0.6, 0.4]], [[1.2, -0.2], [0.5, 0.5]]])
    assert not score_root(wrong, 1.0)[1].any()


def test_sequence_output_of_one_layer():
    link, h = SequenceOutput(depth=1, skip=0.7), np.random.default_rng(1).standard_normal((5, 1, 2))
    attention = DeepAttention(depth=1).forward(h)
    assert np.allclose(link.forward(h), attention.transpose(0, 2, 1) + 0.7 * np.eye(2), rtol=1e-14)


def test_rescaled_layers_are_deep_attention_of_rescaled_fields():
    link, h = RescaledAttention(depth=4, ratio=2.0, tokens=3), np.random.default_rng(2).standard_normal((9, 4, 3))
    deep = DeepAttention(skip=2.0, depth=4, tokens=3)
    scale = 2.0 ** -np.arange(4.0)
    assert np.allclose(link.forward(h), deep.forward(h * scale[:, None]), rtol=1e-12)
    # A first layer sees no difference between the product and its first order.
    two = np.random.default_rng(3).standard_normal((9, 2, 3))
    both = [kind(depth=2, ratio=0.8, tokens=3).forward(two) for kind in (RescaledAttention, CommitteeDepth)]
    assert np.allclose(*both, rtol=1e-12)


def test_the_average_transfer_keeps_the_mean_and_mixes_the_differences():
    small = average_transfer(1e-3, 1.0, 2)
    mean, difference = np.linalg.eigh(small)[0][::-1]
    assert mean == pytest.approx(np.exp(1e-3), rel=1e-9)
    # p at t = 0 is E tanh(u_1 (u_1 - u_2) / 2), by an independent two-dimensional Gauss-Hermite rule.
    x, w = np.polynomial.hermite_e.hermegauss(60)
    p = np.einsum("i,j,ij->", w, w, np.tanh(0.5 * x[:, None] * (x[:, None] - x))) / (2.0 * np.pi)
    assert np.log(difference) / 1e-3 == pytest.approx(p, abs=1e-3)


class Lying(Link):
    """A link of two rows and one token whose parts a test replaces."""

    rows, tokens, sign_symmetry, free_rows = 2, 1, "all", 1

    def forward(self, h):
        return h[..., 0, 0] * h[..., 1, 0]

    def fibre(self, observed, free, angles):
        last = observed[:, None] / free[..., 0, 0]
        return last[:, :, None, None, None], -np.log(np.abs(free[..., 0, 0]))[:, :, None]


def test_the_honest_version_passes():
    assert problems_of(Lying()) == []


LIES = {
    "sign_symmetry = 'none'": {"sign_symmetry": "all", "forward": lambda self, h: h[..., 0, 0]},
    "sign_symmetry = 'all'": {"sign_symmetry": "rows"},
    "one of rows, all, none": {"sign_symmetry": "some"},
    "finite numbers": {"forward": lambda self, h: np.log(h[..., 0, 0] + 0 * h[..., 1, 0])},
    "last two axes": {"forward": lambda self, h: h.reshape(len(h), -1).sum(axis=1)},
    "changes the fields": {"forward": lambda self, h: np.multiply(h, 2.0, out=h).sum(axis=(-2, -1))},
    "does not reproduce": {
        "fibre": lambda self, y, free, angles: (free[:, :, None], np.zeros((*free.shape[:2], 1))),
        "sign_symmetry": "none",
    },
    "not closed under (free, angles)": {
        "forward": lambda self, h: h[..., 0, 0] ** 2 + h[..., 1, 0] ** 2,
        "fibre": lambda self, y, free, angles: (
            np.sqrt(np.maximum(y[:, None] - free[..., 0, 0] ** 2, 0.0))[:, :, None, None, None],
            np.where(y[:, None] > free[..., 0, 0] ** 2, 0.0, -np.inf)[:, :, None],
        ),
    },
    "shapes (n, S, K": {"fibre": lambda self, y, free, angles: (free, np.zeros(free.shape[:2]))},
    "NaN or +inf": {"fibre": lambda self, y, free, angles: (free[:, :, None], np.full((*free.shape[:2], 1), np.nan))},
    "both fibre and log_likelihood": {"log_likelihood": lambda self, y, h: 0.0},
    "rows must be": {"rows": 0},
    "free_rows must be below": {"free_rows": 2},
}
LIES["fibre and log_likelihood"] = LIES.pop("both fibre and log_likelihood")


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("message", LIES)
def test_lies_are_found(message):
    lie = type("Lie", (Lying,), LIES[message])()
    found = problems_of(lie)
    assert any(message in problem for problem in found), found


def test_a_lost_candidate_is_found():
    lost = type(
        "Lost",
        (DeepAttention,),
        {"fibre": lambda self, *given: tuple(x[:, :, :1] for x in DeepAttention.fibre(self, *given))},
    )
    assert any("its negative at the negative angles" in problem for problem in problems_of(lost(depth=1)))


class Circle(Link):
    """y = h_1^2 + h_2^2, its fibre parametrised by an angle that is not odd in what is sampled; or, if `odd`, one that is."""

    rows, tokens, sign_symmetry, angles = 2, 1, "rows", 2

    def __init__(self, odd):
        self.odd = odd

    def forward(self, h):
        return np.sum(h[..., 0] ** 2, axis=-1)

    def fibre(self, observed, free, angles):
        phase = np.arctan2(angles[:, 1], angles[:, 0]) if self.odd else 2.0 * np.pi * norm.cdf(angles[:, 0])
        points = np.sqrt(observed)[:, None, None] * np.stack([np.cos(phase), np.sin(phase)], axis=1)
        return points[:, :, None, :, None], np.full((len(observed), len(angles), 1), np.log(np.pi))


def test_a_fibre_must_be_closed_under_negative_angles():
    """Both are right as measures: the second alone gives posterior means that vanish exactly."""
    assert problems_of(Circle(odd=True)) == []
    (problem,) = problems_of(Circle(odd=False))
    assert "not closed under (free, angles) -> (-free, -angles)" in problem


def test_likelihoods_that_lie_are_found():
    forgets = type("Forgets", (SignProduct,), {"log_likelihood": lambda self, y, h: np.full(h.shape[:2], -np.inf)})
    assert any("likelihood zero" in problem for problem in problems_of(forgets()))
    odd = type("Odd", (SignProduct,), {"log_likelihood": lambda self, y, h: -np.exp(h[..., 0, 0])})
    assert any("sign of all fields" in problem for problem in problems_of(odd()))


def test_links_of_the_user_are_loaded_with_their_parameters(tmp_path):
    (tmp_path / "mine.py").write_text(
        "from attention_limits.sequence_multi_index.links.one_token import Monomial\n\n\n"
        "def power(order=2):\n    return Monomial((order,))\n"
    )
    link = load_link({"link": "mine.py:power", "parameters": {"order": 4}, "noise": 0.5}, tmp_path)
    assert isinstance(link, OutputNoise)
    assert link.link == Monomial((4,))


def test_a_link_is_code_of_the_experiments_that_name_it_alone():
    here = closure("attention_limits.sequence_multi_index.estimators.bayes.state_evolution")
    modules = {code_module(name) for name in PROVIDED}
    assert len(modules) == 12
    assert not modules & set(here)
    assert code_module("untied") == "attention_limits.sequence_multi_index.links.attention.untied"
    assert code_module("mine.py:Mine") is None
    assert all(closure(code_module(name)) for name in PROVIDED)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ({"link": "atention"}, "no link 'atention'; allowed: deep_attention"),
        ({"link": "product", "skip": 1.0}, "skip: not a parameter of the link product; allowed: rows"),
        ({"link": "product", "rows": 2, "parameters": {"rows": 3}}, "rows: given twice"),
        ({"link": "monomial"}, "the link monomial needs exponents"),
        ({"link": "monomial", "exponents": [0]}, "whole numbers >= 1"),
        ({"link": "multi_head", "heads": 0}, "heads must be >= 1"),
        ({"link": "large_depth", "ratio": -1.0}, "ratio must be"),
        ({"link": "sum_of_squares", "rows": 1}, "rows must be >= 2"),
        ({"link": "absent.py:x"}, "does not exist"),
        ({"link": "broken.py:x"}, "cannot be executed: NameError"),
        ({"link": "empty.py:x"}, "defines no class or function 'x'"),
        ({"link": "number.py:x"}, "must be a Link or return one, not int"),
    ],
)
def test_wrong_models_are_refused(model, message, tmp_path):
    for name, text in {"broken": "x = nothing", "empty": "", "number": "def x():\n    return 1\n"}.items():
        (tmp_path / f"{name}.py").write_text(text)
    with pytest.raises(ValueError, match=None) as caught:
        load_link(model, Path(tmp_path))
    assert message in str(caught.value)
