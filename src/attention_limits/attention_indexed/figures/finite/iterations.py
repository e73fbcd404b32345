"""The first iterations of matrix AMP at several dimensions."""

from attention_limits.attention_indexed.figures.shared import ESTIMATION
from attention_limits.plotting import COLORS, NARROW, curve, house_style, legend_below, new_figure, ordered_colors


@house_style
def draw(cubes):
    """From the cube iterations."""
    part = cubes["iterations"].isel(alpha=0)
    figure, axes = new_figure(1, 1, NARROW, 4.0)
    colors = ordered_colors(part.dimension.values, logarithmic=True)
    for color, dimension in zip(colors, part.dimension.values, strict=True):
        errors = part.mmse_by_iteration.sel(dimension=dimension).transpose("iteration", "replica").values
        curve(axes, part.iteration.values, errors, color, f"AMP, $d = {dimension:g}$")
    limit = part.limit_by_iteration.isel(dimension=0, replica=0)
    axes.plot(part.iteration, limit, "--", color=COLORS["bayes"], label="state evolution")
    axes.set(
        xlabel="undamped iteration", ylabel=ESTIMATION, ylim=(0.75 * float(limit.min()), None),
        title=rf"softmax, $M = 2$, $\rho = 0.5$, $\alpha = {float(part.alpha):g}$",
    )  # fmt: skip
    legend_below(figure, axes, ncols=3)
    return figure


def numbers(cubes):
    """The smallest and the largest dimension, and the iteration at which the mean error is smallest there."""
    part = cubes["iterations"].isel(alpha=0)
    least = part.mmse_by_iteration.mean("replica").idxmin("iteration")
    ends = {"small": part.dimension.min(), "large": part.dimension.max()}
    return {name: float(end) for name, end in ends.items()} | {
        f"least_{name}": float(least.sel(dimension=end)) for name, end in ends.items()
    }
