"""The state evolution from the informed start: a gap to the uninformed one would be a hard phase."""

from attention_limits.experiments.sequence_multi_index.state_evolution import run

__all__ = ["run"]
