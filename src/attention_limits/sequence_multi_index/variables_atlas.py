"""Variables of the thresholds of many models."""

from attention_limits.pipeline.registry import Coordinate, Variable

COORDINATES = (
    Coordinate("rank", "rank of a layer", "p", "count"),
    Coordinate("heads", "number of heads of a layer", "H", "count"),
)
VARIABLES = (
    Variable(
        "learnt",
        ("step", "layer"),
        "layers learned at a threshold",
        "",
        "shares of the layers, of sum one; missing for layers and steps there are none of",
        "trace of the leading eigenmatrix of F_rest over the rows of a layer",
    ),
    Variable(
        "overlap_before",
        ("step", "layer"),
        "mean overlap of the rows of a layer at a threshold",
        "Q_l",
        "in units of the prior variance of a weight",
        "fixed point of the branch at the threshold",
    ),
    Variable(
        "recovery_below",
        (),
        "largest alpha without exact recovery",
        "α_r",
        "samples per dimension, n / D; missing where there is no recovery up to the largest alpha tried",
        "max_l 1 - Q_ll > 1e-3 at the fixed point from the uninformed start",
    ),
    Variable(
        "recovery_above",
        (),
        "smallest alpha with exact recovery",
        "α_r",
        "samples per dimension, n / D; missing where there is no recovery up to the largest alpha tried",
        "max_l 1 - Q_ll <= 1e-3 at the fixed point from the uninformed start",
    ),
    Variable(
        "recovery_resolved",
        (),
        "whether all fixed points of the search converged or were recovered",
        "",
        "true or false",
        "stopping rule of the iteration",
    ),
)
