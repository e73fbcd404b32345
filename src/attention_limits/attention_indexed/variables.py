"""Variables of the attention-indexed family."""

from attention_limits.attention_indexed.schema import variables_erm as erm
from attention_limits.pipeline.base.registry import Coordinate, Variable

SOURCE = (
    "Boncoraglio, Troiani, Erba, Zdeborova 2025, Bayes optimal learning of attention-indexed models, arXiv:2506.01582"
)

COORDINATES = (
    Coordinate(
        "alpha", "samples per squared dimension", "α", "n / d^2: number of sequences over the dimension squared"
    ),
    Coordinate("ratio", "width ratio", "ρ", "r / d: width of the attention over the dimension of a token"),
    Coordinate("tokens", "sequence length", "M", "number of tokens"),
    Coordinate("output_noise", "output noise", "Δ", "variance of the noise on every entry of the output"),
)

_ERROR = "||S - S_hat||_F^2 / d: 1 for the prior mean S_hat = sqrt(rho) I (untied: 0), 0 exact"

# Theory (state_evolution, small_width_limit).
COORDINATES += (
    Coordinate(
        "rescaled_alpha", "samples per dimension and width", "ᾱ", "n / (d r) = alpha / rho; the limit at rho = 0"
    ),
)
COORDINATES += (Coordinate("denoising_noise", "noise of the matrix", "D", "S + sqrt(D) Z, Z_ij of variance 1 / d"),)
VARIABLES = (
    Variable(
        "mmse",
        (),
        "error of the estimate",
        "mmse",
        _ERROR,
        "theory: V = mmse(D), 1/D = alpha information(V), of the largest D; AMP: last iteration, or the one of the smallest "
        "residual where it did not converge; samples: tr (S_1 - S)(S_2 - S) / d",
    ),
    Variable(
        "mmse_error",
        (),
        "bound on the error of the theory",
        "",
        "as the error; zero where the information of the channel is exact; not zero for the hardmax of more than two tokens, "
        "with noise and for channels of a file; missing, as the error, where the information is at a V on the way to it",
        "largest change of the mmse to that at alpha (1 - u) and alpha (1 + u), u the relative uncertainty of the information",
    ),
    Variable("noise", (), "noise of the equivalent denoising of S", "D", "variance of d Z_ij^2, a != b", "1 / q_hat"),
    Variable(
        "mmse_informed",
        (),
        "error of the estimate, started at the teacher",
        "mmse_inf",
        _ERROR,
        "V = mmse(D), 1/D = alpha information(V), the solution of the smallest D",
    ),
    Variable(
        "mmse_informed_error", (), "bound on the error of the informed theory", "", "as mmse_error", "as mmse_error"
    ),
    Variable(
        "noise_informed",
        (),
        "noise of the equivalent denoising of S, started at the teacher",
        "D_inf",
        "as noise",
        "1 / q_hat",
    ),
    Variable(
        "unique",
        (),
        "whether the uninformed and the informed solution are one",
        "",
        "true or false; false also where the uncertain information leaves it open",
        "alpha(D) = 1 / (D information(mmse(D))) takes the value alpha once; then the error of a posterior is Bayes-optimal",
    ),
    Variable(
        "recovery_threshold",
        (),
        "samples at which the error becomes zero",
        "α_rec",
        "n / d^2, the same at all alpha; infinite where outputs are discrete; of the informed solution where it is not unique",
        "one layer: 2 nu / K, K counts both entries of a symmetric pair; L layers: L nu / D, D = M (M + 1) / 2 - 1; as many "
        "equations as parameters",
    ),
    Variable(
        "informed_begin",
        (),
        "smallest samples with several solutions",
        "",
        "n / d^2, the same at all alpha; missing where the solution is unique everywhere",
        "smallest alpha(D) that follows a larger one on the way to small D",
    ),
    Variable(
        "uninformed_end",
        (),
        "largest samples with several solutions: the threshold of message passing",
        "α_alg",
        "n / d^2, the same at all alpha; missing where the solution is unique everywhere",
        "largest alpha(D) that a smaller one follows on the way to small D",
    ),
    Variable(
        "mmse_tail",
        (),
        "leading error at large alpha",
        "",
        f"{_ERROR}; hardmax only",
        "(1 + rho) (2 nu / (C alpha))^2, C the information of ties",
    ),
    Variable(
        "weak_threshold",
        (),
        "samples above which something is learned, at rho = 0",
        "ᾱ_w",
        "n / (d r)",
        "1 / information(1, 1)",
    ),
)

