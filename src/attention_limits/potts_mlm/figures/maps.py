"""Attention maps beside the couplings, on one colour scale."""

import numpy as np

from attention_limits.plotting import WIDE, house_style, new_figure
from attention_limits.potts_mlm.figures.shared import equilibrium_note, layers_name
from attention_limits.potts_mlm.readings import at_the_end, good, of_chosen

# Starts that end within this of the lowest objective, in nats, have found the same minimum.
SAME_MINIMUM = 1e-4


@house_style
def draw(cubes):
    """The smallest and the largest distance, one column per learner, from the only cube given: first replica, most sequences."""
    (cube,) = cubes.values()
    cube = cube.isel(replica=0, samples=-1, distance=sorted({0, cube.sizes["distance"] - 1}))
    rows = [_panels(cube.sel(distance=distance)) for distance in cube.distance.values]
    # Square panels, beside the colour bar, below their titles.
    height = ((WIDE - 1.0) / len(rows[0]) + 0.55) * len(rows) + 0.15
    figure, grid = new_figure(len(rows), len(rows[0]), WIDE, height, squeeze=False, sharex=True, sharey=True)
    sites = cube.sizes["site"]
    for distance, panels, axes_row in zip(cube.distance.values, rows, grid, strict=True):
        J = panels[0][1]
        # The scale leaves out the few largest couplings, so that the others are visible.
        scale = float(np.quantile(np.abs(J[~np.eye(sites, dtype=bool)]), 0.98))
        for axes, (name, matrix) in zip(axes_row, panels, strict=True):
            axes.set_title(name, fontsize=7.5)
            if matrix is None:
                axes.set_axis_off()
                continue
            edges = (0.5, sites + 0.5)
            image = axes.imshow(
                matrix * (np.linalg.norm(J) / np.linalg.norm(matrix)),
                cmap="RdBu_r",
                vmin=-scale,
                vmax=scale,
                extent=(*edges, *edges[::-1]),
            )
            axes.set(xticks=[1, sites], yticks=[1, sites])
        note = equilibrium_note(cube, distance, "\n").replace(", ", "\n", 1)
        axes_row[0].set_title(f"couplings $J$\n{note}", fontsize=7.5)
        axes_row[0].set_ylabel("site $i$")
        # No part of the bar without entries: contacts and attention are hardly negative.
        least = max(-scale, min(float(panel.images[0].get_array().min()) for panel in axes_row if panel.images))
        extend = "both" if least == -scale else "max"
        bar = figure.colorbar(image, ax=list(axes_row), shrink=0.9, pad=0.01, extend=extend)
        bar.ax.set_ylim(least, scale)
        bar.set_label(r"$J_{ij}$, or the map scaled to $\|J\|$", fontsize=7.5)
    for axes in grid[-1]:
        axes.set_xlabel("site $j$")
    return figure


def numbers(cubes):
    """On contacts: starts of raw attention, those at the lowest objective, how far above it the others end, in nats; precisions.

    On Gaussian couplings: errors of raw attention at the smallest and the largest distance.
    """
    if "fig2_contact" not in cubes:
        cube = cubes["fig2"].isel(replica=0, samples=-1, ridge=0)
        near, far = of_chosen(cube, "site_error").sel(attention="raw").values[[0, -1]]
        return {"near": float(near), "far": float(far)}
    cube = cubes["fig2_contact"].isel(replica=0, samples=-1, distance=0, ridge=0)
    objective = cube.objective.sel(attention="raw").dropna("start")
    above = (objective - objective.min()).values
    return {
        "starts": float(len(above)),
        "same": float(np.sum(above <= SAME_MINIMUM)),
        "gap": np.max(above, initial=-np.inf),
        **{kind: float(of_chosen(cube, "site_precision").sel(attention=kind)) for kind in ("raw", "softmax")},
    }


def _panels(part):
    """(title, matrix) of the couplings and of every learner at one distance; no matrix where nothing was trained."""
    part = part.isel(ridge=0)
    panels = [("couplings $J$", part.couplings.values)]
    error, precision, settled = of_chosen(part, "site_error"), of_chosen(part, "site_precision"), good(part)
    for kind in part.attention.values:
        title = f"factored, {kind}{'' if float(settled.sel(attention=kind)) == 1 else ': unconfirmed'}\n" + _quality(
            error.sel(attention=kind), precision.sel(attention=kind)
        )
        # The sign is free too: the values can absorb it.
        attention = part.attention_map.sel(attention=kind).values
        panels.append((title, attention if np.sum(attention * panels[0][1]) >= 0 else -attention))
    if "transformer_map" in part:
        for layers in part.layers.values:
            one = part.sel(layers=layers, optimizer="adam")
            title = f"{layers_name(layers)}, Adam\n"
            if one.transformer_map.isnull().all():
                panels.append((title + "not trained", None))
                continue
            matrix = one.transformer_map.values.copy()
            # The attention of the mask to itself is no coupling.
            np.fill_diagonal(matrix, 0.0)
            last = (at_the_end(one[f"transformer_{name}"]) for name in ("site_error", "precision"))
            panels.append((title + _quality(*last), matrix))
    return panels


def _quality(error, precision):
    """The error of a map, and its precision where there are contacts."""
    text = rf"$\mathrm{{err}}_J$ = {float(error):.2f}"
    return text if np.isnan(precision) else f"{text}, precision {float(precision):.2f}"
