"""Variables of the map of the public program of Troiani et al. 2025 (arXiv:2502.00901)."""

from attention_limits.pipeline.registry import Variable

VARIABLES = (
    Variable(
        "missed",
        (),
        "probability that the cubature of the public program misses the posterior of an output",
        "",
        "0 to 1, the largest over the iterations; missing for three layers and for the exact channel",
        "||N - N_exact|| > 0.1 ||N_exact||, N = int V^-1 (h - omega) w",
    ),
)

OWN = {
    "published_map": (
        Variable(
            "overlap_trajectory",
            ("iteration", "layer", "layer_star"),
            "overlap after each iteration of the map, diagonal",
            "Q_t",
            "in units of the prior variance of a weight",
            "Q_t = damping Q_(t-1) + (1 - damping) Q_hat (I + Q_hat)^-1, Q_hat = alpha E sum_a g_a g_a^T at Q_(t-1)",
        ),
        Variable(
            "resolved",
            (),
            "fraction of outputs whose quadrature met its own check",
            "",
            "0 to 1, the smallest over the iterations",
            "cubature of two layers within its tolerance, denominator of three layers above 1e-5; exact: as in state_evolution",
        ),
        Variable(
            "error_plug_in",
            (),
            "generalisation error of the network with the estimated weights, at the overlaps of the start",
            "ε_plug-in",
            "summed over the entries of the output matrix",
            "E ||g(h) - g(omega)||_F^2",
        ),
        Variable(
            "error_bayes",
            (),
            "generalisation error of the posterior mean of the output, at the overlaps of the start",
            "ε_Bayes",
            "summed over the entries of the output matrix",
            "E ||g(h) - E[g(h) | omega]||_F^2",
        ),
    ),
}