# Phases of one layer (phase_comparison).
COORDINATES += (
    Coordinate("branch", "stable solution", "k", "number of the stable solution, from 1, in order of falling error"),
)
_NATS = "nats per d^2; S has d^2 / 2 free entries, where attention is untied d^2"
_NO_RANGE = "missing without a range of hard learning"
VARIABLES += (
    Variable(
        "mmse_by_branch", ("branch",), "error of each stable solution", "V_k",
        f"{_ERROR}; the first four, missing beyond", "V = mmse(D), 1/D = alpha information(V), alpha(D) falls with D",
    ),
    Variable("noise_by_branch", ("branch",), "noise of the denoising of each solution", "D_k", "as noise", "1 / q_hat"),
    Variable(
        "free_entropy_by_branch", ("branch",), "free entropy of each stable solution", "F_k", "as the free entropy",
        "F(V_k) = c int_V^1 information(v) (alpha - alpha(v)) dv, c = 1/4, untied 1/2",
    ),
    Variable(
        "free_entropy_by_branch_error", ("branch",), "bound on the error of the free entropy of each solution", "",
        "as the free entropy", "alpha c int_V^1 u information dv, u the relative uncertainty of the information",
    ),
    Variable("mmse_bayes", (), "Bayes-optimal error", "mmse", _ERROR, "V of the solution of largest free entropy"),
    Variable(
        "mmse_bayes_error", (), "bound on the Bayes-optimal error", "",
        "as the error; within the error of the information-theoretic threshold it holds the jump", "as mmse_error",
    ),
    Variable("solutions", (), "number of stable solutions", "", "count", "alpha(D) = alpha where alpha(D) falls with D"),
    Variable(
        "free_entropy", (), "free entropy of the Bayes-optimal solution", "F",
        f"{_NATS}; beyond that of the estimate without data; infinite at exact recovery from continuous outputs without noise",
        "E log P(data) / d^2 - alpha E log P(one sample) = max_k F_k",
    ),
    Variable(
        "free_entropy_error", (), "bound on the error of the free entropy", "", "as the free entropy; 0 for exact information",
        "as free_entropy_by_branch_error",
    ),
    Variable(
        "mutual_information", (), "mutual information of S and the data", "I(S; data)/d²",
        f"{_NATS}; infinite for continuous outputs without noise",
        "alpha i_out(V) + i_prior(1 / D) - c V / D; i_out' = c information, i_prior' = c mmse; derivative by alpha: i_out(V)",
    ),
    Variable(
        "mutual_information_error", (), "bound on the error of the mutual information", "",
        "as the mutual information; missing where it is infinite", "alpha c int_0^V u information dv",
    ),
    Variable(
        "phase", (), "phase of learning", "",
        "0 impossible: nothing is learned; 1 hard: the Bayes-optimal solution is not that of message passing; 2 easy; missing "
        "where it is not decided",
        "free entropies of all stable solutions",
    ),
    Variable(
        "decided", (), "whether it is known which solution is Bayes-optimal", "",
        "true or false; false within the error of the information-theoretic threshold, or where the information is not known",
        "free entropies and their bounds",
    ),
    Variable(
        "certificate", (), "what makes the fixed point unique at every alpha", "",
        "2: V / D falls with D and V information(V) rises with V; 1: alpha(D), followed, falls with D; 0: it turns; missing "
        "where the uncertain information leaves it open; the same at all alpha",
        "alpha(D) = (V / D) / (V information(V)) on 20 nodes per decade of D, for alpha from 1e-12 to 1000",
    ),
    Variable(
        "information_theoretic_threshold", (), "samples at which the Bayes-optimal error jumps", "α_IT",
        f"n / d^2, the same at all alpha; begin of the first range of hard learning; {_NO_RANGE}",
        "equal free entropies: int information(V) (alpha_IT - alpha(V)) dV = 0 between both solutions",
    ),
    Variable(
        "algorithmic_threshold", (), "samples at which message passing reaches the Bayes-optimal error", "α_alg",
        f"n / d^2, the same at all alpha; end of the last range of hard learning; {_NO_RANGE}",
        "largest alpha(D) of the uninformed branch",
    ),
    *(
        Variable(
            f"{name}_threshold_error", (), f"bound on the error of the {title} threshold", "", "as the threshold",
            "mean relative uncertainty of the information between both solutions" if short else "uncertainty of the information",
        )
        for name, title, short in (
            ("information_theoretic", "information-theoretic", True), ("algorithmic", "algorithmic", False),
        )
    ),
)  # fmt: skip

