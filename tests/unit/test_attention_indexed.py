"""Model, sums over samples, memory, trajectories and kinds of extensive-width attention; what is refused before any job."""

import shutil
import tracemalloc

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from attention_limits.attention_indexed import matrix_amp, model
from attention_limits.attention_indexed.channel import Linear, make_channel
from attention_limits.pipeline.chunks import run_chunk
from attention_limits.pipeline.cubes import read
from attention_limits.pipeline.errors import SpecError
from attention_limits.pipeline.experiment import load_experiment
from toy import REPOSITORY


@given(st.floats(0.005, 10.0), st.integers(1, 500))
def test_width_is_the_nearest_whole_number(ratio, dimension):
    rank, note = model.width(ratio, dimension)
    assert rank >= 1
    assert abs(rank - ratio * dimension) <= max(0.5, 1.0 - ratio * dimension) + 1e-9
    assert (note == "") == (abs(rank - ratio * dimension) <= 1e-9 * rank)


def test_rounding_of_the_width_is_told():
    assert model.width(0.5, 100) == (50, "")
    rank, note = model.width(0.123, 100)
    assert rank == 12
    assert note == "rho d = 12.3 is not an integer: r = 12, rho = 0.12"


def test_scores_are_the_definition():
    rng = np.random.default_rng(1)
    W, S = model.draw_weights(7, 3, rng)
    X = model.draw_sequences(5, 4, 7, rng)
    np.testing.assert_allclose(S, W @ W.T / np.sqrt(21.0))
    for x, h in zip(X, model.scores(X, S), strict=True):
        np.testing.assert_allclose(h, (x @ S @ x.T - np.trace(S) * np.eye(4)) / np.sqrt(7.0))


def test_attention_by_rows():
    h = np.array([[[1.0, 1.0, 0.0], [800.0, 0.0, -800.0], [0.0, np.log(2.0), 0.0]]])
    np.testing.assert_allclose(model.attention(h)[0, 1:], [[1, 0, 0], [0.25, 0.5, 0.25]], atol=1e-15)
    np.testing.assert_array_equal(model.attention(h, np.inf)[0], [[1, 0, 0], [1, 0, 0], [0, 1, 0]])


def test_sums_over_samples_are_the_definitions():
    """In pieces and at once."""
    rng = np.random.default_rng(2)
    X = model.draw_sequences(3000, 3, 6, rng)
    G = rng.standard_normal((3000, 3, 3))
    G += G.transpose(0, 2, 1)
    outer = np.einsum("nab,nai,nbj->ij", G, X, X) - np.einsum("naa->", G) * np.eye(6)
    np.testing.assert_allclose(matrix_amp.backward(X, G), outer / np.sqrt(6.0), rtol=1e-10, atol=1e-9)
    S = rng.standard_normal((6, 6))
    np.testing.assert_allclose(matrix_amp.fields(X, S + S.T), model.scores(X, S + S.T), atol=1e-12)


