"""One run of matrix AMP at a point of a grid, as the estimators of it store it."""

import numpy as np

from attention_limits.attention_indexed.amp.fresh_data import fresh_errors
from attention_limits.attention_indexed.amp.matrix_amp import AmpRun, Dataset, draw_dataset
from attention_limits.attention_indexed.amp.matrix_amp import run as iterate
from attention_limits.attention_indexed.channels.protocol import Posterior
from attention_limits.attention_indexed.model.scores import effective_side
from attention_limits.attention_indexed.model.sizes import sizes
from attention_limits.attention_indexed.priors.prior import Prior

# Variables along the iterations; their length is the largest number of iterations.
ALONG = dict.fromkeys(("mmse_by_iteration", "predicted_by_iteration", "residual_by_iteration"), ("iteration",))


def amp_point(
    channel: Posterior, prior: Prior, point, dimension: int, solver, streams, replica: int, at
) -> tuple[Dataset, AmpRun, dict]:
    """The data, the run and its variables.

    Parameters
    ----------
    channel : protocol.Posterior
    prior : prior.Prior
        The law of S; the data have that of the realised width ratio.
    point : mapping
        Parameters of the model and of the grid by name.
    dimension : int
        d.
    solver : schema.keys.FreshIteration
    streams : pipeline.streams.Streams
    replica : int
    at : mapping
        The values of the grid that name the streams.
    """
    size, steps = sizes(point["alpha"], point["ratio"], dimension), solver.max_iterations
    data = draw_dataset(channel, size, streams.generator("data", replica, **at), prior.realised(size))
    found = iterate(channel, data, solver)
    plug_in, bayes = fresh_errors(
        channel, data.teacher, found.estimate, found.variance[found.best], solver.fresh_sequences,
        streams.generator("fresh", replica, **at),
    )  # fmt: skip

    side = effective_side(data.teacher)
    trace, square = np.trace(data.teacher) / side, np.sum(data.teacher**2) / side
    of_trace, of_square = data.prior.traces(size)

    def along(values):
        return np.concatenate([values, np.full(steps - len(values), np.nan)])

    variables = {
        "mmse": found.error[found.best],
        "mmse_predicted": found.variance[found.best],
        **found.end(),
        **size.realised(side),
        "trace_excess": trace - of_trace,
        "square_excess": square - of_square,
        "mmse_by_iteration": along(found.error),
        "predicted_by_iteration": along(found.variance),
        "residual_by_iteration": along(found.residual),
        "error_plug_in": plug_in,
        "error_bayes": bayes,
    }
    return data, found, variables
