"""Shared by the figures of the Potts family: colours, the chosen start, series with errors, notes."""

import numpy as np

from attention_limits.numerics.probability.statistics import mean_and_error
from attention_limits.pipeline.cubes.readings import specifications
from attention_limits.plotting import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    VERMILLION,
    WIDE,
    curve,
    new_figure,
    ordered_colors,
    present,
    sound_mean,
)
from attention_limits.potts_mlm.readings import at_the_end

# One colour per learner, everywhere.
LEARNER_COLORS = {
    ("factored", "raw"): BLACK,
    ("factored", "softmax"): ORANGE,
    ("transformer", 1): VERMILLION,
    ("transformer", 3): BLUE,
}
# Style of line, marker and name.
OPTIMIZER_LOOKS = {"sgd": (":", "s", "SGD"), "adam": ("-", "o", "Adam")}
# Why a point has no part in a mean: entries of the legend.
FAR_OR_UNSETTLED = "not at the distance, or fit not converged"
UNSURE = "runs of the sampler disagree, or fit not converged or not confirmed"
FULL_LOOK = {"label": "full pseudo-likelihood", "color": GREEN, "linestyle": "--"}
_COUPLINGS = {
    "gaussian": "Gaussian couplings", "contact": "random contact map", "distances": "contacts of a fold",
    "low_rank": "couplings of low rank", "file": "couplings from a file",
}  # fmt: skip
DISTANCE_LABEL = r"mean Hamming distance $d_H$"


def couplings_name(cube):
    """Kind of the couplings and number of sites."""
    model = specifications(cube)["potts_samples"]["model"]
    return f"{_COUPLINGS[model['couplings']['kind']]}, $L = {model['sites']}$"


def ridge_colors(ridges):
    """Colours of ridges in ascending order, black for none."""
    colors = ordered_colors(range(len(ridges)))
    return [BLACK if ridge == 0 else color for ridge, color in zip(ridges, colors, strict=True)]


def contact_map(axes, known, pairs, size):
    """Draw known contacts (L, L), 1 or 0, NaN where unknown, in grey; predicted pairs are blue where right, else vermilion.

    Parameters
    ----------
    pairs : two pairs of integer arrays (i, j), i < j
        Those above the diagonal, then those below it.
    size : float
        Of the symbols.
    """
    edges = (0.5, len(known) + 0.5)
    axes.imshow(known, cmap="Greys", vmin=0, vmax=3, extent=(*edges, *edges[::-1]))
    for (i, j), above in zip(pairs, (True, False), strict=True):
        right = known[i, j] == 1
        for chosen, color in ((right, BLUE), (~right, VERMILLION)):
            x, y = j[chosen] + 1, i[chosen] + 1
            axes.plot(*((x, y) if above else (y, x)), ".", color=color, markersize=size)
    axes.plot(edges, edges, color="0.6", linewidth=0.6)
    axes.set(xlabel="site $j$", ylabel="site $i$", xlim=edges, ylim=edges[::-1])


def layers_name(layers):
    """Name of a transformer by its number of layers."""
    return f"{layers:g} layer{'s' if layers > 1 else ''}"


def learner_columns(cubes, rows, height, width=WIDE, **subplots):
    """A figure with one column per cube and distance, its grid of axes, and for each column the part of the cube and largest M.

    All distances of one cube stand side by side; the upper panel of a column names its couplings. Other arguments as for
    `new_figure`.
    """
    pairs = [(cube, distance) for cube in cubes.values() for distance in cube.distance.values]
    figure, grid = new_figure(rows, len(pairs), width, height, squeeze=False, **subplots)
    parts = []
    for axes, (cube, distance) in zip(grid[0], pairs, strict=True):
        part = cube.sel(distance=distance).isel(ridge=0)
        parts.append((part, int(present(part.factored_test_loss, "samples").samples.max())))
        axes.set_title(f"{couplings_name(cube)}\n{equilibrium_note(cube, distance, separator=chr(10))}", fontsize=7.5)
    return figure, grid, parts


def factored_curves(axes, array, dim, flags):
    """Curves along `dim` of an `array` over attention, replica and `dim`, for each kind of attention; `flags` as in `series`.

    Raw attention has local minima, and its instances fall into groups. It has one thin line for each instance, and no mean.
    """
    for kind in array.attention.values:
        fitted = flags.sel(attention=kind) if "attention" in flags.dims else flags
        one, color = array.sel(attention=kind).transpose(dim, "replica"), LEARNER_COLORS["factored", str(kind)]
        if kind != "raw":
            series(axes, one, fitted, dim, color, f"factored, {kind}", jump=None)
            continue
        x, values, passed = _along(one, fitted, dim)
        look = {"linewidth": 0.7, "markersize": 3, "marker": "." if dim == "samples" else None}
        axes.plot([], [], color=color, label="factored, raw: one instance each", **look)
        for number in range(values.shape[1]):
            single = slice(number, number + 1)
            curve(axes, x, values[:, single], color, None, flags=passed[:, single], **look)


