"""Loss surface of the positional-semantic model with SGD trajectories on it."""

import numpy as np
from scipy.interpolate import RegularGridInterpolator

from attention_limits.plotting import BLACK, MIDDLE, Picture, house_style, legend_below, letter_panel
from attention_limits.sequence_single_index.figures.shared import (
    POSITIONAL,
    SEMANTIC,
    START,
    loss_contours,
    steepest_direction,
)


@house_style
def draw(cubes):
    """Three-dimensional view (left) and contours (right) from the cube fig5_left."""
    cube = cubes["fig5_left"].isel(omega=0)
    surface = cube.loss.isel(replica=0)
    e, m, loss = surface.e.values, surface.m.values, surface.values
    height = RegularGridInterpolator((e, m), np.where(np.isfinite(loss), loss, np.nanmin(loss)))
    figure = Picture(figsize=(MIDDLE, 3.9), layout="constrained")
    view = figure.add_subplot(1, 2, 1, projection="3d")
    flat = figure.add_subplot(1, 2, 2)
    grid = np.meshgrid(m, e)
    view.plot_surface(*grid, loss, cmap="cividis", rcount=80, ccount=80, linewidth=0, alpha=0.75, rasterized=True)
    loss_contours(figure, flat, e, m, loss, bar="right")
    semantic = cube.semantic.values.astype(bool)
    for run, learnt in enumerate(semantic):
        path = cube.positional_overlap_trajectory.values[run], cube.semantic_overlap_trajectory.values[run]
        color = SEMANTIC if learnt else POSITIONAL
        flat.plot(path[1], path[0], color=color, linewidth=0.8, alpha=0.9)
        view.plot(path[1], path[0], height(np.transpose(path)) + 5e-4, color=color, linewidth=0.8, zorder=5)
        face = color if cube.escaped.values[run] else "white"
        flat.plot(path[1][-1], path[0][-1], "o", color=color, markerfacecolor=face, markersize=3.5)
    flat.plot([], [], color=SEMANTIC, label=f"{semantic.sum()} of {len(semantic)} runs: semantic")
    flat.plot([], [], color=POSITIONAL, label=f"{(~semantic).sum()}: positional")
    e_steep, m_steep = 0.5 * steepest_direction(e, m, loss)
    flat.annotate(
        "", (m_steep, e_steep), (0, 0), arrowprops={"arrowstyle": "-|>", "color": BLACK, "linewidth": 2.0}, zorder=6
    )
    flat.plot([], [], color=BLACK, linewidth=2.0, label="steepest direction")
    flat.plot(0, 0, **START, label="start")
    # The surface has its ticks beside the label of the contours.
    figure.get_layout_engine().set(wspace=0.15)
    legend_below(figure, flat)
    for letter, axes in (("a", view), ("b", flat)):
        letter_panel(axes, letter)
    view.set(
        xlabel="semantic overlap $m$",
        ylabel="positional overlap $e$",
        title=rf"$R(e, m)$, $\omega = {float(cube.omega):g}$",
    )
    view.view_init(elev=38, azim=-60)
    return figure
