"""The cases of `sizes.py`: for every estimator the size that a user raises, from its value at scale `paper` on.

A test compares them with the list of estimators.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Case:
    """One row: an `estimator` (family and name) as an experiment of config/ has it at scale `paper`, at one point of its grid.

    `size` is a key of the grid, the model, the solver or the data, "replicas", or "points of KEY" for the values of a grid key
    between its first and its last one. The sizes are `factors` times its value at `paper` (of a grid key: its largest value).
    `changes` holds other values by key; a grid key without one has its last value. `error` names the variable of the cube with
    the stated error of the main quantity, or its flag; None where the cube states none. `limit` says what forbids larger sizes.
    """

    estimator: str
    experiment: str
    size: str
    error: str | None
    changes: dict = field(default_factory=dict)
    factors: tuple = ()
    limit: str = ""

    def __post_init__(self):
        # Most numbers of nodes are powers of two.
        object.__setattr__(self, "factors", self.factors or ((1, 4, 16) if self.size == "nodes" else (1, 3, 10)))

    @property
    def name(self):
        """What identifies the row."""
        return f"{self.estimator}, {self.experiment}: {self.size}"


# One replica has fewer sequences than a run of scale `paper`, for which only the fit counts.
_POTTS = {"samples": 3000, "test_samples": 500, "tuning_samples": 200, "tuning_gap": 10, "gap": 20}
_FIT = {"distance": 0.7, "attentions": ["softmax"], "starts": 1, "max_iterations": 300, "ridge": 1e-5}
_AIM, _POT = "attention_indexed", "potts_mlm"
_SMI, _SSI = "sequence_multi_index", "sequence_single_index"

CASES = (
    Case(f"{_AIM}.state_evolution", "fig2_right_tokens2", "points of alpha", "mmse_error"),
    Case(f"{_AIM}.state_evolution", "fig2_right_tokens2", "tokens", "mmse_error"),
    Case(f"{_AIM}.phase_comparison", "phases_size", "points of alpha", "algorithmic_threshold_error"),
    Case(f"{_AIM}.small_width_limit", "fig5_small_width", "points of rescaled_alpha", "mmse_error", {"ratio": 0.5}),
    Case(f"{_AIM}.denoising", "denoising", "points of denoising_noise", None, {"ratio": 0.5}),
    Case(f"{_AIM}.matrix_amp", "fig2_right_tokens2", "dimension", "converged", {"alpha": 0.1, "max_iterations": 20}),
    Case(
        f"{_AIM}.matrix_amp", "fig4_tokens5", "tokens", "converged", {"alpha": 0.05, "max_iterations": 20}, (1, 1.6, 2),
        "more than ten tokens: not tried",
    ),
    Case(f"{_AIM}.matrix_amp_sizes", "iterations", "dimension", "converged", factors=(0.25, 0.5, 1, 2.5)),
    Case(f"{_AIM}.posterior_sampling", "posterior_hardmax", "steps", "posterior_variance_node_error", {"dimension": 8}),
    Case(
        f"{_AIM}.gradient_descent", "fig2_right_gradient_descent", "dimension", "mmse_extrapolated_error",
        {"alpha": 0.1, "starts": 4}, (0.5, 1, 2, 4),
    ),
    Case(f"{_AIM}.two_layers_state_evolution", "two_layers", "nodes", "mmse_by_layer_node_error", {"alpha": 0.3}),
    Case(
        f"{_AIM}.two_layers_phases", "layers_phases", "nodes", "information_theoretic_threshold_node_error", {"ratio": 0.01},
        (0.5, 1, 2, 8), "16 384 nodes are the most that it takes",
    ),
    Case(
        f"{_AIM}.two_layers_amp", "two_layers", "dimension", "converged", {"alpha": 0.2, "max_iterations": 20}, (0.5, 1, 2, 4),
    ),
    Case(
        f"{_AIM}.layers_descent", "layers_descent_two", "dimension", "mmse_by_layer_extrapolated_error",
        {"alpha": 0.3, "starts": 2}, (0.5, 1, 2),
    ),
    Case(
        f"{_AIM}.untied_descent", "self_attention", "dimension", "mmse_extrapolated_error", {"alpha": 0.3, "starts": 2},
        (0.5, 1, 2, 4),
    ),
    Case(f"{_AIM}.untied_amp", "self_attention", "dimension", "converged", {"alpha": 0.2, "max_iterations": 20}),
    Case(
        f"{_AIM}.erm_state_evolution", "erm_softmax", "nodes", "mse_node_error", {"alpha": 0.15}, (0.25, 1, 4),
        "16 384 nodes are the most that it takes",
    ),
    Case(
        f"{_AIM}.erm_optimal_decay", "erm_softmax_best", "nodes", "mse_node_error", {"alpha": 0.15}, (0.25, 1, 4),
        "16 384 nodes are the most that it takes",
    ),
    Case(
        f"{_AIM}.erm_minimisation", "erm_softmax", "dimension", "converged", {"alpha": 0.1, "weight_decay": 0.01}, (0.5, 1, 2, 4),
    ),
    Case(f"{_AIM}.erm_gamp", "erm_softmax", "dimension", "converged", {"alpha": 0.1, "max_iterations": 20}, (0.5, 1, 3, 10)),
    Case(f"{_POT}.equilibrium", "fig2", "samples", "hamming_error", {"distance": 0.7, **_POTTS}),
    Case(f"{_POT}.single_chains", "contact_low_distance", "chains", "chain_hamming_error", {**_POTTS, "gap": 100}),
    Case(f"{_POT}.factored_attention", "fig2", "sites", "converged", {**_FIT, **_POTTS}),
    Case(f"{_POT}.factored_attention", "fig2", "colors", "converged", {**_FIT, **_POTTS}, (1, 2, 4)),
    Case(f"{_POT}.mixed_attention", "fig2", "sites", "mixed_converged", {**_FIT, **_POTTS, "mixing": 0.6}),
    Case(f"{_POT}.replica", "fig3_left", "points of alpha", None, {"gamma": 2.5, "ridge": 0.1}),
    Case(f"{_POT}.ridge_simulation", "fig3_left", "sites", None, {"gamma": 2.5, "ridge": 0.1, "alpha": 1.0}),
    Case(
        f"{_POT}.transformer", "fig2", "sites", "transformer_converged",
        {"distance": 0.7, **_POTTS, "layers": 3, "epochs": 20, "evaluations": 1, "test_sequences": 500}, (1, 2, 5, 10),
    ),
    Case(
        f"{_POT}.factored_training", "fig2", "sites", None,
        {"distance": 0.7, **_POTTS, "epochs": 50, "evaluations": 1, "test_sequences": 500},
    ),
    Case(f"{_POT}.pseudo_likelihood", "fig2", "sites", "pseudo_likelihood_converged", {"distance": 0.7, **_POTTS}),
    Case(
        f"{_POT}.multihead_attention", "protein", "heads", "pair_converged", {"samples": 1500, "max_iterations": 300},
        (1 / 49, 1 / 7, 1), "441 heads hold every matrix of couplings of 21 letters",
    ),
    Case(
        f"{_POT}.symmetric_pseudo_likelihood", "protein", "samples", "symmetric_converged", factors=(0.1, 0.3, 1),
        limit="the file has no more sequences",
    ),
    Case(
        f"{_POT}.alignment_transformer", "protein", "epochs", None, {"samples": 500, "layers": 3, "evaluations": 1},
    ),
    Case(f"{_POT}.generated_sequences", "protein", "generated", "generated_converged"),
    Case(
        f"{_POT}.alignment_ridge", "protein_ridge", "samples", None, {"masked": 10, "ridge": 0.001}, (0.1, 0.3, 1),
        "the file has no more sequences",
    ),
    Case(
        f"{_POT}.stacked_attention", "stacked_orders", "samples", "stacked_fraction_error",
        {"order": 3, "depth": 3, "epochs": 10, "evaluations": 1},
    ),
    Case(f"{_SMI}.state_evolution", "fig1_learning_curve", "nodes", "overlap_node_error", {"alpha": 0.5}),
    Case(
        f"{_SMI}.state_evolution", "erm_one_layer_bounds", "tokens", "overlap_node_error", {"alpha": 0.5}, (1, 2, 3),
        "more than six tokens: not tried",
    ),
    Case(f"{_SMI}.state_evolution", "fig1_learning_curve", "replicas", "overlap_node_error", {"alpha": 0.5}),
    Case(f"{_SMI}.state_evolution_informed", "fig1_learning_curve", "nodes", "overlap_node_error", {"alpha": 0.5}),
    Case(f"{_SMI}.state_evolution_trajectory", "fig2_gamp", "nodes", "resolved"),
    Case(f"{_SMI}.exchangeable_layers", "exchangeable_layers", "nodes", "converged", {"depth": 4, "alpha": 1.0}),
    Case(
        f"{_SMI}.exchangeable_layers", "exchangeable_layers", "depth", "converged", {"alpha": 1.0}, (0.25, 0.5, 1),
        "sixteen layers are the most that it takes",
    ),
    Case(f"{_SMI}.held_overlap", "fig5_held_overlap", "nodes", "layer_overlap_node_error", {"held": 0.5}),
    Case(f"{_SMI}.phase_comparison", "phases_attention", "nodes", "overlap_by_start_node_error", {"alpha": 1.0}),
    Case(f"{_SMI}.gamp", "fig1_learning_curve", "dimension", "resolved", {"alpha": 1.2}),
    Case(
        f"{_SMI}.gamp", "fig3_three_layers", "depth", "resolved", {"alpha": 1.0, "max_iterations": 40, "dimension": 500}, (1, 2),
        "more than six layers: not tried",
    ),
    Case(f"{_SMI}.gamp_sample_variance", "sample_variance", "dimension", "resolved", {"alpha": 0.6}),
    Case(f"{_SMI}.relaxed_belief_propagation", "sample_variance", "dimension", "resolved", {"alpha": 0.6}),
    Case(f"{_SMI}.held_gamp", "fig5_held_overlap", "dimension", "held_resolved", {"held": 0.5}),
    Case(f"{_SMI}.published_map", "fig1_exact_step", "nodes", "resolved", {"alpha": 0.5, "start": [[0.5, 0.0, 0.77344]]}),
    Case(f"{_SMI}.staircase", "fig1_thresholds", "nodes", "threshold_node_error"),
    Case(f"{_SMI}.threshold_atlas", "atlas_depth", "nodes", "threshold_node_error", {"depth": 2}),
    Case(f"{_SMI}.exact_recovery", "atlas_depth", "nodes", "recovery_node_error", {"depth": 2}),
    Case(f"{_SMI}.optimal_recovery", "model_real_phase", "nodes", "recovery_node_error"),
    Case(f"{_SMI}.shallow_growth", "layer_order", "nodes", "growth_factor_node_error", {"depth": 3, "held": 0.9}),
    Case(f"{_SMI}.batch_reuse_sgd", "fig2_sgd", "dimension", "finite", {"batches": 3000, "record_every": 3000, "alpha": 3.0}),
    Case(f"{_SMI}.online_sgd", "fig2_sgd", "dimension", "finite", {"batches": 300, "record_every": 300, "alpha": 3.0}),
    Case(f"{_SMI}.sgd_flow", "sgd_flow_two_layers", "nodes", "learning_time_node_error", {}, (1 / 16, 1 / 4, 1, 4, 16)),
    Case(f"{_SMI}.depth_scaling", "depth_limit", "samples", None),
    Case(f"{_SMI}.depth_scaling", "depth_limit", "depth", None),
    Case(f"{_SMI}.trec", "fig3_trec", "questions", None, {"epochs": 2}),
    Case(f"{_SMI}.erm_state_evolution", "erm_classic_logistic", "nodes", "overlap_node_error", {"ridge": 0.1, "alpha": 2.0}),
    Case(f"{_SMI}.erm_optimal_ridge", "erm_one_layer_bounds", "nodes", "overlap_node_error", {"alpha": 1.0}),
    Case(f"{_SMI}.erm_transition", "erm_transitions", "nodes", "transition_node_error", {"omega": 0.3}),
    Case(f"{_SMI}.erm_minimisation", "erm_one_layer", "dimension", "converged", {"ridge": 0.1, "alpha": 1.5}),
    Case(f"{_SMI}.erm_online_sgd", "erm_bridge", "dimension", "converged", {"alpha": 4.0, "omega": 0.3, "start_size": 0.1}),
    Case(f"{_SMI}.erm_gamp", "erm_one_layer", "dimension", "converged", {"alpha": 1.5}),
    Case(
        f"{_SSI}.landscape", "fig2_landscape", "points", "loss_error", {}, (1, 2.5, 4.98),
        "1001 points are the most that it takes",
    ),
    Case(
        f"{_SSI}.information_exponent", "fig2_landscape", "order", "coefficient_error_target", {}, (1, 4 / 3, 5 / 3),
        "the tenth order is the highest that it takes",
    ),
    Case(f"{_SSI}.attention_surface", "fig5_left", "points", "loss_tail", factors=(1, 3, 9.95)),
    Case(f"{_SSI}.phase_diagram", "fig4_phases", "points of a", None),
    Case(f"{_SSI}.phase_lines", "fig4_phases", "points of a", None),
    Case(f"{_SSI}.token_lines", "token_phases", "nodes", None, {"tokens": 4, "a": 1.0}),
    Case(f"{_SSI}.position_minima", "positions_star", "nodes", None, {"a": 1.4, "omega": 0.8}),
    Case(f"{_SSI}.linear_theory", "fig5_frobenius", "nodes", None, {"omega": 0.5}),
    Case(f"{_SSI}.attention_sgd", "fig5_left", "steps", "escaped"),
    Case(f"{_SSI}.attention_sgd", "fig5_left", "dimension", "escaped", factors=(1, 10, 1000)),
    Case(f"{_SSI}.tied_sgd", "fig3_tied_paths", "tokens", "escaped"),
    Case(f"{_SSI}.untied_sgd", "fig3_untied_paths", "tokens", "escaped", {"steps": 1_000_000}),
    Case(f"{_SSI}.hermite_sgd", "escape_sie2", "dimension", "escaped"),
    Case(f"{_SSI}.link_sgd", "difference_linear_tied", "steps", "escaped"),
    Case(f"{_SSI}.escape_diffusion", "diffusion_matched", "dimension", "diffusion_step_error"),
)  # fmt: skip

# Estimators without a row, with the reason.
WITHOUT_SIZE = {
    f"{_POT}.alignment_summary": "it counts the sequences of one file; the size is the file",
}
