"""Escape time of SGD with positional encoding, beside runs without it."""

import numpy as np

from attention_limits.numerics.probability.power_laws import median_and_range
from attention_limits.plotting import NARROW, banded_line, house_style, legend_below, lower_bounds, new_figure
from attention_limits.sequence_single_index.figures.shared import NEUTRAL, POSITIONAL


@house_style
def draw(cubes):
    """Median escape steps against the dimension, from the cubes position_with and position_without, and of the diffusion."""
    figure, axes = new_figure(1, 1, NARROW, 4.0)
    cube, without = cubes["position_with"], cubes["position_without"]
    _medians(axes, cube, "o", POSITIONAL, "SGD with positional encoding")
    flow, error = cube.flow_step.isel(replica=0), cube.flow_step_error.isel(replica=0)
    banded_line(axes, cube.dimension, flow, error, POSITIONAL, "limiting ODE with positional encoding", linestyle="--")
    diffusion = cubes["diffusion_position"].isel(replica=0)
    median, error = (diffusion[name].sel(quantile=0.5) for name in ("diffusion_quantile", "diffusion_quantile_error"))
    banded_line(axes, diffusion.dimension, median, error, POSITIONAL, "diffusion of $(e, m)$, median")
    _medians(axes, without, "s", NEUTRAL, "SGD without positional encoding")
    axes.set(xscale="log", yscale="log", xlabel="dimension $d$", ylabel="steps until $e^2 + m^2 > 1/4$")
    axes.set_xticks(diffusion.dimension, [f"{value:g}" for value in diffusion.dimension.values], minor=False)
    axes.set_xticks([], minor=True)
    legend_below(figure, axes, ncols=1)
    return figure


def numbers(cubes):
    """Dimensions with encoding; largest deviation of a median from that of the diffusion (per cent); runs without encoding, and
    how many of these have escaped.
    """
    cube, without = cubes["position_with"], cubes["position_without"]
    d, median = cube.dimension.values, median_and_range(cube.escape_step.values, cube.escaped.values)[0]
    expected = cubes["diffusion_position"].isel(replica=0).diffusion_quantile.sel(quantile=0.5)
    both = np.isin(d, expected.dimension)
    deviation = np.abs(median[both] / expected.sel(dimension=d[both]).values - 1.0)
    return {
        "first": float(d[0]), "last": float(d[-1]), "deviation": 100.0 * float(np.max(deviation, initial=0.0)),
        "runs": float(without.escaped.size), "escaped": float(without.escaped.sum()),
    }  # fmt: skip


def _medians(axes, cube, marker, color, label):
    """Medians with their range; arrows where at least half of the runs have not escaped: the length of the runs."""
    d, steps = cube.dimension.values.astype(float), cube.escape_step.values
    median, low, high = median_and_range(steps, cube.escaped.values)
    known = np.isfinite(median)
    if known.any():
        errors = [median[known] - low[known], high[known] - median[known]]
        axes.errorbar(
            d[known], median[known], errors, fmt=marker, color=color, markersize=4, capsize=2, elinewidth=1, label=label
        )
    if not known.all():
        censored = f"{label}: not escaped so far"
        lower_bounds(axes, d[~known], steps.max(axis=1)[~known], color, censored)
