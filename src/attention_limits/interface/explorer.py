"""Cubes as one page for a browser, which shows any variable against any dimension without a network.

The page holds the numbers in double precision and plotly.js; `explorer.html` and `explorer.js` beside this module are its text.
"""

import base64
import json
import re
import zlib
from collections.abc import Iterable
from importlib import resources
from inspect import signature
from pathlib import Path

import numpy as np
import xarray as xr

from attention_limits.interface.compute import open as opened
from attention_limits.interface.describe import families, unit
from attention_limits.interface.extras import extras
from attention_limits.interface.table import grid_keys, require_cube
from attention_limits.pipeline.audit import Entry, Published, Table, reading
from attention_limits.pipeline.base.arguments import listed, path_of, require
from attention_limits.pipeline.base.attributes import numbers_of_picture
from attention_limits.pipeline.base.errors import SpecError, shown
from attention_limits.pipeline.base.files import write_text
from attention_limits.pipeline.base.registry import registry
from attention_limits.pipeline.cubes.cube_bytes import is_flag, linked
from attention_limits.pipeline.cubes.readings import judges, least
from attention_limits.pipeline.experiments.experiment import load_family
from attention_limits.pipeline.experiments.figures import caption_file, figure_module, read_caption
from attention_limits.pipeline.experiments.messages import validated
from attention_limits.pipeline.experiments.yaml_reader import read_yaml

# A longer dimension of a trajectory or a map keeps only this many values, at even distances, both ends included.
MOST_VALUES = 41
# The cube of the first figure of the README, on which a page that holds it opens.
OPENS = ("sequence_multi_index", "fig1_learning_curve")
_CUBES = "a Dataset, the path of a cube, or several of them"
_FITTED = re.compile("training|objective")
# Variables that say how a computation went: by the name, and by the normalisation.
_PROGRESS = re.compile("iterations|residual|gradient_norm|r_hat|autocorrelation|movement|swap_rate|^realised_|^width$")
_COUNTED = re.compile("count|true or false|number of the start")
_ATTRIBUTES = ("symbol", "long_name", "normalisation", "definition", "source", "units", "estimator")


def explore(
    cubes: str | Path | xr.Dataset | Iterable[str | Path | xr.Dataset],
    output: str | Path | None = None,
    project: str | Path = ".",
) -> Path:
    """Write one offline page that shows cubes, and return its path.

    Parameters
    ----------
    cubes : path or Dataset, or several of them
        Cubes of `compute`, or files of cubes.
    output : path, optional
        The page, `.html`. By default it stands beside the file of a single cube, or it is `explorer.html`.
    project : path
        Folder whose `config/`, if there is one, says which figures and published numbers belong to the cubes.

    Raises
    ------
    SpecError
        If there is no cube, `output` is no `.html`, or plotly is missing.
    CubeError
        If a cube is missing or damaged.

    Examples
    --------
    >>> import attention_limits as al
    >>> model = {"channel": "linear", "tokens": 2, "ratio": 0.5}
    >>> cube = al.compute("attention_indexed.state_evolution", model, {"alpha": [0.1, 0.2]})
    >>> print(al.explore(cube, "cube.html"))
    cube.html
    """
    given = [cubes] if isinstance(cubes, Path | xr.Dataset) else listed("cubes", cubes, _CUBES)
    if output is None:
        alone = len(given) == 1 and not isinstance(given[0], xr.Dataset)
        output = Path(given[0]).with_suffix(".html") if alone else "explorer.html"
    output, project = path_of("output", output, "a page"), path_of("project", project, "a folder")
    require(bool(given), "cubes", cubes, _CUBES)
    if output.suffix != ".html":
        raise SpecError([f"output: {output}: must end in .html"])
    text = page([described(*_opened(cube), project) for cube in given])
    write_text(output, text)
    return output


