"""How the layers are learned: GAMP by iteration, gradient descent by batch, and both on the same data sets."""

import numpy as np

from attention_limits.numerics.probability.statistics import mean_and_error
from attention_limits.pipeline.cubes.readings import specifications
from attention_limits.plotting import (
    KEY,
    LAYER_COLORS,
    WIDE,
    banded_line,
    curve,
    flagged_points,
    house_style,
    legend_below,
    new_figure,
    present,
    published_points,
)
from attention_limits.sequence_multi_index.figures.papers.published import FIG2_DESCENT

_STYLES = {
    "gamp": ("-", "GAMP"),
    "batch_reuse_sgd": ("--", "gradient descent, batches of the data used several times"),
    "online_sgd": (":", "gradient descent, fresh batches"),
    "state_evolution_trajectory": ((0, (5, 1, 1, 1)), "state evolution"),
}


@house_style
def draw(cubes):
    """Cosines of the layers from the cubes fig2_gamp, fig2_sgd and fig2_common; one panel for each alpha of the last."""
    common = cubes["fig2_common"]
    figure, axes = new_figure(1, 2 + common.sizes["alpha"], WIDE, 3.6, sharey=True)
    _gamp_panel(axes[0], cubes["fig2_gamp"])
    _descent_panel(axes[1], cubes["fig2_sgd"])
    for panel, alpha in zip(axes[2:], common.alpha.values, strict=True):
        _common_panel(panel, common.sel(alpha=alpha), alpha)
    axes[0].set(ylabel=r"$|\cos(W_\ell, W_\ell^\star)|$", ylim=(0, 1.03))
    _key(axes[0])
    legend_below(figure, axes)
    return figure


def numbers(cubes):
    """Of gradient descent on the data that GAMP reads too: mean cosine of layer 1 at the end with the most samples.

    With the fewest: mean cosines at the end, training error, of the start where it is smallest, and generalisation error.
    """
    common = cubes["fig2_common"]
    few = common.isel(alpha=0)

    def end(part, layer):
        return float(np.abs(present(part.cosine_by_batch.sel(layer=layer), "batch").isel(batch=-1)).mean())

    return {
        "descent_1": end(common.isel(alpha=-1), 1),
        "few_1": end(few, 1),
        "few_2": end(few, 2),
        "training": float(few.training_error_of_start.min("start").mean("replica")),
        "fresh": float(few.error_plug_in.sel(estimator="batch_reuse_sgd").mean("replica")),
    }


def gamp_cosines(cube, layer):
    """|cos| by iteration, array (iterations, replicas), of a cube at one alpha.

    GAMP stops where it has settled: the last value holds from there on.
    """
    cosine = np.abs(cube.cosine_trajectory.sel(layer=layer).transpose("iteration", "replica").values)
    for column, done, converged in zip(cosine.T, cube.iterations.values, cube.converged.values, strict=True):
        if converged:
            column[int(done) :] = column[int(done) - 1]
    return cosine


def _settings(cube, estimator):
    return specifications(cube)[estimator]["solver"]


def _dimension_of_data(cube):
    return specifications(cube)["gaussian_sequences"]["solver"]["dimension"]


def _gamp_panel(axes, cube):
    cube = cube.isel(alpha=0)
    dimension = _settings(cube, "gamp")["dimension"]
    theory = cube.overlap_trajectory.sel(estimator="state_evolution_trajectory").transpose("iteration", ...)
    cube = cube.sel(estimator="gamp")
    _draw_gamp(axes, cube)
    for layer in (2, 1):
        # For a posterior mean the squared cosine is Q.
        cosine = present(np.sqrt(theory.sel(layer=layer, layer_star=layer)), "iteration").dropna("replica")
        curve(
            axes, cosine.iteration, cosine.values, LAYER_COLORS[layer], None, _STYLES["state_evolution_trajectory"][0]
        )
    axes.set(xlabel="GAMP iteration $t$", xlim=(1, cube.iteration.values[-1]))
    axes.set_title(rf"GAMP, $\alpha = {float(cube.alpha):g}$, $D = {dimension}$")


