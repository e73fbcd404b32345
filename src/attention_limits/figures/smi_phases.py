"""Phase diagram: what is impossible, hard and easy to learn, in part or exactly, for several links."""

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.patches import Patch

from attention_limits.figures.style import house_style, new_figure

LINKS = {
    "phases_attention": "two attention layers",
    "phases_phase_retrieval": "$y = h^2$",
    "phases_sum_of_squares": "$y = h_1^2 + h_2^2$",
    "phases_product": "$y = h_1 h_2$",
}
NAMES = ("impossible", "hard", "easy, partial recovery", "easy, exact recovery")
# Smallest fraction of outputs with a resolved channel at which a phase counts as known.
MOSTLY = 0.9
COLORS = ("#bdbdbd", "#E69F00", "#a6d4f2", "#0072B2")


@house_style
def draw(cubes):
    """One bar per link, from the cubes phases_*."""
    figure, axes = new_figure(1, 1, 6.0, 2.8)
    colors = ListedColormap(COLORS)
    for row, name in enumerate(LINKS):
        cube = cubes[name]
        alpha, phase = cube.alpha.values, _phase(cube)
        half = 0.5 * np.diff(alpha, prepend=2 * alpha[0] - alpha[1])
        edges = np.append(alpha - half, alpha[-1] + half[-1])
        known = np.any(np.isfinite(phase), axis=1)
        typical = np.full(len(alpha), np.nan)
        typical[known] = np.nanquantile(phase[known], 0.5, axis=1, method="lower")
        axes.pcolormesh(edges, [row - 0.38, row + 0.38], typical[None], cmap=colors, vmin=-0.5, vmax=3.5)
        resolved = cube.resolved.min("replica").values >= MOSTLY
        mixed = ~resolved | [np.any(~np.isfinite(values)) or np.ptp(values) > 0 for values in phase]
        axes.plot(alpha[mixed], np.full(np.sum(mixed), row), "k.", markersize=3)
    axes.set(xlabel=r"samples per dimension $\alpha = n/D$", xlim=(0, 2.4), ylim=(len(LINKS) - 0.5, -0.5))
    axes.set_yticks(range(len(LINKS)), list(LINKS.values()))
    handles = [Patch(color=color, label=name) for color, name in zip(COLORS, NAMES, strict=True)]
    handles.append(
        axes.plot([], [], "k.", markersize=3, label="scramblings differ, or not all\nconverged or resolved")[0]
    )
    figure.legend(handles=handles, loc="outside upper center", ncols=3)
    return figure


def _phase(cube):
    """Number of the phase in `NAMES`, array (alpha, replica): easy is split by whether recovery is exact."""
    phase = cube.phase.transpose("alpha", "replica")
    exact = np.isposinf(cube.free_entropy_by_start.sel(init="uninformed").transpose("alpha", "replica"))
    return phase.where(
        ~((phase == NAMES.index("easy, partial recovery")) & exact), NAMES.index("easy, exact recovery")
    ).values
