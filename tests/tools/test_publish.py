"""The pages that show results agree with config/, and show the content of docs/published.json."""

import importlib
import io
import json
import re
import sys
import warnings
from dataclasses import replace
from fnmatch import fnmatch

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from attention_limits.pipeline.audit import load_published
from attention_limits.pipeline.base.attributes import DIGEST, numbers_of_picture
from attention_limits.pipeline.experiments.experiment import load_family
from attention_limits.pipeline.experiments.figures import PLACEHOLDER
from toy import REPOSITORY, repository

# A script beside the package, not part of it.
sys.path.append(str(REPOSITORY / "tools"))
publish = importlib.import_module("publish")
tables = importlib.import_module("benchmark_tables")
bounds = importlib.import_module("bounds")


@pytest.fixture(scope="module")
def project():
    return repository()


@pytest.fixture(scope="module")
def data():
    return json.loads(publish.DATA.read_text(encoding="utf-8"))


def test_the_pages_are_in_step(project, data):
    """`make publish` mends it. A figure or a number that no run has made yet is a warning."""
    for name, text in publish.pages(project, data, publish.read).items():
        assert publish.read(name) == text, name
    assert all(f"<!-- begin: {block} -->" in publish.read(page) for block, page in publish.BLOCKS.items())
    images = {path.name for path in (REPOSITORY / "docs" / "figures").glob("*.png")}
    assert images >= {f"{name}.png" for name in publish.published(project, data)}
    for name, figure in publish.published(project, data).items():
        needed = {number for number, _ in PLACEHOLDER.findall(figure.caption.read_text(encoding="utf-8"))}
        assert needed <= numbers_of_picture(publish.PICTURES / f"{name}.png").keys(), name
    texts = "".join(map(publish.read, ["README.md", *pages_of_docs()]))
    assert [image for image in images if f"figures/{image}" not in texts] == []
    for line in publish.unpublished(project, data):
        warnings.warn(line, stacklevel=1)


def pages_of_docs():
    written = (path.relative_to(REPOSITORY) for path in (REPOSITORY / "docs").rglob("*.md"))
    return [str(path) for path in written if not any(part.startswith("_") for part in path.parts)]


def test_what_the_audit_found_is_explained(data):
    rows = [row for scale in data.values() for row in scale["audit"]]
    assert len(rows) > 20
    assert {row["verdict"] for row in rows} == {"agrees", "differs"}


def test_a_new_figure_and_a_new_number_wait_for_a_run(project, data, monkeypatch):
    """The pages stay as they are until somebody has run and published; the warnings name the new ones."""
    before = publish.pages(project, data, publish.read)
    old = next(iter(publish.published(project, data).values()))
    figures = {**project.figures, "new_figure": replace(old, name="new_figure", title="New")}
    entries = load_published(REPOSITORY, project.experiments)
    numbers = [*entries, entries[0].model_copy(update={"quantity": "new number"})]
    monkeypatch.setattr(publish, "load_published", lambda root, experiments: numbers)
    later = replace(project, figures=figures)
    assert publish.pages(later, data, publish.read) == before
    waiting = [line.partition(":")[0] for line in publish.unpublished(later, data)]
    assert {"new_figure", "new number"} <= set(waiting)
    # A number that config/ names no more disappears from the pages at once.
    monkeypatch.setattr(publish, "load_published", lambda root, experiments: entries[1:])
    assert f"| {entries[0].quantity} |" not in publish.pages(project, data, publish.read)["docs/audit.md"]


