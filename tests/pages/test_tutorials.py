"""The tutorials of docs/ run as they are written: files are written, commands run, and the pages show their output."""

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import snakemake_server
from attention_limits.__main__ import main
from attention_limits.pipeline.cubes.reader import read
from attention_limits.pipeline.experiments.project import load_project
from attention_limits.pipeline.experiments.yaml_reader import load as load_yaml
from toy import edited, repository

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
TUTORIALS = ROOT / "docs" / "tutorials"
EXPERIMENT = Path("config/sequence_multi_index/experiments/first.yaml")


def blocks(page):
    """The code blocks of a page, (language, text), in order."""
    return re.findall(r"^```(\w+)\n(.*?)^```", (TUTORIALS / page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def commands(text):
    """The commands of a console block, each with the lines that are shown after it."""
    parts = re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]
    return [(part.split("\n")[0], part.rstrip().split("\n")[1:]) for part in parts]


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A clone without its experiments and figures, with its programs on the path."""
    for name in ("Snakefile", "workflow", "profiles", "envs", "config/config.yaml"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        (tmp_path / name).parent.mkdir(exist_ok=True)
        copy(ROOT / name, tmp_path / name)
    # Snakemake ends so long after its last job.
    profile = tmp_path / "profiles/default/config.yaml"
    profile.write_text(edited(profile.read_text(), [("1000/3s", "1000/1s")]))
    (tmp_path / EXPERIMENT).parent.mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("MPLBACKEND", "Agg")
    return tmp_path


def run(command):
    """Exit status and output of a line of the shell.

    A command of the program runs in this process, and Snakemake in a fork of a process that has imported it: both are faster.
    """
    printed, (first, _, rest) = None, command.partition(" | ")
    if first.startswith("snakemake "):
        arguments = shlex.split(first.removesuffix(" 2>&1"))[1:]
        done = snakemake_server.call(arguments, Path.cwd(), dict(os.environ), sys.executable)
        if not rest:
            return done.returncode, done.stdout + done.stderr
        command, printed = rest, done.stdout + done.stderr
    elif first.startswith("attention-limits ") and not set(command) & set("|<>&;*"):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main(shlex.split(command)[1:])
        return status, out.getvalue() + err.getvalue()
    done = subprocess.run(command, shell=True, input=printed, capture_output=True, text=True, timeout=300, check=False)
    return done.returncode, done.stdout + done.stderr


def follow(page):
    """Run all console blocks of a page; they print the lines that the page shows, in this order, and more for …"""
    for language, text in blocks(page):
        for command, shown in commands(text) if language == "console" else ():
            status, printed = run(command)
            assert shown or status == 0, f"{command}\n{printed}"
            assert re.search(".*".join(map(re.escape, shown)).replace("…", ".*"), printed, re.DOTALL), (
                f"{command}\n{printed}"
            )


def execute(page, namespace):
    for language, text in blocks(page):
        if language == "python":
            exec(compile(text, page, "exec"), namespace)


def test_the_tutorials_of_the_workflow(project):
    EXPERIMENT.write_text(next(text for language, text in blocks("change_a_parameter.md") if language == "yaml"))
    follow("change_a_parameter.md")
    follow("more_points.md")
    seen = {}
    execute("read_a_cube.md", seen)
    assert Path("first.png").stat().st_size > 10_000
    assert dict(seen["theory"].sizes) == {"alpha": 7, "replica": 12}
    assert seen["simulated"].alpha.values.tolist() == [0.5, 0.9]
    # Nothing is learned below the threshold 1/2 of phase retrieval, and everything above 1.13.
    mean, error = seen["mean_and_error"](seen["theory"])
    assert mean[0] == 0
    assert mean[-1] > 0.999
    assert np.all(error >= 0)


def test_the_scale_of_the_tutorial_is_good(project):
    first, second = (
        next(text for language, text in blocks(page) if language == "yaml")
        for page in ("change_a_parameter.md", "more_points.md")
    )
    EXPERIMENT.write_text(first + second)
    done = subprocess.run(["attention-limits", "check", EXPERIMENT], capture_output=True, text=True, check=True)
    assert "laptop 56 points in 2 chunks, paper 112 points in 2 chunks" in done.stdout


def test_contacts_of_a_protein_family(project):
    """On the first 300 sequences of the shipped alignment."""
    data = Path("config/potts_mlm/data")
    data.mkdir(parents=True)
    shutil.copy(ROOT / data / "PF00014_distances.txt", data)
    entries = (ROOT / data / "PF00014.a3m").read_text().split(">")[1:301]
    (data / "PF00014.a3m").write_text("".join(f">{entry}" for entry in entries))
    text = next(text for language, text in blocks("protein_contacts.md") if language == "yaml")
    experiment = Path("config/potts_mlm/experiments/family.yaml")
    experiment.parent.mkdir()
    experiment.write_text(text.replace("[1000]", "[200]").replace("max_iterations: 200", "max_iterations: 2"))
    follow("protein_contacts.md")
    seen = {}
    execute("protein_contacts.md", seen)
    assert int(seen["cube"].sequences_read) == 300
    assert 0.0 <= float(seen["full"].precision.sel(rank=10)) <= 1.0
    assert dict(seen["cube"].contact_score.sizes) == {"heads": 2, "site": 53, "site_other": 53}
    assert "PF00014" not in experiment.read_text()


def test_channels_of_a_file(tmp_path, monkeypatch):
    """All channels of the page pass their checks; AMP is within 15 % of the theory at d = 40."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    texts = {language: text for language, text in reversed(blocks("channel.md")) if language != "console"}
    Path("channels").mkdir()
    Path("channels/mine.py").write_text(texts["python"])
    follow("channel.md")
    experiment = Path("config/attention_indexed/experiments/largest.yaml")
    experiment.parent.mkdir(parents=True)
    experiment.write_text(texts["yaml"])
    for estimator in ("state_evolution", "matrix_amp"):
        assert main(["run", str(experiment), "--estimator", estimator]) == 0
    assert main(["merge", str(experiment)]) == 0
    cube = read(Path("results/cubes/attention_indexed/largest.nc"), repair="")
    theory, amp = (cube.sel(estimator=name) for name in ("state_evolution", "matrix_amp"))
    assert np.all(theory.mmse_error.dropna("replica", how="all") < 0.1 * theory.mmse.dropna("replica", how="all"))
    assert float(amp.mmse.sel(alpha=0.5).mean()) == pytest.approx(float(theory.mmse.sel(alpha=0.5).max()), rel=0.15)


def test_questions_in_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    found = {}
    execute("ask.md", found)
    cube, table = found["cube"], found["table"]
    assert cube.mmse.sel(alpha=0).item() == 1
    assert cube.mmse.sel(alpha=cube.alpha > 0.1876).max() == 0
    assert cube.mmse.sel(alpha=(cube.alpha > 0) & (cube.alpha < 0.18)).min() > 0
    assert all(Path(name).stat().st_size > 10_000 for name in ("mmse.png", "layers.png"))
    assert table["overlap[layer=1, layer_star=1]_replicas"].tolist() == [8, 8, 8]
    assert "model.tokens: 0: allowed: a whole number ≥ 1 and ≤ 64" in capsys.readouterr().out
    follow("ask.md")


def test_the_library_without_the_workflow(capsys):
    found = {}
    execute("library.md", found)
    # One layer: 1/6. Five standard errors of eight estimates: a false alarm in 1.6e-3 of the seeds; the test uses one.
    estimates = np.array(found["estimates"])
    assert abs(estimates.mean() - 1 / 6) < 5 * estimates.std(ddof=1) / np.sqrt(len(estimates))
    overlap = float(found["point"].value[0, 0])
    assert abs(abs(found["found"].overlap[-1, 0, 0]) - overlap) < 0.1
    assert found["sgd"].escaped
    # The replica theory holds for long sequences; four data sets of 200 sites are within a fifth of it.
    theory = found["closed_form"](3.0, 0.1, [0.5, 1.0, 2.0]).generalization
    assert np.allclose(found["errors"].simulated_generalization_error.mean("replica").squeeze(), theory, rtol=0.2)
    assert "semantic" in capsys.readouterr().out


def test_every_tutorial_is_listed():
    listed = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert all(f"(tutorials/{path.name})" in listed for path in TUTORIALS.glob("*.md"))


@pytest.mark.parametrize("page", ["README.md", "docs/configuration.md"])
def test_the_line_that_changes_a_model_changes_all_that_is_drawn_together(page):
    target, line, folder = re.search(
        r"snakemake (\w+) --config set='(.*)' results=(\S+)", (ROOT / page).read_text()
    ).groups()
    changed, plain = load_project(ROOT, {"set": load_yaml(line), "results": folder}), repository()
    figure = plain.figures[target]
    for cube in figure.cubes:
        specs = [project.experiments[figure.family][cube].effective() for project in (changed, plain)]
        assert specs[0] != specs[1], cube
    assert changed.figures[target].paths(changed.run.folder)[0].startswith(f"{folder}/")
