"""Promises of the estimators on alignments, against slow implementations from the definitions; seeds are fixed."""

import numpy as np
import pytest
from drawn_alignments import ALPHABET, FAMILY, random_rows, written
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_potts_mlm_proteins import (
    full_pseudo_likelihood,
    letters_of,
    scores_of,
    symmetric_pseudo_likelihood,
    weights_of,
)
from specifications import Refused, node, project, whole_range

from attention_limits.pipeline.base.errors import SpecError

pytestmark = pytest.mark.slow


@settings(max_examples=6)
@given(
    identity=whole_range(node(FAMILY, "alignment_summary", "solver", "identity")),
    columns=whole_range(node(FAMILY, "alignment", "solver", "max_column_gaps")),
    sequences=whole_range(node(FAMILY, "alignment", "solver", "max_sequence_gaps")),
    other=st.sampled_from(["gap", "drop"]),
    seed=st.integers(0, 20),
)
def test_alignment_summary_counts_what_the_file_holds(identity, columns, sequences, other, seed):
    rows = random_rows(12, 5, seed, ALPHABET + "X")
    rules = {"max_column_gaps": columns, "max_sequence_gaps": sequences, "other_letters": other}
    text, found = written("alignment_summary", {"solver": {"identity": identity}}, rows, solver=rules)
    states, has_other = letters_of(text, ALPHABET), np.array(["X" in row for row in rows])
    left = states[~has_other] if other == "drop" else states
    column = [i for i in range(5) if len(left) == 0 or np.mean(left[:, i] == 0) <= columns]
    kept = [row for row in left[:, column] if len(column) and np.mean(row == 0) <= sequences]
    if len(column) < 2 or len(kept) < 2:
        assert isinstance(found, Refused)
        assert all("family.fasta: " in problem for problem in found.problems)
        return
    part = found["alignment_summary"].isel(replica=0)
    assert part.column.values.tolist() == [i + 1 for i in column]
    assert int(part.sequences_read) == 12
    assert int(part.sequences_kept) == len(kept)
    assert int(part.sequences_dropped_letters) == (has_other.sum() if other == "drop" else 0)
    assert int(part.sequences_dropped_gaps) == len(left) - len(kept)
    assert int(part.other_letters) == sum(row.count("X") for row in rows)
    weights = weights_of([row.tolist() for row in kept], identity)
    assert float(part.effective_sequences) == pytest.approx(weights.sum(), rel=1e-12)
    frequency = [
        [weights[np.array(kept)[:, i] == a].sum() / weights.sum() for a in range(4)] for i in range(len(column))
    ]
    np.testing.assert_allclose(part.weighted_frequency, frequency, atol=1e-12)
    assert np.isnan(part.pair_distance).all()


FIT = {
    "identity": 0.9,
    "field_ridge": 1e-3,
    "coupling_ridge": 1e-2,
    "tolerance": 1e-7,
    "max_iterations": 3000,
    "starts": 2,
}


def test_multihead_attention_ends_at_the_optimum_of_full_pseudo_likelihood():
    """16 and more heads of 4 colours: objective, scores and precision by another method; fewer heads end above.

    The distances put the copied pair, and one other, in contact."""
    (project() / "d.txt").write_text("1 5 4.0\n2 5 9.0\n1 4 3.0\n", encoding="utf-8")
    part = {
        "grid": {"samples": {"values": [40]}, "heads": {"values": [0, 1, 16, 100]}},
        "solver": {**FIT, "ranks": 4},
    }
    rows = random_rows(50, 5, 1)
    structure = {"distances": "d.txt", "separation": 3}
    _, found = written("multihead_attention", part, rows, solver={"test_fraction": 0.2}, **structure)
    cube = found["multihead_attention"].isel(samples=0, replica=0)
    data = alignment_data()
    from attention_limits.pipeline.base.streams import Streams
    from attention_limits.potts_mlm.attention.training_sets import training_set

    sequences = training_set(Streams(0, FAMILY, "promise"), data, 0, {}, 40).astype(int)
    weights = weights_of(sequences.tolist(), 0.9)
    assert float(cube.effective_samples[0]) == pytest.approx(weights.sum(), rel=1e-12)
    objective, _, couplings = full_pseudo_likelihood(sequences, weights, 4, 1e-3, 1e-2)
    assert cube.pair_converged.values.all()
    for heads in (16, 100):
        np.testing.assert_allclose(cube.pair_objective.sel(heads=heads), objective, atol=1e-7)
        np.testing.assert_allclose(cube.contact_score.sel(heads=heads), scores_of(couplings, 0), atol=2e-3)
    assert float(cube.pair_objective.sel(heads=1).min()) > objective
    assert float(cube.pair_objective.sel(heads=0).min()) > float(cube.pair_objective.sel(heads=1).min())
    # Three pairs are at least three columns apart and have a distance: (1, 4), (1, 5), (2, 5).
    scores = cube.contact_score.sel(heads=16).values
    pairs = sorted([(scores[0, 3], 1.0), (scores[0, 4], 1.0), (scores[1, 4], 0.0)], reverse=True)
    expected = [*np.cumsum([contact for _, contact in pairs]) / [1, 2, 3], np.nan]
    np.testing.assert_allclose(cube.precision.sel(heads=16), expected)
    assert scores[0, 4] == pytest.approx(scores.max(), rel=1e-12)


