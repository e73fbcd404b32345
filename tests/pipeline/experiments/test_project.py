"""The whole project: its experiments and figures, the places of their files, and its problems."""

import shutil
from pathlib import Path

import pytest

from attention_limits.pipeline.base.errors import SpecError
from attention_limits.pipeline.experiments.experiment import load_family
from attention_limits.pipeline.experiments.project import load_project
from toy import EXPERIMENT, FIGURES, Toy, imported
from toy_data import share


@pytest.fixture(scope="module")
def code(tmp_path_factory):
    toy = Toy(tmp_path_factory.mktemp("project") / "project")
    share(toy)
    toy.write("src/attention_limits/toy/figures/file.rst", "Heights of the file.\n")
    with imported(toy):
        yield toy


@pytest.fixture
def toy(code, tmp_path):
    """The configuration of the toy, to be changed; its code is that of the module."""
    shutil.copytree(code.folder / "config", tmp_path / "config")
    return tmp_path


def write(folder, name, text):
    path = folder / "config" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def problems(folder, config=None):
    with pytest.raises(SpecError) as caught:
        load_project(folder, config)
    return [line.removeprefix(f"{folder}/config/") for line in caught.value.problems]


def test_paths_and_names(toy):
    project = load_project(toy)
    assert (project.run.scale, project.run.seed, project.run.folder) == ("laptop", 0, "results")
    family = load_family("toy")
    assert [family.rule(name) for name in ("growth", "toy_growth")] == ["toy_growth", "toy_growth"]
    figure = project.figures["toy_heights"]
    assert figure.paths("results") == [f"results/figures/toy/toy_heights.{kind}" for kind in ("pdf", "png")]
    assert project.targets("toy") == [
        "results/cubes/toy/growth_curve.nc",
        "results/cubes/toy/shared.nc",
        *figure.paths("results"),
    ]
    shared = project.experiments["toy"]["shared"]
    spreads = shared.estimators["spreads"]
    (chunk,) = spreads.chunks
    data = [spreads.reads.path("results", item) for item in spreads.data_chunks(chunk)]
    assert [path.rpartition("_")[0] for path in data] == [
        f"results/data/toy/shared/drawn/alpha0.4_replicas{replica}" for replica in (0, 1)
    ]
    assert shared.chunk_paths("results")[-1] == f"results/chunks/toy/shared/spreads/{chunk.name}.nc"


def test_a_run_of_the_papers_leaves_out_extra_figures_and_their_cubes(toy):
    """A cube that no figure draws stays, and so does one that another figure draws too."""
    both = FIGURES + "file: {title: File, cubes: [growth_curve], module: heights, extra: true}\n"
    cubes = [f"results/cubes/toy/{name}.nc" for name in ("growth_curve", "shared")]
    heights, file = (
        [f"results/figures/toy/toy_{name}.{kind}" for kind in ("pdf", "png")] for name in ("heights", "file")
    )
    for figures, papers in (
        (both, [*cubes, *heights]),
        ("heights: {title: Heights, cubes: [growth_curve], extra: true}\n", cubes[1:]),
    ):
        write(toy, "toy/figures.yaml", figures)
        assert load_project(toy, {"figures": "papers"}).targets("toy") == papers
    write(toy, "toy/figures.yaml", both)
    assert load_project(toy).targets("toy") == [*cubes, *heights, *file]
    # An experiment that is extra: without its cube where no figure of the papers draws it.
    for name in ("growth_curve", "shared"):
        source = toy / f"config/toy/experiments/{name}.yaml"
        source.write_text(f"extra: true\n{source.read_text()}")
    assert load_project(toy, {"figures": "papers"}).targets("toy") == [cubes[0], *heights]
    assert load_project(toy).targets("toy") == [*cubes, *heights, *file]


def test_scales_and_folders(toy):
    assert load_project(toy, {"scale": "smoke", "results": "out"}).run.folder == "out/smoke"
    # A larger scale has all files of the smaller one.
    laptop, paper = (load_project(toy, {"scale": scale}) for scale in ("laptop", "paper"))
    assert (laptop.run.folder, paper.run.folder) == ("results", "results")
    names = [
        {chunk.name for chunk in item.experiments["toy"]["shared"].data["drawn"].chunks} for item in (laptop, paper)
    ]
    assert names[0] < names[1]


def test_what_a_cube_depends_on(toy):
    def digests(**config):
        loaded = load_project(toy, config)
        return {item.name: item.digest(loaded.run.seed) for item in loaded.all()}

    plain, other = digests(), digests(seed=1)
    assert plain == digests(results="out")
    assert all(plain[key] != other[key] for key in plain)
    path = toy / "config/toy/experiments/growth_curve.yaml"
    path.write_text(EXPERIMENT.replace("title: Growth of a toy", "title: Growth"))
    assert {key for key in plain if digests()[key] != plain[key]} == {"growth_curve"}