def test_publishing_takes_what_there_is(project, data, tmp_path, monkeypatch, capsys):
    """A run of one figure, without an audit: its picture is new, all else stays, and a figure without a picture waits."""
    pages = tmp_path / "pages"
    for name in (
        "docs/published.json",
        "docs/benchmarks.md",
        "benchmarks/sizes.json",
        "docs/atlas.csv",
        *publish.BLOCKS.values(),
        *publish.prose.sentences(),
    ):
        (pages / name).parent.mkdir(parents=True, exist_ok=True)
        (pages / name).write_bytes((REPOSITORY / name).read_bytes())
    pictured, bare = list(publish.published(project, data))[:2]
    # Their pictures at `paper` would stay.
    data = json.loads(json.dumps(data))
    for name in (pictured, bare):
        data["paper"]["minutes"].pop(name, None)
    (pages / "docs/published.json").write_text(json.dumps(data), encoding="utf-8")
    for name in publish.published(project, data):
        if name != bare:
            (pages / "docs/figures").mkdir(exist_ok=True)
            (pages / f"docs/figures/{name}.png").write_bytes(b"old")
    results = tmp_path / "results/figures"
    # The first picture is of the present code, the other one of another code or scale.
    outdated = next(name for name in publish.published(project, data) if name not in (pictured, bare))
    for name, digest in ((pictured, project.figures[pictured].digest(project.run.seed)), (outdated, "other")):
        drawn = results / project.figures[name].family / f"{name}.png"
        drawn.parent.mkdir(parents=True, exist_ok=True)
        drawn.with_suffix(".pdf").write_bytes(b"vector")
        texts = PngInfo()
        texts.add_text(DIGEST, digest)
        Image.new("L", (1, 1)).save(drawn, pnginfo=texts)
    for name, path in {
        "ROOT": pages,
        "DATA": pages / "docs/published.json",
        "PICTURES": pages / "docs/figures",
    }.items():
        monkeypatch.setattr(publish, name, path)
    monkeypatch.setattr(publish, "load_project", lambda root, config: project)
    monkeypatch.setattr(publish, "load_published", lambda root, experiments: load_published(REPOSITORY, experiments))
    monkeypatch.setattr(sys, "argv", ["publish.py", str(tmp_path / "results")])
    publish.main()
    assert (pages / f"docs/figures/{pictured}.png").read_bytes() != b"old"
    assert (pages / f"docs/figures/{outdated}.png").read_bytes() == b"old"
    assert [path.stem for path in (pages / "docs/figures").glob("*.pdf")] == [pictured]
    linked = [path.stem for path in (pages / "docs/figures").glob("*.md") if "[PDF](" in path.read_text("utf-8")]
    assert linked == [pictured]
    after = json.loads((pages / "docs/published.json").read_text(encoding="utf-8"))
    assert after["laptop"]["audit"] == data["laptop"]["audit"]
    assert after["paper"] == data["paper"]
    assert data["laptop"]["minutes"].keys() - after["laptop"]["minutes"].keys() == {bare}
    assert f"{bare}: not published yet: make run FIGURES=all, then make publish" in capsys.readouterr().out
    assert f"figures/{bare}.png" not in (pages / "docs/gallery.md").read_text(encoding="utf-8")
    # At `paper` a family enters as a whole.
    (pages / f"docs/figures/{pictured}.png").write_bytes(b"old")
    monkeypatch.setattr(sys, "argv", ["publish.py", str(tmp_path / "results"), "paper"])
    publish.main()
    assert (pages / f"docs/figures/{pictured}.png").read_bytes() == b"old"
    assert json.loads((pages / "docs/published.json").read_text(encoding="utf-8")) == after


ATLAS = """\
experiment,link,depth,tokens,heads,skip,beta,activation,quantity,known,together,alpha,error,replicas
a,deep_attention,2,2,,0.5,1,,weak recovery of layer 2,,,0.18,0.0012,4
a,deep_attention,2,2,,0.5,1,,weak recovery of layer 1,2,,0.707,0.013,4
a,deep_attention,2,2,,1,1,,exact recovery,,,0.99,,2
b,deep_attention,2,2,,0.5,1,,weak recovery of layer 1,2,,0.71,0.001,2
c,deep_attention,2,2,,0.5,1,,weak recovery of layer 1,2,,0.72,0.012,4
c,untied_heads,1,2,2,1,1,,weak recovery of layer 1,,,0.6,0.1,4
d,deep_attention,3,2,,2,1,,weak recovery of layer 1,3,2,1.05,0.01,16
d,deep_attention,3,2,,2,1,,weak recovery of layer 2,3,1,1.05,0.01,16
e,deep_attention,3,2,,2,1,,weak recovery of layer 2,3,,1.06,0.01,4
f,deep_attention,3,2,,2,1,,weak recovery of layer 2,1 3,,1.13,0.01,4
"""


