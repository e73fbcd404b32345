"""Variables of the Potts and masked-language-modelling family."""

from attention_limits.pipeline.base.registry import Coordinate, Variable
from attention_limits.potts_mlm.schema import variables_many_body, variables_proteins, variables_training

SOURCE = (
    "Rende, Gerace, Laio, Goldt 2024, Mapping of attention mechanisms to a generalized Potts model, Phys. Rev. Research 6, "
    "023057, arXiv:2304.07235"
)

COORDINATES = (
    Coordinate(
        "distance", "target of the mean Hamming distance", "d_H", "fraction of sites at which two sequences differ"
    ),
    Coordinate("samples", "training sequences", "M", "number"),
    Coordinate(
        "ridge", "ridge", "λ", "weight of the squared parameters (factored attention); X^T X + λ (L - 1) (Gaussian)"
    ),
    Coordinate("mixing", "weight of the colour in the attention's input", "a", "x_j = a s_j + (1 - a) p_j"),
    Coordinate("layers", "encoder layers", "", "number"),
    Coordinate("gamma", "diagonal of the precision matrix", "γ", "K = γ + W, spectrum of W from -2 to 2"),
    Coordinate("alpha", "samples per input", "α", "M / (L - 1)"),
    Coordinate("attention", "kind of attention", "", "raw: A itself; softmax: A_ij = softmax_j(W_ij)"),
    Coordinate("start", "random start", "", "number, from 0"),
    Coordinate("optimizer", "optimiser", "", "sgd: no momentum; adam"),
    Coordinate("epoch", "epoch", "", "passes through the training sequences"),
    Coordinate("run", "independent run", "", "1: training sequences; 2: test sequences"),
    Coordinate("chain", "single chain", "", "number, from 0"),
    Coordinate("learned_chain", "single chain that attention learns from", "", "number, from 0"),
    Coordinate("sample", "training sequence", "m", "number, from 0, in the order of the run"),
    Coordinate("test_sample", "test sequence", "m", "number, from 0, in the order of the run"),
    Coordinate("site", "site", "i", "position in the sequence, from 1"),
    Coordinate("site_other", "other site", "j", "position in the sequence, from 1"),
    Coordinate("color", "colour", "a", "number, from 0"),
    Coordinate("color_other", "colour of the other site", "b", "number, from 0"),
    *variables_proteins.COORDINATES,
    *variables_many_body.COORDINATES,
)

_MODEL = "H = -1/2 sum_(i != j) J_ij U[s_i, s_j], P = exp(-beta H) / Z"
_LOSS = "-(1/(M L)) sum_(m,i) log p(s_mi | s_m,-i)"
_FACTORED = "p = softmax_a(sum_(j != i) A_ij V[a, s_j])"
_MIXED = "scores x_i^T Q^T K x_j with x_j = a s_j + (1 - a) p_j, values V s_j"
_NATS = "per site, natural logarithm"
_PRECISION = "as many pairs as contacts; missing without a contact map"
_FRACTION = "fraction of the sites"
_REPLICA = "closed form of the replica saddle point: lambda z + z g(gamma + z) = alpha"
_START = ("attention", "start")
_SITES = ("site", "site_other")
_AGREE = "count; with fewer than two, only one start has found the minimum"
_CONFIRMED = (
    "whether two or more converged starts end at the smallest objective",
    "",
    "true or false",
    "agreeing starts >= 2",
)

