"""Promises of the attention-indexed family: each number is right, or comes with its error, or is flagged, or refused.

Theory is compared with decimal arithmetic and direct integration, simulations with plain implementations on the same data and
with the theory at their realised sizes.
"""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from slow_attention_indexed import (
    adam,
    decimal_mmse,
    descent_problem,
    plain_amp,
    sign_information,
    two_layer_information,
)
from specifications import Refused, compute, document, section

from attention_limits.attention_indexed.channel import make_channel
from attention_limits.attention_indexed.matrix_amp import draw_dataset
from attention_limits.attention_indexed.model import attention, attention_matrix, draw_sequences, draw_weights, scores
from attention_limits.attention_indexed.state_evolution import solve
from attention_limits.rng import Streams

FAMILY = "attention_indexed"
EQUATIONS = {"linear": lambda T: T * (T + 1), "softmax": lambda T: T * T + T - 2}
ANY_RATIO = section(FAMILY, "state_evolution", "model", "ratio")


def computed(kind, model, grid, **part):
    """The dataset of the one kind of a document, its one point without grid and replica, or None where it is refused."""
    found = compute(FAMILY, document(kind, model, grid, **part))
    return None if isinstance(found, Refused) else found[kind]


def information(channel, tokens, V, Q):
    """E 4 sum G^2 at V, from the number of equations or by integration."""
    if channel in EQUATIONS:
        return EQUATIONS[channel](tokens) / V
    return sign_information(max(Q - V, 0.0) / V, channel == "hardmax_published") / V


def slow_mmse(ratio, noise):
    """mmse(D) and the accuracy of its quadrature."""
    first, second = (decimal_mmse(ratio, noise, nodes) for nodes in (24, 48))
    return second, abs(second - first)


def assert_curve(channel, tokens, ratio, alpha, error):
    """V = mmse(D) at 1/D = alpha information(V), in decimal arithmetic; zero from exact recovery on, at V < 1e-10."""
    assert 0.0 <= error <= 1.0
    if error < 1e-10 and channel in EQUATIONS:
        nu = ratio - ratio**2 / 2 if ratio < 1 else 0.5
        assert alpha * EQUATIONS[channel](tokens) >= 2.0 * nu * (1.0 - 1e-4)
    elif alpha * information(channel, tokens, 1.0, 1.0 + ratio) < 1e-9:
        assert error == pytest.approx(1.0, abs=1e-8)
    else:
        expected, accuracy = slow_mmse(ratio, 1.0 / (alpha * information(channel, tokens, error, 1.0 + ratio)))
        assert error == pytest.approx(expected, rel=1e-5, abs=3.0 * accuracy)


MODELS = section(
    FAMILY, "state_evolution", "model", "tokens", "ratio", "beta", channel=st.sampled_from(["linear", "softmax"])
)
SIGNS = section(
    FAMILY, "state_evolution", "model", "ratio", tokens=2, channel=st.sampled_from(["hardmax", "hardmax_published"])
)


@settings(max_examples=16)
@given(
    model=st.one_of(MODELS, MODELS, SIGNS),
    grid=section(FAMILY, "state_evolution", "grid", "alpha"),
    share=st.floats(-3.0, 0.02).map(lambda x: 10.0**x),
)
@example(model={"channel": "softmax", "tokens": 2, "ratio": 1e-8}, grid={"alpha": 4e-9}, share=0.5)
@example(model={"channel": "hardmax", "tokens": 2, "ratio": 1e-9}, grid={"alpha": 1000.0}, share=1.0)
@example(model={"channel": "hardmax", "tokens": 2, "ratio": 100.0}, grid={"alpha": 1000.0}, share=1.0)
def test_state_evolution_solves_its_equations(model, grid, share):
    """At an alpha of the schema, and at a share of exact recovery, which the former rarely meets."""
    place = share * (
        2.0 * model["ratio"] / EQUATIONS[model["channel"]](model["tokens"]) if model["channel"] in EQUATIONS else 1.0
    )
    alphas = sorted({float(f"{value:.12g}") for value in (grid["alpha"], place, 1.01 * place)})
    found = computed("state_evolution", model, {"alpha": alphas})
    errors = found.mmse.values[:, 0]
    assert np.all(np.diff(errors) <= 1e-12)
    for alpha, error in zip(alphas[:2], errors[:2], strict=False):
        if alpha > 0:
            assert_curve(model["channel"], model["tokens"], model["ratio"], alpha, error)