def _opened(cube: str | Path | xr.Dataset) -> tuple[xr.Dataset, Path]:
    """A cube and its path; of a Dataset the name of its experiment."""
    if isinstance(cube, str | Path):
        return opened(cube), Path(cube)
    require(isinstance(cube, xr.Dataset), "cubes", cube, _CUBES)
    if "spec" not in cube.attrs:
        raise SpecError(["cube: Dataset without the attribute spec; allowed: a Dataset that compute or open returns"])
    require_cube(cube)
    spec, known = json.loads(cube.attrs["spec"]), [family.name for family in families()]
    if spec.get("family") not in known:
        raise SpecError([f"cube: its attribute spec: family: {shown(spec.get('family'))}: allowed: {', '.join(known)}"])
    return cube, Path(spec.get("experiment", "cube"))


def page(records: list[dict]) -> str:
    """The page of the cubes `records` (`described`). Raises SpecError where plotly is missing."""
    with extras():
        from plotly.offline import get_plotlyjs
    files = resources.files("attention_limits.interface")
    text = files.joinpath("explorer.html").read_text(encoding="utf-8")
    # A closing tag inside of the data would end them.
    data = json.dumps(records, ensure_ascii=False, allow_nan=False).replace("</", "<\\/")
    parts = {
        "PLOTLY": get_plotlyjs(),
        "DATA": data,
        "SCRIPT": files.joinpath("explorer.js").read_text(encoding="utf-8"),
    }
    for name, part in parts.items():
        before, after = text.split(f"@{name}@")
        text = before + part + after
    return text


def described(cube: xr.Dataset, path: Path, project: Path) -> dict:
    """A cube as plain data: texts, coordinates, variables, published points, and the numbers of all variables as one text.

    The text is the base64 of the deflated bytes of float64, one variable after the other in the order of its dimensions. Missing
    values are NaN; a text is stored as its index in the `labels` of its variable.

    Parameters
    ----------
    cube : Dataset
    path : Path
        Of the cube; its name is that of the experiment. A picture of the same results gives the numbers of its caption.
    project : Path
        Folder of the `config/` with figures and published numbers.
    """
    cube, spec, name = linked(cube), json.loads(cube.attrs["spec"]), path.stem
    figures = _figures(project, spec["family"], path)
    wanted = [figure.pop("variable") for figure in figures]
    grid, numbers, variables, size = [*grid_keys(cube), "estimator", "replica"], [], {}, 0
    for variable, array in cube.data_vars.items():
        kept = {
            str(dim): np.unique(np.linspace(0, length - 1, MOST_VALUES).round().astype(int)).tolist()
            for dim, length in array.sizes.items()
            if dim not in grid and length > MOST_VALUES
        }
        values, labels = _numbers(array.isel(kept))
        linked_to = array.attrs.get("ancillary_variables", "").split()
        variables[str(variable)] = {
            **{key: array.attrs[key] for key in _ATTRIBUTES if array.attrs.get(key)},
            "dims": list(map(str, array.dims)), "shape": list(values.shape), "kept": kept, "labels": labels, "offset": size,
            "flags": {other: least(other) for other in linked_to if judges(other)},
            "error": next((other for other in linked_to if not is_flag(other)), None),
            "role": _role(str(variable), cube), "unit": unit(array.attrs.get("normalisation", "")),
        }  # fmt: skip
        numbers.append(values.ravel())
        size += values.size
    return {
        "family": spec["family"], "name": name, "opens": (spec["family"], name) == OPENS,
        "first": next((variable for variable in wanted if variable in variables), None)
        or _first(variables, cube, list(registry(spec["family"]).variables)),
        # A user may have removed them.
        **{key: str(cube.attrs.get(key, name if key == "title" else "")) for key in ("title", "summary", "source")},
        "spec": spec, "grid": grid, "variables": variables,
        "coordinates": {
            str(key): {
                **{k: array.attrs[k] for k in _ATTRIBUTES if array.attrs.get(k)},
                "unit": unit(array.attrs.get("definition", "")), "values": _plain(array.values),
            }
            for key, array in cube.coords.items()
        },
        "figures": figures,
        "published": _published(project, spec["family"], name, cube),
        "numbers": base64.b64encode(zlib.compress(np.concatenate(numbers).astype("<f8").tobytes(), 9)).decode(),
    }  # fmt: skip


