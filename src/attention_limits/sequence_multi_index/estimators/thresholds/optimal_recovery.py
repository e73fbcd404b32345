"""Bracket of the alpha above which exact recovery is Bayes-optimal; one replica is one scrambling of the nodes."""

from attention_limits.sequence_multi_index.estimators.thresholds.exact_recovery import brackets
from attention_limits.sequence_multi_index.state_evolution.exact_recovery import optimal_recovery


def run(spec, streams):
    """The bracket at every point (see `variables`)."""
    return brackets(spec, streams, optimal_recovery)
