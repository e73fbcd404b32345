"""Probability that attention learns the semantic direction, against the weight of the positional part."""

from contextlib import suppress

from attention_limits.numerics.statistics import mean_and_error
from attention_limits.pipeline.readings import specifications
from attention_limits.plotting import house_style, new_figure
from attention_limits.sequence_single_index.figures.shared import ACCENT, NEUTRAL, SEMANTIC, binomial_error
from attention_limits.sequence_single_index.readings import equal_curvatures

LOSSES = {"frobenius": (NEUTRAL, r"$\|T - S\|_F$"), "half_square": (SEMANTIC, r"$\frac{1}{2}\|T - S\|_F^2$")}


@house_style
def draw(cubes):
    """Runs of both losses with their theory, and of the published length, from the cubes fig5_*."""
    figure, axes = new_figure(1, 1, 5.8, 4.0)
    for loss, (color, name) in LOSSES.items():
        cube = cubes[f"fig5_{loss}"]
        runs = cube.semantic.dropna("omega", how="all")
        escaped = cube.escaped.sel(omega=runs.omega)
        _points(axes, runs, escaped, color, f"SGD on {name}, run to escape")
        theory = cube.dropna("omega", subset=["curvature_position"], how="all")
        mean, error = mean_and_error(theory.flow_semantic.values, axis=1)
        axes.plot(theory.omega, mean, color=color, linewidth=1.2, label=f"theory, {name}")
        axes.fill_between(theory.omega, mean - error, mean + error, color=color, alpha=0.3, linewidth=0)
        with suppress(KeyError):
            omega, _ = equal_curvatures(cube)
            axes.axvline(
                omega,
                color=color,
                linewidth=0.8,
                linestyle=":",
                label=rf"equal curvatures, {name}, $\omega = {omega:.3f}$",
            )
    short = cubes["fig5_short"]
    steps = specifications(short)["attention_sgd"]["solver"]["steps"]
    _points(axes, short.semantic, short.escaped, ACCENT, f"{name_of(steps)} steps only, {LOSSES['frobenius'][1]}", "s")
    axes.axhline(0.5, color="0.8", linewidth=0.6, zorder=0)
    axes.set(
        xlabel=r"weight of the positional part $\omega$", ylabel=r"$P(|m| > |e|)$ at the end of the run",
        xlim=(-0.02, 1.02), ylim=(-0.03, 1.03),
    )  # fmt: skip
    axes.legend(loc="lower left")
    return figure


def name_of(steps):
    """A number of steps with thin spaces."""
    return f"{steps:,}".replace(",", "\u2009")


def _points(axes, semantic, escaped, color, label, marker="o"):
    """Fractions with binomial errors, hollow where fewer than half of the runs have escaped."""
    omega, runs = semantic.omega.values, semantic.sizes["replica"]
    wins = semantic.values.astype(float).sum(axis=1)
    enough = escaped.values.astype(float).mean(axis=1) >= 0.5
    for chosen, face in ((enough, color), (~enough, "white")):
        axes.errorbar(
            omega[chosen], wins[chosen] / runs, binomial_error(wins[chosen], runs), color=color, markerfacecolor=face,
            marker=marker, markersize=4, capsize=2, elinewidth=1, linestyle="none", label=label if face == color else None,
        )  # fmt: skip
    if not enough.any():
        axes.plot([], [], marker, color=color, markerfacecolor="white", markersize=4, label=label)
