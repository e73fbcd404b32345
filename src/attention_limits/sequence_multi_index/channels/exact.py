"""Which links need no sampling, and their posterior moments: finite sums, and outputs of one or two fields.

The channel is that of generalised AMP (Rangan 2011); each method has its own module.
"""

import numpy as np

from attention_limits.sequence_multi_index.channels.half_line import half_line_moments
from attention_limits.sequence_multi_index.channels.intervals import interval_moments
from attention_limits.sequence_multi_index.channels.one_field import one_field_moments
from attention_limits.sequence_multi_index.channels.sampling.importance import fibre_moments
from attention_limits.sequence_multi_index.channels.sectors import sector_moments
from attention_limits.sequence_multi_index.links.intervals import Intervals, intervals_of
from attention_limits.sequence_multi_index.links.link import (
    FINITE_SUM,
    HALF_LINE,
    INTERVALS,
    ONE_FIELD,
    SAMPLING,
    SECTORS,
    Link,
    inference,
)
from attention_limits.sequence_multi_index.links.sectors import Sectors, sectors_of

# Of the link, the cells of its outputs, outputs, omega and V: (log Z, mean, second moments, effective sample size).
EXACT = {
    FINITE_SUM: lambda link, cells, *given: fibre_moments(link, *given, np.zeros((1, 0))),
    HALF_LINE: lambda link, cells, *given: half_line_moments(*given),
    SECTORS: lambda link, cells, *given: sector_moments(cells, *given),
    INTERVALS: lambda link, cells, *given: interval_moments(cells, *given),
    ONE_FIELD: lambda link, cells, *given: one_field_moments(link, *given),
}


def without_sampling(link: Link) -> tuple[str, Sectors | Intervals | None]:
    """The best method for a link whose own one is importance sampling, and the cells of its outputs if the method reads them."""
    # The likelihood of spikes is no indicator of cells.
    for method, cells_of in ((SECTORS, sectors_of), (INTERVALS, intervals_of)) if not hasattr(link, "spikes") else ():
        if (cells := cells_of(link)) is not None:
            return method, cells
    # The narrow cells of a noiseless output could lie between the points of a quadrature.
    one_field = link.rows * link.tokens == 1 and inference(link) == "likelihood" and link.noise_dimension > 0
    return (ONE_FIELD if one_field else SAMPLING), None
