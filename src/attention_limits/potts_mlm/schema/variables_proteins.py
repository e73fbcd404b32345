"""Variables of the cubes on alignments of real proteins and RNA."""

from attention_limits.pipeline.base.registry import Coordinate

COORDINATES = (
    Coordinate(
        "heads",
        "attention heads",
        "H",
        "number; 0: fields alone; from C^2 on with free attention: full pseudo-likelihood",
    ),
    Coordinate("masked", "masked site", "i", "number of the kept column, from 1"),
    Coordinate("rank", "pairs of highest score", "k", "number"),
    Coordinate("bin", "two-site correlation of the alignment", "", "centre of the bin"),
    Coordinate("bin_other", "two-site correlation of generated sequences", "", "centre of the bin"),
)

_NATS = "per site, natural logarithm"
_COUNT = "count"
_PAIR = "p = softmax_a(h_i(a) + sum_(j != i, h) A^h_ij V^h[a, s_j])"
_LOSS = f"-(1/(W L)) sum_(m,i) w_m log p(s_mi | s_m,-i), {_PAIR}"
_WEIGHTED = "-(1/(W L)) sum_(m,i) w_m log p(s_mi | s_m,-i)"
_JOINT = "p = softmax_a(h_i(a) + sum_(j != i) J_ij(a, s_j)), J_ij(a, b) = J_ji(b, a)"
_ENCODER = "post-layer-norm encoder, one head"
_KNOWN_PAIRS = "pairs of known distance, separation as in the specification"
_UNSEEN = "sequences unlike all of training; w_m = 1 / number of similar test sequences"
_CONNECTED = "f_ij(a, b) - f_i(a) f_j(b), pairs i < j, weighted training sequences"
_SADDLE = "replica saddle point with the spectrum of the alignment"
_ONE_HOT = "squared error of a masked one-hot vector"