def _role(variable: str, cube: xr.Dataset) -> str:
    """What a variable is for a reader: a result, the error of another variable, or a flag or count of the computation."""
    if is_flag(variable) or _PROGRESS.search(variable) or _COUNTED.match(cube[variable].attrs.get("normalisation", "")):
        return "flag"
    linked_to = (array.attrs.get("ancillary_variables", "").split() for array in cube.data_vars.values())
    measured = re.sub("(_node)?_(error|uncertainty)$", "", variable)
    of_another = measured != variable and measured in cube.data_vars
    return "error" if of_another or any(variable in names for names in linked_to) else "result"


def _first(variables: dict[str, dict], cube: xr.Dataset, order: list[str]) -> str:
    """The variable on which a cube opens: results of several estimators first, then what varies along the grid.

    Among equals it is the first in the `order` of the registry.
    """
    axes = [dim for dim in grid_keys(cube) if cube.sizes[dim] > 1]

    def interest(name: str) -> tuple:
        own, array = variables[name], cube[name]
        place = order.index(name) if name in order else len(order)
        numeric = own["labels"] is None
        along = [dim for dim in axes if dim in array.dims] if numeric else []
        varies = bool(along) and bool((array.max(along) > array.min(along)).any())
        # What a fit minimises is no result of a reader's question.
        return own["role"] == "result", "estimator" in own["dims"], numeric, varies, not _FITTED.search(name), -place

    return max(variables, key=interest)


def _numbers(array: xr.DataArray) -> tuple[np.ndarray, list[str] | None]:
    """The values of a variable as numbers; if the variable is text, the numbers are indices of the returned texts."""
    if array.dtype.kind not in "OUT":
        return array.values.astype(float), None
    labels, codes = np.unique(array.values.astype(str), return_inverse=True)
    codes = codes.reshape(array.shape).astype(float)
    # An empty text is a missing value.
    return np.where(array.values.astype(str) == "", np.nan, codes), labels.tolist()


def _plain(values: np.ndarray) -> list:
    """Values of a coordinate for JSON, which has no NaN; dates are texts."""
    if values.dtype.kind not in "fiubOUT":
        return values.astype(str).tolist()
    return [None if isinstance(value, float) and not np.isfinite(value) else value for value in values.ravel().tolist()]


def _figures(project: Path, family: str, path: Path) -> list[dict]:
    """Title and caption of each figure of a project that shows the cube, and the variable that it is about."""
    pictures, prefix = path.resolve().parent.parent.parent / "figures" / family, load_family(family).prefix
    file = project / "config" / family / "figures.yaml"
    found = []
    for figure, entry in read_yaml(file).items() if file.is_file() else ():
        caption = caption_file(figure_module(family, entry.get("module", figure)), figure)
        if path.stem in entry["cubes"] and caption.is_file():
            numbers = numbers_of_picture(str(pictures / f"{prefix}_{figure}.png"))
            text = read_caption(caption, numbers)[0]
            found.append({"title": entry["title"], "caption": text, "variable": entry.get("variable")})
    return found


def _published(project: Path, family: str, name: str, cube: xr.Dataset) -> list[dict]:
    """The published numbers of a project that are values of one variable at one point of the cube."""
    file = project / "config" / family / "published.yaml"
    table, _ = validated(Table, read_yaml(file)) if file.is_file() else (None, [])
    found = []
    for entry in table.numbers if table else ():
        variable, point = _point(entry, family) if entry.cubes == [name] else (None, {})
        if variable in cube.data_vars and set(point) <= set(cube[variable].dims):
            keys = ("quantity", "published", "precision", "source", "reason")
            found.append({"variable": variable, "point": point, **{key: getattr(entry, key) for key in keys}})
    return found


def _point(entry: Entry, family: str) -> tuple[str | None, dict]:
    """The variable that a reading reads at one point, and the point; no variable where it computes something else."""
    known = signature(reading(Published(family=family, **entry.plain()))).parameters
    defaults = {key: item.default for key, item in known.items() if item.default is not item.empty}
    values = {**defaults, **entry.arguments}
    variable, along = values.pop("variable", None), values.pop("along", None)
    values.pop("error", None)
    return variable, {along: values.pop("x"), **values} if along else values
