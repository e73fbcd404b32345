"""Rank of the attention matrix that weight decay learns."""

import numpy as np

from attention_limits.attention_indexed.figures.erm.erm_shared import (
    best,
    equations,
    evolution,
    legend_group,
    method_key,
    minima,
    of,
)
from attention_limits.attention_indexed.figures.shared import model
from attention_limits.pipeline.cubes.readings import passed
from attention_limits.plotting import MIDDLE, house_style, legend_below, new_figure

_TITLES = {"erm_softmax": "softmax, no noise", "erm_linear": r"linear scores, $\tau = 0.1$"}


@house_style
def draw(cubes):
    """Fraction of the eigenvalues that are not zero, against the equations; from erm_softmax and erm_linear."""
    figure, panels = new_figure(1, 2, MIDDLE, 4.2, sharey=True)
    for axes, (name, title) in zip(panels, _TITLES.items(), strict=True):
        cube, K = cubes[name], equations(cubes[name])
        theory = of(cube, "erm_state_evolution")
        # At exact recovery the rank without decay falls to that of the teacher.
        jump = float(theory.exact_recovery.max())
        for decay in cube.weight_decay.values:
            evolution(axes, theory, decay, "learned_rank", K, np.nan if decay else jump)
            minima(axes, cube, decay, "learned_rank", K)
        optimal = of(cubes[f"{name}_best"], "erm_optimal_decay")
        optimal = optimal.sel(score_noise=model(cube, "score_noise")) if "score_noise" in optimal.dims else optimal
        best(axes, optimal, "learned_rank", K, jump)
        axes.axhline(model(cube, "ratio"), color="black", linewidth=0.9, linestyle=":", label="rank of the teacher")
        axes.set(
            title=title,
            xlabel=r"equations per distinct entry of $S$, $K\alpha$",
            xlim=(0, K * float(theory.alpha.max())),
        )
    method_key(panels[0], [cubes[name] for name in _TITLES])
    panels[0].set(ylabel="rank of the learned $S$, divided by $d$", ylim=(0, 0.85))
    legend_below(figure, panels, key=legend_group)
    return figure


def numbers(cubes):
    """The largest rank without decay, softmax: just below exact recovery."""
    theory = of(cubes["erm_softmax"], "erm_state_evolution").sel(weight_decay=0.0)
    return {
        "rank": float(theory.learned_rank.where(passed(theory, "learned_rank", unique=True) == 1).mean("replica").max())
    }
