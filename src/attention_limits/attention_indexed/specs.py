"""The table of contents of the family: its kinds of data and its estimators, each with the class of its keys.

The files in `config/<family>/experiments` use these names. The module `estimators/**/<name>.py` computes the estimator or data
`<name>`.
"""

from attention_limits.attention_indexed.schema import erm, one_layer, two_layers, untied
from attention_limits.pipeline.experiments.specification import DataSpecification, Specification

PREFIX = "aim"
DATA: dict[str, type[DataSpecification]] = {}
ESTIMATORS: dict[str, type[Specification]] = {
    "state_evolution": one_layer.StateEvolution,
    "phase_comparison": one_layer.PhaseComparison,
    "small_width_limit": one_layer.SmallWidthLimit,
    "denoising": one_layer.Denoising,
    "matrix_amp": one_layer.MatrixAmp,
    "matrix_amp_sizes": one_layer.MatrixAmpSizes,
    "posterior_sampling": one_layer.PosteriorSampling,
    "gradient_descent": one_layer.GradientDescent,
    "two_layers_state_evolution": two_layers.TwoLayersStateEvolution,
    "two_layers_phases": two_layers.TwoLayersPhases,
    "two_layers_amp": two_layers.TwoLayersAmp,
    "layers_descent": two_layers.LayersDescent,
    "untied_descent": untied.UntiedDescent,
    "untied_amp": untied.UntiedAmp,
    "erm_state_evolution": erm.ErmStateEvolution,
    "erm_optimal_decay": erm.ErmOptimalDecay,
    "erm_minimisation": erm.ErmMinimisation,
    "erm_gamp": erm.ErmGamp,
}
