"""Write the results of a finished run into the pages of docs/: `python tools/publish.py [RESULTS [SCALE]]`, or `make publish`.

Writes the pictures of docs/figures as PNG and PDF, docs/published.json (for each scale: minutes per figure, CPU seconds per
rule and experiment, the audit), docs/benchmarks.md (the last `make bench`, if there is one), docs/atlas.csv (if all cubes of
smi_atlas are there). From these it writes docs/gallery.md, docs/figures/*.md, docs/audit.md, docs/scales.md, the tables between
`<!-- begin: NAME -->` and `<!-- end: NAME -->` of the pages in BLOCKS, and the numbers of the sentences in prose.yaml. Pictures
and numbers of `paper` replace those of `laptop`, never the reverse; only families whose figures are all drawn at `paper` enter.
The map of the README comes last. A test compares the pages with config/ and docs/published.json. The pages do not contain
figures and published numbers that no finished run has made yet; this program and the tests print them.
"""

import json
import shutil
import sys
from pathlib import Path

import atlas
import benchmark_tables
import bounds
import gallery
import overview
import prose
import scales
from attention_limits.pipeline.audit import full_table, load_published, number_text
from attention_limits.pipeline.base.attributes import digest_of_picture, numbers_of_picture
from attention_limits.pipeline.base.files import write_text
from attention_limits.pipeline.experiments.estimate import cpu_seconds, needed_chunks
from attention_limits.pipeline.experiments.experiment import load_family
from attention_limits.pipeline.experiments.figures import load_figures
from attention_limits.pipeline.experiments.project import load_project
from attention_limits.sequence_multi_index.reports.threshold_table import page as page_of_thresholds

ROOT = Path(__file__).parents[1]
DATA = ROOT / "docs" / "published.json"
PICTURES = ROOT / "docs" / "figures"
NOT_SHIPPED = "../configuration.md#files-that-cannot-be-shipped"
# The page of each table between comments.
BLOCKS = {
    "checks": "docs/accuracy.md", "audit": "docs/accuracy.md", "speed": "docs/speed.md",
    "rules": "docs/speed.md", "bounds": "docs/speed.md", "sizes": "docs/speed.md",
    "atlas": "docs/atlas.md",
}  # fmt: skip
BENCHMARKS = {"benchmarks.md": "docs/benchmarks.md", "scaling.png": "docs/figures/scaling.png"}


def shown(project):
    """The figures that everybody can make: their experiments need no file from outside of the repository."""
    return {
        name: figure
        for name, figure in project.figures.items()
        if not any(project.experiments[figure.family][cube].requires for cube in figure.cubes)
    }


def of_other_files(project):
    """The other figures; the `project` has none of them where their file is missing."""
    found = {}
    for family, experiments in project.experiments.items():
        absent = {experiment.name: experiment for experiment in project.left_out if experiment.family == family}
        source = ROOT / "config" / family / "figures.yaml"
        found |= load_figures(source, family, {**experiments, **absent}, set())[0]
    return {name: figure for name, figure in found.items() if name not in shown(project)}


def published(project, data):
    """The figures that the pages show: those of a finished run, with picture and minutes in `data`."""
    return {name: figure for name, figure in shown(project).items() if name in data["laptop"]["minutes"]}


def unpublished(project, data):
    """One line for each figure, each published number and each kernel or row that docs/ does not show yet."""
    figures = [name for name in shown(project) if name not in data["laptop"]["minutes"]]
    there = {(row["quantity"], row["published"]) for row in best_rows(project, data)}
    entries = load_published(ROOT, project.experiments)
    numbers = [entry.quantity for entry in entries if (entry.quantity, entry.published) not in there]
    lines = [f"{name}: not published yet: make run FIGURES=all, then make publish" for name in (*figures, *numbers)]
    missing = set(bounds.all_kernels()) - set(bounds.shares(read("docs/benchmarks.md")))
    missing |= prose.missing_benchmarks(read("docs/benchmarks.md"))
    return lines + [f"{name}: no row in docs/benchmarks.md: make bench, then make publish" for name in sorted(missing)]