def transformer_curves(axes, array, dim, flags):
    """A curve along `dim`, samples or epoch, for each number of layers and optimiser; against samples that of the last epoch.

    `flags` as in `series`: a training ends after its epochs, so only the sequences can fail.
    """
    if bool(array.isnull().all()):
        return
    if dim == "samples":
        array = at_the_end(array)
    for layers in array.layers.values:
        for optimizer, (style, marker, name) in OPTIMIZER_LOOKS.items():
            one = array.sel(layers=layers, optimizer=optimizer).transpose(dim, "replica")
            label, color = f"{layers_name(layers)}, {name}", LEARNER_COLORS["transformer", int(layers)]
            series(
                axes, one, flags, dim, color, label, jump=None, marker=marker, linestyle=style
            )  # fmt: skip


def series(axes, array, flags, dim, color, label, jump=np.nan, marker="o", **style):
    """Mean over replicas of `array` along `dim` as a line, with markers and error bars except along the many epochs.

    `flags`, the product of all flags of a point, is an array over some of the dimensions of `array`: 1, 0 or missing.
    `jump` as for `plotting.curve`.
    """
    x, values, passed = _along(array, flags, dim)
    shown = {"markersize": 4, "marker": None if dim == "epoch" else marker}
    mean, error, _ = sound_mean(values, passed, jump)
    if label and np.isfinite(mean).any():
        axes.plot([], [], color=color, label=label, **shown, **style)
    curve(axes, x, values, color, None, flags=passed, jump=jump, **style)
    if dim != "epoch":
        axes.errorbar(x, mean, error, color=color, linestyle="none", capsize=2, elinewidth=1, zorder=3, **shown)


def _along(array, flags, dim):
    """The values of `dim` with results; an `array` over `dim` and replica there, and its `flags`, as in `series`."""
    array = array.dropna(dim, how="all")
    flags = flags.broadcast_like(array).sel({dim: array[dim]}).transpose(*array.dims)
    return array[dim].values, array.values, flags.values


def good_mean(array, flags):
    """Mean of an `array` over the replicas whose `flags` are 1."""
    return float(array.where(flags == 1).mean())


def z_scores(simulated, theory):
    """Deviations of the means over replicas of a simulation from a `theory`, in standard errors; the finite ones, array (n,)."""
    theory = theory.mean("replica").sel({name: simulated[name] for name in theory.dims if name != "replica"})
    simulated = simulated.transpose("replica", *(name for name in theory.dims if name != "replica"))
    mean, error = mean_and_error(simulated.values)
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = (mean - theory.values) / error
    return scores[np.isfinite(scores)]


def root_mean_square(values):
    """Of an array (n,); 0 without values."""
    return float(np.sqrt(np.sum(values**2) / max(values.size, 1)))


def level(axes, value, label, **style):
    """A horizontal line at `value` with the name `label`."""
    axes.axhline(value, label=label, **{"color": "0.4", "linewidth": 1.0, "zorder": 1.5, **style})


def expected_excess(part, samples):
    """Expected excess loss per site of maximum likelihood of factored attention, P / (2 M L), P its number of parameters."""
    sites, colors = part.sizes["site"], part.sizes["color"]
    return (sites * (sites - 1) + colors**2 - colors - 1) / (2.0 * np.asarray(samples, dtype=float) * sites)


def sample_axis(axes, part):
    """A logarithmic axis of the training sequences, with a tick at each number of them."""
    counts = present(part.test_loss, "samples").samples.values
    axes.set(xlabel="training sequences $M$", xscale="log")
    axes.set_xticks(counts, [f"{count:g}" for count in counts])
    axes.set_xticks([], minor=True)


def equilibrium_note(cube, distance, separator=", "):
    """Measured distance and temperature, and a remark when runs disagree or miss the target.

    The range over instances of the couplings, or for one instance the mean with its standard error. `separator` stands
    before the remark.
    """
    part = cube.sel(distance=distance)
    beta, mean = np.atleast_1d(part.beta.values), np.atleast_1d(part.hamming.mean("run").values)
    if np.ptp(beta) > 0:
        text = rf"$d_H$ {mean.min():.3f} to {mean.max():.3f}, $\beta$ {beta.min():.2f} to {beta.max():.2f}"
    else:
        error = float(np.sqrt(np.mean(part.hamming_error.values**2) / part.hamming_error.size))
        text = rf"$d_H = {mean.mean():.3f} \pm {error:.3f}$, $\beta = {beta[0]:.3f}$"
    for name, remark in (("sample_converged", "runs disagree"), ("distance_converged", f"not at {distance:g}")):
        failed = np.count_nonzero(part[name].values != 1)
        if failed:
            text += separator + remark + (f" in {failed} of {len(beta)} instances" if len(beta) > 1 else "")
    return text