FIELDS = (
    ("sequences_read", (), "sequences in the file", "", _COUNT, "reader"),
    ("sequences_kept", (), "sequences that passed the filters", "M", _COUNT, "reader"),
    ("sequences_dropped_letters", (), "sequences dropped for letters outside of the alphabet", "", _COUNT, "reader"),
    ("sequences_dropped_gaps", (), "sequences dropped for their gaps", "", _COUNT, "reader"),
    ("columns_read", (), "match columns of the file", "", _COUNT, "reader"),
    ("columns_kept", (), "columns that passed the filter", "L", _COUNT, "reader"),
    ("other_letters", (), "letters outside of the alphabet in match columns", "", _COUNT, "reader"),
    ("insertions", (), "letters outside of the match columns, dropped", "", _COUNT, "reader"),
    ("column", ("site",), "number of the match column", "", "from 1, in the file", "reader"),
    ("gap_fraction", (), "fraction of gaps in the kept alignment", "", "of all letters", "count / (M L)"),
    (
        "effective_sequences", (), "effective number of kept sequences",
        "M_eff", "sum of the weights", "sum_m 1 / #{n: identity(m, n) >= threshold}",
    ),
    ("pair_distance", ("site", "site_other"), "known distance", "", "unit of the file; angstrom for the Kunitz domain", "file"),
    (
        "weighted_frequency", ("site", "color"), "weighted frequency of a colour",
        "f_i(a)", "adds up to 1", "sum_m w_m [s_mi = a] / W",
    ),
    ("pair_objective", ("start",), "regularised training loss", "", _NATS, "loss + half of the ridges times squared norms"),
    ("pair_training_loss", ("start",), "weighted training loss", "", _NATS, _LOSS),
    ("pair_test_loss", ("start",), "weighted test loss", "", f"{_NATS}; {_UNSEEN}", _LOSS),
    ("pair_gradient_norm", ("start",), "largest component of the gradient at the end", "", _NATS, "L-BFGS"),
    ("pair_iterations", ("start",), "iterations done", "", _COUNT, "L-BFGS"),
    ("pair_converged", ("start",), "whether the gradient reached the tolerance", "", "true or false", "L-BFGS"),
    ("pair_chosen", (), "start with the smallest objective", "", "number of the start", "argmin of the objective"),
    (
        "pair_agreeing_starts", (), "converged starts within 1e-4 nats of the smallest objective",
        "", "count; a convex fit stands for all its starts", "objective <= min + 1e-4",
    ),
    (
        "pair_confirmed", (), "whether two or more converged starts end at the smallest objective", "",
        "true or false; a convex fit has one minimum", "agreeing starts >= 2",
    ),
    ("pair_parameters", (), "number of parameters", "", _COUNT, _PAIR),
    (
        "independent_test_loss", (), "weighted test loss of independent sites",
        "", f"{_NATS}; {_UNSEEN}", "weighted site frequencies with the pseudo-count",
    ),
    ("effective_samples", (), "effective number of training sequences", "M_eff", "sum of the weights", "sequence weights"),
    ("effective_test_samples", (), "effective number of test sequences", "", f"sum of the weights; {_UNSEEN}", "weights"),
    (
        "contact_score", ("site", "site_other"), "contact score of the chosen start",
        "S", "zero-sum gauge, without the gap", "F_ij - F_i F_j / F, F_ij = ||J_ij||",
    ),
    (
        "precision", ("rank",), "fraction of contacts among the pairs of highest score",
        "", "pairs of known distance, separation as in the specification", "contacts / k",
    ),
    (
        "symmetric_objective", (), "regularised training loss of the joint fit",
        "", _NATS, "loss + half of the ridges times squared norms",
    ),
    ("symmetric_training_loss", (), "weighted training loss of the joint fit", "", _NATS, f"{_WEIGHTED}, {_JOINT}"),
    ("symmetric_test_loss", (), "weighted test loss of the joint fit", "", f"{_NATS}; {_UNSEEN}", f"{_WEIGHTED}, {_JOINT}"),
    ("symmetric_gradient_norm", (), "largest component of the gradient at the end", "", _NATS, "L-BFGS"),
    ("symmetric_converged", (), "whether the gradient reached the tolerance", "", "true or false; one minimum", "L-BFGS"),
    (
        "symmetric_contact_score", ("site", "site_other"), "contact score of the joint fit",
        "S", "zero-sum gauge, without the gap", "F_ij - F_i F_j / F, F_ij = ||J_ij||",
    ),
    ("symmetric_precision", ("rank",), "precision of the joint fit", "", _KNOWN_PAIRS, "contacts / k"),
    (
        "encoder_training_loss", ("epoch",), "training loss of a transformer",
        "", "per masked site, natural logarithm, sequences drawn with their weights, mean over the epoch", _ENCODER,
    ),
    (
        "encoder_test_loss", ("epoch",), "weighted test loss of a transformer",
        "", f"{_NATS}; {_UNSEEN}", f"{_WEIGHTED}, {_ENCODER}",
    ),
    (
        "encoder_contact_score", ("site", "site_other"), "contact score of a transformer",
        "S", "zero-sum gauge, without the gap", "F_ij - F_i F_j / F of the mean response of log p_i(a) to the letter of site j",
    ),
    ("encoder_precision", ("rank",), "precision of these scores", "", _KNOWN_PAIRS, "contacts / k"),
    (
        "encoder_attention_precision", ("rank",), "precision of the attention of a transformer",
        "", _KNOWN_PAIRS, "A_ij + A_ji of the final two layers, average product correction",
    ),
    (
        "training_frequency", ("site", "color"), "weighted frequency of a colour in the training sequences",
        "f_i(a)", "adds up to 1", "sum_m w_m [s_mi = a] / W",
    ),
    ("generated_frequency", ("site", "color"), "frequency of a colour in generated sequences", "", "adds up to 1", "count / n"),
    (
        "pair_histogram", ("bin", "bin_other"), "pairs of sites and colours by their correlation in alignment and model",
        "", "count; the outermost bins hold what lies beyond", _CONNECTED,
    ),
    *(
        field
        for name, sets in (("generated", "generated and training"), ("held_out", "test and training"))
        for sites, what, source in (("site", "site frequencies", "f_i(a)"), ("pair", "two-site correlations", _CONNECTED))
        for field in (
            (f"{name}_{sites}_correlation", (), f"Pearson correlation of {what}, {sets} sequences", "", "-1 to 1", source),
            (f"{name}_{sites}_slope", (), f"slope of {what}, {sets} sequences", "", "1 if equal", source),
        )
    ),
    (
        "generated_converged", (), "whether chains from random colours and from the alignment have one mean energy",
        "", "true or false; within 4 standard errors", "-sum_i h_i(s_i) - sum_(i<j) J_ij(s_i, s_j)",
    ),
    ("fit_converged", (), "whether the fit reached the tolerance", "", "true or false", "L-BFGS"),
    (
        "fit_confirmed", (), "whether two or more converged starts of the fit end at the smallest objective", "",
        "true or false; a convex fit has one minimum", "agreeing starts >= 2",
    ),
    ("spectrum_generalization_error", (), "predicted generalisation error", "e_g", _ONE_HOT, _SADDLE),
    ("spectrum_training_error", (), "predicted training error", "e_t", _ONE_HOT, _SADDLE),
    (
        "alignment_generalization_error", (), "measured generalisation error, distinct training sequences",
        "e_g", _ONE_HOT, "D + tr (W - Theta)^T Sigma (W - Theta)",
    ),
    ("alignment_training_error", (), "measured training error", "e_t", _ONE_HOT, "mean |y - W^T x|^2"),
    (
        "gaussian_generalization_error", (), "generalisation error of independent Gaussian sequences",
        "e_g", f"{_ONE_HOT}; covariance, teacher and noise of the alignment", "D + tr (W - Theta)^T Sigma (W - Theta)",
    ),
    (
        "gaussian_training_error", (), "training error of independent Gaussian sequences",
        "e_t", f"{_ONE_HOT}; covariance, teacher and noise of the alignment", "mean |y - W^T x|^2",
    ),
    (
        "finite_gaussian_generalization_error", (), "generalisation error in a finite population of Gaussian sequences",
        "e_g", f"{_ONE_HOT}; size, weights, draws, covariance, teacher and noise of the alignment",
        "D + tr (W - Theta)^T Sigma (W - Theta)",
    ),
    (
        "finite_gaussian_training_error", (), "training error in a finite population of Gaussian sequences",
        "e_t", f"{_ONE_HOT}; size, weights, draws, covariance, teacher and noise of the alignment", "mean |y - W^T x|^2",
    ),
    ("distinct_sequences", (), "distinct sequences of the population", "", _COUNT, "kept columns alone"),
    ("masked_noise", (), "error of the best linear prediction", "D", _ONE_HOT, "mean |y - Theta^T x|^2 in the population"),
    ("masked_variance", (), "variance of the masked site", "", _ONE_HOT, "1 - sum_a f_i(a)^2"),
    ("inputs", (), "inputs of the regression", "p", _COUNT, "(L - 1) C"),
    ("directions", (), "directions in which the inputs vary", "", _COUNT, "eigenvalues above 1e-10 of the largest"),
)  # fmt: skip