def minutes(seconds):
    """Minutes on two cores of jobs that take these seconds: half of their sum, at least the longest."""
    return max(sum(seconds) / 2, max(seconds, default=0.0)) / 60


def finished(project, results):
    """CPU seconds of the finished jobs by the parts of the path of their log; the log of the audit has no time.

    A folder with results of `paper` has those of `laptop` too: at `laptop` only its own chunks count.
    """
    logs = results / "logs"
    found = {path.relative_to(logs).with_suffix("").parts: cpu_seconds(path) for path in logs.rglob("*.log")}
    own = {
        Path(estimator.path("", chunk).lstrip("/")).with_suffix("").parts
        for experiment in project.all()
        for estimator in experiment.all_estimators.values()
        for chunk in needed_chunks(experiment, estimator)
    }
    kept = [job for job in found if project.run.scale == "paper" or job[0] in ("cubes", "figures") or job in own]
    return {job: found[job] for job in kept if found[job] is not None}


def drawn_pictures(project, results):
    """The PNG files of a run by figure, where the present code has drawn them at the scale of the `project`."""
    paths = {name: results / "figures" / figure.family / f"{name}.png" for name, figure in shown(project).items()}
    return {
        name: path
        for name, path in paths.items()
        if digest_of_picture(path) == project.figures[name].digest(project.run.seed)
    }


def whole_families(project, drawn):
    """The families whose shown figures are all `drawn`."""
    figures = shown(project)
    return {figure.family for figure in figures.values()} - {figures[name].family for name in figures.keys() - drawn}


def measured(project, jobs, drawn):
    """Minutes of CPU on two cores per `drawn` figure, and per family with all its figures, from the `finished` jobs."""

    def needs(family, experiment):
        return [seconds for job, seconds in jobs.items() if job[0] != "figures" and job[1:3] == (family, experiment)]

    times = {}
    for name in drawn:
        figure = project.figures[name]
        own = [seconds for job, seconds in jobs.items() if job == ("figures", figure.family, name)]
        times[name] = minutes(own + [seconds for cube in figure.cubes for seconds in needs(figure.family, cube)])
    for family in whole_families(project, drawn):
        times[family] = minutes([seconds for job, seconds in jobs.items() if job[1:2] == (family,)])
    return times


def rule_times(project, jobs):
    """By family, rule, and experiment or figure: number of jobs, CPU seconds, whether the figures of the papers need them."""
    papers = {name: figure for name, figure in shown(project).items() if not figure.extra}
    needed = {(figure.family, cube) for figure in papers.values() for cube in figure.cubes}
    found = {}
    for job, seconds in jobs.items():
        kind, family, name = (*job, None)[:3]
        if family in project.experiments:
            rule = load_family(family).rule(job[3] if len(job) > 3 else kind)
            wanted = name in papers if kind == "figures" else (family, name) in needed
            row = found.setdefault(family, {}).setdefault(rule, {}).setdefault(name, [0, 0.0, wanted])
            row[0], row[1] = row[0] + 1, row[1] + seconds
    return found


def in_order(project, old, new):
    """Rows of the audit in the order of config/: those of the `new` run, and `old` ones of what it has not computed."""
    fresh, computed = {row["family"] for row in new}, {(row["quantity"], row["published"]): row for row in old}
    here = [computed.get((row["quantity"], row["published"]), row) if row["ours"] is None else row for row in new]
    rows = [row for row in old if row["family"] not in fresh] + here
    families = list(project.experiments)
    return sorted(rows, key=lambda row: families.index(row["family"]))


