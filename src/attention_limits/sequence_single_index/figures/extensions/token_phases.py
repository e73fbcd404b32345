"""Lines of the phase diagram of the positional-semantic model for several numbers of tokens."""

import numpy as np

from attention_limits.plotting import WIDE, curve, house_style, legend_below, new_figure
from attention_limits.sequence_single_index.figures.papers.fig4 import LINES


@house_style
def draw(cubes):
    """One panel for each number of tokens of the cube token_phases."""
    lines = cubes["token_phases"].transition
    figure, axes = new_figure(1, lines.sizes["tokens"], WIDE, 3.8, sharex=True, sharey=True, squeeze=False)
    for panel, tokens in zip(axes[0], lines.tokens.values, strict=True):
        for name, (style, color, label) in LINES.items():
            values = lines.sel(tokens=tokens, line=name).transpose("a", "replica").values
            # A line that only some scramblings have ends here.
            known = np.isfinite(values).all(axis=1)
            values = np.where(known[:, None], values, np.nan)
            curve(panel, lines.a, values, color, label, linewidth=1.2, linestyle=style)
        panel.set(xlabel="strength $a$", title=f"$M = {int(tokens)}$", ylim=(0.2, 1.0))
    axes[0, 0].set(ylabel=r"weight of the positional part $\omega$", xlim=(float(lines.a.min()), float(lines.a.max())))
    legend_below(figure, axes[0, 0], ncols=3)
    return figure
