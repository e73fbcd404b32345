"""Variables of the cubes on Potts models with terms of two, three and more sites."""

from attention_limits.pipeline.base.registry import Coordinate

COORDINATES = (
    Coordinate(
        "order", "order of the terms", "q", "number of sites of a term; of the largest if lower orders are there"
    ),
    Coordinate("interaction", "order of interaction", "q", "number of sites"),
    Coordinate("depth", "layers of factored attention", "", "number"),
    Coordinate("half", "half of the chains", "", "1: from random colours; 2: from one colour"),
)

_NATS = "per site, natural logarithm"
_LOSS = "-(1/(M L)) sum_(m,i) log p(s_mi | s_m,-i)"
_STACKED = "x_j <- (x_j, u_j^2), u_j = sum_h sum_k A^h_jk W^h x_k"
_MODEL = "H = -sum_q sum_(terms of q sites) T_q[s_1, ..., s_q]"

FIELDS = (
    ("half_energy", ("half",), "mean energy of half of the chains", "", "per sequence", _MODEL),
    ("half_energy_error", ("half",), "standard error of this energy", "", "per sequence", "over the chains"),
    (
        "many_body_converged", (), "whether both halves of the chains have one mean energy",
        "", "true or false; within 4 standard errors", _MODEL,
    ),
    ("stacked_training_loss", ("epoch",), "training loss of stacked attention", "", f"{_NATS}, mean over the epoch", _STACKED),
    ("stacked_test_loss", ("epoch",), "test loss of stacked attention", "", _NATS, f"{_LOSS}, {_STACKED}"),
    ("stacked_optimal_loss", (), "loss of the true conditionals on the same test sequences", "", _NATS, _LOSS),
    (
        "stacked_independent_loss", (), "loss of independent sites on the same test sequences",
        "", _NATS, "site frequencies of the training set, half a count added",
    ),
    (
        "stacked_fraction", ("epoch", "interaction"), "share of the terms of one order that the logits contain",
        "", "1 if they are there, 0 if not; missing without terms", "<f, g> / <g, g>, logits f, true fields g, random colours",
    ),
    (
        "stacked_fraction_error", ("epoch", "interaction"), "standard error of this share over the random sequences",
        "", "as the share", "of a ratio of means",
    ),
    (
        "stacked_in_equilibrium", (), "whether the chains of the sequences have reached equilibrium",
        "", "true or false", "many_body_converged of the data",
    ),
)  # fmt: skip
