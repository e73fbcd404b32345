"""Flags of the Potts family are honest: points that pass all flags agree with four times the effort; seeds are fixed."""

import numpy as np
import pytest
from drawn_alignments import random_rows, written
from sampled_potts_mlm import POTTS, one, sampled

from attention_limits.potts_mlm.descent.lbfgs import AGREEMENT

pytestmark = pytest.mark.slow

LARGER = POTTS | {"sites": 6, "colors": 6}


def learners(instance, distance, attention, effort):
    """Factored attention and mixed attention, with `effort` times the starts and iterations."""

    def solver(**more):
        return {
            "starts": 3 * effort, "max_iterations": 2000 * effort, "tolerance": 1e-5 / effort, "attentions": [attention], **more,
        }  # fmt: skip

    readers = {
        "factored_attention": {"grid": {"samples": {"values": [300]}, "ridge": {"values": [1e-4]}}, "solver": solver()},
        "mixed_attention": {"grid": {"mixing": {"values": [0.25]}}, "solver": solver(samples=300, ridge=1e-4)},
    }
    found = sampled(LARGER | {"instance": instance}, distance, readers)
    first = one(found, "factored_attention").isel(samples=0, ridge=0, attention=0)
    second = one(found, "mixed_attention").isel(mixing=0, attention=0)
    return {
        "factored": (bool(first.confirmed), float(first.objective.min())),
        "mixed": (bool(second.mixed_confirmed), float(second.mixed_objective.min())),
    }


@pytest.mark.parametrize("attention", ["raw", "softmax"])
def test_confirmed_minima_are_those_of_four_times_the_starts(attention):
    """Objectives within AGREEMENT. Two of three starts in one local minimum are the false alarm of this flag: a start ends in any
    one of them in less than a third of the cases, so it has a probability below 3 (1/3)^2 per unconfirmed minimum."""
    confirmed = 0
    for instance, distance in ((1, 0.7), (2, 0.7), (3, 0.6)):
        few, many = (learners(instance, distance, attention, effort) for effort in (1, 4))
        for name, (sure, objective) in few.items():
            if sure:
                confirmed += 1
                assert objective <= many[name][1] + AGREEMENT, (name, instance)
    assert confirmed >= 2


def test_pseudo_likelihood_of_four_times_the_iterations_agrees():
    """The objective curves at least like the ridge: 120 parameters are off by sqrt(120) 1e-5 / ridge at most, a logit of four of
    them by twice that. A bound, without a false alarm."""

    def loss(effort):
        solver = {
            "field_ridge": 1e-2, "coupling_ridge": 1e-2, "tolerance": 1e-5 / effort, "max_iterations": 300 * effort,
        }  # fmt: skip
        found = sampled(POTTS, 0.5, {"pseudo_likelihood": {"grid": {"samples": {"values": [60]}}, "solver": solver}})
        return one(found, "pseudo_likelihood").isel(samples=0)

    few, many = loss(1), loss(4)
    assert bool(few.pseudo_likelihood_converged)
    gap = abs(float(few.pseudo_likelihood_loss) - float(many.pseudo_likelihood_loss))
    assert gap <= 4.0 * np.sqrt(120) * 1e-5 / 1e-2


@pytest.mark.parametrize("distance", [0.45, 0.6])
def test_samples_in_equilibrium_agree_with_four_times_as_many(distance):
    """Mean Hamming distance within 5 errors: below 1e-6 for independent blocks. Both searches end within the tolerance 0.01."""

    def equilibrium(effort):
        solver = {"samples": 500 * effort, "test_samples": 500 * effort, "gap": 5 * effort}
        return one(sampled(POTTS, distance, {"equilibrium": {"grid": {}}}, **solver), "equilibrium")

    few, many = equilibrium(1), equilibrium(4)
    assert bool(few.sample_converged)
    assert bool(few.distance_converged)
    # One temperature: the tuning has its own stream.
    assert float(few.beta) == float(many.beta)
    error = np.hypot(*few.hamming_error.values) / 2.0 + np.hypot(*many.hamming_error.values) / 2.0
    assert abs(float(few.hamming.mean()) - float(many.hamming.mean())) <= 5.0 * error


def test_confirmed_fits_of_heads_are_those_of_four_times_the_starts():
    """Objectives within AGREEMENT, for two heads and for the convex full model, which confirms itself; fixed seeds."""

    def heads(effort):
        part = {
            "grid": {"samples": {"values": [40]}, "heads": {"values": [2, 16]}},
            "solver": {
                "field_ridge": 1e-3, "coupling_ridge": 1e-2, "identity": 0.9, "starts": 2 * effort,
                "max_iterations": 2000 * effort, "tolerance": 1e-5 / effort,
            },
        }  # fmt: skip
        return written("multihead_attention", part, random_rows(50, 4, 2))[1]["multihead_attention"].isel(
            samples=0, replica=0
        )

    few, many = heads(1), heads(4)
    assert bool(few.pair_confirmed.sel(heads=16))
    for count in few.heads.values[few.pair_confirmed.values.astype(bool)]:
        best = float(few.pair_objective.sel(heads=count).min())
        assert best <= float(many.pair_objective.sel(heads=count).min()) + AGREEMENT, count


def test_generated_sequences_of_four_times_the_sweeps_agree():
    """Site frequencies of 4000 converged chains within five binomial errors of each other, 16 of them: below 1e-5."""

    def generated(effort):
        part = {
            "grid": {"samples": {"values": [40]}, "heads": {"values": [16]}},
            "solver": {
                "field_ridge": 1e-3, "coupling_ridge": 1e-2, "identity": 0.9, "generated": 4000, "sweeps": 10 * effort,
            },
        }  # fmt: skip
        found = written("generated_sequences", part, random_rows(50, 4, 2))[1]["generated_sequences"]
        return found.isel(samples=0, heads=0, replica=0)

    few, many = generated(1), generated(4)
    assert bool(few.generated_converged)
    assert bool(few.fit_confirmed)
    p = 0.5 * (few.generated_frequency + many.generated_frequency)
    gap = np.abs(few.generated_frequency - many.generated_frequency)
    assert np.all(gap <= 5.0 * np.sqrt(2.0 * p * (1.0 - p) / 4000) + 1e-12)


def test_one_start_confirms_nothing():
    """A single start that converged is no evidence for a minimum of a model that is not convex."""
    solver = {"starts": 1, "max_iterations": 5000, "attentions": ["raw"]}
    part = {"grid": {"samples": {"values": [300]}, "ridge": {"values": [1e-2]}}, "solver": solver}
    found = one(sampled(POTTS, 0.6, {"factored_attention": part}), "factored_attention")
    assert found.converged.all()
    assert not found.confirmed.any()