def test_the_table_of_the_atlas_has_a_line_for_each_model():
    """The branch stands after each number; that of layers that are not separated counts only where there is no other one."""
    assert publish.atlas.table(ATLAS).splitlines()[2:] == [
        "| deep_attention | 2 | 2 |  | 0.5 | 1 | 0.720(12) [2] | 0.1800(12) |  |",
        "| deep_attention | 2 | 2 |  | 1 | 1 |  |  | 0.99 |",
        "| deep_attention | 3 | 2 |  | 2 | 1 | 1.050(10) [3 with 2] | 1.060(10) [3]; 1.130(10) [1, 3] |  |",
        "| untied_heads | 1 | 2 | 2 | 1 | 1 | 0.60(10) |  |  |",
    ]


def test_the_page_of_thresholds_holds_the_numbers_of_its_csv():
    """Every cell of the page, and of the table in atlas.md, is one of the CSV; every model of the CSV has one row."""
    text = publish.read("docs/atlas.csv")
    page = publish.read("docs/thresholds.html")
    header, *body = re.findall(r"<tr.*?</tr>", page, re.DOTALL)
    lines = [re.findall(r"<td>(.*?)</td>", line) for line in body]
    found = pd.DataFrame(lines, columns=re.findall(r"<th>(.*?)</th>", header))
    marked = [[cell.strip() for cell in line.strip("|").split("|")] for line in publish.atlas.table(text).splitlines()]
    assert marked[0] == list(found.columns)
    assert len(marked) == len(found) + 2
    rows = pd.read_csv(io.StringIO(text))
    keys = ["link", "depth", "tokens", "heads", "skip", "beta", "activation"]
    assert len(found) == len(rows.drop_duplicates(keys))
    texts = {publish.number_text(row.alpha, np.nan_to_num(row.error)) for row in rows.itertuples()}
    layers = [column for column in found if column.startswith("layer") or column == "exact"]
    # A cell names the known layers in brackets after each number.
    cells = {part.partition(" [")[0] for cell in found[layers].to_numpy().ravel() if cell for part in cell.split("; ")}
    assert cells <= texts
    assert len(cells) > 0.5 * len(texts)


def test_the_atlas_is_written_from_a_complete_run_alone(project, tmp_path):
    assert publish.atlas.csv(project, tmp_path) is None


def test_an_audit_of_one_family_keeps_those_of_the_others(project, data):
    old = data["laptop"]["audit"]
    family = old[0]["family"]
    new = [{**old[0], "ours": 1.0}]
    others = [row for row in old if row["family"] != family]
    assert sorted(map(str, publish.in_order(project, old, new))) == sorted(map(str, [*new, *others]))
    # A run of the papers' figures alone leaves some numbers out.
    out = {"ours": None, "error": None, "distance": None, "verdict": "not computed"}
    kept = publish.in_order(project, old, [{**row, **out} for row in old])
    assert sorted(map(str, kept)) == sorted(map(str, old))
    # A number at `paper` replaces that at `laptop` on the pages; numbers that `paper` has not computed stay.
    shown = publish.best_rows(project, {"laptop": {"audit": old}, "paper": {"audit": new}})
    entries = publish.load_published(publish.ROOT, project.experiments)
    assert new[0] in shown
    assert old[0] not in shown
    assert {row["quantity"] for row in shown} == {row["quantity"] for row in old} & {e.quantity for e in entries}


