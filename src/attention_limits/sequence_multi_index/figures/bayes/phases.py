"""Phase diagram: what is impossible, hard and easy to learn, in part or exactly, for several links."""

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.patches import Patch

from attention_limits.plotting import BLUE, NARROW, ORANGE, house_style, new_figure
from attention_limits.sequence_multi_index.readings import EASY, HARD, IMPOSSIBLE, phases

LINKS = {
    "phases_attention": "two attention layers",
    "phases_phase_retrieval": "$y = h^2$",
    "phases_sum_of_squares": "$y = h_1^2 + h_2^2$",
    "phases_product": "$y = h_1 h_2$",
}
EXACT = EASY + 1
NAMES = {IMPOSSIBLE: "impossible", HARD: "hard", EASY: "easy, partial recovery", EXACT: "easy, exact recovery"}
COLORS = {IMPOSSIBLE: "#bdbdbd", HARD: ORANGE, EASY: "#a6d4f2", EXACT: BLUE}
UNDECIDED = {"facecolor": "white", "edgecolor": "0.7", "hatch": "////", "linewidth": 0}


@house_style
def draw(cubes):
    """One bar per link, from the cubes phases_*; hatched where the replicas together do not decide."""
    figure, axes = new_figure(1, 1, NARROW, 2.8)
    colors = ListedColormap([COLORS[code] for code in sorted(COLORS)])
    for row, name in enumerate(LINKS):
        found = phases(cubes[name])
        alpha, phase = found.alpha.values, found.phase.where(~((found.phase == EASY) & found.exact), EXACT).values
        half = 0.5 * np.diff(alpha, prepend=2 * alpha[0] - alpha[1])
        edges = np.append(alpha - half, alpha[-1] + half[-1])
        axes.broken_barh([(edges[0], edges[-1] - edges[0])], (row - 0.38, 0.76), **UNDECIDED)
        axes.pcolormesh(edges, [row - 0.38, row + 0.38], phase[None], cmap=colors, vmin=-0.5, vmax=3.5)
    axes.set(xlabel=r"samples per dimension $\alpha = n/D$", xlim=(0, 2.4), ylim=(len(LINKS) - 0.5, -0.5))
    axes.set_yticks(range(len(LINKS)), list(LINKS.values()))
    handles = [Patch(color=COLORS[code], label=label) for code, label in NAMES.items()]
    handles.append(Patch(**UNDECIDED, label="not decided"))
    figure.legend(handles=handles, loc="outside upper center", ncols=3)
    return figure


def numbers(cubes):
    """Of phase retrieval: the last alpha at which it is hard, and the next one at which it is easy."""
    found = phases(cubes["phases_phase_retrieval"])
    hard = found.alpha.values[(found.phase == HARD).values]
    easy = found.alpha.values[(found.phase == EASY).values]
    last = np.max(hard, initial=-np.inf)
    return {"hard": float(last), "easy": float(np.min(easy[easy > last], initial=np.inf)) if len(hard) else np.nan}
