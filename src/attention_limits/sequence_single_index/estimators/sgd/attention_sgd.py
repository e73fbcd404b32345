"""SGD of a softmax attention layer on the positional-semantic target, from the uninformed start e = m = 0."""

import numpy as np

from attention_limits.sequence_single_index.estimators.sgd.runs import sgd_dataset
from attention_limits.sequence_single_index.sgd.fixed_students import AttentionProblem, attention


def run(spec, streams):
    """Escape steps, overlaps, and whether the semantic one is larger at the end (see `variables`)."""

    def simulate(point, schedule, generators):
        problem = AttentionProblem(point["a"], point["omega"], point["loss"])
        dimension, start = int(point["dimension"]), (0.0, 0.0)
        batch = int(point["batch"])
        return attention(problem, dimension, point["learning_rate"], start, schedule, generators, batch)

    observables = {"positional_overlap": lambda s, point: s[..., 0], "semantic_overlap": lambda s, point: s[..., 1]}
    found = sgd_dataset(spec, streams, simulate, lambda point: point["threshold"], observables)
    return found.assign(semantic=np.abs(found.semantic_overlap) > np.abs(found.positional_overlap))
