"""The gallery and the page of each figure: docs/gallery.md, docs/figures/*.md and the checks of docs/accuracy.md.

`publish.py` gives the published figures and their minutes, and writes the pages.
"""

import json
import re

from attention_limits.pipeline.audit import number_text
from attention_limits.pipeline.experiments.experiment import load_family
from attention_limits.pipeline.experiments.figures import read_caption

COLUMNS = 3
# What each family asks, above its figures.
ASKS = {
    "sequence_multi_index": "Layers of finite rank: who learns which layer, from how many samples per dimension?",
    "attention_indexed": "Layers whose width grows with the dimension: how does the error fall, and when does it vanish?",
    "sequence_single_index": "One layer trained by online SGD: how many steps, and towards positions or content?",
    "potts_mlm": "Sequences with pair interactions, such as proteins: which attention learns the couplings?",
}
HEAD = """\
# Gallery

The first part tells the story of the project: for each family its questions, the answers and the pictures. Then follow the
figures of the four papers, with the published numbers, and what goes beyond them. Checks of methods, and results that were
known before, are on the page [accuracy](accuracy.md#figures-that-check). Each picture leads to the page of its figure: caption,
notes, command, minutes, cubes with their specifications, published numbers.

All figures share one grammar:

| Mark | Meaning |
|---|---|
| line, with a band | theory, with one standard error or a stated bound; it breaks at a jump, and at a point that fails a flag |
| filled symbol, with a bar | simulation, mean and one standard error; or median and 68 % interval, if the caption says so |
| filled symbol on a line, or for a threshold | theory at the points of a coarse grid; the line only joins them |
| thin pale line | one run or one data set |
| short dash | theory at a single point |
| faint open circle | one replica that fails a [flag](accuracy.md#flags); it is in no mean |
| faint open square | one replica that passes its flags, of a point [without mean](accuracy.md#flags) |
| cross | published value; its bar is the published standard deviation |
| triangle on the axis | threshold; an open one is another kind of threshold, which the legend names |
| upward arrow | lower bound, such as the length of runs that did not escape |
| colours | layers 1, 2, 3: vermilion (orange-red), blue, green; content vermilion, positions blue; Bayes-optimal black |
| dark to light | small to large values of a parameter |
"""


def gallery(figures, minutes):
    """The published `figures` by name: the story, the papers, the rest. `minutes` of families, of all figures of each."""
    story = {name: figure for name, figure in figures.items() if figure.question}
    papers = {name: figure for name, figure in figures.items() if not figure.extra}
    more = {
        name: figure for name, figure in figures.items() if figure.extra and not figure.question and not figure.check
    }
    parts = [HEAD, "## Questions and answers", ""]
    for family in _families(story):
        spent = f"All its figures take {minutes_text(minutes[family])} minutes on two cores at scale `laptop`."
        parts += [
            f"### {family}",
            "",
            f"{ASKS.get(family, '')} {spent}".strip(),
            "",
            "| Question and answer | |",
            "|---|---|",
        ]
        parts += [
            f"| **{figure.question}**<br>[{figure.title}](figures/{name}.md) | {_thumbnail(name, figure)} |"
            for name, figure in story.items()
            if figure.family == family
        ]
        parts.append("")
    for title, chosen in (("Figures of the papers", papers), ("Beyond the papers", more)):
        parts += [f"## {title}", ""]
        for family in _families(chosen):
            own = {name: figure for name, figure in chosen.items() if figure.family == family}
            parts += [f"### {title}: {family}", "", grid(own)]
    return "\n".join(parts).rstrip() + "\n"


def _families(figures):
    """The families of some figures: those of `ASKS` first, in its order."""
    found = {figure.family for figure in figures.values()}
    return [family for family in ASKS if family in found] + sorted(found - ASKS.keys())


def checks(figures):
    """The block of docs/accuracy.md: the figures that check methods, or results that were known before."""
    return grid({name: figure for name, figure in figures.items() if figure.check})


def grid(figures):
    """Thumbnails with their findings, in rows of `COLUMNS`."""
    cells = [f"{_thumbnail(name, figure)}<br>{figure.title}" for name, figure in figures.items()]
    cells += [""] * (-len(cells) % COLUMNS)
    rows = [cells[start : start + COLUMNS] for start in range(0, len(cells), COLUMNS)]
    head = ["|" + " |" * COLUMNS, "|" + "---|" * COLUMNS]
    return "\n".join([*head, *(f"| {' | '.join(row)} |" for row in rows)]) + "\n"


