"""Escape time at information exponent three, of runs and of the diffusion that SGD becomes at large dimension."""

import numpy as np

from attention_limits.numerics.scaling import median_and_range
from attention_limits.plotting import house_style, new_figure
from attention_limits.sequence_single_index.figures.shared import NEUTRAL, POSITIONAL, SEMANTIC, power_text
from attention_limits.sequence_single_index.readings import escape_law

PANELS = {
    "matched": (("escape_sie3",), r"student and target $\Sigma_l h_3(z_l) / \sqrt{2}$"),
    "mismatched": (("escape_mismatched", "escape_mismatched_large"), r"student $\Sigma_l \tanh(z_l) / \sqrt{2}$"),
}


@house_style
def draw(cubes):
    """Escape steps over d^2 of runs, diffusion and flow, for the student of the form of the target and for another one."""
    figure, axes = new_figure(1, 2, 8.2, 3.9)
    for panel, (name, (runs, title)) in zip(axes, PANELS.items(), strict=True):
        _runs(panel, cubes[runs[0]])
        for large in runs[1:]:
            _single_runs(panel, cubes[large])
        _theory(panel, cubes[f"diffusion_{name}"].isel(replica=0))
        flows = [cubes[each].isel(replica=0) for each in runs]
        d = np.concatenate([each.dimension.values for each in flows]).astype(float)
        flow = np.concatenate([each.flow_step.values for each in flows])
        panel.plot(d, flow / d**2, color=POSITIONAL, linestyle="--", linewidth=1.2, label="flow without noise")
        panel.set(xscale="log", yscale="log", xlabel="dimension $d$", title=title)
        panel.legend(loc="upper right", fontsize="x-small")
        low, high = panel.get_ylim()
        panel.set_ylim(low, high * 2.5)
    axes[0].set(ylabel=r"steps until $|m| > 1/2$, over $d^2$")
    return figure


def _runs(axes, cube):
    """Medians with their 68 % range, and in grey the range of 68 % of the runs."""
    d, steps = cube.dimension.values.astype(float), cube.escape_step.values
    median, low, high = median_and_range(steps, cube.escaped.values)
    known = np.isfinite(median) & np.isfinite(high)
    label = f"median of {cube.sizes['replica']} runs: {power_text('d', escape_law(cube))}"
    errors = [(median - low)[known] / d[known] ** 2, (high - median)[known] / d[known] ** 2]
    axes.errorbar(
        d[known], median[known] / d[known] ** 2, errors, fmt="o", color=SEMANTIC, markersize=4, capsize=2, elinewidth=1,
        label=label, zorder=4,
    )  # fmt: skip


def _single_runs(axes, cube):
    """Runs one by one; a triangle is the length of one that did not escape."""
    steps, done = cube.escape_step.values.ravel(), cube.escaped.values.astype(bool).ravel()
    d = np.repeat(cube.dimension.values, cube.sizes["replica"]).astype(float)
    axes.plot(
        d[done],
        steps[done] / d[done] ** 2,
        "o",
        color=SEMANTIC,
        markerfacecolor="white",
        markersize=4,
        label="single runs",
    )
    axes.plot(d[~done], steps[~done] / d[~done] ** 2, "^", color=SEMANTIC, markerfacecolor="white", markersize=5)


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
