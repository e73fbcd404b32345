"""Phase diagram: what is impossible, hard and easy to learn, in part or exactly, for several links."""

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.patches import Patch

from attention_limits.pipeline.cubes.readings import passed
from attention_limits.plotting import house_style, new_figure

LINKS = {
    "phases_attention": "two attention layers",
    "phases_phase_retrieval": "$y = h^2$",
    "phases_sum_of_squares": "$y = h_1^2 + h_2^2$",
    "phases_product": "$y = h_1 h_2$",
}
NAMES = ("impossible", "hard", "easy, partial recovery", "easy, exact recovery")
COLORS = ("#bdbdbd", "#E69F00", "#a6d4f2", "#0072B2")
UNKNOWN = {"facecolor": "white", "edgecolor": "0.7", "hatch": "////", "linewidth": 0}


@house_style
def draw(cubes):
    """One bar per link, a strip of it per scrambling, from the cubes phases_*."""
    figure, axes = new_figure(1, 1, 6.0, 2.8)
    colors = ListedColormap(COLORS)
    for row, name in enumerate(LINKS):
        cube = cubes[name]
        alpha, phase = cube.alpha.values, _phase(cube)
        half = 0.5 * np.diff(alpha, prepend=2 * alpha[0] - alpha[1])
        edges = np.append(alpha - half, alpha[-1] + half[-1])
        strips = np.linspace(row - 0.38, row + 0.38, phase.shape[1] + 1)
        axes.broken_barh([(edges[0], edges[-1] - edges[0])], (row - 0.38, 0.76), **UNKNOWN)
        axes.pcolormesh(edges, strips, phase.T, cmap=colors, vmin=-0.5, vmax=3.5)
    axes.set(xlabel=r"samples per dimension $\alpha = n/D$", xlim=(0, 2.4), ylim=(len(LINKS) - 0.5, -0.5))
    axes.set_yticks(range(len(LINKS)), list(LINKS.values()))
    handles = [Patch(color=color, label=name) for color, name in zip(COLORS, NAMES, strict=True)]
    handles.append(Patch(**UNKNOWN, label="not known"))
    figure.legend(handles=handles, loc="outside upper center", ncols=3)
    return figure


def _phase(cube):
    """Number of the phase in `NAMES`, array (alpha, replica): easy is split by whether recovery is exact; NaN is not known."""
    phase = cube.phase.transpose("alpha", "replica")
    exact = np.isposinf(cube.free_entropy_by_start.sel(init="uninformed").transpose("alpha", "replica"))
    partial, full = map(NAMES.index, ("easy, partial recovery", "easy, exact recovery"))
    known = passed(cube, "phase").transpose("alpha", "replica") == 1
    return phase.where((phase != partial) | ~exact, full).where(known).values
