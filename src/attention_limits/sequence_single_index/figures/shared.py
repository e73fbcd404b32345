"""Colours, contours and texts that the figures of the sequence single-index family share."""

import numpy as np
from matplotlib.colors import PowerNorm
from matplotlib.ticker import MaxNLocator

from attention_limits.plotting import BLACK, BLUE, COLORS, GREEN, KEY, VERMILLION

# Colours of students with weights that all tokens share, and with weights of each token.
STUDENTS = {"tied": VERMILLION, "untied": BLUE}
# The uninformed start of a loss surface.
START = {
    "marker": "o",
    "linestyle": "none",
    "color": BLACK,
    "markeredgecolor": "white",
    "markersize": 6,
    "clip_on": False,
}
POSITIONAL, SEMANTIC, ACCENT, NEUTRAL = COLORS["positional"], COLORS["semantic"], GREEN, BLACK


def loss_contours(figure, axes, e, m, loss, levels=24, finer_below=1.0, bar="bottom"):
    """Filled contours of the loss over the disk, semantic overlap to the right, positional upwards; with a colour bar.

    `finer_below` > 1 spaces the levels, and the colours with them, more densely where the loss is low. `bar` is the side of the
    colour bar.
    """
    low, high = np.nanmin(loss), np.nanmax(loss)
    values = low + (high - low) * np.linspace(0.0, 1.0, levels + 1) ** finer_below
    norm = PowerNorm(1.0 / finer_below, low, high)
    drawn = axes.contourf(m, e, loss, levels=values, cmap="cividis", norm=norm)
    axes.contour(m, e, loss, levels=values[1:-1], colors="white", linewidths=0.3, alpha=0.6)
    angle = np.linspace(0.0, 2.0 * np.pi, 400)
    inside = np.sin(angle) >= min(e) - 1e-9
    axes.plot(
        np.where(inside, np.cos(angle), np.nan), np.where(inside, np.sin(angle), np.nan), color=KEY, linewidth=0.8
    )
    axes.set(
        xlabel="semantic overlap $m$", ylabel="positional overlap $e$", aspect="equal", xticks=np.linspace(-1, 1, 5)
    )
    steps = "" if finer_below == 1 else rf", colours by $(R - R_{{\min}})^{{1/{finer_below:g}}}$"
    figure.colorbar(
        drawn,
        ax=axes,
        label="population loss $R(e, m)$" + steps,
        location=bar,
        ticks=values[:: levels // 4] if finer_below > 1 else MaxNLocator(4),
        format="%.4g",
    )


def lowest_point(e, m, loss):
    """(e, m) of the lowest point on a grid, of several equal ones that with m >= 0."""
    flat = np.where(np.isfinite(loss) & (m[None, :] >= 0), loss, np.inf)
    row, column = np.unravel_index(np.argmin(flat), flat.shape)
    return e[row], m[column]


def steepest_direction(e, m, loss):
    """Unit vector (e, m) >= 0 along which a loss that is even in e and m falls most from the start, from its second differences.

    `loss` on the axes e and m, which both contain zero; the mixed derivative vanishes.
    """
    row, column = np.argmin(np.abs(e)), np.argmin(np.abs(m))
    curvatures = [
        (loss[row + 1, column] - loss[row, column]) / (e[row + 1] - e[row]) ** 2,
        (loss[row, column + 1] - loss[row, column]) / (m[column + 1] - m[column]) ** 2,
    ]
    return np.eye(2)[int(np.argmin(curvatures))]


def binomial_errors(successes, runs):
    """Distances (2, n) of the ends of the 68 % Wilson interval from the fraction `successes` (n,) / `runs`, for error bars."""
    p = successes / runs
    middle = (p + 0.5 / runs) / (1 + 1 / runs)
    half = np.sqrt(p * (1 - p) / runs + 0.25 / runs**2) / (1 + 1 / runs)
    # At p = 0 and 1 one end is p, up to rounding.
    return np.maximum([p - middle + half, middle + half - p], 0.0)


def without_position(axes, m, loss, title):
    """The loss R(0, m) along the semantic overlap m, arrays (n,), with its start m = 0, below a `title`."""
    axes.plot(m, loss, color=NEUTRAL)
    axes.plot(0, loss[m == 0], **START)
    axes.set(title=title, xlabel="semantic overlap $m$", ylabel="population loss $R(0, m)$", xlim=(-1, 1))
    axes.set_xticks(np.linspace(-1, 1, 5))


def exponent_text(cube):
    """Text of the sequence information exponent of a cube: its value, and whether the start attracts at that order."""
    value = cube.exponent_semantic.item()
    if not cube.decided_semantic.item():
        return "undecided"
    if np.isnan(value):
        return f"none up to {int(cube.order.max())}"
    return f"{value:.0f}" + ("" if cube.descends_semantic.item() else " (the loss rises)")


def descent_text(cube):
    """Lowest order in (e, m) at which a straight path from the start lowers the loss of a student with positional encoding."""
    value = cube.exponent_positional.item()
    if not cube.decided_positional.item():
        return "order of the descent undecided"
    return "loss falls at " + (f"no order up to {int(cube.order.max())}" if np.isnan(value) else f"order {value:.0f}")


def power_text(base, fit):
    """The exponent of a fitted power law of `base` with its error, or a note that the points are too few."""
    if np.isnan(fit.exponent):
        return "too few points"
    # Two digits of the error, and three decimals at least.
    decimals = max(3, 1 - int(np.floor(np.log10(fit.error)))) if fit.error > 0.0 else 3
    return rf"power of ${base}$: ${fit.exponent:.{decimals}f} \pm {fit.error:.{decimals}f}$"
