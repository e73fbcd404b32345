"""What a drawn figure has against the grammar of figures."""

import contextlib
import importlib
import re
import warnings
from collections.abc import Iterator
from unittest import mock

import numpy as np
import xarray as xr
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PathCollection
from matplotlib.colors import to_hex, to_rgb, to_rgba_array
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.path import Path
from matplotlib.text import Text

from attention_limits.pipeline.cubes import reader
from attention_limits.pipeline.cubes.cube_bytes import linked
from attention_limits.pipeline.cubes.readings import judges
from attention_limits.pipeline.experiments.figures import PLACEHOLDER
from attention_limits.plotting import COLORS, KEY, LAYER_COLORS, MIDDLE, NARROW, WIDE

# Points; a reader of a printed page still reads this size.
SMALLEST = 7.0
# Flags that no figure evaluates: a training of so many epochs is the result, whatever its gradient at the end.
NOT_JUDGED = {"transformer_converged"}
# What an entry of a legend names by its words, and the colours that this may have, by the first group; or the grey of `KEY`.
MEANINGS = {
    r"(?:^|[^\d\w])layer (\d)(?![\d\w])": {str(layer): color for layer, color in LAYER_COLORS.items()},
    r"^\$Q_\{(\d)\1\}\$": {str(layer): color for layer, color in LAYER_COLORS.items()},
    r"^(semantic|positional)(?: |$)": COLORS,
    r"^(uninformed|informed) start$": COLORS,
    r"^(Bayes-optimal)(?:$| state evolution$)": {"Bayes-optimal": COLORS["bayes"]},
    r"^(?:error of the )?(posterior mean)(?:$|, uninformed)": {"posterior mean": COLORS["bayes"]},
    r"^(plug-in error)$": {"plug-in error": COLORS["plug_in"]},
    r"^G?(AMP)$": {"AMP": COLORS["amp"]},
    r"^(gradient descent), one start": {"gradient descent": COLORS["descent"]},
    r"(limit of many starts)": {"limit of many starts": COLORS["average"]},
    r"(?:^|, )(best \$\\lambda)": {"best $\\lambda": COLORS["best"]},
}
# Variables that are right for each run, settled or not: its samples and iterations, and the distance and inverse temperature that
# a sampler has reached (`hamming`, `beta`).
COUNTS = {"iterations", "realised_alpha", "hamming", "beta"}


def faults(figure):
    """Lines about the width, the size of texts, and the legends of a figure."""
    FigureCanvasAgg(figure)
    width, found = figure.get_size_inches()[0], []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        figure.draw_without_rendering()
    found += [str(warning.message) for warning in caught if "layout" in str(warning.message)]
    if not any(abs(width - standard) < 1e-6 for standard in (NARROW, MIDDLE, WIDE)):
        found.append(f"width {width:g} inches")
    for text in figure.findobj(Text):
        if text.get_visible() and text.get_text().strip() and text.get_fontsize() < SMALLEST:
            found.append(f"{text.get_text()!r} in {text.get_fontsize():g} points")
    page = figure.bbox.padded(2)
    for legend in figure.findobj(Legend):
        box, names = legend.get_window_extent(), [text.get_text() for text in legend.get_texts()]
        if not (page.x0 <= box.x0 and box.x1 <= page.x1 and page.y0 <= box.y0 and box.y1 <= page.y1):
            found.append(f"the legend {names} leaves the page")
        if len(set(names)) < len(names):
            found.append(f"an entry of the legend twice: {names}")
    return found + _open_circles(figure) + _colors(figure)


def _colors(figure):
    """Lines about entries of legends in another colour than that of their meaning."""
    found = []
    for legend in figure.findobj(Legend):
        for text, handle in zip(legend.get_texts(), legend.legend_handles, strict=True):
            for words, colors in MEANINGS.items():
                named = re.findall(words, text.get_text())
                # An entry that names two layers has the colour of neither.
                color = _color(handle) if len(named) == 1 else None
                if color is not None and not any(np.allclose(color, to_rgb(one)) for one in (colors[named[0]], KEY)):
                    found.append(f"the entry {text.get_text()!r} in the colour {to_hex(color)}")
    return found


def _color(handle):
    """RGB of an entry of a legend; None without a colour."""
    get = getattr(handle, "get_color", None) or getattr(handle, "get_facecolor", None)
    colors = to_rgba_array(get()) if get else ()
    return colors[0, :3] if len(colors) else None


def _open_circles(figure):
    """Faults of the faint open circles and squares: each is known as flagged, with an entry exactly where one is visible."""
    found, visible = [], set()
    for axes in figure.axes:
        for line in axes.lines:
            # An entry of the legend has no data.
            face, opacity = line.get_markerfacecolor(), line.get_alpha()
            open_circle = (
                line.get_marker() in ("o", "s") and isinstance(face, str) and face == "none" and opacity == 0.5
            )
            if open_circle and line.get_gid() != "flagged":
                found.append("an open circle that is not drawn by flagged_points")
            places = line.get_transform().transform(line.get_xydata()) if open_circle else []
            if any(axes.bbox.padded(0.01).contains(*place) and not _under_a_triangle(axes, place) for place in places):
                visible.add(line.get_label().removeprefix("_"))
    named = {
        text.get_text()
        for legend in figure.findobj(Legend)
        for text, handle in zip(legend.get_texts(), legend.legend_handles, strict=True)
        if isinstance(handle, Line2D) and handle.get_marker() in ("o", "s") and handle.get_alpha() == 0.5
    }
    found += [f"an open circle without the entry {name!r}" for name in sorted(visible - named)]
    return found + [f"the entry {name!r} without an open circle" for name in sorted(named - visible)]