# Generalisation errors (state_evolution, small_width_limit, matrix_amp).
_OUTPUT = "summed over the M^2 entries of the output"
_FRESH = f"{_OUTPUT}, mean over fresh sequences"
_THEORY = f"{_OUTPUT}; missing where fewer than 20 effective nodes carry the mean"
VARIABLES += (
    Variable(
        "error_plug_in", (), "generalisation error of the layer with the estimate", "ε_plug-in",
        f"{_FRESH}; theory: missing where fewer than 20 effective nodes carry the mean", "E ||f(h) - f(omega)||_F^2",
    ),
    Variable(
        "error_bayes", (), "generalisation error of the posterior mean of the output", "ε_Bayes",
        f"{_FRESH}; theory: missing as error_plug_in; AMP: V as predicted, unbiased over the draws of h",
        "E ||f(h) - E[f(h) | omega]||_F^2",
    ),
    Variable(
        "error_plug_in_uncertainty", (), "uncertainty of the theory's plug-in error", "", _THEORY,
        "standard error over the scramblings (softmax), difference of two quadratures (hardmax), and the effect of mmse_error",
    ),
    Variable(
        "error_bayes_uncertainty", (), "uncertainty of the theory's error of the posterior mean", "", _THEORY,
        "as error_plug_in_uncertainty",
    ),
)  # fmt: skip

# Matrix AMP (matrix_amp).
COORDINATES += (Coordinate("eigenvalue", "eigenvalue", "i", "number, from 1, ascending"),)
_AMP = "omega = h(S_hat) - 2 V' G_prev; R = S_hat + (2 / (d q_hat)) sum G_ab (x_a x_b^T - delta_ab I) / sqrt(d)"
_RESIDUAL = "||S_new - S_hat||_F / sqrt(d V), before damping"
VARIABLES += (
    Variable("mmse_predicted", (), "error that AMP predicts", "V", _ERROR, "mmse(1 / q_hat)"),
    Variable(
        "residual",
        (),
        "change of the estimate in the last step",
        "",
        "root mean square in units of the predicted error",
        _RESIDUAL,
    ),
    Variable("iterations", (), "iterations done", "", "count", _AMP),
    Variable(
        "converged",
        (),
        "whether the iteration ended: AMP, the residual reached the tolerance, or the recovery became exact; chains, R-hat of at "
        "most 1.05 and 100 autocorrelation times",
        "",
        "true or false",
        _AMP,
    ),
    Variable("diverged", (), "whether the iteration was stopped as diverging", "", "true or false", _AMP),
    Variable("width", (), "width of the attention", "r", "rounded to a whole number", "r = rho d"),
    Variable(
        "realised_alpha",
        (),
        "samples per squared dimension of the data",
        "n / d^2",
        "n rounded to a whole number",
        "n / d^2",
    ),
    Variable("realised_ratio", (), "width ratio of the teacher", "r / d", "r rounded to a whole number", "r / d"),
    Variable(
        "trace_excess",
        (),
        "trace of the teacher beyond its mean",
        "",
        "tr S / d minus its mean over teachers of this d and r",
        "E tr S / d = sqrt(r / d); untied: 0",
    ),
    Variable(
        "square_excess",
        (),
        "trace of the square of the teacher beyond its mean",
        "",
        "tr S S^T / d minus its mean over teachers of this d and r",
        "E tr S^2 / d = (r + d + 1) / d; untied: 1",
    ),
    Variable(
        "mmse_by_iteration",
        ("iteration",),
        "error along the iterations",
        "",
        f"{_ERROR}; missing after the last one",
        _AMP,
    ),
    Variable(
        "predicted_by_iteration",
        ("iteration",),
        "predicted error along the iterations",
        "V",
        _ERROR,
        "mmse(1 / q_hat), damped",
    ),
    Variable(
        "residual_by_iteration",
        ("iteration",),
        "change of the estimate along the iterations",
        "",
        "as residual",
        _RESIDUAL,
    ),
    Variable(
        "eigenvalues",
        ("eigenvalue",),
        "spectrum of the last estimate",
        "λ",
        "tr S^2 / d -> 1 + rho; singular values where attention is untied, tr S S^T / d -> 1",
        _AMP,
    ),
    Variable(
        "eigenvalues_teacher",
        ("eigenvalue",),
        "spectrum of the teacher",
        "λ",
        "as eigenvalues",
        "S = W W^T / sqrt(r d); untied: S = Q K^T / sqrt(r d)",
    ),
)