def best_rows(project, data):
    """The audit in the order of config/: of each number the row at `paper` if there is one, else that at `laptop`."""
    rows = {(row["quantity"], row["published"]): row for scale in ("laptop", "paper") for row in data[scale]["audit"]}
    entries = [(entry.quantity, entry.published) for entry in load_published(ROOT, project.experiments)]
    return [rows[entry] for entry in entries if entry in rows]


def figure_pages(project, data, rows):
    """The page of each figure with a picture, by its path below the root; `rows` is the audit."""
    found = {}
    for name, figure in published(project, data).items():
        minutes_here = gallery.minutes_text(data["laptop"]["minutes"][name])
        spent = f"The figure takes {minutes_here} minutes on two cores at scale `laptop`"
        if name in data["paper"]["minutes"]:
            paper = gallery.minutes_text(data["paper"]["minutes"][name])
            spent += f", {paper} at `paper`, which the picture shows"
        own = [row for row in rows if row["family"] == figure.family and set(row["cubes"]) <= set(figure.cubes)]
        vector, numbers = (PICTURES / f"{name}.pdf").exists(), numbers_of_picture(PICTURES / f"{name}.png")
        found[f"docs/figures/{name}.md"] = gallery.figure_page(figure, spent, own, vector, numbers)
    for name, figure in of_other_files(project).items():
        picture = PICTURES / f"{name}.png"
        if picture.exists():
            spent = f"The figure needs a [file that the repository does not contain]({NOT_SHIPPED})"
            vector = picture.with_suffix(".pdf").exists()
            found[f"docs/figures/{name}.md"] = gallery.figure_page(
                figure, spent, [], vector, numbers_of_picture(picture)
            )
    return found


