"""Spectrum of the attention matrix that weight decay learns, beside that of the teacher."""

import numpy as np

from attention_limits.attention_indexed.figures.erm.erm_shared import decay_label, equations, of
from attention_limits.attention_indexed.figures.shared import model
from attention_limits.pipeline.cubes.readings import passed
from attention_limits.plotting import BLUE, MIDDLE, house_style, new_figure

# Cube, weight decay and alphas of the panels of a row.
_ROWS = (
    ("erm_softmax", 0.01, (0.05, 0.2), "softmax, no noise"),
    ("erm_linear", 0.1, (0.05, 0.2), r"linear, $\tau = 0.1$"),
)
LEARNED, TEACHER = BLUE, "0.45"


@house_style
def draw(cubes):
    """Histograms of the eigenvalues above zero of all data sets, with the densities of the theory."""
    figure, panels = new_figure(2, 2, MIDDLE, 6.2, sharex=True)
    for row, (name, decay, alphas, title) in zip(panels, _ROWS, strict=True):
        # A small run has other decays.
        minima = of(cubes[name], "erm_minimisation").dropna("weight_decay", how="all", subset=["mse"])
        cube = cubes[name].sel(weight_decay=_nearest(minima.weight_decay, decay))
        for axes, alpha in zip(row, alphas, strict=True):
            _draw_panel(axes, cube, alpha, title)
        row[0].set(ylabel="density of the eigenvalues")
    for axes in panels[1]:
        axes.set(xlabel="eigenvalue")
    panels[0, 0].legend(loc="upper right")
    return figure


def numbers(cubes):
    """Dimensions of the data sets of both outputs."""
    return {name.removeprefix("erm_"): len(cubes[name].eigenvalue) for name, *_ in _ROWS}


def _nearest(axis, value):
    """The value of an axis next to the wanted one."""
    return float(axis.values[np.argmin(np.abs(axis.values - value))])


def _draw_panel(axes, cube, alpha, title):
    found = of(cube, "erm_minimisation")
    alpha = _nearest(found.alpha, alpha)
    found = found.sel(alpha=alpha)
    values = found.eigenvalues.where(found.converged == 1).values.ravel()
    values = values[np.isfinite(values)]
    ratio = model(cube, "ratio")
    edge = (1.0 + np.sqrt(ratio)) ** 2 / np.sqrt(ratio)
    bins = np.linspace(0.0, 1.15 * edge, 30)
    positive = values[values > 1e-6 * values.max()]
    counts, _ = np.histogram(positive, bins)
    axes.stairs(
        counts / (len(values) * np.diff(bins)),
        bins,
        fill=True,
        color=LEARNED,
        alpha=0.35,
        label="minimum, all data sets",
    )
    theory = of(cube, "erm_state_evolution")
    theory = theory.sel(alpha=_nearest(theory.alpha, alpha))
    # The density of one scrambling: the first one that passes the flags.
    theory = theory.isel(replica=int(passed(theory, "mse", unique=True).transpose("replica").values.argmax()))
    for bulk in theory.bulk.values:
        part = theory.sel(bulk=bulk)
        label = "state evolution" if bulk == theory.bulk.values[0] else None
        axes.plot(part.spectrum_value, part.spectrum_density, color=LEARNED, label=label)
    # Dense at both ends, where the density falls to zero like a root; at width d it diverges at zero.
    low = (1.0 - np.sqrt(ratio)) ** 2 / np.sqrt(ratio)
    x = low + 0.5 * (edge - low) * (1.0 - np.cos(np.linspace(0.0, np.pi, 400)[0 if low > 0 else 1 :]))
    axes.plot(x, _teacher(x, ratio), color=TEACHER, linestyle="--", label="teacher")
    atom, zero = 1.0 - float(theory.learned_rank), 1.0 - len(positive) / len(values)
    axes.text(
        0.97,
        0.5,
        f"zero eigenvalues\ntheory {atom:.3f}\nminimum {zero:.3f}\nteacher {max(0.0, 1.0 - ratio):.3f}",
        transform=axes.transAxes,
        ha="right",
        va="center",
        fontsize=7.5,
    )
    axes.set(
        title=rf"{title}, {decay_label(float(cube.weight_decay))}, $K\alpha = {equations(cube) * alpha:.2g}$",
        xlim=(0, bins[-1]),
        ylim=(0, 1.3 * _teacher(x, ratio).max()),
    )


def _teacher(x, ratio):
    """Density of the positive eigenvalues of S* (Marchenko, Pastur 1967), of mass min(rho, 1)."""
    root = np.sqrt(ratio)
    y = root * x
    inside = ((1.0 + root) ** 2 - y) * (y - (1.0 - root) ** 2)
    return root * np.sqrt(np.maximum(inside, 0.0)) / (2.0 * np.pi * y)