def test_the_map_shows_the_numbers_of_the_captions(project, data):
    """Pixels may differ between libraries of fonts: on average by less than one of 255."""
    texts = publish.overview.numbers(publish.PICTURES)
    # The families of the four papers.
    assert len(texts) == 4
    assert texts.keys() <= project.experiments.keys()
    for family, (_, _, law, meaning) in publish.overview.CELLS.items():
        assert (
            set(re.findall(r"\{(\w+)\}", law.replace("{{", "").replace("}}", "") + meaning)) <= texts[family].keys()
        ), family
    content = io.BytesIO()
    publish.overview.draw(texts).savefig(content, format="png")
    drawn, shown = (
        np.asarray(Image.open(file).convert("RGB"), float) for file in (content, publish.PICTURES / "overview.png")
    )
    assert drawn.shape == shown.shape
    assert np.abs(drawn - shown).mean() < 1
    assert {cell[0] for cell in publish.overview.CELLS.values()} <= publish.published(project, data).keys()


def test_a_caption_in_markdown():
    assert (
        publish.gallery.in_markdown("As ``smi``, on a\nlonger line: h*, λ/2 |W|².")
        == "As `smi`, on a longer line: h\\*, λ/2 |W|²."
    )


def test_the_speed_table_shows_one_row_of_each_kind():
    head = "| what | baseline | ours | ratio | error of baseline | error of ours | peak memory / MB | note |"
    rows = [
        "| point at 1, x | 2 s | 1 s | 2 | | | | |",
        "| point at 2, y | 3 s | 1 s | 3 | | | | |",
        "| curve | | 1 s | | | | | |",
    ]
    rows = ["- machine: 2 cores, x86_64, load 1.6 at the end", *rows]
    shown = tables.speed_table("\n".join([head, "| --- | --- | --- | --- | --- | --- | --- | --- |", *rows]))
    assert shown.splitlines()[0] == "| 2 cores, x86_64 | Baseline | Ours | Ratio |"
    assert shown.splitlines()[2:] == ["| point at 1, x | 2 s | 1 s | 2 |"]


def test_the_gallery_shows_every_figure_and_leads_to_its_page(project, data):
    """Each published figure is in one part at least, its checks only on the page of accuracy; the links lead to pages."""
    figures = publish.published(project, data)
    page = publish.gallery.gallery(figures, data["laptop"]["minutes"])
    checks = publish.gallery.checks(figures)
    assert checks in publish.read("docs/accuracy.md")
    for name, figure in figures.items():
        link = f"[![{figure.title}](figures/{name}.png)](figures/{name}.md)"
        assert page.count(link) == (bool(figure.question) + (not figure.extra) or not figure.check), name
        assert (link in checks) == figure.check, name
    asked = [figure for figure in project.figures.values() if figure.question]
    assert 20 <= len(asked) <= 25
    assert not any(figure.check for figure in asked)
    assert {figure.family for figure in asked} == set(project.experiments)
    assert all(figure.extra for figure in project.figures.values() if figure.check)


def test_the_page_of_a_figure(project, data):
    """The numbers of its cubes, its specification and its notes."""
    figure = project.figures["aim_fig3"]
    (row,) = [{**data["laptop"]["audit"][0], "quantity": "mine", "verdict": "differs", "reason": "why"}]
    page = publish.gallery.figure_page(figure, "1.0 minutes", [row], vector=True, numbers={})
    number = publish.number_text(row["ours"], row["error"])
    assert f"| mine | {row['published']:g} ± {row['precision']:g} | {number} | differs |" in page
    assert "- Difference: why." in page
    assert "[PDF](aim_fig3.pdf)" in page
    experiment = project.experiments["attention_indexed"]["fig3_linear"]
    for name, estimator in experiment.estimators.items():
        assert f"| [{name}](../estimators/aim_{name}.md) | " in page
        assert f" | {estimator.replicas} |\n" in page
        assert (REPOSITORY / f"docs/estimators/aim_{name}.md").is_file()
    assert "channel: linear" in page
    # The numbers of the caption are those of the picture.
    other = publish.gallery.figure_page(project.figures["aim_fig1_right"], "", [], True, {"threshold": 0.12345})
    assert "nothing below 0.1235 samples" in " ".join(other.split())
    assert "`" not in publish.gallery.in_markdown("no code")
    assert publish.gallery._axis([0.5]) == "0.5"
    assert publish.gallery._axis([0.0, 0.25, 0.5, 0.75, 1.0]) == "0 to 1 (5 values)"