def audit_table(rows):
    """The published numbers that are not reproduced, one line per reason; of more than four the first, middle and last."""
    groups = {}
    for row in rows:
        if row["kind"] == "published" and row["verdict"] in ("differs", "unexplained"):
            groups.setdefault(row["reason"] or "unexplained", []).append(row)
    lines = ["| Quantity | Published | Ours | Why |", "|---|---|---|---|"]
    for why, group in groups.items():
        shown = group if len(group) <= 4 else [group[0], group[len(group) // 2], group[-1]]
        names = "; ".join(row["quantity"] for row in shown)
        if len(shown) < len(group):
            names += f" (and {len(group) - len(shown)} more)"
        published = "; ".join(f"{row['published']:g}" for row in shown)
        ours = "; ".join(number_text(row["ours"], row["error"]) for row in shown)
        lines.append(f"| {names} | {published} | {ours} | {why} |")
    return "\n".join(lines) + "\n"


def pages(project, data, read):
    """The text of every page that shows results, by its path below the root. `read` gives the present text of a path."""
    # The numbers are those of the run, the words those of today's entry.
    known = {
        (entry.quantity, entry.published): {
            key: getattr(entry, key) for key in ("kind", "reason", "evidence", "source")
        }
        for entry in load_published(ROOT, project.experiments)
    }
    rows = [row | known[row["quantity"], row["published"]] for row in best_rows(project, data)]
    benchmarks = read("docs/benchmarks.md")
    jobs = bounds.jobs_of(data["laptop"]["rules"], benchmarks)
    tables = {
        "checks": gallery.checks(published(project, data)),
        "audit": audit_table(rows),
        "speed": benchmark_tables.speed_table(benchmarks),
        "rules": bounds.rules_table(jobs),
        "bounds": bounds.bounds_table(jobs, data["laptop"]["runs"], bounds.start_of_a_job(benchmarks)),
        "atlas": atlas.table(read("docs/atlas.csv")),
        "sizes": benchmark_tables.sizes_table(read("benchmarks/sizes.json")),
    }
    written = {
        "docs/gallery.md": gallery.gallery(published(project, data), data["laptop"]["minutes"]),
        **figure_pages(project, data, rows),
        "docs/audit.md": full_table(rows),
        "docs/thresholds.html": page_of_thresholds(read("docs/atlas.csv")),
        "docs/scales.md": scales.page(data["laptop"]["audit"], data["paper"]["audit"]),
    }
    for name, page in BLOCKS.items():
        written[page] = benchmark_tables.in_block(written.get(page) or read(page), name, tables[name])
    return written | {
        page: prose.filled(page, written.get(page) or read(page), PICTURES, rows, benchmarks)
        for page in prose.sentences()
    }


def read(page):
    """The text of a page, by its path below the root."""
    return (ROOT / page).read_text(encoding="utf-8")


def grown(project, rows):
    """Rows of the audit at `paper` with `growth`; see tools/scales.py."""
    entries = {entry.quantity: entry for entry in load_published(ROOT, project.experiments)}
    return [{**row, "growth": scales.growth(entries[row["quantity"]], project)} for row in rows]


def main():
    """Read the results, and write the pages."""
    results = Path(sys.argv[1] if len(sys.argv) > 1 else "results")
    scale = sys.argv[2] if len(sys.argv) > 2 else "laptop"
    project = load_project(ROOT, {"scale": scale})
    data = json.loads(DATA.read_text(encoding="utf-8"))
    if scale not in data:
        sys.exit(f"publish: scale {scale} is not published; allowed: {', '.join(data)}")
    # Numbers and pictures that this run has not made keep their published state.
    own = data[scale]
    drawn = drawn_pictures(project, results)
    families = set(project.experiments)
    if scale == "paper":
        # The folder holds the results of `laptop` of the other families.
        families = whole_families(project, drawn)
        drawn = {name: path for name, path in drawn.items() if project.figures[name].family in families}
    for name, path in drawn.items():
        if scale == "paper" or name not in data["paper"]["minutes"]:
            for file in (path, path.with_suffix(".pdf")):
                shutil.copy(file, PICTURES)
    jobs = finished(project, results)
    times = own["minutes"] | {name: round(value, 2) for name, value in measured(project, jobs, drawn).items() if value}
    pictured = [name for name in shown(project) if (PICTURES / f"{name}.png").exists()]
    own["minutes"] = {name: times[name] for name in (*pictured, *project.experiments) if name in times}
    found = rule_times(project, jobs)
    for family in families & found.keys():
        for rule, times_of in found[family].items():
            kept = own["rules"].setdefault(family, {}).setdefault(rule, {})
            kept |= {name: [count, round(seconds, 1), wanted] for name, (count, seconds, wanted) in times_of.items()}
    # Experiments that config/ no longer has.
    for family, rules in own["rules"].items():
        present = {*project.experiments[family], *project.figures}
        own["rules"][family] = {
            rule: {name: row for name, row in kept.items() if name in present} for rule, kept in rules.items()
        }
    if (results / "audit.json").exists():
        rows = json.loads((results / "audit.json").read_text(encoding="utf-8"))["numbers"]
        rows = [row for row in rows if row["family"] in families]
        own["audit"] = in_order(project, own["audit"], grown(project, rows) if scale == "paper" else rows)
    write_text(DATA, json.dumps(data, indent=1, ensure_ascii=False) + "\n")
    thresholds = atlas.csv(project, results) if atlas.FIGURE in drawn else ""
    if thresholds and (scale == "paper" or atlas.FIGURE not in data["paper"]["minutes"]):
        write_text(ROOT / "docs" / "atlas.csv", thresholds)
    for name, target in BENCHMARKS.items():
        measurement = ROOT / "benchmarks" / "results" / name
        if measurement.exists():
            shutil.copy(measurement, ROOT / target)
    # The pages describe the experiments at `laptop`.
    for name, text in pages(load_project(ROOT, {"scale": "laptop"}), data, read).items():
        write_text(ROOT / name, text)
        print(f"{name}: written")
    overview.write(PICTURES)
    for line in unpublished(project, data):
        print(line)


if __name__ == "__main__":
    main()
