"""Direction that attention learns at d = 100 beside d = 1000, and the strip in which the minimum lies between the corners."""

from attention_limits.pipeline.cubes.readings import specifications
from attention_limits.plotting import GREEN, MIDDLE, house_style, legend_below, new_figure
from attention_limits.sequence_single_index.figures.papers.fig5_right import draw_fractions
from attention_limits.sequence_single_index.figures.shared import NEUTRAL, POSITIONAL, SEMANTIC

_OVERLAPS = {"positional": POSITIONAL, "semantic": SEMANTIC}


@house_style
def draw(cubes):
    """Fractions from transition_small_dimension and fig5_frobenius; paths from yellow_region."""
    figure, (left, right) = new_figure(1, 2, MIDDLE, 4.2)
    for name, color, marker in (("transition_small_dimension", GREEN, "o"), ("fig5_frobenius", NEUTRAL, "s")):
        cube = cubes[name]
        runs = cube.semantic.dropna("omega", how="all")
        part = specifications(cube)["attention_sgd"]
        label = f"$d = {part['model']['dimension']}$, {runs.sizes['replica']} runs"
        draw_fractions(left, runs, cube.escaped.sel(omega=runs.omega), color, label, marker)
    left.axhline(0.5, color="0.8", linewidth=0.6, zorder=0)
    left.set(xlabel=r"weight of the positional part $\omega$", ylabel="$P(|m| > |e|)$ at the end of the run")
    left.set(xlim=(0.46, 0.92), ylim=(-0.03, 1.03), title="$a = 1$")
    cube = cubes["yellow_region"].isel(omega=0)
    for name, color in _OVERLAPS.items():
        runs = abs(cube[f"{name}_overlap_trajectory"]).transpose("replica", "step")
        # Each run changes its direction at its own time: a mean would show none of them.
        lines = right.plot(runs.step[1:], runs[:, 1:].T, color=color, linewidth=0.8, alpha=0.7)
        lines[0].set_label(f"{name} overlap, single runs")
    model = specifications(cubes["yellow_region"])["attention_sgd"]["model"]
    right.set(xlabel="SGD steps", ylabel="overlap", xscale="log", ylim=(0, 1.03))
    right.set(title=rf"$a = {model['a']:g}$, $\omega = {float(cube.omega):g}$")
    legend_below(figure, (left, right), ncols=2)
    return figure


def numbers(cubes):
    """Share of the runs at the small dimension that escape, in per cent; mean overlaps at the end of the runs in the strip."""
    escaped, end = cubes["transition_small_dimension"].escaped, cubes["yellow_region"].isel(omega=0, step=-1)
    semantic, positional = (float(abs(end[f"{name}_overlap_trajectory"]).mean()) for name in ("semantic", "positional"))
    return {"escaped": 100.0 * float(escaped.mean()), "semantic": semantic, "positional": positional}
