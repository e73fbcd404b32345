"""Promises of the Potts family: sequences of a model against enumeration, and alignments against another reading of them.

Statistical comparisons allow five standard errors, a false-alarm rate below 1e-5 per comparison; seeds are fixed.
"""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sampled_potts_mlm import FAMILY, POTTS, SAMPLING, one, sampled
from slow_potts_mlm import conditional_losses, enumerated, mean_distance
from specifications import Refused, compute, node, project, whole_range

pytestmark = pytest.mark.slow

SIZES = {"sites": st.integers(2, 4), "colors": st.integers(2, 4)}
COUPLINGS = st.sampled_from(
    [
        {"kind": "gaussian"},
        {"kind": "contact", "density": 0.0},
        {"kind": "contact", "density": 1.0},
        {"kind": "low_rank", "rank": 1},
    ]
)  # fmt: skip
COLORS = st.sampled_from([{"kind": "gaussian"}, {"kind": "identity"}])
MODELS = st.fixed_dictionaries(
    {**SIZES, "couplings": COUPLINGS, "color_couplings": COLORS, "instance": st.integers(0, 5)}
)


def assert_samples(model, distance, found):
    """Temperature, distances and optimal loss of an `equilibrium` dataset against enumeration, unless it is flagged."""
    J, U, beta = found.couplings.values, found.color_couplings.values, float(found.beta)
    np.testing.assert_array_equal([J, J.T], [J.T, J])
    assert J.shape == (model["sites"],) * 2
    assert not np.diag(J).any()
    if not bool(found.sample_converged):
        return
    states, probability = enumerated(J, U, beta)
    exact = mean_distance(states, probability, model["colors"])
    error = np.hypot(*found.hamming_error.values) / 2.0
    assert float(found.hamming.mean()) == pytest.approx(exact, abs=5.0 * error + 1e-12)
    if bool(found.distance_converged):
        # 0.01 is the tolerance; three errors are allowed by the flag, five by the estimate.
        assert exact == pytest.approx(distance, abs=0.01 + 8.0 * error)
    table = conditional_losses(J, U, beta, states)
    mean = probability @ table.mean(axis=1)
    spread = np.sqrt(probability @ (table.mean(axis=1) - mean) ** 2)
    inflated = spread * np.sqrt(float(found.autocorrelation.max()) / SAMPLING["test_samples"])
    assert float(found.optimal_loss) == pytest.approx(mean, abs=5.0 * inflated + 1e-12)


@settings(max_examples=4)
@given(model=MODELS, distance=whole_range(node(FAMILY, "potts_samples", "grid", "distance")))
@example(model=POTTS, distance=0.3)
@example(model=POTTS, distance=0.66)
@example(model=POTTS, distance=2.0 / 3.0)
@example(model=POTTS | {"color_couplings": {"kind": "identity"}}, distance=0.3)
def test_potts_samples_have_the_enumerated_distribution(model, distance):
    """Or no job begins, or the only message names the distance out of reach."""
    found = sampled(model, distance, {"equilibrium": {"grid": {}}})
    # A specification is rounded to 12 digits.
    if distance >= 1.0 - 1.0 / model["colors"] - 1e-12:
        assert isinstance(found, Refused)
        assert all("grid.distance" in problem and "allowed:" in problem for problem in found.problems)
    elif isinstance(found, Refused):
        (problem,) = found.problems
        assert f"the target is {distance:g}" in problem
    else:
        assert_samples(model, distance, one(found, "equilibrium"))


