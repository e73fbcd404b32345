"""What a drawn figure has against the grammar of figures."""

import importlib
import warnings

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.legend import Legend
from matplotlib.text import Text

from attention_limits.pipeline.cubes.reader import read
from attention_limits.pipeline.experiments.figures import PLACEHOLDER
from attention_limits.plotting import MIDDLE, NARROW, WIDE

# Points; a reader of a printed page still reads this size.
SMALLEST = 7.0


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
    return found


def of_family(project, folder, family):
    """Faults of the figures of a family, drawn from the cubes below `folder`, by figure."""
    found = {}
    for name, figure in project.figures.items():
        if figure.family == family:
            cubes = {cube: read(folder / item.cube_path(project.run.folder)) for cube, item in figure.cubes.items()}
            module = importlib.import_module(figure.module)
            found[name] = faults(module.draw(cubes))
            # The numbers of the caption.
            wanted = {number for number, _ in PLACEHOLDER.findall(figure.caption.read_text(encoding="utf-8"))}
            given = set(module.numbers(cubes)) if hasattr(module, "numbers") else set()
            found[name] += [f"{number}: in the caption or in `numbers` alone" for number in sorted(wanted ^ given)]
    return {name: lines for name, lines in found.items() if lines}
