"""One pass of SGD on two layers, simulated and by the equations of the overlaps; order of the layers beside GAMP."""

import numpy as np

from attention_limits.numerics.probability.power_laws import first_reached
from attention_limits.pipeline.cubes.readings import specifications
from attention_limits.plotting import (
    KEY,
    LAYER_COLORS,
    MIDDLE,
    flagged_points,
    house_style,
    legend_below,
    lower_bounds,
    new_figure,
)
from attention_limits.sequence_multi_index.readings import layer_threshold_and_error

# The cosine at which a layer counts as learned, as in the variable learning_time.
LEARNED = 0.5


@house_style
def draw(cubes):
    """Cosines by time from the cube sgd_flow_two_layers; learning times against the thresholds of GAMP from fig1_onset."""
    cube = _first(cubes)
    figure, (paths, order) = new_figure(1, 2, MIDDLE, 4.2)
    simulated = _times_of_batches(cube)
    sound = _sound(cube)
    for layer in (2, 1):
        color = LAYER_COLORS[layer]
        runs = _cosines(cube, layer)
        flow = np.abs(cube.cosine_by_time.sel(layer=layer).where(sound).transpose("time", "replica").values)
        paths.plot(simulated[1:], runs[1:], color=color, linewidth=0.7, linestyle=":")
        paths.plot(cube.time[1:], flow[1:], color=color, linewidth=0.9)
        paths.plot([], [], color=color, label=f"layer {layer}")
        _learning_times(order, _threshold(cubes, layer), cube.sel(layer=layer), sound.values, (simulated, runs), color)
    for style, label in ((":", "simulation"), ("-", r"$D \to \infty$")):
        paths.plot([], [], color=KEY, linestyle=style, label=label)
    order.plot([], [], "o", color=KEY, markersize=4, label=r"$D \to \infty$, one start")
    order.plot([], [], "s", color=KEY, markersize=4, label="simulation, one start (moved to the right)")
    paths.axhline(LEARNED, color="0.8", linewidth=0.8, zorder=0)
    paths.set(xscale="log", xlabel="time $s$", ylabel=r"$|\cos(W_\ell, W_\ell^\star)|$", ylim=(0, 1.03))
    order.set(yscale="log", xlim=(0, 0.9), xlabel=r"threshold of GAMP $\alpha_\ell$")
    ticks = (1, 2, 5, 10, 20, 40)
    order.set_yticks(ticks, [f"{tick}" for tick in ticks])
    order.set_yticks([], minor=True)
    order.set(ylabel=r"time $s$ until the cosine is ½")
    legend_below(figure, (paths, order), ncols=3)
    return figure


def numbers(cubes):
    """The threshold of GAMP of each layer; the least and the largest ratio of the learning times of both, of all paths."""
    cube = _first(cubes)
    flow = cube.learning_time.where(_sound(cube))
    simulated = {
        layer: [first_reached(_times_of_batches(cube), run, LEARNED) for run in _cosines(cube, layer).T]
        for layer in (1, 2)
    }
    ratios = np.append(flow.sel(layer=1) / flow.sel(layer=2), np.divide(simulated[1], simulated[2]))
    ends = {"least": np.fmin.reduce(ratios), "largest": np.fmax.reduce(ratios)}
    return {f"alpha_{layer}": _threshold(cubes, layer) for layer in (1, 2)} | ends


def _first(cubes):
    return cubes["sgd_flow_two_layers"].isel(alpha=0, rate=0)


def _sound(cube):
    """Whether a start has a path: it is missing where half of the nodes end elsewhere, or the path diverges; (replica,)."""
    return (cube.flow_converged == 1) & (cube.flow_resolved == 1)


def _cosines(cube, layer):
    """|cos| of a layer with its teacher in the simulation, array (batch, replica)."""
    runs = cube.cosine_by_batch.sel(layer=layer).where(cube.finite == 1)
    return np.abs(runs.transpose("batch", "replica").values)


def _threshold(cubes, layer):
    return float(layer_threshold_and_error(cubes["fig1_onset"].isel(skip=0), layer)[0])


def _times_of_batches(cube):
    """The time s = (learning rate) (batch) (number of batches) / D^2 of each record of the simulation."""
    part = specifications(cube)
    solver, dimension = part["online_sgd"]["solver"], part["gaussian_sequences"]["solver"]["dimension"]
    return cube.batch.values * solver["learning_rate"] * solver["batch"] / dimension**2


def _learning_times(axes, alpha, cube, sound, simulation, color):
    """Times of each start beside the threshold `alpha`; faint open circles where half of the nodes give another path.

    `sound` of each start of the flow; `simulation` holds times and cosines (records, starts).
    """
    flow, error = cube.learning_time.values, cube.learning_time_node_error.values
    resolved = sound & (error < 0.1 * flow)
    late = np.isnan(flow)
    times, runs = simulation
    first = np.array([first_reached(times, run, LEARNED) for run in runs.T])
    axes.plot(np.full(resolved.sum(), alpha), flow[resolved], "o", color=color, markersize=4)
    flagged_points(axes, np.full((~resolved & ~late).sum(), alpha), flow[~resolved & ~late], color)
    if late.any():
        last = float(cube.time[-1])
        lower_bounds(axes, np.full(late.sum(), alpha), np.full(late.sum(), last), color, "lower bound: end of the flow")
    axes.plot(np.full(len(first), alpha + 0.04), first, "s", color=color, markersize=4)
