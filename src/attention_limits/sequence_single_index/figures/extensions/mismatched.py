"""Escape time at information exponent three, of runs and of the diffusion that SGD becomes at large dimension."""

import numpy as np

from attention_limits.numerics.probability.power_laws import median_and_range
from attention_limits.plotting import GREEN, MIDDLE, ORANGE, house_style, legend_below, new_figure
from attention_limits.sequence_single_index.figures.shared import NEUTRAL, power_text
from attention_limits.sequence_single_index.readings import escape_law

# Cube of the runs and title, by the name of the cube of the diffusion.
PANELS = {
    "diffusion_matched": ("escape_sie3", r"student and target $\Sigma_l h_3(z_l) / \sqrt{2}$"),
    "diffusion_mismatched": ("escape_mismatched", r"student $\Sigma_l \tanh(z_l) / \sqrt{2}$"),
}
TICKS = (2, 3, 5, 10, 20, 50)


@house_style
def draw(cubes):
    """Escape steps over d^2 of runs, diffusion and flow: left the student has the form of the target, right another form."""
    figure, axes = new_figure(1, 2, MIDDLE, 4.2, sharey=True)
    for panel, (name, (runs, title)) in zip(axes, PANELS.items(), strict=True):
        cube, d = cubes[runs], cubes[runs].dimension.values.astype(float)
        _runs(panel, cube)
        _theory(panel, cubes[name].isel(replica=0))
        flow = cube.flow_step.isel(replica=0).values
        panel.plot(d, flow / d**2, color=ORANGE, linestyle="--", linewidth=1.2, label="flow without noise")
        panel.set(xscale="log", yscale="log", xlabel="dimension $d$")
        panel.set_title(f"{title}\n{cube.sizes['replica']} runs, {power_text('d', escape_law(cube))}")
        panel.set_yticks(TICKS, [f"{tick:g}" for tick in TICKS])
        panel.set_yticks([], minor=True)
    axes[0].set(ylabel=r"steps until $|m| > 1/2$, over $d^2$")
    legend_below(figure, axes, ncols=2)
    return figure


def _runs(axes, cube):
    """Medians with their 68 % range."""
    d, steps = cube.dimension.values.astype(float), cube.escape_step.values
    median, low, high = median_and_range(steps, cube.escaped.values)
    known = np.isfinite(median) & np.isfinite(high)
    errors = [(median[known] - low[known]) / d[known] ** 2, (high[known] - median[known]) / d[known] ** 2]
    axes.errorbar(
        d[known], median[known] / d[known] ** 2, errors, fmt="o", color=GREEN, markersize=4, capsize=2, elinewidth=1,
        label="median of the runs", zorder=4,
    )  # fmt: skip


def _theory(axes, cube):
    """Median of the diffusion with the error of its quadrature, and the range of 68 % of its escape times."""
    d = cube.dimension.values.astype(float)
    low, median, high = cube.diffusion_quantile.transpose("quantile", "dimension").values / d**2
    error = cube.diffusion_quantile_error.sel(quantile=0.5).values / d**2
    axes.plot(d, median, color=NEUTRAL, linewidth=1.2, label="median of the diffusion")
    axes.fill_between(d, median - error, median + error, color=NEUTRAL, alpha=0.4, linewidth=0)
    axes.fill_between(
        d, low, high, color="0.5", alpha=0.2, linewidth=0, label="68 % of the escape times of the diffusion"
    )