@settings(max_examples=6)
@given(
    model=st.one_of(MODELS, SIGNS),
    small=st.booleans(),
    rescaled=st.floats(-3.0, 0.3).map(lambda x: 10.0**x),
)
@example(model={"channel": "softmax", "tokens": 2, "ratio": 1.0}, small=True, rescaled=0.3)
@example(model={"channel": "hardmax", "tokens": 2, "ratio": 1.0}, small=True, rescaled=0.6)
@example(model={"channel": "hardmax", "tokens": 2, "ratio": 1e-9}, small=False, rescaled=1000.0)
def test_small_width_limit_solves_its_equations(model, small, rescaled):
    """In the limit V = 1 - max(1 - t, 0)^2 at 1/t = (alpha / rho) information(V, 1), else as the state evolution."""
    channel, tokens = model["channel"], model["tokens"]
    ratio = 0.0 if small else model["ratio"]
    found = computed("small_width_limit", {**model, "ratio": ratio}, {"rescaled_alpha": rescaled})
    error = float(found.mmse.item())
    if not small:
        assert_curve(channel, tokens, ratio, ratio * rescaled, error)
        return
    assert float(found.weak_threshold.item()) * information(channel, tokens, 1.0, 1.0) == pytest.approx(1.0, rel=1e-6)
    t = 1.0 / (rescaled * information(channel, tokens, max(error, 1e-12), 1.0))
    assert error == pytest.approx(1.0 - max(1.0 - t, 0.0) ** 2, rel=1e-5, abs=1e-9)


def test_small_width_limit_refuses_what_its_limit_covers():
    assert (
        computed("small_width_limit", {"channel": "softmax", "tokens": 2, "ratio": 1e-10}, {"rescaled_alpha": 0.3})
        is None
    )


AMP = {"dimension": 24, "max_iterations": 1500}


@settings(max_examples=3)
@given(
    model=section(
        FAMILY,
        "matrix_amp",
        "model",
        "beta",
        channel=st.sampled_from(["linear", "softmax"]),
        tokens=2,
        ratio=st.floats(0.4, 1.0),
    ),
    share=st.floats(0.4, 0.7),
)
@example(model={"channel": "softmax", "tokens": 2, "ratio": 0.5, "beta": 1000.0}, share=0.5)
def test_matrix_amp_ends_where_a_plain_one_does(model, share):
    """Same data, at a share of exact recovery: the tensor of all products, cubics by their roots, damping 0.8. Both end within
    2e-3 and 1 % of the same error where AMP says that it converged; the plain one does 300 iterations."""
    K, d, ratio = EQUATIONS[model["channel"]](2), 10, model["ratio"]
    alpha = share * min(1.0, 2.0 * ratio) / K
    found = computed(
        "matrix_amp", model, {"alpha": alpha}, solver={"dimension": d, "max_iterations": 3000, "tolerance": 1e-4}
    )
    if not found.converged.item() or found.mmse.item() < 1e-4:
        return
    channel = make_channel(model["channel"], 2, model["beta"])
    rank, count = int(found.width.item()), round(found.realised_alpha.item() * d * d)
    generator = Streams(0, FAMILY, "promise").generator("data", 0, alpha=float(f"{alpha:.12g}"))
    data = draw_dataset(channel, rank, d, count, generator)
    h = scores(data.sequences, data.teacher)

    def score(omega):
        off = h - omega
        return off - off.mean(axis=(1, 2), keepdims=True) if model["channel"] == "softmax" else off

    plain = plain_amp(data.sequences, K, score, data.teacher, rank / d)
    # At fixed damping the plain one may end in a cycle or diverge, and is no judge then.
    if plain is not None:
        assert found.mmse.item() == pytest.approx(plain, abs=2e-3 + 0.01 * plain)


