"""Variables of the thresholds of many models, and of exchangeable layers."""

from attention_limits.pipeline.base.registry import Coordinate, Variable

COORDINATES = (
    Coordinate("rank", "rank of a layer", "p", "count"),
    Coordinate("heads", "number of heads of a layer", "H", "count"),
)
VARIABLES: tuple[Variable, ...] = (
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
        "recovery_converged",
        (),
        "whether all fixed points of the search converged or were recovered",
        "",
        "true or false",
        "stopping rule of the iteration",
    ),
    Variable(
        "recovery_node_error",
        (),
        "error of the alpha of exact recovery from few nodes",
        "α_r",
        "samples per dimension, up to the width of the bracket; missing where half of the nodes have no recovery",
        "distance between the middles of the brackets on half of the nodes and on all",
    ),
)

# State evolution of exchangeable layers (exchangeable_layers).
_REDUCED = "Q = C - (C^-1 + Q_hat)^-1, Q_hat = alpha E sum_a g_a g_a^T, mean over the permutations of the layers l < L"
_UNIT = "in units of the prior variance of a weight"
VARIABLES += (
    Variable("shallow_overlap", (), "overlap of each layer before the last one with the teacher", "Q_ll", _UNIT, _REDUCED),
    Variable(
        "shallow_correlation", (), "overlap of two different layers before the last one", "Q_lk",
        f"{_UNIT}; zero where the sign of every layer is free", _REDUCED,
    ),
    Variable(
        "shallow_last_overlap", (), "overlap of a layer before the last one with the last one", "Q_lL",
        f"{_UNIT}; zero where the sign of every layer is free", _REDUCED,
    ),
    Variable("last_overlap", (), "overlap of the last layer with the teacher", "Q_LL", _UNIT, _REDUCED),
)  # fmt: skip

# Growth of the layers where the last one is learned (shallow_growth).
_HALVES = (
    "mean over the two halves of the nodes, a sampled channel with half as many too, minus the value on all; the sign is kept, "
    "because the mean over replicas is the error that they share"
)
_BLOCKS = "scatter of eight blocks of the nodes, which share the nodes of a sampled channel"
VARIABLES += (
    Variable(
        "branch_alpha", (), "alpha at which the last layer alone has the held overlap", "α",
        "samples per dimension, n / D", "Q_LL / (1 - Q_LL) = alpha E sum_a g_a^2, all other overlaps zero",
    ),
    Variable("branch_alpha_error", (), "standard error of this alpha, of one replica", "", "as this alpha", _BLOCKS),
    Variable("branch_alpha_node_error", (), "error of this alpha from few nodes", "", "as this alpha", _HALVES),
    Variable(
        "growth_factor", ("layer",), "factor by which a small overlap of a layer grows per iteration", "α F_ll",
        "above one the layer is learned; missing for the last layer and for layers there are none of; all layers on the same "
        "nodes", "alpha E sum_ab (E[h_la h_lb | y] - delta_ab)^2 at the overlap of the last layer",
    ),
    Variable(
        "growth_factor_error", ("layer",), "standard error of the growth factor, of one replica", "", "as the growth factor",
        _BLOCKS,
    ),
    Variable(
        "growth_factor_node_error", ("layer",), "error of the growth factor from few nodes", "", "as the growth factor", _HALVES,
    ),
)  # fmt: skip
