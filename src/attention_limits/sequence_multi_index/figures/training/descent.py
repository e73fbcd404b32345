"""Phase retrieval by GAMP and by gradient descent, beside state evolution."""

import numpy as np

from attention_limits.numerics.probability.statistics import mean_and_error
from attention_limits.pipeline.cubes.readings import passed, specifications
from attention_limits.plotting import (
    COLORS,
    NARROW,
    curve,
    house_style,
    legend_below,
    new_figure,
    points,
    present,
    realised_alpha,
    say_why,
)
from attention_limits.sequence_multi_index.figures.papers.fig2 import gamp_cosines
from attention_limits.sequence_multi_index.figures.shared import NOT_SETTLED, jump_to_recovery

_WAYS = {
    "batch_reuse_sgd": (COLORS["descent"], "s", "gradient descent, batches of the data used several times"),
    "online_sgd": (COLORS["average"], "v", "gradient descent, {} fresh sequences per dimension"),
    "gamp": (COLORS["amp"], "o", "GAMP"),
}


@house_style
def draw(cubes):
    """|cos| between the estimate and the teacher, from the cube phase_retrieval_descent."""
    cube = cubes["phase_retrieval_descent"]
    figure, axes = new_figure(1, 1, NARROW, 4.6)
    theory = cube.sel(estimator="state_evolution", layer=1, layer_star=1).transpose("alpha", "replica", ...)
    # For a posterior mean the squared cosine is Q.
    cosine = present(np.sqrt(theory.overlap))
    settled = passed(theory, "overlap").sel(alpha=cosine.alpha).values
    curve(
        axes, cosine.alpha.values, cosine.values, COLORS["bayes"], "state evolution, uninformed start", flags=settled,
        jump=jump_to_recovery(cosine),
    )  # fmt: skip
    specs = specifications(cube)
    dimension, online = specs["gaussian_sequences"]["solver"]["dimension"], specs["online_sgd"]["solver"]
    fresh = online["batch"] * online["batches"] / dimension
    for name, (color, marker, label) in _WAYS.items():
        part = cube.sel(estimator=name)
        part = part.sel(alpha=present(part.realised_alpha).alpha)
        last = _gamp(part) if name == "gamp" else _descent(part)
        if name == "online_sgd":
            # It reads as many sequences at every alpha: one mean over all data sets.
            mean, error = mean_and_error(np.where(last[1] == 1, last[0], np.nan).ravel())
            axes.axhspan(mean - error, mean + error, color=color, alpha=0.3, linewidth=0, zorder=1)
            axes.axhline(mean, color=color, linewidth=1.2, label=label.format(f"{fresh:g}"), zorder=1.5)
            continue
        points(axes, realised_alpha(part, part.alpha), *last, color, label.format(f"{fresh:g}"), marker)
    axes.set(
        xlabel=r"samples per dimension $\alpha = n/D$", ylabel=r"$|\cos(W, W^\star)|$", ylim=(-0.03, 1.05),
        title=f"$y = h^2$, simulations at $D = {dimension}$",
    )  # fmt: skip
    # Mean |cos| of a random vector at large D.
    axes.axhline(np.sqrt(2.0 / (np.pi * dimension)), color="0.5", linestyle=":", linewidth=1, label="random vector")
    axes.set_xlim(0, 1.05 * float(theory.alpha.max()))
    say_why(axes, NOT_SETTLED)
    legend_below(figure, axes, ncols=1)
    return figure


def _gamp(part):
    """Last |cos| and convergence, arrays (alpha, replicas)."""
    cosine = np.stack([gamp_cosines(part.sel(alpha=alpha), 1)[-1] for alpha in part.alpha])
    return cosine, passed(part, "cosine_trajectory").transpose("alpha", "replica").values


def _descent(part):
    """The same of the start with the smallest training error; where weights are finite, the run counts as converged."""
    last = np.abs(present(part.cosine_by_batch, "batch").isel(batch=-1, layer=0)).transpose("alpha", "replica")
    return last.values, part.finite.transpose("alpha", "replica").values