def alignment_data():
    """The sequences that the estimators of the last experiment read."""
    from attention_limits.pipeline.base.streams import Streams
    from attention_limits.pipeline.experiments.experiment import load_experiment
    from attention_limits.potts_mlm.estimators.proteins import alignment

    path = project() / "config" / FAMILY / "experiments" / "promise.yaml"
    part = next(iter(load_experiment(path).estimators.values())).reads
    spec = {"family": FAMILY, "experiment": "promise", "estimator": "alignment", "project": str(part.project)}
    spec |= {"model": part.model, "grid": {}, "replicas": [0], "solver": part.solver}
    return alignment.run(spec, Streams(0, FAMILY, "promise")).isel(replica=0)


def test_generated_sequences_have_the_statistics_of_the_fitted_model():
    """Site frequencies of 20 000 chains against enumeration of the jointly symmetric model; five standard errors of independent
    chains for each of 12 frequencies, a false-alarm rate below 1e-5."""
    part = {
        "grid": {"samples": {"values": [40]}, "heads": {"values": [16]}},
        "solver": {**FIT, "generated": 20_000, "sweeps": 20},
    }
    _, found = written("generated_sequences", part, random_rows(50, 3, 2))
    cube = found["generated_sequences"].isel(samples=0, heads=0, replica=0)
    data = alignment_data()
    from attention_limits.pipeline.base.streams import Streams
    from attention_limits.potts_mlm.attention.training_sets import training_set

    sequences = training_set(Streams(0, FAMILY, "promise"), data, 0, {}, 40).astype(int)
    weights = weights_of(sequences.tolist(), 0.9)
    _, fields, couplings = full_pseudo_likelihood(sequences, weights, 4, 1e-3, 1e-2)
    J = np.zeros((3, 3, 4, 4))
    h = fields.copy()
    for i in range(3):
        for place, j in enumerate(j for j in range(3) if j != i):
            own = couplings[i, place].T
            h[i] += own.mean(axis=1)
            J[i, j] = own - own.mean(axis=0) - own.mean(axis=1, keepdims=True) + own.mean()
    states = np.array(np.meshgrid(*[range(4)] * 3, indexing="ij")).reshape(3, -1).T
    log = h[0, states[:, 0]] + h[1, states[:, 1]] + h[2, states[:, 2]]
    for i, j in ((0, 1), (0, 2), (1, 2)):
        log = log + 0.5 * (J[i, j] + J[j, i].T)[states[:, i], states[:, j]]
    probability = np.exp(log - log.max())
    probability /= probability.sum()
    exact = np.array([[probability[states[:, i] == a].sum() for a in range(4)] for i in range(3)])
    allowed = 5.0 * np.sqrt(exact * (1 - exact) / 20_000) + 1e-3
    assert np.all(np.abs(cube.generated_frequency - exact) < allowed)
    assert bool(cube.generated_converged)
    of_training = [[weights[sequences[:, i] == a].sum() / weights.sum() for a in range(4)] for i in range(3)]
    np.testing.assert_allclose(cube.training_frequency, of_training, atol=1e-12)
    assert float(cube.pair_histogram.sum()) == 3 * 16
    assert -1.0 <= float(cube.generated_pair_correlation) <= 1.0


def test_alignment_ridge_is_the_mean_over_all_training_sets():
    """Two masked sites; the errors of 60 sets of independent Gaussian sequences lie around the theory within 5 standard errors
    and 10 %, since 16 inputs are few, and those of the alignment around a Gaussian population of its size; the noise is the
    residual of least squares. False-alarm rate below 1e-5."""
    part = {
        "grid": {"masked": {"values": [1, 5]}, "ridge": {"values": [0.05]}, "samples": {"values": [120]}},
        "solver": {"identity": 1.0},
    }
    text, found = written("alignment_ridge", part, random_rows(300, 5, 3), replicas=60)
    cube = found["alignment_ridge"].isel(ridge=0, samples=0)
    rows = letters_of(text, ALPHABET)
    weights = weights_of(rows.tolist(), 1.0)
    share = np.sqrt(weights / weights.sum())[:, None]
    for masked in (1, 5):
        x = np.eye(4)[np.delete(rows, masked - 1, axis=1)].reshape(300, -1)
        design, y = np.column_stack([x, np.ones(300)]), np.eye(4)[rows[:, masked - 1]]
        solution = np.linalg.lstsq(share * design, share * y, rcond=1e-10)[0]
        noise = np.sum((share * (y - design @ solution)) ** 2)
        one = cube.sel(masked=masked)
        np.testing.assert_allclose(one.masked_noise, noise, rtol=1e-9)
        assert int(one.inputs[0]) == 16
        assert int(one.directions[0]) == 12
        alignment, gaussian, finite = (
            one[f"{name}_generalization_error"].values for name in ("alignment", "gaussian", "finite_gaussian")
        )
        theory = one.spectrum_generalization_error.values
        assert np.all(alignment >= noise)
        for measured, expected in ((gaussian, theory), (alignment, finite)):
            error = np.hypot(measured.std(ddof=1), expected.std(ddof=1)) / np.sqrt(60)
            assert measured.mean() == pytest.approx(expected.mean(), abs=5.0 * error + 0.1 * expected.mean())


