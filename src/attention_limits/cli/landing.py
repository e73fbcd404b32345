"""The front page of a run, `results/index.html`: every figure with its finding, its flags and links to all that belongs to it."""

import os
import re
from html import escape
from importlib import resources
from pathlib import Path
from urllib.parse import quote

from attention_limits.cli.reports import current_cube, failing
from attention_limits.pipeline.base.attributes import digest_of_picture, numbers_of_picture
from attention_limits.pipeline.base.errors import CubeError, SpecError
from attention_limits.pipeline.base.files import write_text
from attention_limits.pipeline.experiments.estimator import Experiment
from attention_limits.pipeline.experiments.figures import Figure, read_caption
from attention_limits.pipeline.experiments.project import Run, load_project

# Pages that a run writes beside this one, if they are there (`make report explorer`).
PAGES = {
    "audit.md": "audit of published numbers",
    "explorer.html": "explorer of all cubes",
    "report.html": "report of Snakemake: times, software",
}

SOUND = "all points pass their flags"


def landing_command(project: Path, output: Path, run: Run) -> None:
    """Write one offline page that shows every picture in the folder of the results.

    Each figure has its title, caption, notes, the points that fail a flag, its PDF, and for each cube its file, its specification
    and its place in the explorer. A picture that another code or other parameters have drawn is marked. Raises SpecError if
    `output` is no `.html`.
    """
    if output.suffix != ".html":
        raise SpecError([f"--output: {output}: must end in .html"])
    loaded = load_project(project, {**run.plain(), "figures": "all"})
    drawn = [figure for figure in loaded.figures.values() if Path(figure.paths(run.folder)[1]).exists()]

    made = {Path(run.folder, name): text for name, text in PAGES.items()}
    pages = [_link(path, text, output.parent) for path, text in made.items() if path.exists()]
    shown = {(figure.family, name): cube for figure in drawn for name, cube in figure.cubes.items()}
    flags = {key: _flags(cube, run) for key, cube in shown.items()}
    sections = []
    for family in loaded.experiments:
        own = [_card(figure, run, output.parent, flags) for figure in drawn if figure.family == family]
        if own:
            body = "\n".join(own)
            sections.append(f'<section><h2>{escape(family)}</h2>\n<div class="cards">\n{body}\n</div></section>')
    parts = {
        "RUN": escape(_parameters(run, len(drawn))),
        "PAGES": "\n".join(pages),
        "FIGURES": "\n".join(sections) or "<p>No figure yet.</p>",
    }
    text = resources.files("attention_limits.cli").joinpath("landing.html").read_text(encoding="utf-8")
    text = re.sub("@([A-Z]+)@", lambda found: parts[found[1]], text)
    write_text(output, text)
    print(f"{output}: {len(drawn)} figures")


def _parameters(run: Run, figures: int) -> str:
    changed = f"; changed models: {run.set}" if run.set else ""
    return f"{figures} {'figure' if figures == 1 else 'figures'} at scale {run.scale}, root seed {run.seed}{changed}."


def _flags(experiment: Experiment, run: Run) -> str:
    """What fails in a cube, in words."""
    try:
        cube = current_cube(experiment, run)
    except CubeError as error:
        return " ".join(error.problems)
    if cube is None:
        return "no cube"
    lines = [f"{count} of {points} points fail {flag}" for _, flag, count, points in failing(cube) if count]
    return "; ".join(lines) or SOUND


def _address(path: str | Path, folder: Path) -> str:
    """The address of a file, relative to the folder of the page."""
    return quote(Path(os.path.relpath(path, folder)).as_posix())


def _link(path: str | Path, text: str, folder: Path, anchor: str = "") -> str:
    return f'<a href="{_address(path, folder)}{anchor}">{escape(text)}</a>'


def _card(figure: Figure, run: Run, folder: Path, flags: dict[tuple[str, str], str]) -> str:
    """One figure, on a page in `folder`; see `landing_command`."""
    pdf, png = figure.paths(run.folder)
    caption, notes = map(_paragraphs, read_caption(figure.caption, numbers_of_picture(png)))
    image = _address(png, folder)
    stale = digest_of_picture(Path(png)) != figure.digest(run.seed)
    cubes = []
    for name, cube in figure.cubes.items():
        state = flags[figure.family, name]
        look = "" if state == SOUND else ' class="failed"'
        links = [
            _link(cube.cube_path(run.folder), "file", folder),
            _link(cube.path, "specification", folder),
        ]
        if (explorer := Path(run.folder, "explorer.html")).exists():
            links.insert(1, _link(explorer, "explore", folder, f"#cube={figure.family}/{name}"))
        cubes.append(f"<li>{escape(name)} ({', '.join(links)}): <span{look}>{escape(state)}</span></li>")
    failing_cubes = sum(flags[figure.family, name] != SOUND for name in figure.cubes)
    count = f"{len(cubes)} {'cube' if len(cubes) == 1 else 'cubes'}"
    found = f"some points fail a flag in {failing_cubes}" if failing_cubes else SOUND
    lines = [
        f'<article id="{figure.name}"><a href="{image}"><img src="{image}" alt="" loading="lazy"></a>',
        f"<h3>{escape(figure.title)}</h3>",
        f'<p class="muted">{figure.name}, {_link(pdf, "PDF", folder)}</p>',
        '<p class="failed">drawn by another code or from other parameters</p>' if stale else "",
        f"<details><summary>Caption</summary>{caption}</details>",
        f"<details><summary>Notes</summary>{notes}</details>" if notes else "",
        f"<details><summary>{count}; {found}</summary>",
        f"<ul>{''.join(cubes)}</ul></details></article>",
    ]
    return "\n".join(filter(None, lines))


def _paragraphs(text: str) -> str:
    """A caption or its notes, reStructuredText of paragraphs and ``words of code``, as HTML."""
    parts = [escape(" ".join(part.split()).replace("\\|", "|")) for part in text.split("\n\n") if part.strip()]
    return re.sub("``(.*?)``", r"<code>\1</code>", "".join(f"<p>{part}</p>" for part in parts))