def _under_a_triangle(axes, place):
    """Whether a triangle on the axis covers a place in pixels, at 200 pixels per inch."""
    triangles = [line for line in axes.lines if line.get_marker() == "^" and line.get_xydata().shape == (1, 2)]
    return any(
        np.hypot(*(line.get_transform().transform(line.get_xydata())[0] - place)) < 0.25 * 6 * 200 / 72
        for line in triangles
    )


def covered(axes):
    """Lines about the legend, and the labels between the data, that cover lines, symbols, bars or bands of the axes."""
    renderer, drawn, boxes = FigureCanvasAgg(axes.figure).get_renderer(), _drawn(axes), []
    # A legend is empty where no point of the panel has a mean.
    for legend in (child for child in axes.get_children() if isinstance(child, Legend) and child.get_texts()):
        # Without its invisible border.
        border = legend.borderpad * legend.get_texts()[0].get_fontsize() * axes.figure.dpi / 72
        boxes.append((legend.get_window_extent(renderer).padded(-border), "the legend"))
    for text in axes.texts:
        if text.get_visible() and text.get_text().strip():
            # A text touches what runs along its edge.
            boxes.append((text.get_window_extent(renderer).padded(-1), repr(text.get_text())))
    return [
        f"{name} covers what is drawn"
        for box, name in boxes
        if box.overlaps(axes.bbox) and any(path.intersects_bbox(box, filled=filled) for path, filled in drawn)
    ]


def _drawn(axes):
    """The paths of the data of some axes in pixels, and whether each has an inner part; symbols are small squares."""
    paths = []
    for line in axes.lines:
        path = line.get_transform().transform_path(line.get_path())
        path = path.cleaned(remove_nans=True, clip=(*axes.bbox.padded(3).min, *axes.bbox.padded(3).max))
        # The background has the order zero.
        if not line.get_visible() or not len(path.vertices) or line.get_zorder() <= 0:
            continue
        if line.get_linestyle() not in ("None", "none", "", " "):
            paths.append((path, False))
        elif line.get_marker() not in ("None", "none", "", " "):
            paths += [(_square(place, line.get_markersize()), True) for place in path.vertices[path.codes != path.STOP]]
    for collection in axes.collections:
        if collection.get_zorder() <= 0:
            continue
        if isinstance(collection, PathCollection):
            places = collection.get_offset_transform().transform(collection.get_offsets())
            paths += [(_square(place, 4), True) for place in places]
        elif collection.get_visible() and collection.get_array() is None:
            transform = collection.get_transform()
            paths += [
                (transform.transform_path(path), bool(len(collection.get_facecolor())))
                for path in collection.get_paths()
            ]
    return [(path, filled) for path, filled in paths if np.isfinite(path.vertices).all()]


def _square(place, size):
    """A symbol of so many points, at 200 pixels per inch."""
    corners = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0]])
    return Path(np.asarray(place) + 0.5 * size * 200 / 72 * corners)


def watched(cube):
    """A cube, and the set of names that are read from it or from its parts from now on."""
    seen = set()

    class Watched(xr.Dataset):
        __slots__ = ()

        def __getitem__(self, key):
            if isinstance(key, str):
                seen.add(key)
            return super().__getitem__(key)

    return Watched(cube.data_vars, cube.coords, cube.attrs), seen


def without_flags(cube, seen):
    """Lines about the variables of a cube that are among the names `seen`, and the flags of theirs that are not."""
    found = []
    for name, array in linked(cube).data_vars.items():
        # A path by iterations shows itself whether it has settled.
        if "iteration" in array.dims or name in COUNTS:
            continue
        flags = {other for other in array.attrs.get("ancillary_variables", "").split() if judges(other)} - NOT_JUDGED
        if name in seen and flags - seen:
            found.append(f"{name} is drawn without its flags: {', '.join(sorted(flags - seen))}")
    return found


@contextlib.contextmanager
def watching(name: str) -> Iterator[tuple[list[str], set[str]]]:
    """Lines about the figure that a command draws with the module `name`, and the names of its numbers, while it draws."""
    module, cubes, lines, given = importlib.import_module(name), {}, [], set()
    its = {"read": reader.read, "draw": module.draw, "numbers": getattr(module, "numbers", None)}

    def read(path, *arguments, **options):
        cube = its["read"](path, *arguments, **options)
        watched_cube, seen = watched(cube)
        cubes[path.stem] = cube, seen
        return watched_cube

    def draw(opened):
        figure = its["draw"](opened)
        lines.extend(faults(figure))
        lines.extend(line for axes in figure.axes for line in covered(axes))
        for cube, (dataset, seen) in cubes.items():
            lines.extend(f"{cube}: {line}" for line in without_flags(dataset, seen))
        return figure

    def numbers(opened):
        found = its["numbers"](opened)
        given.update(found)
        return found

    replaced = [(reader, "read", read), (module, "draw", draw)]
    replaced += [(module, "numbers", numbers)] if its["numbers"] else []
    with contextlib.ExitStack() as patches:
        for patch in replaced:
            patches.enter_context(mock.patch.object(*patch))
        yield lines, given


def of_family(project, family, drawn):
    """Faults of the figures of a family, by figure; `drawn` holds what `watching` gives, by figure."""
    figures = {name: figure for name, figure in project.figures.items() if figure.family == family}
    assert drawn.keys() == figures.keys()
    found = {}
    for name, figure in figures.items():
        lines, given = drawn[name]
        wanted = {number for number, _ in PLACEHOLDER.findall(figure.caption.read_text(encoding="utf-8"))}
        found[name] = lines + [
            f"{number}: in the caption or in `numbers` alone" for number in sorted(wanted ^ {*given})
        ]
    return {name: lines for name, lines in found.items() if lines}
