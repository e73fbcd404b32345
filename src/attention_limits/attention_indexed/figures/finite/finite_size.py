"""The error of matrix AMP and its prediction at several dimensions, divided by the limit of large d."""

import numpy as np

from attention_limits.attention_indexed.figures.finite.laws import SHIFT, STEP, draw_law, left_out, shade_limit
from attention_limits.attention_indexed.readings import agreement, by_dimension, normal_number
from attention_limits.plotting import BLUE, GREEN, KEY, VERMILLION, WIDE, house_style, legend_below, new_figure

CHANNELS = ("linear", "softmax", "hardmax")
# Colours and symbols of the alphas of a channel, of small ones first.
LOOKS = ((BLUE, "o"), (VERMILLION, "s"), (GREEN, "^"))


@house_style
def draw(cubes):
    """From the cubes sizes_linear, sizes_softmax and sizes_hardmax."""
    figure, panels = new_figure(1, len(CHANNELS), WIDE, 4.4)
    for axes, channel in zip(panels, CHANNELS, strict=True):
        _draw_channel(axes, cubes[f"sizes_{channel}"], channel)
    panels[0].set(ylabel="error / limit of state evolution")
    for opacity, style, label in ((1.0, "-", "error of AMP"), (0.45, "--", "predicted by AMP")):
        panels[0].plot([], [], marker="o", linestyle=style, linewidth=0.7, color=KEY, alpha=opacity, label=label)
    legend_below(figure, panels, ncols=5)
    return figure


def numbers(cubes):
    """Largest deviation of the limits from state evolution, in standard errors: of the error of AMP and of its prediction."""
    found = {"error": [], "prediction": []}
    for channel in CHANNELS:
        cube = cubes[f"sizes_{channel}"]
        # Fewer dimensions have no limit.
        for alpha in cube.alpha.values if cube.sizes["dimension"] > 2 else ():
            rows = agreement(cube, alpha=alpha)
            for name, deviations in found.items():
                deviations.append(abs(normal_number(*rows[name])))
    return {name: max(deviations, default=np.nan) for name, deviations in found.items()}


def _draw_channel(axes, cube, channel):
    """Errors of AMP and their predictions at each alpha, divided by the limit from state evolution."""
    place, entries, labels = 0, [], []
    largest = 1.0 / float(cube.dimension.min())
    for number, (alpha, (color, marker)) in enumerate(zip(cube.alpha.values, LOOKS, strict=False)):
        part = cube.sel(alpha=alpha)
        limit = float(part.mmse_limit.max())
        for variable, opacity, style in (("mmse", 1.0, "-"), ("mmse_predicted", 0.45, "--")):
            shift = SHIFT * largest * (2 * number - 1 + (opacity < 1.0))
            look = {"fmt": marker, "color": color, "alpha": opacity}
            draw_law(axes, by_dimension(part, variable), limit, look, (shift, -(1 + place) * STEP * largest), style)
            place += 1
        entries += axes.plot([], [], marker, color=color, markersize=4)
        labels.append(rf"$\alpha = {alpha:g}${left_out(part)}")
    # The same colour is another alpha in another panel.
    axes.legend(entries, labels, loc="upper left")
    axes.axhline(1.0, color="black", linewidth=0.8, linestyle=":", label="state evolution")
    # The labels of more than three dimensions would overlap.
    labelled = cube.dimension.values[:: 1 if cube.sizes["dimension"] <= 3 else 2]
    axes.set(
        xlabel="$1/d$", xticks=[0.0, *(1.0 / labelled)], title=rf"{channel}, $M = 2$, $\rho = 0.5$, damped",
        xlim=(-(1 + place) * STEP * largest, 1.08 * largest),
    )  # fmt: skip
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:.3g}")
    shade_limit(axes)