def test_the_readme_is_short():
    assert len(publish.read("README.md").splitlines()) <= 100


@pytest.fixture
def logs(project, tmp_path):
    """Logs of a minute each: a figure, its cube, one chunk with its data, and a chunk that only scale `paper` has."""
    figure = project.figures["potts_fig3_right"]
    (cube,) = figure.cubes.values()
    estimator = cube.estimators["factored_attention"]
    files = [
        estimator.path("", estimator.chunks[0]),
        estimator.reads.path("", estimator.data_chunks(estimator.chunks[0])[0]),
    ]
    later = f"/chunks/potts_mlm/{cube.name}/factored_attention/replicas90-99_0.nc"
    for name in (*files, later, f"/cubes/potts_mlm/{cube.name}.nc", f"/figures/potts_mlm/{figure.name}.nc"):
        path = (tmp_path / "logs" / name[1:]).with_suffix(".log")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("made\n60.0 s of CPU\n")
    (tmp_path / "logs" / "audit.log").write_text("no time\n")
    return tmp_path


def test_the_minutes_of_a_figure_are_those_of_its_data_chunks_cubes_and_drawing(project, logs):
    times = publish.measured(project, publish.finished(project, logs), publish.shown(project))
    assert times["potts_fig3_right"] == 2.0
    assert times["potts_mlm"] == 2.0
    assert times["smi_fig1_left"] == 0.0
    larger = replace(project, run=project.run.model_copy(update={"scale": "paper"}))
    assert publish.measured(project, publish.finished(larger, logs), ["potts_fig3_right"]) == {"potts_fig3_right": 2.5}


def test_the_times_of_rules_count_the_figures_of_the_papers(project, logs):
    names = dict.fromkeys(("potts_factored_attention", "potts_samples", "potts_cubes"), "fig3_right") | {
        "potts_figures": "potts_fig3_right"
    }
    rules = publish.rule_times(project, publish.finished(project, logs))
    assert rules == {"potts_mlm": {rule: {name: [1, 60.0, True]} for rule, name in names.items()}}
    extra = {name: replace(figure, extra=True) for name, figure in project.figures.items()}
    rules = publish.rule_times(replace(project, figures=extra), publish.finished(project, logs))
    assert rules == {"potts_mlm": {rule: {name: [1, 60.0, False]} for rule, name in names.items()}}


LIMITS = "- start of a job: 0.50 s of CPU\n| Gibbs update, d = 1 | 1 | 1 |  |  |  | 1 | 2 | 50 % | note |\n"
TIMES = {
    "potts_samples": {"fig2": [2, 59.0, True], "other": [4, 42.0, False]},
    "potts_figures": {"potts_fig2": [1, 1.5, True]},
    "potts_transformer": {"fig2": [1, 0.5, True]},
}


def test_the_times_at_the_limit_are_those_of_the_share_of_the_kernel():
    """The starts of jobs and rules without a row of limits keep their times: 1 + 58 / 2 and 2 + 40 / 2 seconds of 59 and 42."""
    assert bounds.rules_table(bounds.jobs_of({"potts_mlm": TIMES}, LIMITS)).splitlines()[2:] == [
        "| `potts_samples` | 6 | 101 | 52 | 59 | 30 |",
        "| `potts_figures` | 1 | 2 | 2 | 2 | 2 |",
        "| 1 other rules | 1 | 0 | 0 | 0 | 0 |",
        "| all | 8 | 103 | 54 | 61 | 32 |",
    ]


