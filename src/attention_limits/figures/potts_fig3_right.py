"""Losses of factored attention against the number of sequences at small ridges."""

from attention_limits.figures.potts_parts import RIDGE_COLORS, equilibrium_note, level, of_chosen, series
from attention_limits.figures.style import house_style, new_figure


@house_style
def draw(cubes):
    """Test loss (top) and training loss (bottom) from the cube fig3_right."""
    cube = cubes["fig3_right"]
    distance, kind = cube.distance.values[0], cube.attention.values[0]
    part = cube.sel(distance=distance, attention=kind)
    part = part.assign_coords(samples=part.samples / part.sizes["site"])
    figure, (top, bottom) = new_figure(2, 1, 5.2, 5.6, sharex=True, height_ratios=(3, 2))
    for ridge, color in zip(part.ridge.values, RIDGE_COLORS, strict=False):
        one = part.sel(ridge=ridge)
        settled = of_chosen(one, "converged").transpose("samples", "replica")
        for axes, name in ((top, "test_loss"), (bottom, "training_loss")):
            loss = of_chosen(one, name).transpose("samples", "replica")
            series(axes, loss, settled, "samples", color, rf"$\lambda = 10^{{{_power(ridge)}}}$")
    for axes in (top, bottom):
        level(axes, float(part.optimal_loss.mean()), "optimal", linestyle="--")
    top.set(ylabel="test loss per site (nats)", xscale="log", yscale="log")
    top.set_title(f"{equilibrium_note(cube, distance)}", loc="left")
    bottom.set(xlabel=r"sequences per site $M/L$", ylabel="training loss per site (nats)")
    top.legend()
    return figure


def _power(ridge):
    mantissa, exponent = f"{ridge:.0e}".split("e")
    return f"{int(exponent)}" if mantissa == "1" else f"{float(ridge)}"
