"""Matrix AMP at infinite dimension against state evolution, for each channel."""

import numpy as np

from attention_limits.attention_indexed.figures.shared import model
from attention_limits.attention_indexed.readings import agreement, normal_number, overall
from attention_limits.pipeline.cubes.readings import value
from attention_limits.plotting import BLUE, SKY, VERMILLION, WIDE, house_style, new_figure

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
    "error": (BLUE, "o"),
    "prediction": (SKY, "s"),
    "difference": (VERMILLION, "D"),
}
LABELS = {
    "error": "error of AMP",
    "prediction": "predicted by AMP",
    "difference": "error − prediction",
}
# Rows below those of the channels.
SUMMARY = (
    r"all rows: $\chi^2$ / rows",
    r"probability of a larger $\chi^2$",
    r"sum / $\sqrt{\mathrm{rows}}$",
    "probability of a larger sum",
)
# Vertical distance of the three symbols of a row.
STEP = 0.24


@house_style
def draw(cubes):
    """From the cubes of `CUBES` and two_layers: deviations of the limits from state evolution, in per cent and as those of a
    normal number."""
    rows = _all_rows(cubes)
    figure, (axes, table) = new_figure(1, 2, WIDE, 0.34 * len(rows) + 2.2, sharey=True, width_ratios=(5, 2))
    for place, (_, found) in enumerate(rows):
        for number, (kind, (color, marker)) in enumerate(LOOKS.items()):
            shift, error = (100.0 * part for part in found[kind][:2])
            axes.errorbar(
                shift, place + STEP * (number - 1), xerr=error, fmt=marker, color=color,
                markersize=4, capsize=2, elinewidth=1, label=None if place else LABELS[kind],
            )  # fmt: skip
            table.text(number, place, _signed(normal_number(*found[kind])), ha="center", va="center", fontsize=7.5)
        if place % 2:
            for part in (axes, table):
                part.axhspan(place - 0.5, place + 0.5, color="0.95", linewidth=0, zorder=0)
    axes.axvline(0.0, color="black", linewidth=0.8, linestyle=":", label="state evolution")
    _summary(table, [found for _, found in rows])
    # Below the channels the left panel holds no data, only the names of the tests at the right.
    axes.axhspan(len(rows) - 0.5, len(rows) + len(SUMMARY), color="white", zorder=3)
    axes.axhline(len(rows) - 0.5, color="0.4", linewidth=0.8, zorder=3.5)
    for below, name in enumerate(SUMMARY):
        axes.text(
            0.99,
            len(rows) + below,
            name,
            transform=axes.get_yaxis_transform(),
            ha="right",
            va="center",
            zorder=4,
            fontsize=9,
        )
    axes.set(
        xlabel=r"deviation at $d \to \infty$ from the error of state evolution, per cent",
        yticks=range(len(rows)), yticklabels=[label for label, _ in rows],
        ylim=(len(rows) + len(SUMMARY) - 0.5, -0.5),
    )  # fmt: skip
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4, fontsize=7.5)
    return figure


def numbers(cubes):
    """Number of rows; largest deviation, weighted mean in per cent and both tests of the error of AMP; the squares of its
    prediction, of all rows and of those with a straight line, and their probabilities.

    NaN without rows.
    """
    # `inverse_law` takes a straight line for three dimensions.
    found, straight = ([row for _, row in _all_rows(cubes, most)] for most in (np.inf, 3))
    error, prediction, bent = _tests(found, "error"), _tests(found, "prediction"), _tests(straight, "prediction")
    tests = {"squares": error["squares"][0], "signed": error["signed"][0], "unlikely_sum": error["signed"][1]}
    tests |= dict(zip(("predicted", "unlikely"), prediction["squares"], strict=True))
    tests |= dict(zip(("bent", "unlikely_bent"), bent["squares"], strict=True))
    tests["largest"] = max((abs(normal_number(*row["error"])) for row in found), default=np.nan)
    tests["mean"], tests["spread"] = _weighted_mean([row["error"][:2] for row in found])
    counts = {"rows": float(len(found)), "lines": float(len(straight))}
    return counts | (tests if found else dict.fromkeys(tests, np.nan))


def _weighted_mean(deviations):
    """Mean of (deviation, standard error) with the weights 1 / error^2, and its standard error, in per cent; NaN without any."""
    if not deviations:
        return np.nan, np.nan
    shift, error = 100.0 * np.array(deviations).T
    mean, weight = np.average(shift, weights=error**-2, returned=True)
    return float(mean), float(weight**-0.5)


def _all_rows(cubes, most=np.inf):
    """Rows of the cubes of at `most` so many dimensions."""
    kept = {name: text for name, text in CUBES.items() if cubes[name].sizes["dimension"] <= most}
    return [row for name, text in kept.items() for row in _rows(cubes[name], text, cubes["two_layers"])]


def _tests(found, kind):
    return overall([normal_number(*part[kind]) for part in found])


def _rows(cube, text, theory):
    """Label and deviations of each alpha, and of each layer of two; `theory` is the cube of the state evolution of two layers.

    A cube of fewer than three dimensions gives none. An alpha with several solutions of the state evolution gives none either.
    """
    if cube.sizes["dimension"] < 3:
        return
    name = f"{text or _name(cube)}, $M = {model(cube, 'tokens')}$"
    for alpha in cube.alpha.values:
        if "unique" in cube and not (cube.unique.sel(alpha=alpha) == 1).all():
            continue
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


def _signed(number):
    """One decimal with the sign, the minus of a formula."""
    return f"{number:+.1f}".replace("-", "−")


def _summary(table, found):
    """Heads of the columns of normal deviations; below them both tests of all rows."""
    for number, kind in enumerate(LOOKS):
        tests = _tests(found, kind)
        (squares, unlikely), (signed, twosided) = tests["squares"], tests["signed"]
        texts = (f"{squares:.1f} / {len(found)}", f"{unlikely:.2g}", _signed(signed), f"{twosided:.2g}")
        for below, text in enumerate(texts):
            table.text(number, len(found) + below, text, ha="center", va="center", fontsize=7.5)
    table.axhline(len(found) - 0.5, color="0.4", linewidth=0.8)
    table.set(title="deviation / its error", xlim=(-0.5, len(LOOKS) - 0.5), xticks=range(len(LOOKS)), xticklabels=LOOKS)
    table.tick_params(left=False, labelleft=False, bottom=False, labelbottom=False, labeltop=True)