def test_the_bound_of_a_goal_adds_its_parts():
    """Of both goals all seconds by hand, here in minutes."""
    times = {rule: {name: [n, 60 * s, p] for name, (n, s, p) in row.items()} for rule, row in TIMES.items()}
    limits = LIMITS.replace("0.50", "30")
    runs = {"papers": {"wall": 3600, "cpu": 4200, "first": 50}, "all": {"wall": 7200, "cpu": 9000}}
    table = bounds.bounds_table(bounds.jobs_of({"potts_mlm": times}, limits), runs, bounds.start_of_a_job(limits))
    rows = dict(line.strip("| ").split(" | ", 1) for line in table.splitlines()[2:])
    assert rows["jobs"] == "4 | 8"
    assert rows["CPU minutes of all jobs"] == "61.0 | 103.0"
    assert rows["— their starts"] == "2.0 | 4.0"
    assert rows["— kernels of the table of limits"] == "58.0 | 98.0"
    assert rows["— these kernels at their limits"] == "29.0 | 49.0"
    assert rows["— merging and drawing"] == "1.0 | 1.0"
    assert rows["— other computations"] == "0.0 | 0.0"
    assert rows["minutes outside of the jobs: set-up, Snakemake, report, waiting"] == "29.5 | 68.5"
    assert rows["**bound**: minutes on two cores with all kernels at their limits"] == "45.5 | 95.5"
    assert rows["**measured** minutes"] == "60.0 | 120.0"
    del runs["all"]
    table = bounds.bounds_table(bounds.jobs_of({"potts_mlm": times}, limits), runs, bounds.start_of_a_job(limits))
    rows = dict(line.strip("| ").split(" | ", 1) for line in table.splitlines()[2:])
    assert rows["CPU minutes of all jobs"] == "61.0 | 103.0"
    assert rows["**measured** minutes"] == "60.0 | not measured"
    assert rows["bound if the other computations took no time"].endswith(" | not measured")


def test_every_kernel_of_a_rule_has_experiments_and_a_row_of_limits(project):
    used = {
        (load_family(experiment.family).rule(name), experiment.name)
        for experiment in project.all()
        for name in experiment.all_estimators
    }
    for rule, patterns in bounds.KERNELS.items():
        for pattern in patterns:
            assert any(rule == own and fnmatch(name, pattern) for own, name in used), (rule, pattern)
    benchmarks = publish.read("docs/benchmarks.md")
    assert set(bounds.shares(benchmarks)) == set(bounds.all_kernels())
    jobs = bounds.jobs_of(json.loads(publish.DATA.read_text())["laptop"]["rules"], benchmarks)
    assert {job.rule for job in jobs if job.kernel} == set(bounds.KERNELS)


def test_a_missing_row_of_the_benchmarks_leaves_its_cells_open(project, data, monkeypatch):
    whole = publish.read("docs/benchmarks.md")
    for kernel in ("Gibbs update, C = L = 20 |", "denoiser"):
        less = "\n".join(line for line in whole.splitlines() if not line.startswith(f"| {kernel}"))
        assert less != whole.rstrip("\n")
        monkeypatch.setattr(publish, "read", lambda page, less=less: less)
        waiting = publish.unpublished(project, data)
        assert any(line.startswith("Gibbs update: no row") for line in waiting) == kernel.startswith("Gibbs")
        tables.speed_table(less)
    with pytest.raises(ValueError, match="make bench"):
        bounds.start_of_a_job("")


def test_minutes_of_two_cores():
    assert publish.minutes([60.0, 60.0, 60.0]) == 1.5
    assert publish.minutes([300.0, 60.0]) == 5.0
    assert publish.minutes([]) == 0.0


def test_the_short_table_groups_by_reason_and_shows_three_of_many():
    common = {"kind": "published", "published": 2.0, "error": 0.1, "verdict": "differs", "reason": "why"}
    rows = [{**common, "quantity": name, "ours": k} for k, name in enumerate("uvwxy", 3)]
    agreeing = {**common, "quantity": "a", "ours": 2.0, "verdict": "agrees"}
    independent = {**common, "quantity": "i", "ours": 9.0, "kind": "independent"}
    assert publish.audit_table([agreeing, independent, *rows]).splitlines()[2:] == [
        "| u; w; y (and 2 more) | 2; 2; 2 | 3.00(10); 5.00(10); 7.00(10) | why |"
    ]


def test_only_laptop_and_paper_are_published(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["publish.py", "results/smoke", "smoke"])
    with pytest.raises(SystemExit, match="scale smoke is not published; allowed: laptop, paper"):
        publish.main()