@pytest.mark.parametrize("distance", [0.45, 0.6])
def test_equilibrium_holds_what_brute_force_finds(distance):
    """The smallest beta with d_H(beta) = distance by enumeration, within five errors and the tolerance over the slope."""
    found = one(sampled(POTTS, distance, {"equilibrium": {"grid": {}}}, samples=2000, test_samples=2000), "equilibrium")
    assert bool(found.sample_converged)
    assert bool(found.distance_converged)
    J, U = found.couplings.values, found.color_couplings.values
    betas = np.linspace(0.0, 5.0, 501)
    exact = np.array([mean_distance(*enumerated(J, U, beta), 3) for beta in betas])
    crossing = int(np.flatnonzero(exact < distance)[0])
    slope = (exact[crossing - 1] - exact[crossing]) / 0.01
    allowed = 0.01 / slope + 5.0 * float(found.beta_error) + 0.01
    assert float(found.beta) == pytest.approx(betas[crossing], abs=allowed)


LETTERS = {"protein": "-ACDEFGHIKLMNPQRSTVWY", "rna": "-ACGU", "dna": "-ACGT"}
ALPHABETS = st.sampled_from([*LETTERS, "AB-", "-ÉZ", "AB", "ab-", "AAB-", "A B-", "AB->"])


@settings(max_examples=12)
@given(data=st.data(), alphabet=ALPHABETS, fraction=whole_range(node(FAMILY, "alignment", "solver", "test_fraction")))
def test_alignment_is_read_and_split_without_loss(data, alphabet, fraction):
    """Training and test sequences are together those of the file, by another reading of it; frequencies are counts."""
    named = LETTERS.get(alphabet, alphabet)
    letters = sorted(set(named.upper()) - set("> "))
    length = data.draw(st.integers(2, 6))
    rows = data.draw(st.lists(st.text(letters, min_size=length, max_size=length), min_size=2, max_size=9))
    width = data.draw(st.integers(1, length))
    text = "".join(
        f">s{k}\n" + "".join(f"{row[start : start + width]}\n" for start in range(0, length, width))
        for k, row in enumerate(rows)
    )
    (project() / "promise.fasta").write_text(text, encoding="utf-8")
    model = {"alignment": "promise.fasta", "alphabet": alphabet}
    reader = {"reads": "alignment", "grid": {"samples": {"values": [1]}, "ridge": {"values": [1.0]}}, "replicas": 1}
    written = {
        "title": "Promise",
        "description": "Drawn.",
        "model": model,
        "estimators": {"factored_attention": reader},
    }
    written["data"] = {"alignment": {"grid": {}, "replicas": 1, "solver": {"test_fraction": fraction}}}
    found = compute_data(written)
    if alphabet in ("AB", "ab-", "AAB-", "A B-", "AB->"):
        assert isinstance(found, Refused)
        assert all("model.alphabet" in problem for problem in found.problems)
        return
    entries = [entry.split("\n", 1)[1].replace("\n", "") for entry in text.split(">")[1:]]
    read = np.concatenate([found.training_states.values, found.test_states.values])
    assert sorted("".join(named[code] for code in row) for row in read) == sorted(entries)
    held_out = found.sizes["test_sample"]
    assert 1 <= held_out <= len(rows) - 1
    assert abs(held_out - fraction * len(rows)) <= 1.0
    training = found.training_states.values
    counts = [[np.mean([row[i] == code for row in training]) for code in range(len(named))] for i in range(length)]
    np.testing.assert_allclose(found.frequency, counts, atol=1e-15)


def compute_data(written):
    """The dataset of an alignment, as an estimator reads it, or the refusal."""
    from attention_limits.pipeline.base.streams import Streams
    from attention_limits.pipeline.experiments.experiment import load_experiment
    from attention_limits.potts_mlm.estimators.proteins import alignment

    path = project() / "config" / FAMILY / "experiments" / "promise.yaml"
    refused = compute(FAMILY, written)
    if isinstance(refused, Refused):
        return refused
    part = load_experiment(path).estimators["factored_attention"].reads
    spec = {"family": FAMILY, "experiment": "promise", "estimator": "alignment", "project": str(part.project)}
    spec |= {"model": part.model, "grid": {}, "replicas": [0], "solver": part.solver}
    return alignment.run(spec, Streams(0, FAMILY, "promise")).isel(replica=0)
