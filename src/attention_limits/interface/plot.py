"""One variable of a cube as a picture: mean and standard error over replicas, and the replicas that fail a flag."""

import itertools
import textwrap
from collections.abc import Iterable

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from attention_limits.interface.describe import unit
from attention_limits.interface.table import grid_keys, require_cube
from attention_limits.pipeline.base.arguments import require
from attention_limits.pipeline.base.errors import SpecError, allowed_names, shown
from attention_limits.pipeline.cubes.readings import passed
from attention_limits.plotting import (
    BLACK,
    LAYER_COLORS,
    SKY,
    curve,
    flagged_entries,
    house_style,
    new_figure,
    ordered_colors,
    points,
)

# Without a named variable the figure draws the first of these that the cube has.
_USUAL = (
    "overlap",
    "mmse",
    "generalization_error",
    "simulated_generalization_error",
    "test_loss",
    "escape_step",
    "loss",
)
_COLORS = [*LAYER_COLORS.values(), SKY, BLACK]
_MARKERS = "osD^v"


@house_style
def plot(
    cube: xr.Dataset,
    y: str | None = None,
    x: str | None = None,
    color: str | None = None,
    panel: str | None = None,
) -> Figure:
    """Draw a variable of a cube against a coordinate; `Figure.savefig` writes the picture.

    The first estimator is a line with a band of one standard error, every other one markers with bars. Replicas that fail a flag
    (`pipeline.cubes.readings.passed`) have no part in the mean: each is a faint open circle.

    Parameters
    ----------
    cube : Dataset
        A cube of `compute`, or of the workflow. Select, with `Dataset.sel`, one value of each dimension that is neither drawn
        nor averaged over. A matrix over `layer` and `layer_star` shows its diagonal, unless `layer_star` is given.
    y : str, optional
        The variable; by default the first that the cube has of `overlap`, `mmse`, `generalization_error`, and the like.
    x : str, optional
        The dimension of the horizontal axis; by default the longest grid key.
    color, panel : str, optional
        Dimensions whose values have colours, and panels. Colours show the dimension that is left over, if there is one.

    Raises
    ------
    SpecError
        If `cube` is no cube, has no such variable or dimension, or a dimension with several values is left over.

    Examples
    --------
    >>> import attention_limits as al
    >>> model = {"channel": "linear", "tokens": 2}
    >>> cube = al.compute("attention_indexed.state_evolution", model, {"ratio": [0.1, 0.5], "alpha": [0.1, 0.2]})
    >>> al.plot(cube, y="mmse", x="alpha", color="ratio").savefig("curve.png")
    """
    require_cube(cube)
    for role, name in (("y", y), ("x", x), ("color", color), ("panel", panel)):
        require(isinstance(name, str | None), role, name, "a name")
    array = _diagonal(cube[drawn_variable(map(str, cube.data_vars), y)], {x, color, panel})
    free = [key for key in grid_keys(cube) if key in array.dims and key not in (color, panel)]
    x = x or max(free, key=lambda name: array.sizes[name], default=None)
    problems = [
        f"{role}: {f'{shown(name)}:' if name else 'missing;'} {allowed_names(name or '', map(str, array.dims))}"
        for role, name in (("x", x), ("color", color), ("panel", panel))
        if name not in array.dims and (name or role == "x")
    ]
    if x in array.coords and array[x].dtype.kind not in "fiu":
        problems.append(f"x: {shown(x)}: holds no numbers; give another dimension, or give this one to color or panel")
    drawn = {x, color, panel, "replica", "estimator"}
    left = [str(name) for name, size in array.sizes.items() if name not in drawn and 1 < size <= len(_COLORS)]
    if color is None and len(left) == 1:
        (color,) = left
        drawn.add(color)
    problems += [
        f"{name}: has {size} values; give it to x, color or panel, or select one with cube.sel({name}=...)"
        for name, size in array.sizes.items()
        if name not in drawn and size > 1
    ]
    problems += [f"{name}: has no value; select some" for name, size in array.sizes.items() if size == 0]
    if problems:
        raise SpecError(problems)
    # A mean over the replicas is one replica.
    array = array if "replica" in array.dims else array.expand_dims("replica")
    array = array.squeeze([name for name in map(str, array.dims) if name not in drawn], drop=True)
    flags = passed(cube, array.name)
    alone = [name for name in flags.dims if name not in array.dims]
    flags = flags.squeeze(alone, drop=True).broadcast_like(array)
    panels = array[panel].values.tolist() if panel else [None]
    colors = array[color].values.tolist() if color else [None]
    shades = _shades(cube, color, colors)
    owners = array.estimator.values.tolist() if "estimator" in array.dims else [array.attrs.get("estimator")]
    figure, (row,) = new_figure(1, len(panels), 0.8 + 3.6 * len(panels), 3.4, squeeze=False, sharey=True)
    for axes, value in zip(row, panels, strict=True):
        for (number, chosen), (j, owner) in itertools.product(zip(colors, shades, strict=True), enumerate(owners)):
            place = {panel: value, color: number, "estimator": owner}
            place = {key: item for key, item in place.items() if key in array.dims}
            values, settled = (item.sel(place).transpose(x, "replica").values.astype(float) for item in (array, flags))
            there = np.isfinite(values).any(axis=1)
            names = [f"{_symbol(cube, color)} = {_text(number)}"] if color else []
            label = ", ".join([*names, *([owner.replace("_", " ")] if len(owners) > 1 else [])])
            horizontal = array[x].values[there]
            if j == 0:
                curve(axes, horizontal, values[there], chosen, label or None, flags=settled[there])
            else:
                points(
                    axes, horizontal, values[there], settled[there], chosen, label, _MARKERS[(j - 1) % len(_MARKERS)]
                )
        axes.set_xlabel(_label(cube[x], "definition"))
        if panel:
            axes.set_title(f"{_symbol(cube, panel)} = {_text(value)}")
    row[0].set_ylabel(_label(array, "normalisation"))
    entries = {name: handle for axes in row for handle, name in zip(*axes.get_legend_handles_labels(), strict=True)}
    entries |= flagged_entries(figure)
    if entries:
        row[-1].legend(entries.values(), entries.keys())
    return figure


