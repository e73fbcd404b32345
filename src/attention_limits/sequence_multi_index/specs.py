"""The table of contents of the family: its kinds of data and its estimators, each with the class of its keys.

The files in `config/<family>/experiments` use these names. The module `estimators/**/<name>.py` computes the estimator or data
`<name>`.
"""

from attention_limits.pipeline.experiments.specification import DataSpecification, Specification
from attention_limits.sequence_multi_index.schema import bayes, erm, published, thresholds, training

PREFIX = "smi"
DATA: dict[str, type[DataSpecification]] = {
    "gaussian_sequences": bayes.GaussianSequences,
}
ESTIMATORS: dict[str, type[Specification]] = {
    "state_evolution": bayes.StateEvolution,
    "state_evolution_informed": bayes.StateEvolutionInformed,
    "state_evolution_trajectory": bayes.StateEvolutionTrajectory,
    "exchangeable_layers": bayes.ExchangeableLayers,
    "held_overlap": bayes.HeldOverlap,
    "phase_comparison": bayes.PhaseComparison,
    "gamp": bayes.Gamp,
    "gamp_sample_variance": bayes.GampSampleVariance,
    "relaxed_belief_propagation": bayes.RelaxedBeliefPropagation,
    "held_gamp": bayes.HeldGamp,
    "published_map": published.PublishedMap,
    "staircase": thresholds.Staircase,
    "threshold_atlas": thresholds.ThresholdAtlas,
    "exact_recovery": thresholds.ExactRecovery,
    "optimal_recovery": thresholds.OptimalRecovery,
    "shallow_growth": thresholds.ShallowGrowth,
    "batch_reuse_sgd": training.BatchReuseSgd,
    "online_sgd": training.OnlineSgd,
    "sgd_flow": training.SgdFlow,
    "depth_scaling": training.DepthScaling,
    "trec": training.Trec,
    "erm_state_evolution": erm.ErmStateEvolution,
    "erm_optimal_ridge": erm.ErmOptimalRidge,
    "erm_transition": erm.ErmTransition,
    "erm_minimisation": erm.ErmMinimisation,
    "erm_online_sgd": erm.ErmOnlineSgd,
    "erm_gamp": erm.ErmGamp,
}
