"""Variables of the sequence single-index family."""

from attention_limits.pipeline.base.registry import Coordinate, Variable

SOURCE = (
    "Arnaboldi, Loureiro, Stephan, Krzakala, Zdeborova 2025, Asymptotics of SGD in sequence-single index models and single-layer "
    "attention networks, arXiv:2506.02651"
)

COORDINATES = (
    Coordinate("tokens", "tokens per sequence", "M", "length of a sequence"),
    Coordinate(
        "learning_rate_exponent",
        "exponent of the learning rate",
        "β",
        "the tied student learns at the base rate times M^beta",
    ),
    Coordinate("dimension", "dimension of a token", "d", "number of components of a token"),
    Coordinate(
        "learning_rate", "learning rate", "γ", "a step changes the unit weights by gamma / d times the gradient"
    ),
    Coordinate("batch", "sequences per step", "B", "a step takes the mean gradient of B sequences"),
    Coordinate("degree", "degree of the target", "k", "degree of the Hermite polynomial in the target"),
    Coordinate(
        "a", "strength of the positional part", "a", "scores of the positional part: a^2 on, -a^2 off the diagonal"
    ),
    Coordinate(
        "omega", "weight of the positional part", "ω", "target = (1 - omega) semantic + omega positional attention"
    ),
    Coordinate("e", "positional overlap", "e", "u . p, student and position unit vectors"),
    Coordinate("m", "semantic overlap", "m", "u . u*, student and teacher unit vectors"),
    Coordinate("step", "step of SGD", "t", "number of updates done"),
    Coordinate("order", "order", "k", "total degree in the overlaps"),
    Coordinate("line", "line of the phase diagram", "", "property that changes at the line"),
    Coordinate("minimum", "kind of minimum", "", "where on e^2 + m^2 <= 1 the minimum lies"),
    Coordinate("quantile", "quantile", "", "probability of a smaller value"),
    Coordinate("rank", "rank of a minimum", "", "0 is the lowest"),
    Coordinate(
        "direction", "direction of the positional vectors", "j", "orthonormal basis by Gram and Schmidt, token by token"
    ),
)

_LOSS = "half the expected squared error, summed over outputs"
_SGD = "online SGD, w <- w - gamma grad, on the sphere; simulated in the overlaps, exact in law"
_FLOW = "dx/dtau = -gamma E G + gamma x E[D . z] - gamma^2/2 E|D|^2 x, tau = t / d, by quadrature"
_DIFFUSION = "first passage of e^2 + m^2 of dx = b dtau + A dW / sqrt(d), x = (e, m) or m alone, b and A by quadrature"
_DIFFUSION_ERROR = "of the quadrature, and change with half of the points of the mesh"
_LINEAR = "d(e, m)/dtau near the uninformed start, tau = t / d, E and Cov of the gradient by quadrature"
_EXPONENTS = {
    "target": (
        "target, for a student rich enough to see it",
        "lowest order of a Hermite coefficient of the target",
        "sqrt(sum over |kappa| = k of |G_kappa|^2)",
    ),
    "semantic": (
        "target and student without positional encoding",
        "lowest order at which the loss depends on m",
        "C_k = sum over |kappa| = k of G_kappa . F_kappa / kappa!",
    ),
    "positional": (
        "target and student with positional encoding",
        "lowest order in (e, m) at which a straight path from the start lowers the loss",
        "lowest value of the form of degree k in (e, m) where all lower forms vanish",
    ),
}


def _exponent_variables(name, whose, meaning, coefficient):
    return (
        Variable(
            f"exponent_{name}", (), f"information exponent of the {whose}", "k", "missing where there is none up to the order",
            f"{meaning}; a coefficient below 1e-8, error included, is treated as zero",
        ),
        Variable(
            f"decided_{name}", (), f"whether every coefficient up to the exponent is zero or not within its error ({name})", "",
            "true or false", "quadrature, checked by scrambled nets",
        ),
        Variable(
            f"descends_{name}", (), f"whether the loss descends along this order ({name})", "", "true or false",
            "sign of the coefficient; odd orders descend for one sign of m",
        ),
        Variable(f"coefficient_{name}", ("order",), f"coefficient of each order ({name})", "C_k", _LOSS, coefficient),
        Variable(
            f"coefficient_error_{name}", ("order",), f"quadrature error of the coefficient ({name})", "", _LOSS,
            "change with the nodes, or spread over scrambled nets, or the gap between the two where they contradict each other",
        ),
    )  # fmt: skip