# Finite sizes (matrix_amp_sizes, posterior_sampling).
COORDINATES += (Coordinate("dimension", "dimension", "d", "dimension of a token"),)
VARIABLES += (
    Variable("mmse_limit", (), "error in the limit of large d", "mmse", _ERROR, "state evolution: V = mmse(1 / q_hat)"),
    Variable(
        "mmse_limit_bound", (), "bound on the error of mmse_limit", "",
        "as mmse_error; two standard errors where the information is sampled", "as mmse_error",
    ),
    Variable(
        "limit_by_iteration", ("iteration",), "error along undamped iterations in the limit of large d", "V_t",
        f"{_ERROR}; missing for damped iterations", "V_0 = 1, V_t+1 = mmse(1 / (alpha information(V_t)))",
    ),
    Variable(
        "posterior_variance", (), "variance of the posterior", "", "as the error, which it is in expectation",
        "E ||S - S*||_F^2 / (2 d), S* the teacher",
    ),
    Variable(
        "posterior_variance_node_error", (), "standard error of posterior_variance from the length of the chains", "",
        "as the error", "standard deviation / root of the number of autocorrelation times in both chains",
    ),
    Variable(
        "autocorrelation", (), "autocorrelation time of the distance to the teacher", "τ", "steps, mean over two chains",
        "1 + 2 sum of the correlations, Sokal's window",
    ),
    Variable(
        "r_hat", (), "split R-hat of the distance to the teacher", "R̂", "1: both halves of both chains agree",
        "Gelman, Rubin 1992",
    ),
)  # fmt: skip

# Averaged gradient descent (gradient_descent).
COORDINATES += (
    Coordinate("start", "random start", "k", "number of the start on the same data, from 1"),
    Coordinate("average", "estimates averaged", "m", "number of starts whose estimates are averaged"),
    Coordinate("step", "step of gradient descent", "t", "number of updates done"),
)
VARIABLES += (
    Variable("mmse_by_start", ("start",), "error of the estimate of each start", "ε_GD", _ERROR, "Adam, last weights"),
    Variable(
        "mmse_average", ("average",), "error of the mean of m estimates", "ε_AGD", f"{_ERROR}; mean over all sets of m starts",
        "||S - (1/m) sum_k S_k||_F^2 / d",
    ),
    Variable(
        "mmse_extrapolated", (), "error of the mean of infinitely many estimates", "ε_∞", _ERROR,
        "mean over pairs k != l of tr (S_k - S)(S_l - S) / d = (m AGD_m - GD) / (m - 1)",
    ),
    Variable(
        "mmse_extrapolated_error", (), "standard error of the extrapolation over the starts", "",
        "as the extrapolation; for one data set; missing below three starts", "jackknife over the starts",
    ),
    Variable(
        "training_error", ("start", "step"), "error on the training data", "",
        "summed over the entries of the output, mean over the sequences; missing after an early stop",
        "mean_mu ||y_mu - softmax(beta h_W,mu)||_F^2",
    ),
    Variable(
        "error_plug_in_average", ("average",), "generalisation error of the layer with the mean of m estimates", "ε_plug-in",
        f"{_FRESH} and over disjoint sets of m starts", "E ||f(h) - f(omega)||_F^2",
    ),
    Variable(
        "error_outputs_extrapolated", (), "generalisation error of the mean of the outputs of infinitely many starts", "", _FRESH,
        "mean over pairs k != l of E tr (f(h) - f(omega_k))^T (f(h) - f(omega_l)); missing for one start",
    ),
    Variable("steps_done", (), "steps of gradient descent done", "", "count", "all, or until the tolerance of the specification"),
    Variable(
        "movement", (), "change of the estimates since a half of the steps or earlier", "",
        "root mean square over the starts in units of the root of their mean error",
        "||S_k(t) - S_k(t')||_F / ||S_k(t) - S||_F, t' the largest power of two up to t / 2",
    ),
    Variable(
        "settled", (), "whether more steps would change the estimates little", "",
        "true or false; the errors are those after the steps of the specification in both cases",
        "movement <= 0.01, or an error of at most 1e-4 at every start",
    ),
    Variable("finite", (), "whether the estimates stayed finite", "", "true or false", "gradient descent"),
)  # fmt: skip

