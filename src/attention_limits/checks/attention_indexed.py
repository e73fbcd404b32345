"""What the schemas of the attention-indexed family cannot say: channels that fit the kind, repetitions, memory of the data."""

from attention_limits.attention_indexed.hardmax_many import MOST_TOKENS
from attention_limits.attention_indexed.model import megabytes, samples

# These draw n sequences of T tokens of dimension d at every point.
SIMULATIONS = ("matrix_amp", "gradient_descent", "two_layers_amp")
CURVES = ("state_evolution", "small_width_limit")


def problems(estimator):
    """Channels that a kind cannot have, repetitions of what has no random numbers, and data that do not fit into the memory."""
    model, found = estimator.model, []
    channel, tokens = model.get("channel"), estimator.grid.get("tokens", [model.get("tokens", 2)])
    if channel == "hardmax_published" and estimator.name == "matrix_amp":
        found.append(
            (("model", "channel"), "hardmax_published: a curve of the state evolution only, it is no posterior mean")
        )
    if channel == "hardmax_published" and max(tokens) > 2:
        found.append((("model", "channel"), f"hardmax_published: allowed with 2 tokens, not {max(tokens):g}"))
    if channel == "hardmax" and max(tokens) > MOST_TOKENS:
        found.append((("model", "channel"), f"hardmax: allowed with up to {MOST_TOKENS} tokens, not {max(tokens):g}"))
    if estimator.name in CURVES and estimator.replicas > 1:
        found.append((("replicas",), f"{estimator.replicas}: allowed: 1, the {channel} channel has no random numbers"))
    if estimator.name in SIMULATIONS:
        found += _memory(estimator, max(tokens))
    return found


def _memory(estimator, tokens):
    dimension, alpha = estimator.solver["dimension"], max(estimator.grid["alpha"])
    needed, allowed = megabytes(samples(alpha, dimension), tokens, dimension), estimator.resources["memory"]
    if needed <= allowed:
        return []
    size = f"n T d = {samples(alpha, dimension)} x {tokens:g} x {dimension} numbers at alpha = {alpha:g}"
    return [(("resources", "memory"), f"{allowed} MB: {size} need {needed} MB")]