def test_memory_stays_below_three_times_the_data():
    """Of all numpy arrays while AMP runs, data included, as tracemalloc counts them."""
    channel = make_channel("hardmax", 2)
    tracemalloc.start()
    data = matrix_amp.draw_dataset(channel, 50, 100, 20_000, np.random.default_rng(3))
    matrix_amp.run(channel, data, max_iterations=2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert data.sequences.nbytes < peak < 3 * data.sequences.nbytes
    assert model.megabytes(20_000, 2, 100, 50) > peak / 1e6


class Contradicting(Linear):
    """Outputs that have nothing to do with the data."""

    def observe(self, h):
        return np.full_like(h, 1e3)


def test_divergence_is_seen_and_flagged():
    channel = Contradicting(2)
    data = matrix_amp.draw_dataset(channel, 10, 20, 40, np.random.default_rng(4))
    run = matrix_amp.run(channel, data, max_iterations=10)
    assert run.diverged
    assert not run.converged
    assert len(run.error) == 1
    assert np.isnan(run.error[0])


def test_trajectory_ends_where_it_settles():
    channel = make_channel("softmax", 2)
    data = matrix_amp.draw_dataset(channel, 40, 40, 160, np.random.default_rng(5))
    run = matrix_amp.run(channel, data, max_iterations=200)
    assert run.converged
    assert len(run.error) == len(run.variance) == len(run.residual) < 200
    assert run.residual[-1] <= 2e-3 < run.residual[-2]
    assert (np.diff(run.eigenvalues) >= 0).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: model.width(0.0, 10), "0 < rho"),
        (lambda: model.draw_sequences(5, 1, 3, np.random.default_rng()), "T >= 2"),
        (lambda: model.draw_weights(0, 1, np.random.default_rng()), "d >= 1"),
        (lambda: model.attention(np.zeros((1, 2, 2)), 0.0), "beta > 0"),
        (lambda: matrix_amp.run(make_channel("linear", 2), None, damping=1.0), "damping < 1"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


SMALL = {
    "title": "Small", "description": "A small model.",
    "model": {"channel": "softmax", "tokens": 2},
    "estimators": {
        "state_evolution": {"grid": {"alpha": {"values": [0.0, 0.1, 0.3]}, "ratio": {"values": [0.5, 1.0]}}},
        "matrix_amp": {
            "grid": {"ratio": {"values": [0.52]}, "alpha": {"values": [0.1, 0.4]}}, "replicas": 2,
            "solver": {"dimension": 15, "max_iterations": 7},
        },
    },
}  # fmt: skip


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project folder with the schemas of the family, made the working directory."""
    shutil.copytree(REPOSITORY / "config" / "schemas", tmp_path / "config" / "schemas")
    (tmp_path / "config" / "experiments" / "attention_indexed").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(project, document):
    path = project / "config" / "experiments" / "attention_indexed" / "small.yaml"
    path.write_text(yaml.safe_dump(document))
    return path


def computed(path, estimator):
    """The dataset of the only chunk of an estimator."""
    experiment = load_experiment(path)
    part = experiment.estimators[estimator]
    (chunk,) = part.chunks
    output = path.parent / f"{estimator}.nc"
    run_chunk(experiment, part, chunk, 0, output)
    return read(output, repair="none")


def test_kinds_end_to_end(project):
    path = write(project, SMALL)
    theory, amp = computed(path, "state_evolution"), computed(path, "matrix_amp")
    assert theory.mmse.dims == ("alpha", "ratio", "replica")
    assert float(theory.mmse.sel(alpha=0.0, ratio=1.0, replica=0)) == 1.0
    assert float(theory.mmse.sel(alpha=0.3, ratio=1.0, replica=0)) == 0.0
    np.testing.assert_allclose(theory.recovery_threshold.sel(alpha=0.1, replica=0), [0.1875, 0.25])
    assert (amp.width == 8).all()
    np.testing.assert_allclose(amp.realised_ratio, 8 / 15)
    np.testing.assert_allclose(amp.realised_alpha.sel(alpha=0.1, ratio=0.52), 22 / 225)
    assert amp.mmse_by_iteration.dims == ("alpha", "ratio", "replica", "iteration")
    done = amp.iterations - 1
    np.testing.assert_array_equal(amp.mmse_by_iteration.isel(iteration=done), amp.mmse)
    assert amp.sizes["eigenvalue"] == 15


def test_replicas_do_not_depend_on_the_block(project):
    """A point computed alone is the same as in its block."""
    whole = computed(write(project, SMALL), "matrix_amp")
    alone = {**SMALL["estimators"]["matrix_amp"], "grid": {"ratio": {"values": [0.52]}, "alpha": {"values": [0.4]}}}
    part = computed(write(project, {**SMALL, "estimators": {"matrix_amp": alone}}), "matrix_amp")
    np.testing.assert_array_equal(part.mmse.sel(alpha=0.4), whole.mmse.sel(alpha=0.4))


def test_small_width_kind(project):
    limit = {"small_width_limit": {"grid": {"ratio": {"values": [0.0, 0.1]}, "rescaled_alpha": {"values": [0.2, 0.3]}}}}
    found = computed(write(project, {**SMALL, "estimators": limit}), "small_width_limit")
    np.testing.assert_allclose(found.mmse.sel(ratio=0.0, replica=0), [1.0, 0.96])
    assert float(found.weak_threshold[0, 0, 0]) == 0.25


def test_errors_of_the_hardmax_come_with_their_bound(project):
    """Three tokens: the bound is positive, below 1 % of the error, and zero for two; the law of large alpha is there for both."""
    grid = {"tokens": {"values": [2, 3]}, "alpha": {"values": [0.1, 10.0]}}
    document = changed(model={"channel": "hardmax", "ratio": 0.5}, estimators={"state_evolution": {"grid": grid}})
    found = computed(write(project, document), "state_evolution").isel(replica=0)
    assert (found.mmse_error.sel(tokens=2) == 0).all()
    relative = (found.mmse_error / found.mmse).sel(tokens=3)
    assert (relative > 0).all()
    assert (relative < 0.01).all()
    np.testing.assert_allclose(found.mmse.sel(alpha=10.0), found.mmse_tail.sel(alpha=10.0), rtol=0.1)


def changed(**changes):
    return {**SMALL, **changes}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (changed(model={"channel": "softmax", "tokens": 1}), "model.tokens: 1: allowed: .*≥ 2"),
        (changed(model={"channel": "softmax", "tokens": 2, "beta": 0.0}), "model.beta: 0.0: allowed: .*≥ 0.001"),
        (changed(model={"channel": "relu", "tokens": 2}), "model.channel: .*linear"),
        (changed(model={"channel": "hardmax_published", "tokens": 2}), "no posterior mean"),
        (changed(model={"channel": "hardmax", "tokens": 9}), "model.channel: hardmax: allowed with up to 8 tokens, not 9"),
        (
            changed(estimators={"state_evolution": {"grid": {"alpha": {"values": [0.1]}, "ratio": {"values": [0.0]}}}}),
            "estimators.state_evolution.grid.ratio: 0.0: allowed: .*≥ 1e-09",
        ),
        (
            changed(estimators={"state_evolution": {**SMALL["estimators"]["state_evolution"], "replicas": 3}}),
            "replicas: 3: allowed: 1, the softmax channel has no random numbers",
        ),
        (
            changed(
                model={**SMALL["model"], "ratio": 0.5},
                estimators={"matrix_amp": {"grid": {"alpha": {"values": [1e-3]}}, "solver": {"dimension": 20}}},
            ),
            "grid.alpha: 0.001: allowed: at least 0.00125 at dimension 20, or alpha d.2 sequences round to none",
        ),
        (
            changed(
                model={**SMALL["model"], "ratio": 0.01},
                estimators={"matrix_amp": {"grid": {"alpha": {"values": [0.1]}}, "solver": {"dimension": 20}}},
            ),
            "model.ratio: 0.01: allowed: at least 0.025 at dimension 20, or the width rho d rounds to zero",
        ),
        (
            changed(
                model={**SMALL["model"], "ratio": 100.0},
                estimators={"matrix_amp": {"grid": {"alpha": {"values": [0.1]}}, "solver": {"dimension": 1000}}},
            ),
            "resources.memory: 1000 MB: .* r = 100000 need",
        ),
        (
            changed(
                model={**SMALL["model"], "ratio": 1e-10},
                estimators={"small_width_limit": {"grid": {"rescaled_alpha": {"values": [0.1]}}}},
            ),
            "model.ratio: 1e-10: allowed: 0, or 1e-09 to 100",
        ),
        (
            changed(
                model={**SMALL["model"], "ratio": 0.5},
                estimators={"matrix_amp": {"grid": {"alpha": {"values": [40.0]}}, "solver": {"dimension": 100}}},
            ),
            r"resources.memory: 1000 MB: n T d = 400000 x 2 x 100 numbers at alpha = 40 and r = 50 need 2324 MB",
        ),
    ],
)  # fmt: skip
def test_what_is_refused_before_any_job(project, document, message):
    with pytest.raises(SpecError, match=message):
        load_experiment(write(project, document))
