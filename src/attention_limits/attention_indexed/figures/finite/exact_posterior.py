"""The exact posterior of small hardmax layers beside matrix AMP."""

from attention_limits.attention_indexed.figures.finite.laws import draw_law, left_out, shade_limit
from attention_limits.attention_indexed.figures.shared import ESTIMATION, NOT_CONVERGED
from attention_limits.attention_indexed.readings import by_dimension, pooled_errors
from attention_limits.numerics.probability.statistics import mean_and_error
from attention_limits.pipeline.cubes.readings import passed
from attention_limits.plotting import (
    COLORS,
    NARROW,
    PURPLE,
    SKY,
    VERMILLION,
    house_style,
    largest,
    legend_below,
    new_figure,
    points,
    say_why,
)


@house_style
def draw(cubes):
    """From the cubes posterior_hardmax and sizes_hardmax: both on the same small data sets, AMP at larger d on others, limits."""
    cube, sizes = cubes["posterior_hardmax"], cubes["sizes_hardmax"]
    figure, axes = new_figure(1, 1, NARROW, 4.4)
    alpha = float(cube.alpha.values[0])
    part = cube.sel(alpha=alpha)
    samples, amp = part.sel(estimator="posterior_sampling"), part.sel(estimator="matrix_amp_sizes")
    dimension = part.dimension.values
    mixed = samples.converged == 1
    variances, errors, own, converged = (
        values.transpose("dimension", "replica").values
        for values in (
            samples.posterior_variance.where(mixed),
            samples.mmse.where(mixed),
            amp.mmse,
            passed(amp, "mmse"),
        )
    )
    lost = int((samples.converged == 0).sum())
    dropped_chains = f", {lost} of {samples.converged.size} sets dropped" if lost else ""
    look = {"fmt": "D", "color": VERMILLION}
    label = f"variance of the exact posterior{dropped_chains}"
    draw_law(axes, pooled_errors(dimension, variances), 1.0, look, (-0.0012, -0.004), label=label)
    kept, mean, error = pooled_errors(dimension, errors)
    axes.errorbar(
        1.0 / kept, mean, error, fmt="s", color=PURPLE, markersize=4, capsize=2, elinewidth=1, label="error of its mean"
    )
    points(axes, 1.0 / dimension + 0.0012, own, converged, COLORS["amp"], "AMP, the same data")
    say_why(axes, NOT_CONVERGED)
    here = sizes.sel(alpha=alpha)
    look, label = {"fmt": "^", "color": SKY}, f"AMP, other data{left_out(here)}"
    draw_law(axes, by_dimension(here, "mmse"), 1.0, look, (0.0, -0.008), label=label)
    axes.axhline(float(here.mmse_limit.max()), color="black", linewidth=0.8, linestyle=":", label="state evolution")
    axes.set(
        xlabel="$1/d$", ylabel=ESTIMATION, ylim=(0, None), xlim=(-0.02, 1.06 / dimension.min()),
        title=rf"hardmax, $M = 2$, $\rho = 0.5$, $\alpha = {alpha:g}$",
    )  # fmt: skip
    shade_limit(axes)
    legend_below(figure, axes, ncols=2)
    return figure


def numbers(cubes):
    """Mean error of AMP minus the posterior variance on the same data sets: range over the dimensions, in per cent of this
    variance and in standard errors; the smallest and the largest dimension."""
    part = cubes["posterior_hardmax"].isel(alpha=0)
    samples, amp = part.sel(estimator="posterior_sampling"), part.sel(estimator="matrix_amp_sizes")
    both = (samples.converged == 1) & (passed(amp, "mmse") == 1)
    difference, variance = (
        array.where(both).transpose("dimension", "replica").values
        for array in (amp.mmse - samples.posterior_variance, samples.posterior_variance)
    )
    mean, error = mean_and_error(difference, axis=1)
    relative = 100.0 * mean / mean_and_error(variance, axis=1)[0]
    return {
        "small": float(part.dimension.min()), "large": float(part.dimension.max()),
        "least": -largest(-relative), "most": largest(relative),
        "least_errors": -largest(-mean / error), "most_errors": largest(mean / error),
    }  # fmt: skip
