"""Binary perceptron: overlap from both starts of state evolution, and the two published thresholds."""

from attention_limits.pipeline.cubes.readings import passed
from attention_limits.plotting import (
    COLORS,
    KEY,
    NARROW,
    curve,
    house_style,
    mark_threshold,
    new_figure,
    present,
    published_points,
    say_why,
    theory_points,
)
from attention_limits.sequence_multi_index.figures.papers.published import BINARY_PERCEPTRON
from attention_limits.sequence_multi_index.figures.shared import NOT_SETTLED, jump_to_recovery
from attention_limits.sequence_multi_index.readings import equal_free_entropy, free_entropy_gain, recovery

_PAIR = {"layer": 1, "layer_star": 1, "drop": True}


@house_style
def draw(cubes):
    """Overlaps (top) and free-entropy difference (bottom) from the cube priors_perceptron."""
    cube = cubes["priors_perceptron"]
    figure, (top, bottom) = new_figure(2, 1, NARROW, 5.4, sharex=True, height_ratios=(3, 2))
    _overlaps(top, cube)
    found = free_entropy_gain(cube).dropna("alpha")
    bottom.errorbar(found.alpha, found.gain, found.error, color=KEY, marker="o", markersize=4, capsize=2, linewidth=1)
    bottom.axhline(0, color="0.6", linewidth=0.8)
    thresholds = {
        "optimal": (equal_free_entropy(cube), COLORS["informed"], "exact recovery is Bayes-optimal"),
        "gamp": (recovery(cube), COLORS["uninformed"], "message passing recovers"),
    }
    for name, ((value, error), color, label) in thresholds.items():
        mark_threshold(top, value, color, error, label)
        mark_threshold(bottom, value, color, error)
        published_points(bottom, BINARY_PERCEPTRON[name], 0, color=color, label=f"published: {label}", markersize=6)
    top.set(ylabel="overlap with the teacher", xlim=(0, 1.75), ylim=(-0.03, 1.05))
    bottom.set(xlabel=r"samples per dimension $\alpha = n/D$", ylabel="free entropy,\ninformed $-$ uninformed")
    for axes in (top, bottom):
        say_why(axes, NOT_SETTLED)
        axes.legend(loc="upper left", fontsize=7)
    return figure


def numbers(cubes):
    """Where exact recovery becomes Bayes-optimal, and where message passing reaches it, with standard errors."""
    cube = cubes["priors_perceptron"]
    (optimal, optimal_error), (reached, reached_error) = equal_free_entropy(cube), recovery(cube)
    return {"optimal": optimal, "optimal_error": optimal_error, "reached": reached, "reached_error": reached_error}


def _overlaps(axes, cube):
    overlap = present(cube.overlap.sel(**_PAIR).transpose("alpha", "replica"))
    settled = passed(cube, "overlap").sel(alpha=overlap.alpha).transpose("alpha", "replica").values
    # The overlap jumps to one where the iteration recovers the weights: no line joins both sides.
    curve(
        axes, overlap.alpha.values, overlap.values, COLORS["uninformed"], "uninformed start", flags=settled,
        jump=jump_to_recovery(overlap),
    )  # fmt: skip
    informed = present(cube.overlap_by_start.sel(init="informed", **_PAIR)).transpose("alpha", "replica")
    flags = passed(cube, "overlap_by_start").sel(init="informed", alpha=informed.alpha).transpose("alpha", "replica")
    theory_points(axes, informed.alpha.values, informed.values, flags.values, COLORS["informed"], "informed start")
