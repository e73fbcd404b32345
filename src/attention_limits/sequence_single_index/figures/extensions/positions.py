"""Regions of the positional-semantic model for positional vectors in a plane, over strength and weight of the positional part."""

import numpy as np
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.patches import Patch

from attention_limits.plotting import MIDDLE, flagged_points, house_style, new_figure
from attention_limits.sequence_single_index.figures.papers.fig4 import REGIONS
from attention_limits.sequence_single_index.figures.shared import NEUTRAL

# Entry of the open circles.
UNDECIDED = "scramblings disagree, or search undecided"
PANELS = {"positions_star": "three vectors at 120°", "positions_orthogonal": r"$p_1 \perp p_2 = p_3$"}


@house_style
def draw(cubes):
    """Top: regions; bottom: angle of the lowest positional minimum to the first vector; from the cubes positions_*."""
    figure, axes = new_figure(2, 2, MIDDLE, 6.2, sharex=True)
    colors = ListedColormap([REGIONS[code][0] for code in sorted(REGIONS)])
    norm = BoundaryNorm(np.arange(-0.5, 8.0), 8)
    codes, angles = set(), {name: _angle(cubes[name]) for name in PANELS}
    limits = _limits(angles.values())
    for (top, bottom), (name, title) in zip(axes.T, PANELS.items(), strict=True):
        cube = cubes[name]
        region = cube.region.transpose("replica", "omega", "a").values
        codes |= set(np.unique(region[0]).astype(int))
        top.pcolormesh(cube.a, cube.omega, region[0], cmap=colors, norm=norm, rasterized=True)
        row, column = np.nonzero((region != region[0]).any(axis=0) | _open(cube))
        flagged_points(top, cube.a.values[column], cube.omega.values[row], NEUTRAL, UNDECIDED)
        top.set(title=f"$M = 3$, {title}", ylabel=r"weight of the positional part $\omega$")
        shown = bottom.pcolormesh(cube.a, cube.omega, angles[name], cmap="cividis", **limits, rasterized=True)
        bottom.set(xlabel="strength of the positional part $a$", ylabel=r"weight of the positional part $\omega$")
    figure.colorbar(shown, ax=axes[1], label="angle of the lowest\npositional minimum to $p_1$ (degrees)")
    patches = [Patch(color=REGIONS[code][0], label=REGIONS[code][1]) for code in REGIONS if code in codes]
    figure.legend(
        handles=patches, loc="outside upper center", ncols=3, alignment="left",
        title="global minimum, steepest direction at the start, minima",
    )  # fmt: skip
    return figure


def numbers(cubes):
    """The largest angle (degrees) between p_1 and the lowest positional minimum, where two tokens share a vector."""
    return {"turn": np.nanmax(np.abs(_angle(cubes["positions_orthogonal"])))}


def _open(cube):
    """Points at which the search of some replica is undecided: array (omega, a)."""
    left = (cube.minima_undecided > 0) | ~cube.minima_on_sphere.astype(bool)
    return left.any("replica").transpose("omega", "a").values


def _limits(angles):
    """Ends of the colours of all angles (degrees), at whole degrees; zero is among the colours."""
    known = np.concatenate([angle[np.isfinite(angle)] for angle in angles])
    return {"vmin": np.floor(min([-1.0, *known])), "vmax": np.ceil(max([0.0, *known.round(2)]))}


def _angle(cube):
    """Angle between p_1 and e at the lowest minimum with |e| > |m|, in degrees, NaN without one: array (omega, a)."""
    cube = cube.isel(replica=0)
    positional = cube.minimum_semantic**2 < 0.5
    first = positional.argmax("rank")
    e = cube.minimum_positional.isel(rank=first).transpose("direction", "omega", "a").values
    angle = np.degrees(np.arctan2(e[1], e[0]))
    return np.where(positional.any("rank").transpose("omega", "a").values, angle, np.nan)
