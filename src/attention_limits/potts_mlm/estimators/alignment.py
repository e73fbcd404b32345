"""A multiple-sequence alignment as data of the learners, split at random into training and test sequences."""

from pathlib import Path

from attention_limits.potts_mlm.alignment import read_alignment
from attention_limits.potts_mlm.estimators.points import collect
from attention_limits.potts_mlm.gibbs import color_counts


def run(spec, streams):
    """Training and test sequences and the training set's frequencies (see `variables`); one replica is one split."""
    alphabet = spec["model"]["alphabet"]
    states = read_alignment(Path(spec["project"]) / spec["model"]["alignment"], alphabet).states
    # One sequence at least is left on either side.
    held_out = min(max(1, round(spec["solver"]["test_fraction"] * len(states))), len(states) - 1)

    def compute(replica):
        order = streams.generator("split", replica).permutation(len(states))
        training = states[order[held_out:]]
        return {
            "training_states": training,
            "test_states": states[order[:held_out]],
            "frequency": color_counts(training, len(alphabet)) / len(training),
        }

    dims = {
        "training_states": ("sample", "site"), "test_states": ("test_sample", "site"), "frequency": ("site", "color"),
    }  # fmt: skip
    return collect(spec, compute, dims)
