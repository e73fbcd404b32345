"""What the schemas of the attention-indexed family cannot say: channels that fit the kind, repetitions, memory of the data."""

from attention_limits.attention_indexed.model import MOST_TOKENS, megabytes, samples, width

# These draw n sequences of T tokens of dimension d at every point.
SIMULATIONS = ("matrix_amp", "gradient_descent", "two_layers_amp")
# Below it the limit of small width is right to 1e-5, and the state evolution is not promised.
SMALLEST_RATIO = 1e-9
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
    ratios = estimator.grid.get("ratio", [model.get("ratio")])
    if estimator.name in SIMULATIONS:
        found += _sizes(estimator, min(ratios)) + _memory(estimator, max(tokens), max(ratios))
    if estimator.name == "small_width_limit":
        found += [
            (
                ("grid" if "ratio" in estimator.grid else "model", "ratio"),
                f"{ratio:g}: allowed: 0, or {SMALLEST_RATIO:g} to 100",
            )
            for ratio in ratios
            if 0 < ratio < SMALLEST_RATIO
        ]
    return found


def _sizes(estimator, ratio):
    """A number of sequences or a width that rounds to zero."""
    dimension, alpha, found = estimator.solver["dimension"], min(estimator.grid["alpha"]), []
    if alpha * dimension**2 < 0.5:
        allowed = f"allowed: at least {0.5 / dimension**2:g} at dimension {dimension}"
        found.append((("grid", "alpha"), f"{alpha:g}: {allowed}, or alpha d^2 sequences round to none"))
    if ratio * dimension < 0.5:
        place = "grid" if "ratio" in estimator.grid else "model"
        allowed = f"allowed: at least {0.5 / dimension:g} at dimension {dimension}"
        found.append(((place, "ratio"), f"{ratio:g}: {allowed}, or the width rho d rounds to zero"))
    return found


def _memory(estimator, tokens, ratio):
    dimension, alpha = estimator.solver["dimension"], max(estimator.grid["alpha"])
    count, (rank, _) = samples(alpha, dimension), width(ratio, dimension)
    # Two layers have two matrices of each kind.
    layers = 2 if estimator.name == "two_layers_amp" else 1
    starts = estimator.solver.get("starts", 0)
    needed, allowed = megabytes(count, tokens, layers * dimension, rank, starts), estimator.resources["memory"]
    if needed <= allowed:
        return []
    size = f"n T d = {count} x {tokens:g} x {dimension} numbers at alpha = {alpha:g} and r = {rank}"
    return [(("resources", "memory"), f"{allowed} MB: {size} need {needed} MB")]
