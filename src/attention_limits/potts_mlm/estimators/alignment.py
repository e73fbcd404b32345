"""A random split divides an alignment into training and test sequences; one replica is one split."""

from pathlib import Path

from attention_limits.pipeline.points import collect
from attention_limits.potts_mlm.alignment import held_out, read_alignment
from attention_limits.potts_mlm.gibbs import color_counts
from attention_limits.potts_mlm.sequences import sites_from_one

_DIMS = {
    "training_states": ("sample", "site"), "test_states": ("test_sample", "site"), "frequency": ("site", "color"),
}  # fmt: skip


def run(spec, streams):
    """Training and test sequences, and the frequencies of the training sequences (see `variables`)."""
    alphabet = spec["model"]["alphabet"]
    states = read_alignment(Path(spec["project"]) / spec["model"]["alignment"], alphabet).states
    test = held_out(len(states), spec["solver"]["test_fraction"])

    def compute(at, replica):
        order = streams.generator("split", replica).permutation(len(states))
        training = states[order[test:]]
        return {
            "training_states": training,
            "test_states": states[order[:test]],
            "frequency": color_counts(training, len(alphabet)) / len(training),
        }

    return sites_from_one(collect(spec, compute, _DIMS))
