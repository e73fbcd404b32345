"""The table of contents of the family: its kinds of data and its estimators, each with the class of its keys.

The files in `config/<family>/experiments` use these names. The module `estimators/**/<name>.py` computes the estimator or data
`<name>`.
"""

from attention_limits.pipeline.experiments.specification import DataSpecification, Specification
from attention_limits.sequence_single_index.schema import sgd, theory

PREFIX = "ssi"
DATA: dict[str, type[DataSpecification]] = {}
ESTIMATORS: dict[str, type[Specification]] = {
    "landscape": theory.Landscape,
    "information_exponent": theory.InformationExponent,
    "attention_surface": theory.AttentionSurface,
    "phase_diagram": theory.PhaseDiagram,
    "phase_lines": theory.PhaseLines,
    "token_lines": theory.TokenLines,
    "position_minima": theory.PositionMinima,
    "linear_theory": theory.LinearTheory,
    "attention_sgd": sgd.AttentionSGD,
    "tied_sgd": sgd.TiedSGD,
    "untied_sgd": sgd.UntiedSGD,
    "hermite_sgd": sgd.HermiteSGD,
    "link_sgd": sgd.LinkSGD,
    "escape_diffusion": theory.EscapeDiffusion,
}