def test_a_masked_site_beyond_the_columns_is_refused():
    part = {"grid": {"masked": {"values": [6]}, "ridge": {"values": [1.0]}, "samples": {"values": [5]}}}
    _, found = written("alignment_ridge", part, random_rows(10, 5, 4))
    assert isinstance(found, Refused)
    assert "grid.masked: 6: allowed: ≤ 5, the kept columns" in found.problems[0]


def test_more_training_sequences_than_the_alignment_has_are_refused():
    """More than all before any job; more than the weights leave distinct by the job, with the largest number that is allowed."""
    rows = ["ABC", "ABC", "CBA", "AAA", "CCC"]

    def asked(samples):
        part = {"grid": {"masked": {"values": [1]}, "ridge": {"values": [1.0]}, "samples": {"values": [samples]}}}
        return written("alignment_ridge", part, rows)[1]

    found = asked(6)
    assert isinstance(found, Refused)
    assert "grid.samples: 6: allowed: ≤ 5, the kept sequences" in found.problems[0]
    with pytest.raises(SpecError, match=r"grid\.samples: 5: allowed: ≤ 4, the distinct sequences"):
        asked(5)
    everything = asked(4)["alignment_ridge"].isel(masked=0, ridge=0, samples=0, replica=0)
    assert int(everything.distinct_sequences) == 4


def test_symmetric_pseudo_likelihood_ends_at_the_optimum_of_symmetric_couplings():
    """Objective of fields and J_ij = J_ji^T by another method, from the definition; its scores and the sequence weights."""
    solver = {key: FIT[key] for key in ("identity", "field_ridge", "coupling_ridge", "tolerance", "max_iterations")}
    part = {"grid": {"samples": {"values": [40]}}, "solver": {**solver, "ranks": 4}}
    _, found = written("symmetric_pseudo_likelihood", part, random_rows(50, 4, 1), solver={"test_fraction": 0.2})
    cube = found["symmetric_pseudo_likelihood"].isel(samples=0, replica=0)
    from attention_limits.pipeline.base.streams import Streams
    from attention_limits.potts_mlm.attention.training_sets import training_set

    sequences = training_set(Streams(0, FAMILY, "promise"), alignment_data(), 0, {}, 40).astype(int)
    weights = weights_of(sequences.tolist(), 0.9)
    objective, couplings = symmetric_pseudo_likelihood(sequences, weights, 4, 1e-3, 1e-2)
    assert bool(cube.symmetric_converged)
    assert float(cube.symmetric_objective) == pytest.approx(objective, abs=1e-7)
    np.testing.assert_allclose(cube.symmetric_contact_score, scores_of(couplings, 0), atol=2e-3)
    # No distances are given.
    assert np.isnan(cube.symmetric_precision).all()


def test_alignment_transformer_finds_the_copied_pair():
    """Of ten pairs of five sites one is a copy in 70 % of the sequences: it has the largest score, and the loss falls below that
    of independent sites."""
    part = {
        "grid": {"samples": {"values": [240]}, "layers": {"values": [1]}},
        "solver": {
            "epochs": 60, "evaluations": 3, "batch": 40, "learning_rate": 0.01, "references": 20, "test_sequences": 60,
            "identity": 1.0,
        },
    }  # fmt: skip
    _, found = written("alignment_transformer", part, random_rows(300, 5, 4), solver={"test_fraction": 0.2})
    cube = found["alignment_transformer"].isel(samples=0, layers=0, replica=0)
    scores = cube.encoder_contact_score.values
    assert np.unravel_index(np.argmax(scores), scores.shape) in ((0, 4), (4, 0))
    assert cube.encoder_training_loss[-1] < cube.encoder_training_loss[0] - 0.1
    assert cube.encoder_test_loss.shape == (3,)


def test_alignment_transformer_asks_for_sequences_that_are_there():
    part = {
        "grid": {"samples": {"values": [20]}, "layers": {"values": [1]}},
        "solver": {"epochs": 1, "evaluations": 1, "test_sequences": 5, "references": 11},
    }
    _, found = written("alignment_transformer", part, random_rows(50, 4, 1), solver={"test_fraction": 0.2})
    assert isinstance(found, Refused)
    assert "solver.references: 11: allowed: ≤ 10, the test sequences of data.alignment" in found.problems[0]
