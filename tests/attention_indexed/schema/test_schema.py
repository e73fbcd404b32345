"""Specifications that are refused before any job, with their messages."""

import re

import pytest
from aim_tools import GRADIENT_DESCENT, TWO_LAYERS, estimator, load

from attention_limits.pipeline.base.errors import SpecError

MODEL = {"channel": "softmax", "tokens": 2, "ratio": 0.5}


def curve(model=None, grid=None, replicas=1, **changes):
    return estimator("state_evolution", {**(model or MODEL), **changes}, grid or {"alpha": [0.1]}, replicas)


def amp(alpha, dimension, **changes):
    return estimator("matrix_amp", {**MODEL, **changes}, {"alpha": [alpha]}, solver={"dimension": dimension})


def changed(document, keys, value):
    """The document with another value at these keys."""
    first, *rest = keys
    return {**document, first: changed(document.get(first, {}), rest, value) if rest else value}


WITHOUT_RATIO = {"channel": "softmax", "tokens": 2}
LIMIT = estimator("small_width_limit", {**MODEL, "ratio": 1e-10}, {"rescaled_alpha": [0.1]})
LIMITS = estimator("small_width_limit", WITHOUT_RATIO, {"rescaled_alpha": [0.1], "ratio": [0.0, 1e-12, 1e-11]})


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (curve(tokens=0, channel="linear"), "model.tokens: 0: allowed: a whole number ≥ 1"),
        (curve(beta=0.0), "model.beta: 0.0: allowed: a number ≥ 0.001"),
        (curve(channel="relu"), 'model.channel: "relu": allowed: one of "linear", "softmax"'),
        (curve(channel="hardmax", tokens=9), "model.channel: hardmax: allowed with at most 8 tokens, not 9"),
        (curve(channel="hardmax_published", tokens=3), "hardmax_published: allowed with at most 2 tokens, not 3"),
        (curve(WITHOUT_RATIO, {"alpha": [0.1], "ratio": [0.0]}), "grid.ratio: 0.0: allowed: a number ≥ 1e-09"),
        (curve(replicas=3), "replicas: 3: allowed: a whole number equal to 1 (The curve has no random numbers)"),
        (amp(0.1, 20, channel="hardmax_published"), 'model.channel: "hardmax_published": allowed: one of'),
        (amp(0.0, 20), "grid.alpha: 0.0: allowed: a number > 0"),
        (amp(1e-3, 20), "grid.alpha: 0.001: allowed: at least 0.00125 at dimension 20, or alpha d^2 sequences round to none"),
        (amp(0.1, 20, ratio=0.01), "model.ratio: 0.01: allowed: at least 0.025 at dimension 20, or the width rho d rounds"),
        (amp(0.1, 1000, ratio=100.0), "r = 100000 need"),
        (curve(untied=True, aspect=1.01), "model.aspect: 1.01: allowed: 1, 1.05 to 1000, or the inverse of such a number"),
        (curve(aspect=2.0), "model.aspect: 2: queries and keys share their weights; allowed: 1, or untied: true"),
        (curve(untied=True, aspect=2.0, ratio=20.0), "model.aspect: 2: allowed at ratio 0.01 to 10, not 20"),
        (amp(2.0, 300, untied=True, aspect=16.0), "r = 150 need"),
        (amp(2.0, 30, untied=True, aspect=1000.0), "allowed at dimension 30: 0.0025 to 400, or the shorter side is one"),
        (amp(80.0, 100), "memory: 1000 MB: n M d = 800000 x 2 x 100 numbers at alpha = 80 and r = 50 need 1466 MB"),
        (LIMIT, "model.ratio: 1e-10: allowed: 0, or 1e-09 to 100"),
        (LIMITS, "grid.ratio: 1e-12: allowed: 0, or 1e-09 to 100"),
        (changed(TWO_LAYERS, ("model", "skip"), -0.5), "model.skip: -0.5: allowed: a number ≥ 0"),
        (changed(TWO_LAYERS, ("model", "tokens"), 5), "model.tokens: 5: allowed: a whole number ≥ 2 and ≤ 4"),
        (changed(TWO_LAYERS, ("model", "tokens"), 4), "model.tokens: 4: allowed: a whole number ≥ 2 and ≤ 3"),
        (
            changed(TWO_LAYERS, ("model",), {"ratio": 0.5, "skip": 0.5, "tokens": 3}),
            "model.skip: 0.5: allowed with 3 tokens: at least 1",
        ),
        (
            changed(TWO_LAYERS, ("model",), {"ratio": 0.5, "skip": 1.0, "tokens": 3, "channel": "hardmax"}),
            "model.channel: hardmax: allowed with 2 tokens, not 3",
        ),
        (changed(GRADIENT_DESCENT, ("model", "beta"), 100.0), "model.beta: 100.0: allowed: a number ≥ 0.01 and ≤ 30"),
        (changed(GRADIENT_DESCENT, ("model", "channel"), "softmax"), "model.channel: unknown key"),
        (changed(GRADIENT_DESCENT, ("estimators", "gradient_descent", "solver", "dimension"), 3000), "MB"),
        (changed(TWO_LAYERS, ("estimators", "two_layers_amp", "solver", "dimension"), 3000), "MB"),
    ],
)  # fmt: skip
def test_refused_before_any_job(tmp_path, document, message):
    with pytest.raises(SpecError, match=re.escape(message)):
        load(tmp_path, document)


def test_ends_of_the_ranges_are_allowed(tmp_path):
    load(tmp_path, curve(channel="hardmax", tokens=8, ratio=100.0))
    load(tmp_path, estimator("small_width_limit", WITHOUT_RATIO, {"rescaled_alpha": [1000.0], "ratio": [0.0, 1e-9]}))