def drawn_variable(names: Iterable[str], y: str | None) -> str:
    """The variable of a picture: `y`, or a usual one of the `names` that there are. Raises SpecError where there is none."""
    there = list(names)
    if y is None:
        y = next((name for name in _USUAL if name in there), None)
    if y not in there:
        raise SpecError([f"y: {f'{shown(y)}:' if y else 'missing;'} {allowed_names(y or '', there)}"])
    return y


def _shades(cube: xr.Dataset, name: str | None, values: list) -> list:
    """A colour for each of the `values` of a dimension: a layer has its own, and a parameter from dark to light."""
    if name in ("layer", "layer_star"):
        return [_COLORS[(int(value) - 1) % len(_COLORS)] for value in values]
    if name in grid_keys(cube) and cube[name].dtype.kind in "fiu" and len(values) > 1:
        return list(ordered_colors(np.argsort(np.argsort(values))))
    return [_COLORS[place % len(_COLORS)] for place in range(len(values))]


def _diagonal(array: xr.DataArray, drawn: set) -> xr.DataArray:
    """The entries of a matrix with the same row of student and teacher, where `drawn` does not hold that of the teacher."""
    if not {"layer", "layer_star"} <= set(array.dims) or "layer_star" in drawn or array.sizes["layer_star"] == 1:
        return array
    row = xr.DataArray(np.arange(array.sizes["layer"]), dims="layer")
    return array.isel(layer=row, layer_star=row).drop_vars("layer_star")


def _text(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _symbol(cube: xr.Dataset, name: str) -> str:
    """The symbol of a parameter; of a layer or a token the name, because an index is no symbol that a reader knows."""
    return (name in grid_keys(cube) and cube[name].attrs.get("symbol")) or name


def _label(array: xr.DataArray, detail: str) -> str:
    """Name and symbol, and below them the first clause of the meaning or normalisation where it is in words."""
    symbol, name = array.attrs.get("symbol"), array.attrs.get("long_name") or str(array.name).replace("_", " ")
    lines = [f"{name}, {symbol}" if symbol else name, unit(array.attrs.get(detail, ""))]
    return "\n".join(part for line in lines for part in textwrap.wrap(line, 42))