def _descent_panel(axes, cube):
    cube = cube.isel(alpha=0)
    for estimator in ("online_sgd", "batch_reuse_sgd"):
        part = present(cube.sel(estimator=estimator), "batch").isel(batch=slice(1, None))
        _draw_descent(axes, part, part.batch.values, estimator)
    known = FIG2_DESCENT[FIG2_DESCENT[:, 0] <= cube.batch.values[-1]]
    for layer, column in ((1, 1), (2, 3)):
        x, y, error = known[:, [0, column, column + 1]].T
        published_points(axes, x, y, error, LAYER_COLORS[layer], capsize=2)
    axes.set(xlabel="batches drawn", xscale="log", xlim=(cube.batch.values[1], cube.batch.values[-1]))
    batches = _batches_of_a_pass(cube)
    _second_axis(axes, "passes through the data (epochs)", batches)
    axes.set_title(rf"gradient descent, $\alpha = {float(cube.alpha):g}$, $D = {_dimension_of_data(cube)}$")


def _batches_of_a_pass(cube):
    """Whole batches in one pass of gradient descent through its data."""
    sequences = _dimension_of_data(cube) * float(cube.realised_alpha.sel(estimator="batch_reuse_sgd").mean())
    return sequences // _settings(cube, "batch_reuse_sgd")["batch"]


def _second_axis(axes, label, ratio):
    """The same axis in other units at the top: `ratio` of the lower ones are one of these."""
    top = axes.secondary_xaxis("top", functions=(lambda x: x / ratio, lambda x: x * ratio))
    top.set_xlabel(label, fontsize=8)
    top.tick_params(labelsize=7)


def _common_panel(axes, cube, alpha):
    descent, dimension = _settings(cube, "batch_reuse_sgd"), _dimension_of_data(cube)
    # Every sequence of a batch is used once for each step on it; one GAMP iteration uses all sequences once.
    sequences = dimension * float(cube.realised_alpha.sel(estimator="batch_reuse_sgd").mean())
    each = descent["batch"] * descent["reuse"] / sequences
    uses = cube.batch.values * each
    _draw_descent(axes, cube.isel(batch=slice(1, None)), uses[1:], "batch_reuse_sgd")
    _draw_gamp(axes, cube)
    axes.set(xlabel="uses of each sequence", xscale="log", xlim=(1, uses[-1]))
    _second_axis(axes, "batches drawn by gradient descent", each)
    axes.set_title(rf"same data, $\alpha = {alpha:g}$, $D = {dimension}$")


def _draw_gamp(axes, cube):
    """The curves, with a flagged symbol where a run has ended without having settled; it is in no mean."""
    for layer in (2, 1):
        cosine = gamp_cosines(cube, layer)
        _draw(axes, cube.iteration.values, cosine, layer, "gamp", cube.converged.values == 1)
        for column, converged in zip(cosine.T, cube.converged.values, strict=True):
            finite = np.flatnonzero(np.isfinite(column))
            if not converged and finite.size:
                last = finite[-1]
                color = LAYER_COLORS[layer]
                flagged_points(
                    axes, cube.iteration.values[last], column[last], color, "end of a run that did not converge"
                )


def _draw_descent(axes, cube, x, estimator):
    for layer in (2, 1):
        cosine = np.abs(cube.cosine_by_batch.sel(layer=layer).transpose("batch", "replica").values)
        _draw(axes, x, cosine, layer, estimator, cube.finite.values == 1)


def _draw(axes, x, cosine, layer, estimator, settled=True):
    """Every seed as a thin line, under the mean of those that `settled` with its standard error."""
    color, linestyle = LAYER_COLORS[layer], _STYLES[estimator][0]
    axes.plot(x, cosine, color=color, linewidth=0.5, alpha=0.35, linestyle=linestyle, zorder=1)
    # Runs pass the steps of the cosine at different times: their mean is drawn beside each of them, also where they lie apart.
    mean, error = mean_and_error(np.where(settled, cosine, np.nan), axis=1)
    banded_line(axes, x, mean, error, color, linestyle=linestyle)


def _key(axes):
    for layer in (1, 2):
        axes.plot([], [], color=LAYER_COLORS[layer], label=f"layer {layer}")
    for style, label in _STYLES.values():
        axes.plot([], [], color=KEY, linestyle=style, label=label)
    published_points(axes, [], [], color=KEY, label="published")
