"""Matrix AMP at infinite dimension against state evolution, for each channel."""

import numpy as np
from scipy.special import chdtrc

from attention_limits.attention_indexed.figures.shared import model
from attention_limits.attention_indexed.readings import agreement
from attention_limits.pipeline.readings import value
from attention_limits.plotting import house_style, new_figure

# Cubes in the order of the rows, and the names of the models that their keys do not give.
CUBES = {
    "sizes_linear": "",
    "sizes_softmax": "",
    "sizes_hardmax": "",
    "sizes_softmax_tokens": "",
    "sizes_hardmax_tokens": "",
    "sizes_linear_noise": "",
    "sizes_softmax_noise": "",
    "sizes_next_token": "next token",
    "sizes_untied_linear": "",
    "sizes_untied_softmax": "",
    "sizes_untied_hardmax": "",
    "two_layers_sizes": "two layers",
}
LOOKS = {
    "error": ("#0072B2", "o", "#0072B2"),
    "prediction": ("#0072B2", "o", "white"),
    "difference": ("#D55E00", "D", "#D55E00"),
}
LABELS = {
    "error": "error of AMP",
    "prediction": "predicted by AMP",
    "difference": "error − prediction",
}
# Vertical distance of the three symbols of a row, and places of the columns of numbers.
STEP, COLUMNS = 0.24, (1.09, 1.23, 1.37)


@house_style
def draw(cubes):
    """From the cubes of `CUBES` and two_layers: deviations of the limits from state evolution, in per cent and in standard
    errors."""
    rows = [
        (label, found) for name, text in CUBES.items() for label, found in _rows(cubes[name], text, cubes["two_layers"])
    ]
    figure, axes = new_figure(1, 1, 9.0, 0.36 * len(rows) + 1.9)
    for place, (_, found) in enumerate(rows):
        for number, (kind, (color, marker, face)) in enumerate(LOOKS.items()):
            shift, error = (100.0 * part for part in found[kind])
            axes.errorbar(
                shift, place + STEP * (number - 1), xerr=error, fmt=marker, color=color, markerfacecolor=face,
                markersize=4, capsize=2, elinewidth=1, label=None if place else LABELS[kind],
            )  # fmt: skip
            _write(axes, number, place, f"{shift / error:+.1f}")
        if place % 2:
            axes.axhspan(place - 0.5, place + 0.5, color="0.95", linewidth=0, zorder=0)
    axes.axvline(0.0, color="black", linewidth=0.8, linestyle=":", label="state evolution")
    _summary(axes, [found for _, found in rows])
    axes.set(
        xlabel=r"deviation at $d \to \infty$ from the error of state evolution, per cent",
        yticks=range(len(rows)), yticklabels=[label for label, _ in rows], ylim=(len(rows) - 0.5, -0.5),
    )  # fmt: skip
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4)
    return figure


def _rows(cube, text, theory):
    """Label and deviations of each alpha, and of each layer of two; `theory` is the cube of the state evolution of two layers.

    A cube of fewer than three dimensions gives none.
    """
    if cube.sizes["dimension"] < 3:
        return
    name = f"{text or _name(cube)}, $T = {model(cube, 'tokens')}$"
    for alpha in cube.alpha.values:
        if "layer" not in cube.dims:
            yield rf"{name}, $\alpha = {alpha:g}$", agreement(cube, alpha=alpha)
            continue
        for layer in cube.layer.values:
            point = {"alpha": alpha, "layer": layer}
            limit = value(theory, "mmse_by_layer", estimator="two_layers_state_evolution", **point)
            yield rf"{name}, layer {layer:g}, $\alpha = {alpha:g}$", agreement(cube, limit, **point)


def _name(cube):
    noise = model(cube, "output_noise")
    kind = "untied " if model(cube, "untied") else ""
    return f"{kind}{model(cube, 'channel')}" + (rf", $\Delta = {noise:g}$" if noise else "")


def _write(axes, number, place, text, **look):
    """A number in the column `number` at the row `place`."""
    look = {"ha": "right", "va": "center", "fontsize": 7.5, **look}
    axes.text(COLUMNS[number], place, text, transform=axes.get_yaxis_transform(), **look)


def _summary(axes, found):
    """Heads of the columns, and below them chi^2 per number of rows and its probability."""
    for number, kind in enumerate(LOOKS):
        pulls = np.array([shift / error for shift, error in (part[kind] for part in found)])
        total = float(np.sum(pulls**2))
        _write(axes, number, -0.9, kind, color=LOOKS[kind][0])
        _write(axes, number, len(pulls) - 0.1, f"{total:.1f} / {len(pulls)}")
        _write(axes, number, len(pulls) + 0.6, f"{chdtrc(len(pulls), total):.2g}")
    for place, text in ((-1.5, "in standard errors"), (len(found) - 0.1, r"$\chi^2$"), (len(found) + 0.6, "$p$")):
        _write(axes, 0, place, text, **({"ha": "left", "fontsize": 7.5} if place < 0 else {}))
