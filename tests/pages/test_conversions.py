"""The tables that convert the numbers of neighbouring papers: each row is a pair of calls, or a published number.

Published numbers are those of the files of Maillard et al. 2024 (arXiv:2408.03733) and of Erba et al. 2024 (arXiv:2410.18858).
"""

import re

import numpy as np
import pytest

import attention_limits as al
from attention_limits.attention_indexed.amp.sample_sums import all_scores
from attention_limits.attention_indexed.erm.simulations.objective import draw_data
from attention_limits.attention_indexed.model.sizes import sizes
from toy import REPOSITORY

ALPHA = np.array([0.05, 0.2, 0.34])


def error(model, alpha, estimator="state_evolution", variable="mmse", axis="alpha"):
    found = al.compute(f"attention_indexed.{estimator}", model, {axis: np.atleast_1d(alpha)})[variable].values.ravel()
    assert np.all((found > 0.005) & (found < 2.0))
    return found


def linear(tokens, **more):
    return {"channel": "linear", "tokens": tokens, "ratio": 0.5, **more}


def published_network():
    assert error(linear(1, output_noise=0.25), 0.37033858) == pytest.approx(0.25298, rel=1e-4)


def linear_scores():
    for M in (2, 3):
        found = error(linear(M, output_noise=0.1), 2 * ALPHA / (M * (M + 1)))
        np.testing.assert_allclose(found, error(linear(1, output_noise=0.1), ALPHA), rtol=1e-8)


def untied_scores():
    model = {"untied": True, "aspect": 100.0, "output_noise": 0.1, "ratio": 0.05}
    for M in (1, 2):
        assert error(linear(M) | model, 0.26 / M**2) == pytest.approx(0.47099, abs=1e-5)


def softmax_scores():
    for M in (2, 4):
        found = error({"channel": "softmax", "tokens": M, "ratio": 0.5}, 2 * ALPHA / (M**2 + M - 2))
        np.testing.assert_allclose(found, error(linear(1), ALPHA), rtol=1e-8)


def weight_decay():
    model = {"score_noise": 0.1, "weight_decay": 0.2}
    one, three = (error(linear(M) | model, 2 * ALPHA[1:] / (M * (M + 1)), "erm_state_evolution", "mse") for M in (1, 3))
    np.testing.assert_allclose(three, one, rtol=1e-6)


def small_width():
    model = {"channel": "softmax", "tokens": 2, "ratio": 0.1}
    found = error(model, ALPHA, "small_width_limit", axis="rescaled_alpha")
    np.testing.assert_allclose(found, error(model, 0.1 * ALPHA), rtol=1e-8)


def noise_of_units():
    """Their output for S = W W^T / m is sqrt(d) sum_k (h_k + sqrt(noise) z_k)^2 / m, and our S is sqrt(kappa) times theirs.

    100 000 outputs give the variance to 0.5 %."""
    noise, units, kappa, rng = 0.3, 16, 0.5, np.random.default_rng(0)
    fields = rng.standard_normal((100_000, units))
    moved = (fields + np.sqrt(noise) * rng.standard_normal(fields.shape)) ** 2 - fields**2
    variance = np.var(np.sqrt(units / kappa) * np.sum(moved, axis=1) / units)
    assert kappa * variance == pytest.approx(2 * noise * (2 + noise), rel=0.02)


def noise_of_scores():
    """5000 outputs give the variance to 2 %."""
    data = draw_data(sizes(2.0, 0.5, 50), 1, None, 0.3 / 2, np.random.default_rng(0))
    noise = data.outputs - all_scores(data.sequences, data.teacher)
    assert np.var(noise) == pytest.approx(0.3, rel=0.1)


TABLES = {
    "notation.md": {
        "quadratic network (Maillard et al. 2024), `tokens: 1`": published_network,
        "linear scores of M tokens, against the quadratic network": linear_scores,
        "untied linear scores, against bilinear regression (Erba et al. 2024)": untied_scores,
        "softmax of M tokens, against linear scores of one token": softmax_scores,
        "weight decay ([page](erm.md#attention-of-extensive-width))": weight_decay,
        "small width ρ → 0": small_width,
    },
    "attention_indexed_one_layer.md": {
        "Maillard et al.: κ = m/d, α = n/d²": published_network,
        "S = W Wᵀ/m": published_network,
        "Gaussian noise of variance Δ̃ on tr S (x xᵀ − I)/√d, their S": noise_of_units,
        "noise √Δ z on each hidden unit, y = Σ_k (w_k·x/√d + √Δ z_k)²/m": noise_of_units,
        "Δ of their figure of AMP (κ = 0.5, Δ = 0.25)": published_network,
        "Erba et al. 2024: β = D/L, ρ = m/L, α = n/(L D), Δ": untied_scores,
        "Erba et al. 2025: noise of variance Δ on the output": noise_of_scores,
    },
}
HEADS = {
    "notation.md": "| Model | Ratio of the paper | Here |",
    "attention_indexed_one_layer.md": "| Of the paper | Here |",
}


@pytest.mark.parametrize("page", TABLES)
def test_every_row_is_checked(page):
    text = (REPOSITORY / "docs" / page).read_text(encoding="utf-8")
    table = text.split(HEADS[page])[1].split("\n\n")[0]
    assert re.findall(r"^\| ([^|]+?) \|", table, flags=re.MULTILINE) == list(TABLES[page])


@pytest.mark.parametrize(
    "check", {check: None for rows in TABLES.values() for check in rows.values()}, ids=lambda x: x.__name__
)
def test_a_row_of_the_tables(check):
    check()
