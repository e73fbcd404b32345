"""A random split divides an alignment into training and test sequences; one replica is one split."""

from attention_limits.pipeline.base.user_files import user_file
from attention_limits.pipeline.cubes.points import collect
from attention_limits.potts_mlm.attention.training_sets import sites_from_one
from attention_limits.potts_mlm.potts.gibbs import color_counts
from attention_limits.potts_mlm.proteins.alignment import Alphabet, held_out, read_alignment

_DIMS = {
    "training_states": ("sample", "site"), "test_states": ("test_sample", "site"), "frequency": ("site", "color"),
    "column": ("site",),
}  # fmt: skip
COUNTS = (
    "sequences_read", "sequences_dropped_letters", "sequences_dropped_gaps", "columns_read", "other_letters", "insertions",
)  # fmt: skip


def run(spec, streams):
    """Training and test sequences, frequencies of the training sequences, and the counts of the reader (see `variables`)."""
    model, solver = spec["model"], spec["solver"]
    alphabet = Alphabet(model["alphabet"])
    found = read_alignment(user_file(spec["project"], model["alignment"]), alphabet, solver)
    test = held_out(len(found.states), solver.test_fraction)

    def compute(at, replica):
        order = streams.generator("split", replica).permutation(len(found.states))
        training = found.states[order[test:]]
        return {
            "training_states": training,
            "test_states": found.states[order[:test]],
            "frequency": color_counts(training, len(alphabet.letters)) / len(training),
            "column": found.columns,
            **{name: getattr(found, name) for name in COUNTS},
        }

    return sites_from_one(collect(spec, compute, _DIMS))
