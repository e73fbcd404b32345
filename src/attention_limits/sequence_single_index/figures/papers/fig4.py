"""Phase diagram of the positional-semantic model."""

import numpy as np
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.patches import Patch

from attention_limits.plotting import BLACK, COLORS, MIDDLE, house_style, new_figure

# Region code: colour and meaning (global minimum, steepest direction, number of minima).
REGIONS = {
    0: ("#fdd9c3", "semantic, semantic, one"),
    2: ("#fff3b0", "semantic, positional, one"),
    3: ("#b9d3ea", "positional, positional, one"),
    4: ("#f2a77b", "semantic, semantic, several"),
    6: ("#d9c2e0", "semantic, positional, several"),
    7: ("#7fabd6", "positional, positional, several"),
    1: ("#cccccc", "positional, semantic, one"),
    5: ("#888888", "positional, semantic, several"),
}
LINES = {
    "steepest": ("-", BLACK, "steepest direction changes"),
    "global": ("--", BLACK, "global minimum changes"),
    "positional_minimum": (":", COLORS["positional"], "above: $(1,0)$ is a minimum"),
    "semantic_minimum": (":", COLORS["semantic"], "below: $(0,1)$ is a minimum"),
    "positional_unstable": ("-.", "#777777", "$H_{ee} = 0$ at the start"),
}


@house_style
def draw(cubes):
    """Regions and exact lines from the cube fig4_phases."""
    cube = cubes["fig4_phases"].isel(replica=0)
    figure, axes = new_figure(1, 1, MIDDLE, 4.4)
    codes = sorted(REGIONS)
    present = np.unique(cube.region.values).astype(int)
    colors = ListedColormap([REGIONS[code][0] for code in codes])
    norm = BoundaryNorm(np.arange(-0.5, 8.0), 8)
    axes.pcolormesh(cube.a, cube.omega, cube.region.transpose("omega", "a"), cmap=colors, norm=norm, rasterized=True)
    for name, (style, color, label) in LINES.items():
        axes.plot(cube.a, cube.transition.sel(line=name), style, color=color, linewidth=1.2, label=label)
    axes.set(
        xlabel="strength of the positional part $a$", ylabel=r"weight of the positional part $\omega$",
        xlim=(float(cube.a.min()), float(cube.a.max())), ylim=(float(cube.omega.min()), float(cube.omega.max())),
    )  # fmt: skip
    patches = [Patch(color=REGIONS[code][0], label=REGIONS[code][1]) for code in REGIONS if code in present]
    lines = axes.legend(loc="upper left", bbox_to_anchor=(1.01, 0.42), title="exact lines", alignment="left")
    axes.add_artist(lines)
    axes.legend(
        handles=patches, loc="upper left", bbox_to_anchor=(1.01, 1.02), alignment="left",
        title="global minimum, steepest\ndirection at the start, minima",
    )  # fmt: skip
    return figure
