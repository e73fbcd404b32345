"""Transformer encoders trained on an alignment with sequence weights, and their contacts; one replica is one split."""

from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np

from attention_limits.pipeline.cubes.points import collect, points
from attention_limits.potts_mlm.attention.training_sets import sites_from_one, training_set
from attention_limits.potts_mlm.descent.epochs import evaluated_epochs
from attention_limits.potts_mlm.potts.contacts import contact_scores, corrected, found_precision, joint_model
from attention_limits.potts_mlm.proteins.alignment import Alphabet
from attention_limits.potts_mlm.proteins.statistics import sequence_weights, unseen_weights
from attention_limits.potts_mlm.transformer.transformer import Schedule, Shape, final_attention, mean_couplings, train

_DIMS = {
    "encoder_training_loss": ("epoch",),
    "encoder_test_loss": ("epoch",),
    "encoder_contact_score": ("site", "site_other"),
    "encoder_precision": ("rank",),
    "encoder_attention_precision": ("rank",),
}


def run(spec, streams):
    """Losses by epoch; scores and precision at the end, from the responses to single letters and from the attention.

    The test loss weights the first `test_sequences` sequences of the test set as `multihead_attention` weights all of them. The
    attention of the final two layers is made symmetric and corrected as the norms of couplings are. All trainings of a job run
    side by side on its threads.
    """
    solver = spec["solver"]
    gap = Alphabet(spec["reads"]["model"]["alphabet"]).gap

    def job(at, replica):
        data = spec["data"](replica, **at)
        sequences = training_set(streams, data, replica, at, int(at["samples"]))
        shape = Shape(sequences.shape[1], data.sizes["color"], int(at["layers"]), solver.width, solver.hidden)
        schedule = Schedule("adam", solver.learning_rate, solver.batch, solver.epochs, solver.evaluations)
        test = data.test_states.values[: solver.test_sequences]
        weights = sequence_weights(sequences, solver.identity)
        done = train(shape, sequences, test, streams.generator("training", replica), schedule, weights)
        return done, mean_couplings(done.parameters, shape, data.test_states.values[: solver.references])

    def compute(at, replica):
        data = spec["data"](replica, **at)
        done, couplings = next(trainings)
        test = data.test_states.values[: solver.test_sequences]
        unseen = unseen_weights(test, data.training_states.values, solver.identity)
        no_fields = np.zeros((len(couplings), couplings.shape[2]))
        scores = contact_scores(joint_model(no_fields, couplings)[1], gap)
        looks = final_attention(done.attention[-1])
        return {
            "encoder_training_loss": done.training_loss,
            "encoder_test_loss": done.losses @ unseen / unseen.sum()
            if unseen.any()
            else np.full(len(done.losses), np.nan),
            "encoder_contact_score": scores,
            "encoder_precision": found_precision(spec, data, scores),
            "encoder_attention_precision": found_precision(spec, data, corrected(looks + looks.T)),
        }

    coordinates = {
        "epoch": evaluated_epochs(solver.epochs, solver.evaluations),
        "rank": np.arange(1, solver.ranks + 1),
    }
    with ThreadPoolExecutor(numba.get_num_threads()) as pool:
        trainings = pool.map(lambda point: job(*point), points(spec))
        return sites_from_one(collect(spec, compute, _DIMS, coordinates))
