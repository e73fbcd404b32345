"""One pass of stochastic gradient descent on the empirical risk; one replica is one data set."""

from attention_limits.sequence_multi_index.erm.minimisation import one_pass
from attention_limits.sequence_multi_index.erm.task import collect_fits


def run(spec, streams):
    """Overlaps, training objective and test errors after the pass (see `variables`)."""
    rate = spec["solver"].learning_rate

    def fit(training):
        data, (start,) = training.data, training.starts
        return one_pass(training.task.loss, data.outputs, data.sequences, training.ridge, start, rate), {}

    return collect_fits(spec, streams, fit)
