"""One pass of SGD on two layers, simulated and by the equations of the overlaps; order of the layers beside GAMP."""

import numpy as np

from attention_limits.numerics.probability.power_laws import first_reached
from attention_limits.pipeline.cubes.readings import specifications
from attention_limits.plotting import (
    GREEN,
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
    """Cosines by time, and learning times of both layers, from sgd_flow_two_layers; thresholds of GAMP from fig1_onset."""
    cube = _first(cubes)
    figure, (paths, order) = new_figure(1, 2, MIDDLE, 4.2)
    simulated = _times_of_batches(cube)
    sound = _sound(cube)
    for layer in (2, 1):
        color = LAYER_COLORS[layer]
        runs = _cosines(cube, layer)
        flow = np.abs(cube.cosine_by_time.sel(layer=layer).where(sound).transpose("time", "replica").values)
        paths.plot(simulated[1:], runs[1:], color=color, linewidth=1.1, linestyle=":")
        paths.plot(cube.time[1:], flow[1:], color=color, linewidth=0.9)
        paths.plot([], [], color=color, label=f"layer {layer}")
    for style, label in ((":", "simulation"), ("-", r"$D \to \infty$")):
        paths.plot([], [], color=KEY, linestyle=style, label=label)
    _learning_times(order, cube, sound.values, _simulated(cube))
    paths.axhline(LEARNED, color="0.8", linewidth=0.8, zorder=0)
    paths.set(xscale="log", xlabel="time $s$", ylabel=r"$|\cos(W_\ell, W_\ell^\star)|$", ylim=(0, 1.03))
    ticks = (1, 2, 5, 10, 20, 40)
    order.set(xscale="log", yscale="log", xlabel="time $s$ until the cosine of layer 2 is ½")
    order.set(xticks=ticks, xticklabels=ticks, yticks=ticks, yticklabels=ticks)
    order.minorticks_off()
    thresholds = ", ".join(rf"$\alpha_{layer} = {_threshold(cubes, layer):.2f}$" for layer in (2, 1))
    order.set(ylabel="time $s$ until the cosine of layer 1 is ½", title=f"GAMP: {thresholds}")
    legend_below(figure, (paths, order), ncols=3)
    return figure


def numbers(cubes):
    """Thresholds of GAMP; the least and the largest ratio of the learning times of both layers, of all paths.

    The largest factor between flow and simulation; the number of starts, and of simulations that end before layer 1 is learned;
    the change of the times of the flow with the nodes.
    """
    cube = _first(cubes)
    flow = cube.learning_time.where(_sound(cube)).sel(layer=[1, 2]).transpose("layer", "replica").values
    simulated = _simulated(cube)
    ratios = np.append(flow[0] / flow[1], simulated[0] / simulated[1])
    ends = {"least": np.fmin.reduce(ratios), "largest": np.fmax.reduce(ratios)}
    ends |= {
        "apart": float(np.exp(np.fmax.reduce(np.abs(np.log(flow / simulated)), axis=None))),
        "starts": flow.shape[1],
        "late": int(np.isnan(simulated[0]).sum()),
    }
    changes = cube.learning_time_node_error.where(_sound(cube))
    ends |= {f"change_{layer}": float(changes.sel(layer=layer).max()) for layer in (1, 2)}
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


def _simulated(cube):
    """Learning times of both layers in the simulation, array (layer, replica); NaN where the cosine stays below `LEARNED`."""
    times = _times_of_batches(cube)
    return np.array([[first_reached(times, run, LEARNED) for run in _cosines(cube, layer).T] for layer in (1, 2)])


def _threshold(cubes, layer):
    return float(layer_threshold_and_error(cubes["fig1_onset"].isel(skip=0), layer)[0])


def _times_of_batches(cube):
    """The time s = (learning rate) (batch) (number of batches) / D^2 of each record of the simulation."""
    part = specifications(cube)
    solver, dimension = part["online_sgd"]["solver"], part["gaussian_sequences"]["solver"]["dimension"]
    return cube.batch.values * solver["learning_rate"] * solver["batch"] / dimension**2


def _learning_times(axes, cube, sound, simulation):
    """The time of layer 1 against that of layer 2, of each start: flow (circles) and simulation (squares), joined.

    A circle is faint and open where half of the nodes give another path; `sound` of each start of the flow; `simulation` holds
    the times of both layers (layer, starts).
    """
    flow, error = (
        array.sel(layer=[1, 2]).transpose("layer", ...).values
        for array in (cube.learning_time, cube.learning_time_node_error)
    )
    resolved = sound & ~np.any(error >= 0.1 * flow, axis=0)
    for (first, second), (late, early) in zip(flow.T, simulation.T, strict=True):
        axes.plot([second, early], [first, late], color="0.75", linewidth=0.8, zorder=1)
    axes.plot(flow[1, resolved], flow[0, resolved], "o", color=KEY, markersize=4, label=r"$D \to \infty$, one start")
    flagged_points(axes, flow[1, ~resolved], flow[0, ~resolved], KEY, "one start, too few nodes")
    axes.plot(simulation[1], simulation[0], "s", color=GREEN, markersize=4, label="simulation, the same start")
    late = np.isnan(flow[0]) & np.isfinite(flow[1]) & sound
    if late.any():
        last = np.full(late.sum(), float(cube.time[-1]))
        lower_bounds(axes, flow[1, late], last, KEY, "lower bound: end of the flow")
    ends = np.array([0.8 * np.nanmin([flow[1], simulation[1]]), 1.3 * float(cube.time[-1])])
    axes.plot(ends, ends, ":", color="0.5", linewidth=0.8, label="equal times")