@settings(max_examples=3)
@given(
    model=section(
        FAMILY,
        "matrix_amp",
        "model",
        "tokens",
        "ratio",
        "beta",
        channel=st.sampled_from(["linear", "softmax", "hardmax"]),
    ),
    grid=section(FAMILY, "matrix_amp", "grid", "alpha"),
)
@example(model={"channel": "softmax", "tokens": 2, "ratio": 0.5, "beta": 1000.0}, grid={"alpha": 0.12})
@example(model={"channel": "linear", "tokens": 3, "ratio": 1.0, "beta": 1.0}, grid={"alpha": 0.05})
@example(model={"channel": "softmax", "tokens": 64, "ratio": 0.5, "beta": 1.0}, grid={"alpha": 1.8e-4})
@example(model={"channel": "hardmax", "tokens": 2, "ratio": 0.5, "beta": 1.0}, grid={"alpha": 0.5})
def test_matrix_amp_meets_the_theory_at_its_realised_sizes(model, grid):
    """Mean error of four data sets within five standard errors, and the corrections of the finite size: 2/d + 2/r + d / (4 n T^2)
    of an error of one. False-alarm rate .008 per example, Student's t of three degrees; the seeds are fixed. What is flagged may
    be wrong; what is stored as realised is used, so that rounded numbers of sequences do not matter."""
    found = computed("matrix_amp", model, grid, solver={**AMP, "dimension": 40}, replicas=4)
    if found is None:
        return
    alpha, ratio = float(found.realised_alpha.max()), float(found.realised_ratio.max())
    count, rank = alpha * 40**2, ratio * 40
    assert count == pytest.approx(round(count))
    errors = found.mmse.values.ravel()
    # The scale of all that hardmax tells is left to the prior.
    if not found.converged.all() or (model["channel"] == "hardmax" and model["tokens"] > 2):
        return
    assert np.all(np.isfinite(errors))
    expected = solve(make_channel(model["channel"], model["tokens"], model["beta"]), ratio, [alpha]).mmse[0]
    allowed = 2.0 / 40 + 2.0 / rank + 40 / (4.0 * count * model["tokens"] ** 2)
    spread = 5.0 * errors.std(ddof=1) / 2.0
    assert abs(errors.mean() - expected) < spread + allowed
    assert abs(errors.mean() - found.mmse_predicted.mean()) < spread + allowed


@settings(max_examples=3)
@given(
    model=section(FAMILY, "gradient_descent", "model", "beta", tokens=st.integers(2, 5), ratio=st.floats(0.1, 3.0)),
    grid=section(FAMILY, "gradient_descent", "grid", alpha=st.floats(0.01, 1.0)),
    rate=st.floats(-4.0, 1.0).map(lambda x: 10.0**x),
)
@example(model={"tokens": 2, "ratio": 0.5, "beta": 30.0}, grid={"alpha": 0.2}, rate=0.1)
@example(model={"tokens": 2, "ratio": 0.5, "beta": 0.01}, grid={"alpha": 0.2}, rate=0.1)
@example(model={"tokens": 2, "ratio": 0.5, "beta": 1.0}, grid={"alpha": 0.2}, rate=10.0)
def test_gradient_descent_is_that_in_double_precision(model, grid, rate):
    """Training errors and errors of the estimates within 30 times what starts shifted by 1e-6, the rounding of single precision,
    do in double precision; below beta = 1 by 1e-6 / beta, since outputs are rounded, not scores. The shift bounds the rounding
    of a stable descent; chaotic ones may differ by their own size."""
    d, steps = 12, 8
    solver = {"dimension": d, "starts": 2, "steps": steps, "record_every": 1, "learning_rate": rate}
    found = computed("gradient_descent", model, grid, solver=solver)
    streams, at = Streams(0, FAMILY, "promise"), {"alpha": float(f"{grid['alpha']:.12g}")}
    rank, count = int(found.width.item()), round(found.realised_alpha.item() * d * d)
    generator = streams.generator("data", 0, **at)
    _, S = draw_weights(d, rank, generator)
    X = draw_sequences(count, model["tokens"], d, generator)
    y = attention(scores(X, S), model["beta"])
    starts = streams.generator("start", 0, **at).standard_normal((2, d, rank), dtype=np.float32).astype(float)
    error, gradient = descent_problem(X, y, model["beta"])
    shift, rounding = np.random.default_rng(0).standard_normal(starts[0].shape), 1e-6 / min(1.0, model["beta"])
    for k, start in enumerate(starts):
        paths = [adam(gradient, start * (1.0 + size * shift), steps, rate) for size in (0.0, rounding, -rounding)]
        training = np.array([[error(W) for W in [start, *path]] for path in paths])
        ours = found.training_error.isel(start=k).values.ravel()
        reach = np.maximum.accumulate(np.abs(training[1:] - training[0]).max(axis=0))
        # The outputs themselves are rounded to 6e-8.
        np.testing.assert_array_less(np.abs(ours - training[0]), 30.0 * reach + 1e-5 * training[0] + 1e-9)
        final = [np.sum((attention_matrix(path[-1]) - S) ** 2) / d for path in paths]
        reach = max(abs(other - final[0]) for other in final[1:])
        assert abs(found.mmse_by_start.isel(start=k).item() - final[0]) < 30.0 * reach + 1e-4 * final[0]
    assert found.mmse_average.sel(average=1).item() == pytest.approx(found.mmse_by_start.mean().item(), rel=1e-9)


