"""Binary perceptron: overlap from both starts of state evolution, and the two published thresholds."""

from attention_limits.pipeline.cubes.readings import passed
from attention_limits.plotting import curve, house_style, new_figure, points, present
from attention_limits.sequence_multi_index.figures.papers.published import BINARY_PERCEPTRON
from attention_limits.sequence_multi_index.readings import equal_free_entropy, free_entropy_gain, recovery

_PAIR = {"layer": 1, "layer_star": 1, "drop": True}


@house_style
def draw(cubes):
    """Overlaps (top) and free-entropy difference (bottom) from the cube priors_perceptron."""
    cube = cubes["priors_perceptron"]
    figure, (top, bottom) = new_figure(2, 1, 5.2, 5.2, sharex=True, height_ratios=(3, 2))
    _overlaps(top, cube)
    found = free_entropy_gain(cube).dropna("alpha")
    bottom.errorbar(found.alpha, found.gain, found.error, color="0.3", marker="o", markersize=4, capsize=2, linewidth=1)
    bottom.axhline(0, color="0.6", linewidth=0.8)
    thresholds = {
        "optimal": (equal_free_entropy(cube), "C2", "perfect recovery is optimal"),
        "gamp": (recovery(cube), "C1", "state evolution recovers"),
    }
    for name, ((value, error), color, label) in thresholds.items():
        for axes in (top, bottom):
            axes.axvspan(value - error, value + error, color=color, alpha=0.3, linewidth=0)
            axes.axvline(value, color=color, linestyle=":", linewidth=1, label=label if axes is top else None)
        bottom.plot(BINARY_PERCEPTRON[name], 0, "^", color=color, markersize=7, label=f"published: {label}")
    top.set(ylabel="overlap with the teacher", xlim=(0, 1.75), ylim=(-0.03, 1.05))
    bottom.set(xlabel=r"samples per dimension $\alpha = n/D$", ylabel="free entropy,\ninformed $-$ uninformed")
    for axes in (top, bottom):
        axes.legend(loc="upper left", fontsize=7)
    return figure


def _overlaps(axes, cube):
    overlap = present(cube.overlap.sel(**_PAIR).transpose("alpha", "replica"))
    settled = passed(cube, "overlap").sel(alpha=overlap.alpha).transpose("alpha", "replica").values
    curve(axes, overlap.alpha.values, overlap.values, "C0", "uninformed start", flags=settled)
    informed = present(cube.overlap_by_start.sel(init="informed", **_PAIR)).transpose("alpha", "replica")
    flags = passed(cube, "overlap_by_start").sel(init="informed", alpha=informed.alpha).transpose("alpha", "replica")
    points(axes, informed.alpha.values, informed.values, flags.values, "C3", "informed start")