def test_a_variant_by_set(toy):
    write(toy, "toy/models.yaml", "steep: {gain: 2.0}\n")
    path = toy / "config/toy/experiments/growth_curve.yaml"
    path.write_text(EXPERIMENT.replace("{gain: 2.0}", "steep"))
    plain = load_project(toy, {})
    changed = load_project(toy, {"set": {"toy": {"steep": {"gain": 4.0}}}, "results": "variant"})
    assert changed.experiments["toy"]["growth_curve"].estimators["growth"].model == {"gain": 4.0}
    assert changed.run.folder == "variant"
    pairs = zip(plain.all(), changed.all(), strict=True)
    assert [old.name for old, new in pairs if old.digest(0) != new.digest(0)] == ["growth_curve"]
    write(toy, "toy/experiments/again.yaml", EXPERIMENT.replace("{gain: 2.0}", "steep"))
    (line,) = problems(toy, {"set": {"toy": {"steep": {"gain": "x"}}}})
    assert line.startswith('set: steep.gain: "x": allowed: a number')
    assert problems(toy, {"set": {"toy": {"round": {"gain": 4.0}}}})[0].startswith("set: round: not in ")
    assert problems(toy, {"set": {"tyo": {}}}) == [
        f"--config: set: 'tyo': no folder {toy}/config/tyo/experiments; did you mean toy?"
    ]
    assert problems(toy, {"set": {"toy": {"steep": 4.0}}})[0].startswith("--config: set: toy: the model is missing")


@pytest.mark.parametrize(
    ("config", "line"),
    [
        (
            {"scala": "paper"},
            "--config: scala: unknown key; allowed: families, figures, project, results, scale, seed, set",
        ),
        ({"scale": "huge"}, '--config: scale: "huge": allowed: one of "laptop", "paper", "smoke"'),
        ({"seed": -1}, "--config: seed: -1: allowed: a whole number ≥ 0 (Root seed"),
        ({"results": "out/{x}"}, '--config: results: "out/{x}": allowed: text'),
        ({"families": ["tyo"]}, "--config: families: 'tyo': no folder "),
        (
            {"families": "Toy-1"},
            '--config: families: "Toy-1": allowed: all, or folders of config/, whose names match ^[a-z]',
        ),
        ({"families": []}, "--config: families"),
        ({"families": "toy, tyo"}, "--config: families: 'tyo': no folder "),
        ({"results": "~/runs"}, '--config: results: "~/runs": allowed: the path itself, without ~'),
        ({"results": "/dev/null/runs"}, "--config: results: /dev/null/runs: /dev/null is a file; allowed: a folder"),
        ({"results": "x" * 256}, '--config: results: "xxxx'),
        ({"families": 3}, "--config: families"),
        ({"results": None}, "--config: results: null: allowed: text"),
    ],
)
def test_a_wrong_configuration(toy, config, line):
    found = problems(toy, config)
    assert found[0].startswith(line)
    assert len(found) == 1


def test_the_message_names_the_file_where_the_value_stands_there(toy):
    """Snakemake gives the values of the file and those of the command line in one mapping."""
    write(toy, "config.yaml", "seed: -1\nscale: laptop\n")
    assert [line.split(":")[0] for line in problems(toy, {"seed": -1, "scale": "huge"})] == ["--config", "config.yaml"]


def test_a_folder_in_the_place_of_a_cube_and_a_file_in_that_of_a_folder(toy, tmp_path):
    results = tmp_path / "runs"
    (results / "cubes/toy/growth_curve.nc").mkdir(parents=True)
    (results / "figures").touch()
    assert problems(toy, {"results": str(results)}) == [
        f"{results}/cubes/toy/growth_curve.nc: is a folder; remove it, a file belongs there",
        f"{results}/figures: is a file; remove it, a folder belongs there",
    ]


@pytest.mark.parametrize("written", ["out/", "./out", "out//", ".//out/."])
def test_one_folder_has_one_name_in_targets(toy, written):
    """A shell completes a folder with / at its end; `snakemake out/cubes/...` then asks for the same file."""
    project = load_project(toy, {"results": written})
    assert project.run.results == "out"
    assert all(path.startswith("out/") for family in project.experiments for path in project.targets(family))


@pytest.mark.parametrize("target", ["nowhere", "out"])
def test_a_link_to_nothing_is_no_folder_of_results(toy, tmp_path, monkeypatch, target):
    monkeypatch.chdir(tmp_path)
    Path("out").symlink_to(target)
    for results in ("out", "out/deeper"):
        (found,) = problems(toy, {"results": results})
        assert found == f"--config: results: {results}: out is a link to nothing; allowed: a folder"