@settings(max_examples=1)
@given(
    model=section(FAMILY, "two_layers_state_evolution", "model", "skip", "beta", ratio=st.floats(0.1, 2.0)),
    alpha=st.floats(0.02, 0.3),
)
@example(model={"ratio": 0.5, "skip": 1.0, "beta": 1.0}, alpha=0.2)
@example(model={"ratio": 0.5, "skip": 1.0, "beta": 1000.0}, alpha=0.1)
def test_two_layers_state_evolution_is_a_fixed_point_of_brute_force(model, alpha):
    """V_l = mmse(V_l / (alpha k_l)), k_l = 2 E |z_l|^2 of 100 random outputs, each on a lattice of 250 x 250 points over the
    whole prior: five standard errors of the average and of the four scramblings (64 nodes). False-alarm rate 1e-3 per layer.
    Points that are not converged or not resolved are flagged."""
    solver = {"nodes": 64, "max_iterations": 100}
    found = computed("two_layers_state_evolution", model, {"alpha": alpha}, solver=solver, replicas=4)
    if found.converged.min() < 1 or found.resolved.min() < 0.999:
        return
    V = found.mmse_by_layer.values.reshape(4, 2)
    k, error = two_layer_information(V.mean(axis=0), model["skip"], model["beta"], 100, np.random.default_rng(0))
    for layer in range(2):
        at = [
            slow_mmse(model["ratio"], V[:, layer].mean() / (alpha * x))[0] for x in (k[layer], k[layer] - error[layer])
        ]
        # An error of the average moves the fixed point further than one step: by 1 / (1 - dF/dV), at most 5 away from recovery.
        spread = np.hypot(5.0 * abs(at[1] - at[0]), 5.0 * V[:, layer].std(ddof=1))
        assert abs(V[:, layer].mean() - at[0]) < spread + 1e-3


@settings(max_examples=1)
@given(
    model=section(FAMILY, "two_layers_amp", "model", "skip", "beta", ratio=st.floats(0.3, 2.0)),
    grid=section(FAMILY, "two_layers_amp", "grid", alpha=st.floats(0.1, 0.3)),
)
@example(model={"ratio": 0.5, "skip": 1.0, "beta": 1.0}, grid={"alpha": 0.2})
@example(model={"ratio": 0.5, "skip": 3.0, "beta": 1000.0}, grid={"alpha": 0.15})
def test_two_layers_amp_meets_the_theory_at_its_realised_sizes(model, grid):
    """Four data sets of dimension 30, as for one layer; resolved and converged points."""
    solver = {"dimension": 30, "max_iterations": 400, "tolerance": 1e-2}
    found = computed("two_layers_amp", model, grid, solver=solver, replicas=4)
    at = {"ratio": float(found.realised_ratio.max())}
    theory = computed(
        "two_layers_state_evolution",
        {**model, **at},
        {"alpha": float(found.realised_alpha.max())},
        solver={"nodes": 64, "max_iterations": 100},
        replicas=2,
    )
    if not found.converged.all() or found.resolved.min() < 0.999 or theory.resolved.min() < 0.999:
        return
    errors = found.mmse_by_layer.values.reshape(4, 2)
    expected = theory.mmse_by_layer.values.reshape(2, 2)
    allowed = 2.0 / 30 + 2.0 / (30 * at["ratio"]) + 30 / (16.0 * float(found.realised_alpha.max()) * 900)
    spread = 5.0 * np.hypot(errors.std(axis=0, ddof=1) / 2.0, expected.std(axis=0, ddof=1))
    assert np.all(np.abs(errors.mean(axis=0) - expected.mean(axis=0)) < spread + allowed)


@pytest.mark.parametrize(
    ("kind", "model", "alpha"),
    [
        ("matrix_amp", {"channel": "softmax", "tokens": 2, "ratio": 0.5}, 1e-12),
        ("matrix_amp", {"channel": "softmax", "tokens": 2, "ratio": 1e-9}, 0.1),
        ("gradient_descent", {"tokens": 64, "ratio": 0.5}, 1000.0),
        ("gradient_descent", {"tokens": 2, "ratio": 100.0}, 0.1),
        ("two_layers_amp", {"ratio": 0.5, "skip": 1.0}, 1000.0),
    ],
)
def test_sizes_that_make_no_sense_or_do_not_fit_are_refused(kind, model, alpha):
    """No sequence, no column, more memory than a job has."""
    assert computed(kind, model, {"alpha": alpha}, solver={"dimension": 400}) is None
