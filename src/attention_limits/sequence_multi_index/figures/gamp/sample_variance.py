"""GAMP with averaged variances, with those of every sample, and relaxed belief propagation, at a small dimension."""

import numpy as np

from attention_limits.numerics.probability.statistics import mean_and_error
from attention_limits.pipeline.cubes.readings import specifications
from attention_limits.plotting import (
    BLACK,
    BLUE,
    GREEN,
    MIDDLE,
    VERMILLION,
    curve,
    house_style,
    legend_below,
    new_figure,
    present,
)

_PAIR = {"layer": 1, "layer_star": 1}
METHODS = {
    "gamp": ("GAMP, average variance", BLUE, "-"),
    "gamp_sample_variance": ("GAMP, variance of every sample", VERMILLION, "--"),
    "relaxed_belief_propagation": ("relaxed belief propagation", GREEN, "-."),
}


@house_style
def draw(cubes):
    """Squared cosines by iteration from the cube sample_variance, one panel for each alpha."""
    cube = cubes["sample_variance"]
    dimension = specifications(cube)["gaussian_sequences"]["solver"]["dimension"]
    figure, axes = new_figure(1, cube.sizes["alpha"], MIDDLE, 3.4, sharey=True, squeeze=False)
    for panel, alpha in zip(axes[0], cube.alpha.values, strict=True):
        part = cube.sel(alpha=alpha)
        theory = part.overlap_trajectory.sel(estimator="state_evolution_trajectory", **_PAIR)
        theory = present(theory, "iteration").dropna("replica", how="all").transpose("iteration", "replica")
        curve(panel, theory.iteration.values, theory.values, BLACK, r"state evolution, $D = \infty$", ":")
        for estimator, (label, color, style) in METHODS.items():
            curve(panel, part.iteration.values, squared_cosines(part, estimator), color, label, style)
        panel.set(xlabel="iteration $t$", title=rf"$\alpha = {alpha:g}$, $D = {dimension}$")
    axes[0, 0].set(ylabel=r"$\cos^2(\hat W, W^\star)$", ylim=(0.0, 1.0))
    legend_below(figure, axes[0, 0], ncols=2)
    return figure


def squared_cosines(cube, estimator):
    """cos^2 of the estimate and the teacher, array (iterations, replicas), of a cube at one alpha.

    For a posterior mean it is Q. The overlap itself has no bound where an estimate runs away. A run stops where it has settled,
    or recovered the weights: its last value holds from there on.
    """
    part = cube.sel(estimator=estimator).dropna("replica", subset=["iterations"])
    found = (part.cosine_trajectory.sel(layer=1) ** 2).transpose("iteration", "replica").values.copy()
    for column, done in zip(found.T, part.iterations.values.astype(int), strict=True):
        column[done:] = column[done - 1]
    return found


def numbers(cubes):
    """Of the first and the last alpha, at the end: squared cosine of GAMP with averages minus that with all variances on the same
    data, its standard error, and how far state evolution lies above GAMP with averages."""
    cube, found = cubes["sample_variance"], {}
    for name, place in (("low", 0), ("high", -1)):
        part = cube.isel(alpha=place)
        averages, single = (squared_cosines(part, estimator)[-1] for estimator in ("gamp", "gamp_sample_variance"))
        mean, error = mean_and_error((averages - single)[:, None])
        theory = part.overlap_trajectory.sel(estimator="state_evolution_trajectory", **_PAIR)
        limit = float(present(theory, "iteration").isel(iteration=-1).mean())
        found |= {
            f"{name}_alpha": float(part.alpha), name: float(mean[0]), f"{name}_error": float(error[0]),
            f"{name}_gap": limit - float(np.nanmean(averages)),
        }  # fmt: skip
    return found