_DATA = (
    ("training_states", ("sample", "site"), "training sequences", "s", "colours from 0", _MODEL),
    ("test_states", ("test_sample", "site"), "test sequences", "s", "colours from 0", _MODEL),
    (
        "frequency", ("site", "color"), "frequency of a colour among the training sequences",
        "f_i(a)", "adds up to 1", "count / M",
    ),
    ("couplings", _SITES, "couplings of sites", "J", "unit variance (gaussian), 0 or 1 (contact)", _MODEL),
    ("color_couplings", ("color", "color_other"), "couplings of colours", "U", "unit variance (gaussian)", _MODEL),
    ("beta", (), "inverse temperature", "β", "in inverse units of J U", "interpolation of the tempered d_H between brackets"),
    ("beta_error", (), "standard error of the inverse temperature", "", "as beta", "error of d_H over its slope"),
    ("rungs", (), "temperatures of the ladder", "", "count", "equal rejection from beta = 0 to beta"),
    ("swap_rate", (), "smallest accepted fraction of exchanges", "", "0 to 1", "min(1, exp((beta - beta') (E - E')))"),
    (
        "hamming", ("run",), "mean Hamming distance",
        "d_H", _FRACTION, "(1/L) sum_i [1 - sum_a n_ia (n_ia - 1) / (n (n - 1))]",
    ),
    (
        "hamming_error", ("run",), "standard error of the Hamming distance",
        "", _FRACTION, "jackknife over 20 blocks of the run",
    ),
    (
        "hamming_cross", (), "mean Hamming distance between the runs",
        "", _FRACTION, "in equilibrium it equals the distance within a run",
    ),
    (
        "autocorrelation", ("run",), "integrated autocorrelation time",
        "τ", "in saved configurations; 1 if independent", "1 + 2 sum_t rho(t)",
    ),
    (
        "r_hat", (), "split R-hat of both runs",
        "", "1 in equilibrium", "the larger of two: energy, overlap with the commonest colours",
    ),
    (
        "distance_converged", (), "whether the distance meets its target",
        "", "true or false", "mean over the runs within the tolerance plus 3 standard errors",
    ),
    (
        "sample_converged", (), "whether both runs agree",
        "", "true or false", "R-hat below its bound, distances within 4 errors",
    ),
    ("optimal_loss", (), "loss of the true conditionals on the test sequences", "", _NATS, _LOSS),
)  # fmt: skip
_PER_CHAIN = ("attention", "learned_chain")
_CHAINS = (
    (
        "chain_hamming", ("chain",), "mean Hamming distance within a single chain",
        "d_H", _FRACTION, "(1/L) sum_i [1 - sum_a n_ia (n_ia - 1) / (n (n - 1))]",
    ),
    ("chain_hamming_error", ("chain",), "standard error of this distance", "", _FRACTION, "jackknife over 20 blocks"),
    (
        "chain_cross", ("chain",), "mean Hamming distance between a single chain and the tempered run",
        "", _FRACTION, "in equilibrium it equals the distance within a chain",
    ),
    ("chain_energy", ("chain",), "mean energy per site of a single chain", "", "units of J U", "H / L"),
    ("tempered_energy", (), "mean energy per site of the tempered test sequences", "", "units of J U", "H / L"),
    (
        "chain_r_hat", (), "split R-hat of all single chains",
        "", "1 in equilibrium; missing if nothing moves", "the larger of two: energy, overlap with the commonest colours",
    ),
    (
        "chains_converged", (), "whether the single chains agree; a frozen instance has 0",
        "", "true or false", "R-hat below its bound",
    ),
    (
        "chain_site_error", _PER_CHAIN, "error of the attention that learned from one chain",
        "err_J", "0 exact, 1 orthogonal", "sqrt(1 - cos^2(A, J))",
    ),
    (
        "chain_precision", _PER_CHAIN, "precision of the attention that learned from one chain",
        "", _PRECISION, "true contacts among the largest |A_ij + A_ji|",
    ),
    ("chain_fit_converged", _PER_CHAIN, "whether the gradient reached the tolerance", "", "true or false", "L-BFGS"),
    ("chain_fit_confirmed", _PER_CHAIN, *_CONFIRMED),
)  # fmt: skip
_LEARNING = (
    ("objective", _START, "regularised training loss", "", _NATS, "loss + (lambda / 2) (||A||^2 + ||V||^2)"),
    ("training_loss", _START, "training loss", "", _NATS, f"{_LOSS}, {_FACTORED}"),
    ("test_loss", _START, "test loss", "", _NATS, f"{_LOSS}, {_FACTORED}"),
    ("site_error", _START, "error of the attention", "err_J", "0 exact, 1 orthogonal", "sqrt(1 - cos^2(A, J))"),
    (
        "full_error", _START, "error of the couplings",
        "err_full", "of the true norm", "||A x V_c - beta J x U_c|| / ||beta J x U_c||",
    ),
    ("site_precision", _START, "precision of the attention", "", _PRECISION, "true contacts among the largest |A_ij + A_ji|"),
    ("gradient_norm", _START, "largest component of the gradient at the end", "", _NATS, "L-BFGS"),
    ("iterations", _START, "iterations done", "", "count", "L-BFGS"),
    ("converged", _START, "whether the gradient reached the tolerance", "", "true or false", "L-BFGS"),
    ("chosen", ("attention",), "start with the smallest objective", "", "number of the start", "argmin of the objective"),
    (
        "agreeing_starts", ("attention",), "converged starts within 1e-4 nats of the smallest objective",
        "", _AGREE, "objective <= min + 1e-4",
    ),
    ("confirmed", ("attention",), *_CONFIRMED),
    ("excess_loss", ("attention",), "test loss of the chosen start above the optimal one", "", _NATS, "paired by test sequence"),
    (
        "excess_error", ("attention",), "standard error of the excess loss over test sequences",
        "", _NATS, "sample standard deviation / sqrt(n)",
    ),
    (
        "attention_map", ("attention", "site", "site_other"), "attention of the chosen start",
        "A", "free up to a factor", _FACTORED,
    ),
    ("value_map", ("attention", "color", "color_other"), "values of the chosen start", "V", "free up to a factor", _FACTORED),
    (
        "independent_loss", (), "test loss of independent sites",
        "", _NATS, "site frequencies of the training set, half a count added",
    ),
    ("mixed_objective", _START, "regularised training loss", "", _NATS, "loss + (lambda / 2) (||S||^2 + ||V||^2)"),
    ("mixed_iterations", _START, "iterations done", "", "count", "L-BFGS"),
    (
        "mixed_agreeing_starts", ("attention",), "converged starts within 1e-4 nats of the smallest objective",
        "", _AGREE, "objective <= min + 1e-4",
    ),
    ("mixed_confirmed", ("attention",), *_CONFIRMED),
    ("mixed_training_loss", _START, "training loss", "", _NATS, f"{_LOSS}, {_MIXED}"),
    ("mixed_test_loss", _START, "test loss", "", _NATS, f"{_LOSS}, {_MIXED}"),
    ("mixed_gradient_norm", _START, "largest component of the gradient at the end", "", _NATS, "L-BFGS"),
    ("mixed_converged", _START, "whether the gradient reached the tolerance", "", "true or false", "L-BFGS"),
    ("mixed_chosen", ("attention",), "start with the smallest objective", "", "number of the start", "argmin of the objective"),
)  # fmt: skip
_GAUSSIAN = (
    ("generalization_error", (), "generalisation error", "e_g", "squared error of a masked site", _REPLICA),
    ("training_error", (), "training error", "e_t", "squared error of a masked site", "e_g / (1 + V)^2"),
    ("overlap", (), "overlap of estimate and teacher", "m", "v Sigma theta", _REPLICA),
    ("norm", (), "norm of the estimate", "q", "v Sigma v", _REPLICA),
    ("variance", (), "response", "V", "tr Sigma (lambda + V_hat Sigma)^-1 / (L - 1)", _REPLICA),
    ("optimal_ridge", (), "best ridge: smallest generalisation error", "λ*", "as ridge", "minimum over lambda"),
    ("optimal_error", (), "generalisation error at the best ridge", "", "squared error of a masked site", _REPLICA),
    (
        "simulated_generalization_error", (), "generalisation error, simulated",
        "e_g", "exact given the estimate", "D + (v - theta) Sigma (v - theta)",
    ),
    ("realised_samples", (), "training sequences of the simulation", "M", "count", "max(1, round(alpha (L - 1)))"),
    ("realised_alpha", (), "samples per input of the simulation", "α", "M / (L - 1)", "realised_samples / (L - 1)"),
    ("simulated_training_error", (), "training error, simulated", "e_t", "squared error of a masked site", "mean (y - X v)^2"),
)  # fmt: skip

_OTHERS = (*variables_training.FIELDS, *variables_proteins.FIELDS, *variables_many_body.FIELDS)
VARIABLES = tuple(Variable(*fields) for fields in (*_DATA, *_CHAINS, *_LEARNING, *_GAUSSIAN, *_OTHERS))