# Two layers (two_layers_state_evolution, two_layers_phases, two_layers_amp).
COORDINATES += (
    Coordinate("skip", "skip strength", "c", "weight of the residual connection, in units of the attention's row sum"),
    Coordinate(
        "start_error",
        "error at the start",
        "V_l",
        "error of both layers at the start of AMP: 1 uninformed, below 1 informed",
    ),
    Coordinate(
        "place", "place on the curve of fixed points", "", "from 0 at the largest errors, in equal steps of length in V"
    ),
)
_TWO_LAYERS = "V_l = mmse(1 / q_hat_l), q_hat_l = alpha k_l / V_l"
VARIABLES += (
    Variable(
        "mmse_by_layer", ("layer",), "error of the estimate of each layer, from the uninformed start", "mmse_l", _ERROR,
        f"theory: {_TWO_LAYERS}; Bayes-optimal where bayes_optimal is 0; AMP: last iteration, or the one of the smallest "
        "residual where it did not converge",
    ),
    Variable(
        "mmse_by_layer_node_error", ("layer",), "error of mmse_by_layer from the finite number of nodes", "", _ERROR,
        "(s^2 / 4 + b^2)^(1/2), s the standard deviation over the four quarters of the nodes, b the difference of their mean to "
        "the value of all nodes",
    ),
    *(
        Variable(
            f"error_{name}_node_error", (), f"error of error_{name} from the finite number of nodes", "",
            "as the generalisation error; missing where it is", "as mmse_by_layer_node_error",
        )
        for name in ("bayes", "plug_in")
    ),
    Variable(
        "mmse_informed_by_layer", ("layer",), "error of the estimate of each layer from the informed start", "", _ERROR,
        f"{_TWO_LAYERS}, from the errors `informed_start`",
    ),
    Variable(
        "converged_informed", (), "whether the iteration from the informed start converged", "", "true or false",
        "stopping rule of the iteration",
    ),
    Variable(
        "free_entropy_difference", (), "free entropy of the informed fixed point minus that of the uninformed one", "ΔF",
        "nats per d^2; zero where both are one, +infinity where only the informed start recovers both layers exactly, missing "
        "where a start did not converge",
        "int sum_l (1 / D_l - alpha k_l / V_l) / 4 dV_l, V_l = mmse(D_l)",
    ),
    Variable(
        "free_entropy_difference_node_error", (), "error of free_entropy_difference from the finite number of nodes", "",
        "as free_entropy_difference", "as mmse_by_layer_node_error, between the same two points",
    ),
    Variable(
        "bayes_optimal", (), "start that ends at the Bayes-optimal fixed point", "",
        "0: uninformed, or both at one fixed point; 1: informed; missing: not decided",
        "unique, or the larger free entropy of both where its sign is known at three standard errors",
    ),
    *(
        Variable(
            f"{name}_node_error", (), f"error of {name}", "",
            "n / d^2; missing where the number is, or where a quarter of the nodes has no such threshold",
            "as mmse_by_layer_node_error, and the change from two degrees less of the interpolation",
        )
        for name in ("informed_begin", "uninformed_end", "information_theoretic_threshold")
    ),
    Variable(
        "followed", (), "samples up to which all fixed points are known", "",
        "n / d^2; missing where a D_1 has several fixed points or none",
        "alpha at the last place of the curve, where an error reaches the smallest one of the specification",
    ),
    Variable(
        "alpha_by_place", ("place",), "samples at which the errors of a place are a fixed point", "α", "n / d^2",
        "V_1 / (D_1 k_1) = V_2 / (D_2 k_2)",
    ),
    Variable(
        "mmse_by_place", ("place", "layer"), "error of each layer at a place of the curve of fixed points", "mmse_l", _ERROR,
        "as alpha_by_place; stable where alpha rises towards small errors",
    ),
    Variable("predicted_by_layer", ("layer",), "error that AMP predicts for each layer", "V_l", _ERROR, _TWO_LAYERS),
    Variable(
        "resolved", (), "fraction of posterior integrals that met their accuracy check", "",
        "0 to 1; for AMP the smallest over the iterations; 1 for posteriors in closed form",
        "softmax of two layers and two tokens: even and odd rows and columns of the lattice agree to 2e-3; sampled posteriors: "
        "20 effective nodes",
    ),
)  # fmt: skip