def _thumbnail(name, figure):
    return f"[![{figure.title}](figures/{name}.png)](figures/{name}.md)"


def figure_page(figure, spent, rows, vector, numbers):
    """The page of a published figure.

    Parameters
    ----------
    figure : Figure
        At scale `laptop`.
    spent : str
        The sentence about its minutes, without the full stop.
    rows : list of dict
        The audit of the published numbers of its cubes.
    vector : bool
        Whether the PDF lies beside the picture.
    numbers : dict
        Those of the caption, by name, which the picture holds.
    """
    caption, notes = read_caption(figure.caption, numbers)
    written = f"results/figures/{figure.family}/{figure.name}"
    links = ["[gallery](../gallery.md)", *([f"[PDF]({figure.name}.pdf)"] if vector else [])]
    parts = [
        f"# {figure.title}", "",
        *([f"*{figure.question}*", ""] if figure.question else []),
        f"![{figure.title}]({figure.name}.png)", "",
        in_markdown(caption), "",
        " · ".join(links), "",
        "## Make it", "",
        f"```bash\n.venv/bin/snakemake --cores 2 {figure.name}\n```", "",
        f"{spent}. The command writes `{written}.pdf` and `{written}.png`.", "",
    ]  # fmt: skip
    if rows:
        parts += [
            "## Published numbers",
            "",
            "The page [audit](../audit.md) explains the columns.",
            "",
            *_numbers(rows),
            "",
        ]
    if notes:
        parts += ["## Notes", "", *(f"{in_markdown(part)}\n" for part in notes.split("\n\n"))]
    parts += ["## Cubes and specification", "", "Grids and replicas are those of the scale `laptop`.", ""]
    for cube in figure.cubes.values():
        parts += _specification(cube)
    return "\n".join(parts).rstrip() + "\n"


def _numbers(rows):
    """Lines of a table of published numbers and ours; the reasons of differences below."""
    lines = ["| Quantity | Published | Ours | Verdict |", "|---|---|---|---|"]
    reasons = []
    for row in rows:
        ours = "" if row["distance"] is None else number_text(row["ours"], row["error"])
        other = f"{row['published']:g} ± {row['precision']:g}"
        lines.append(f"| {row['quantity']} | {other} | {ours} | {row['verdict']} |")
        if row["reason"] and row["verdict"] != "agrees" and row["reason"] not in reasons:
            reasons.append(row["reason"])
    return [*lines, "", *(f"- Difference: {reason}." for reason in reasons)]


def _specification(cube):
    """Lines about one experiment: its file, its description, the model, grid and replicas of each of its estimators."""
    prefix = load_family(cube.family).prefix
    lines = [
        f"### {cube.name}", "",
        f"{cube.title}: [`config/{cube.family}/experiments/{cube.name}.yaml`]"
        f"(../../config/{cube.family}/experiments/{cube.name}.yaml), cube `results/cubes/{cube.family}/{cube.name}.nc`.", "",
        "| Estimator | Grid | Replicas |", "|---|---|---|",
    ]  # fmt: skip
    models = {}
    for name, estimator in cube.estimators.items():
        axes = "; ".join(f"{key} {_axis(values)}" for key, values in estimator.grid.items())
        lines.append(f"| [{name}](../estimators/{prefix}_{name}.md) | {axes} | {estimator.replicas} |")
        models.setdefault(_plain(estimator.model), []).append(name)
    lines += ["", "Model:" if len(models) == 1 else "Models:", ""]
    lines += [f"- {'' if len(models) == 1 else ', '.join(names) + ': '}`{model}`" for model, names in models.items()]
    return [*lines, ""]


def _axis(values):
    """The values of an axis: up to four of them, else the ends and their number."""
    texts = [f"{value:g}" if isinstance(value, float | int) else str(value) for value in values]
    return ", ".join(texts) if len(texts) <= 4 else f"{texts[0]} to {texts[-1]} ({len(texts)} values)"


def _plain(model):
    """A model as one line of YAML."""
    return re.sub(r'"(\w+)"', r"\1", json.dumps(model, ensure_ascii=False))


def in_markdown(text):
    """A paragraph of reStructuredText as one line of Markdown."""
    return " ".join(text.split()).replace("``", "`").replace("\\|", "|").replace("*", "\\*")


def minutes_text(value):
    """Minutes with two digits, or with one decimal."""
    if value < 0.05:
        return "less than 0.1"
    return f"{value:.1f}" if value < 9.95 else f"{value:.0f}"