VARIABLES = (
    Variable("loss", ("e", "m"), "population loss", "R", f"{_LOSS}; missing outside of the disk", "R(e, m) = 1/2 E|g - F|^2"),
    Variable("loss_tail", (), "bound on the orders left out of the series", "", _LOSS, "m^(K+1) sqrt(product of Parseval rests)"),
    Variable("loss_error", (), "quadrature error of the loss", "", _LOSS, "three times the change with fewer nodes"),
    Variable(
        "hessian_ee", (), "curvature at the start along the position", "H_ee", _LOSS,
        "d^2 R / de^2 at (0, 0); the lowest eigenvalue for several directions",
    ),
    Variable("hessian_mm", (), "curvature at the start along the teacher", "H_mm", _LOSS, "d^2 R / dm^2 at (0, 0)"),
    Variable("hessian_em", (), "mixed curvature at the start", "H_em", _LOSS, "d^2 R / de dm at (0, 0)"),
    *(variable for name, texts in _EXPONENTS.items() for variable in _exponent_variables(name, *texts)),
    Variable(
        "region", (), "region of the phase diagram", "",
        "1 if the global minimum is positional, plus 2 if the steepest direction is, plus 4 if there are several minima",
        "search on |e|^2 + m^2 = 1, where all minima lie for omega < 1; corners and steepest direction of two tokens exact",
    ),
    Variable(
        "minima_found", (), "number of local minima", "", "signs of e and of m are free",
        "subdivision of the Bernstein coefficients of the loss on |e|^2 + m^2 = 1: no minimum is missed",
    ),
    Variable(
        "minima_undecided", (), "number of boxes that may hold a degenerate minimum", "", "0: the search is complete",
        "half width 2^-16 in the coordinates of a chart",
    ),
    Variable(
        "minima_on_sphere", (), "whether C is proven to grow with m^2", "",
        "true: every minimum has |e|^2 + m^2 = 1, at every a and omega < 1", "lower bound of dC/dm^2 from Bernstein coefficients",
    ),
    Variable(
        "truncation", (), "scale of the error of the polynomials of the loss", "", _LOSS,
        "sum of the coefficients of the two highest degrees",
    ),
    Variable("minimum_loss", ("rank",), "loss at the minimum", "R", f"{_LOSS}; missing where there are fewer minima", "R(e, m)"),
    Variable(
        "minimum_semantic", ("rank",), "semantic overlap at the minimum", "|m|", "missing where there are fewer minima",
        "m = u . u*",
    ),
    Variable(
        "minimum_positional", ("rank", "direction"), "positional overlaps at the minimum", "e_j",
        "the largest is positive; missing where there are fewer minima", "e_j = u . b_j, basis b_j of the positional vectors",
    ),
    Variable(
        "steepest_direction", ("direction",), "positional direction of lowest curvature at the start", "", "unit vector",
        "eigenvector of H_ee; the largest entry is positive",
    ),
    Variable(
        "minima", ("minimum",), "number of local minima of each kind", "",
        "on e, m >= 0; signs of e and m are free; flat: a line along m of equal losses, at omega = 1",
        "search along e^2 + m^2 = 1, where all minima lie for omega < 1; corners exact",
    ),
    Variable(
        "transition", ("line",), "omega at the line", "ω",
        "missing where no weight in [0, 1] is on the line: all weights below 1 are then on the side of 0",
        "linear equation in omega with coefficients from two-dimensional quadrature",
    ),
    Variable("escaped", (), "whether the run escaped", "", "true or false; a run that did not is censored", _SGD),
    Variable(
        "escape_step", (), "step at which the run escaped", "t_esc", "SGD steps; the length of the run where it did not escape",
        "first step beyond the threshold: 2/sqrt(d) (feed-forward), |m| (Hermite) or e^2 + m^2 (attention) as specified",
    ),
    Variable(
        "flow_step", (), "escape step of the flow", "",
        "SGD steps, tau times d; of any student infinite beyond runs of fixed length (`stop: false`)",
        "dm/dtau = -gamma (1 - m^2) R_m - gamma^2/2 V m, and the same for positional overlaps, integrated to the threshold",
    ),
    Variable(
        "noisy_step", (), "mean escape step of SGD, noise at the start and flow", "",
        "SGD steps; infinite where the flow does not escape, missing at thresholds above 0.1 within five times start or noise",
        "flow_step - d E log|1 + s Z| / g, s^2 d m_0^2 = v / 2 g, dx = g x dtau + sqrt(v) dW at the start, x = sqrt(d) m",
    ),
    Variable(
        "flow_gain", (), "gain of tied weights in the flow", "", "ratio of escape times; untied weights learn at the base rate",
        "M gamma_t (a - gamma_t (M + 1)) / (gamma_u (a - gamma_u (M + 1))), a = 2 / sqrt(pi): slopes of the drift at m = 0",
    ),
    Variable("overlap", (), "overlap with the teacher at the end of the run", "|m|", "0 nothing learned, 1 exact", _SGD),
    Variable("overlap_trajectory", ("step",), "overlap with the teacher", "|m|", "missing after the end of the run", _SGD),
    Variable(
        "positional_overlap", (), "positional overlap at the end of the run or at the global minimum", "e",
        "signed for runs, not negative for minima", _SGD,
    ),
    Variable(
        "semantic_overlap", (), "semantic overlap at the end of the run or at the global minimum", "m",
        "signed for runs, not negative for minima", _SGD,
    ),
    Variable("positional_overlap_trajectory", ("step",), "positional overlap", "e", "signed", _SGD),
    Variable("semantic_overlap_trajectory", ("step",), "semantic overlap", "m", "signed", _SGD),
    Variable("semantic_size", (), "size of the semantic overlaps at the end of the run", "|m|", "sqrt(sum_l m_l^2 / M)", _SGD),
    Variable(
        "positional_size", (), "size of the overlaps of the weights of each token with its positional vector, at the end", "|e|",
        "sqrt(sum_l e_l^2 / M)", _SGD,
    ),
    Variable(
        "semantic_size_trajectory", ("step",), "size of the semantic overlaps", "|m|",
        "sqrt(sum_l m_l^2 / M); missing after the end of the run", _SGD,
    ),
    Variable(
        "positional_size_trajectory", ("step",), "size of the overlaps with the positional vectors", "|e|",
        "sqrt(sum_l e_l^2 / M); missing after the end of the run", _SGD,
    ),
    Variable("semantic_size_flow", ("step",), "size of the semantic overlaps of the flow", "|m|", "sqrt(sum_l m_l^2 / M)", _FLOW),
    Variable(
        "positional_size_flow", ("step",), "size of the overlaps of the flow with the positional vectors", "|e|",
        "sqrt(sum_l e_l^2 / M)", _FLOW,
    ),
    Variable("flow_step_error", (), "error of the escape step of the flow", "", "SGD steps; of the quadrature", _FLOW),
    Variable(
        "diffusion_step", (), "mean escape step of the diffusion of the overlaps", "",
        "SGD steps, tau times d; infinite where it is too slow to resolve", _DIFFUSION,
    ),
    Variable(
        "diffusion_quantile", ("quantile",), "quantiles of the escape step of the diffusion of the overlaps", "",
        "SGD steps, tau times d", _DIFFUSION,
    ),
    Variable("diffusion_step_error", (), "error of the mean escape step of the diffusion", "", "SGD steps", _DIFFUSION_ERROR),
    Variable(
        "diffusion_quantile_error", ("quantile",), "errors of the quantiles of the escape step of the diffusion", "", "SGD steps",
        _DIFFUSION_ERROR,
    ),
    Variable("semantic", (), "whether the run learned the semantic direction", "", "|m| > |e| at the end of the run", _SGD),
    Variable("curvature_position", (), "curvature of the loss of SGD along the position", "H_ee", "per unit loss", _LINEAR),
    Variable("curvature_semantic", (), "curvature of the loss of SGD along the teacher", "H_mm", "per unit loss", _LINEAR),
    Variable("noise_position", (), "variance of the gradient along the position", "v_e", "per sample", _LINEAR),
    Variable("noise_semantic", (), "variance of the gradient along the teacher", "v_m", "per sample", _LINEAR),
    Variable("noise_total", (), "second moment of the gradient coefficients", "V", "E|dl/dz|^2 per sample", _LINEAR),
    Variable(
        "gaussian_step", (), "escape step of the linearised SGD", "t", "SGD steps; infinite where neither overlap grows",
        "s_e^2 + s_m^2 = threshold, s_i^2 = (gamma/d) v_i (exp(2 (gamma/d) G_i t) - 1) / (2 G_i), G_i = -(H_ii + gamma V/2)",
    ),
    Variable(
        "gaussian_semantic", (), "probability that the linearised SGD learns the semantic direction", "P_sem", "0 to 1",
        "(2/pi) arctan(s_m / s_e) at its escape step",
    ),
    Variable(
        "flow_semantic", (), "probability that SGD learns the semantic direction, exit and flow", "P_sem",
        "0 to 1; missing where neither overlap grows, or where noise decides after the exit",
        "Gaussian weight, at the exit from the start, of the side of the trajectory of the flow that ends at e = m",
    ),
    Variable(
        "flow_mean_step", (), "mean escape step of SGD, exit and flow", "t", "SGD steps; missing where flow_semantic is",
        "mean over the Gaussian law at the exit of t_exit + d tau, tau the time of the flow to the threshold",
    ),
)  # fmt: skip