# Gradient descent of several layers (layers_descent).
_TRACELESS = "||S~ - S~_hat||_F^2 / d of the traceless parts, on which alone the data depend: 1 for S~_hat = 0, 0 exact"
VARIABLES += (
    Variable(
        "mmse_by_layer_start", ("layer", "start"), "error of the estimate of each layer and start", "ε_GD", _TRACELESS,
        "Adam, last weights",
    ),
    Variable(
        "mmse_by_layer_average", ("layer", "average"), "error of the mean of m estimates of each layer", "ε_AGD",
        f"{_TRACELESS}; mean over all sets of m starts", "||S~_l - (1/m) sum_k S~_lk||_F^2 / d",
    ),
    Variable(
        "mmse_by_layer_extrapolated", ("layer",), "error of the mean of infinitely many estimates of each layer", "ε_∞",
        _TRACELESS, "as mmse_extrapolated",
    ),
    Variable(
        "mmse_by_layer_extrapolated_error", ("layer",), "standard error of the extrapolation over the starts", "",
        "as mmse_extrapolated_error", "jackknife over the starts",
    ),
)  # fmt: skip

# Untied attention, its keys own or separate (untied_descent, untied_amp).
COORDINATES += (
    Coordinate("part", "part of S", "", "symmetric part (S + S^T) / 2 or antisymmetric part (S - S^T) / 2"),
)
_PART = "||P - P_hat||_F^2 / d of the part P; both parts add up to the error of S, which is 1 for S_hat = 0"
VARIABLES += (
    Variable(
        "mmse_by_part", ("part",), "error of each part of the estimate", "", f"{_PART}; missing after a divergence",
        "of the iteration that counts",
    ),
    Variable(
        "mmse_by_part_average", ("part", "average"), "error of each part of the mean of m estimates", "",
        f"{_PART}; mean over all sets of m starts", "as mmse_average",
    ),
    Variable(
        "mmse_by_part_extrapolated", ("part",), "error of each part of the mean of infinitely many estimates", "", _PART,
        "as mmse_extrapolated",
    ),
)  # fmt: skip

COORDINATES += erm.COORDINATES
VARIABLES += erm.VARIABLES
SOURCES = erm.SOURCES
OWN = erm.OWN | {
    "denoising": (
        Variable(
            "mmse", (), "error of the posterior mean of S", "mmse", _ERROR,
            "(1/d) E ||S - E[S | Y]||_F^2, Y = S + sqrt(D) Z: the mean of the posterior variances of the eigenvalues or "
            "singular values",
        ),
    ),
    "two_layers_state_evolution": (
        Variable(
            "unique", (), "whether both starts end at one fixed point", "",
            "true or false; false: a jump is near, and bayes_optimal says which value is Bayes-optimal",
            "mmse_by_layer and mmse_informed_by_layer agree to 10 % or 1e-4, on all nodes and on each quarter of them",
        ),
        *(
            Variable(
                f"error_{name}", (), f"generalisation error of {long_name}, at the uninformed fixed point", symbol, _THEORY,
                f"{equation}, V = mmse_by_layer; Bayes-optimal estimates where bayes_optimal is 0",
            )
            for name, long_name, symbol, equation in (
                ("bayes", "the posterior mean of the output", "ε_Bayes", "E ||f(h) - E[f(h) | omega]||_F^2"),
                ("plug_in", "the layers with the estimates", "ε_plug-in", "E ||f(h) - f(omega)||_F^2"),
            )
        ),
    ),
    "two_layers_phases": (
        Variable(
            "unique", (), "whether there is one fixed point at each number of samples", "",
            "true or false; true: message passing is Bayes-optimal up to the alpha `followed`",
            "alpha rises along the whole curve of fixed points, on all nodes and on each quarter of them",
        ),
        Variable(
            "informed_begin", (), "samples above which the informed branch exists", "", "n / d^2; missing where it is unique",
            "smallest alpha of the curve of fixed points that follows a larger one",
        ),
        Variable(
            "uninformed_end", (), "largest samples of the uninformed branch: the threshold of message passing", "α_alg",
            "n / d^2; missing where it is unique", "largest alpha of the curve of fixed points that a smaller one follows",
        ),
        Variable(
            "information_theoretic_threshold", (), "samples above which the informed fixed point is Bayes-optimal", "α_IT",
            "n / d^2; missing where the fixed point is unique, or where the curve ends before",
            "equal free entropy of the uninformed branch and of one of smaller errors",
        ),
    ),
}  # fmt: skip
