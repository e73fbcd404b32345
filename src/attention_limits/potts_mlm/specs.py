"""The table of contents of the family: its kinds of data and its estimators, each with the class of its keys.

The files in `config/<family>/experiments` use these names. The module `estimators/**/<name>.py` computes the estimator or data
`<name>`.
"""

from attention_limits.pipeline.experiments.specification import DataSpecification, Specification
from attention_limits.potts_mlm.schema import many_body, proteins, samples, training

PREFIX = "potts"
DATA: dict[str, type[DataSpecification]] = {
    "potts_samples": samples.PottsSamples,
    "alignment": proteins.Alignment,
    "many_body_samples": many_body.ManyBodySamples,
}
ESTIMATORS: dict[str, type[Specification]] = {
    "equilibrium": samples.Equilibrium,
    "single_chains": samples.SingleChains,
    "factored_attention": samples.FactoredAttention,
    "mixed_attention": samples.MixedAttention,
    "replica": samples.Replica,
    "ridge_simulation": samples.RidgeSimulation,
    "transformer": training.Transformer,
    "factored_training": training.FactoredTraining,
    "pseudo_likelihood": training.PseudoLikelihood,
    "alignment_summary": proteins.AlignmentSummary,
    "multihead_attention": proteins.MultiheadAttention,
    "symmetric_pseudo_likelihood": proteins.SymmetricPseudoLikelihood,
    "alignment_transformer": proteins.AlignmentTransformer,
    "generated_sequences": proteins.GeneratedSequences,
    "alignment_ridge": proteins.AlignmentRidge,
    "stacked_attention": many_body.StackedAttention,
}