def test_one_family_needs_no_list(toy):
    assert load_project(toy, {"families": "toy"}).run.families == ["toy"]
    assert problems(toy, {"families": "tyo"}) == [
        f"--config: families: 'tyo': no folder {toy}/config/tyo/experiments; did you mean toy?"
    ]


@pytest.mark.parametrize(
    ("entry", "line"),
    [
        ("heights: {title: T, cubes: [growth]}\n", "heights.cubes: 'growth': allowed: growth_curve, shared"),
        ("heights: {title: T, cubes: []}\n", "heights.cubes: []: allowed: a list of at least 1 items"),
        ("heights: {cubes: [growth_curve]}\n", "heights.title: missing"),
        ("heights: {title: T, cubes: [growth_curve], variable: hight}\n", "heights.variable: 'hight': allowed: height"),
        ("heights: {title: T, cubes: [growth_curve], colour: x}\n", "heights.colour: unknown key"),
        ("heights: {title: T, cubes: [growth_curve], module: 'os;x'}\n", 'heights.module: "os;x": allowed: text'),
        ("depths: {title: T, cubes: [growth_curve]}\n", "depths"),
        ("Heights: {title: T, cubes: [growth_curve]}\n", "Heights"),
        (
            "heights: {title: T, cubes: [growth_curve, shared], same_model: [slope]}\n",
            "heights.same_model: slope: in none of the cubes",
        ),
    ],
)
def test_a_wrong_figure(toy, entry, line):
    write(toy, "toy/figures.yaml", entry)
    found = problems(toy)
    assert any(item.startswith(f"toy/figures.yaml: {line}") for item in found), found


def test_cubes_that_are_drawn_together_are_of_one_model(toy):
    write(toy, "toy/experiments/other_curve.yaml", EXPERIMENT.replace("gain: 2.0", "gain: 3.0"))
    write(toy, "toy/figures.yaml", "heights: {title: T, cubes: [growth_curve, other_curve], same_model: [gain]}\n")
    message = (
        "gain: 2.0 in growth_curve.yaml; 3.0 in other_curve.yaml: the cubes of one figure must have the same value"
    )
    assert problems(toy) == [f"toy/figures.yaml: heights.same_model: {message}"]
    write(toy, "toy/experiments/other_curve.yaml", EXPERIMENT)
    assert load_project(toy).figures["toy_heights"].cubes.keys() == {"growth_curve", "other_curve"}


def test_problems_of_all_files_at_once(toy):
    write(toy, "toy/experiments/one.yaml", EXPERIMENT.replace("steps: 3", "steps: 0"))
    write(toy, "toy/experiments/two.yaml", EXPERIMENT.replace("gain: 2.0", "gain: -2.0"))
    write(toy, "toy/experiments/Three.yaml", EXPERIMENT)
    assert [line.split(": ")[0] for line in problems(toy)] == [
        f"toy/experiments/{name}.yaml" for name in ("Three", "one", "two")
    ]


def test_a_required_file_that_is_missing_leaves_an_experiment_out(toy):
    write(
        toy, "toy/experiments/from_file.yaml", "requires: {data/heights.txt: heights.txt of somewhere}\n" + EXPERIMENT
    )
    write(toy, "toy/figures.yaml", FIGURES + "file: {title: T, module: heights, cubes: [from_file]}\n")
    left = load_project(toy)
    assert [item.name for item in left.left_out] == ["from_file"]
    assert list(left.figures) == ["toy_heights"]
    (note,) = left.notes()
    assert note.endswith(
        f"left out, with its figures: {toy}/data/heights.txt is missing: save there heights.txt of somewhere"
    )
    # It is validated all the same.
    write(
        toy,
        "toy/experiments/from_file.yaml",
        "requires: {data/heights.txt: x}\n" + EXPERIMENT.replace("steps: 3", "steps: 0"),
    )
    assert problems(toy)[0].startswith("toy/experiments/from_file.yaml: estimators.growth.solver.steps: 0")


def test_a_folder_of_results_in_another_normal_form_is_the_same(toy):
    """A folder that a Mac made, and the name that a keyboard writes."""
    (made := toy / "e\u0301te\u0301").mkdir()
    assert load_project(toy, {"results": str(toy / "\u00e9t\u00e9")}).run.results == str(made)


@pytest.mark.parametrize(("written", "named"), [("\u00e9.txt", "e\u0301.txt"), ("e\u0301.txt", "\u00e9.txt")])
def test_a_required_file_in_another_normal_form_is_there(toy, written, named):
    (toy / written).write_text("1\n")
    write(toy, "toy/experiments/from_file.yaml", f"requires: {{{named}: heights}}\n" + EXPERIMENT)
    project = load_project(toy)
    assert project.left_out == ()
    assert project.experiments["toy"]["from_file"].digest(0)
