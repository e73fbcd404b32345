"""One pass of stochastic gradient descent on the empirical risk; one replica is one data set."""

from attention_limits.sequence_multi_index.erm.minimisation import one_pass
from attention_limits.sequence_multi_index.erm.task import collect_fits


def run(spec, streams):
    """Overlaps, training objective and test errors after the pass (see `variables`)."""
    rate = spec["solver"].learning_rate

    def fit(loss, outputs, sequences, ridge, start, _):
        return one_pass(loss, outputs, sequences, ridge, start, rate), {}

    return collect_fits(spec, streams, fit)
