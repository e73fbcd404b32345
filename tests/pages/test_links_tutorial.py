"""The tutorial of docs/links.md runs exactly as written."""

import re
import shlex
from pathlib import Path

import pytest
import xarray as xr

from attention_limits.__main__ import main
from attention_limits.pipeline.cubes.reader import read
from attention_limits.pipeline.cubes.readings import judges
from attention_limits.pipeline.experiments.figures import FigureEntry
from attention_limits.pipeline.experiments.yaml_reader import load as load_yaml

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / "docs" / "links.md").read_text(), re.DOTALL | re.MULTILINE)


def python(phrase):
    """The one Python block of the page that contains a phrase."""
    (found,) = (text for text in blocks("python") if phrase in text)
    return found


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "mine.py").write_text(python("class Gated("))
    experiment = tmp_path / "config" / "sequence_multi_index" / "experiments" / "gated.yaml"
    experiment.parent.mkdir(parents=True)
    experiment.write_text(blocks("yaml")[0])
    monkeypatch.chdir(tmp_path)
    return experiment.relative_to(tmp_path)


def test_a_noisy_link_is_a_function(capsys):
    """The shown value is rounded; its error over four scramblings is 0.005, so another one differs by 0.02 at most."""
    exec(python("def gate(h)"), {})
    shown = float(re.search(r"# 1\. alpha = (\S+)", python("def gate(h)"))[1])
    assert abs(float(capsys.readouterr().out.split()[3]) - shown) < 0.02


def test_the_commands(project, capsys):
    check, threshold = (shlex.split(line)[1:] for line in blocks("sh")[0].splitlines())
    assert main(check) == 0
    # The verdict that the reader looks for; without `--resolution` one check of the page's link stays undecided.
    shown = capsys.readouterr().out
    assert "fibre agree" in shown
    assert "passes all" in shown
    assert main(threshold) == 0
    assert "1. alpha = " in capsys.readouterr().out


def test_the_experiment(project):
    for estimator in ("state_evolution", "gamp"):
        assert main(["run", str(project), "--estimator", estimator, "--scale", "smoke"]) == 0
    assert main(["merge", str(project), "--scale", "smoke"]) == 0
    cube = read(Path("results/smoke/cubes/sequence_multi_index/gated.nc"), repair="")
    assert dict(cube.sizes)["layer"] == 2
    found = {}
    exec(python("Learning curve of a gated unit"), found)
    (below,) = found["draw"]({"gated": cube}).legends
    assert {text.get_text() for text in below.get_texts()} == {"one replica, fails a flag"}
    # With more iterations than at scale smoke the replicas pass.
    sound = cube.assign({name: xr.ones_like(cube[name]) for name in cube.data_vars if judges(name)})
    (axes,) = found["draw"]({"gated": sound}).axes
    assert {text.get_text() for text in axes.get_legend().get_texts()} == {
        f"$Q_{{{row}{row}}}$, {name}" for row in (1, 2) for name in ("state evolution", "GAMP")
    }


def test_the_entry_of_the_figure():
    entry = load_yaml(blocks("yaml")[1])
    assert FigureEntry.model_validate(entry["gated"]).cubes == ["gated"]


def test_a_lie_stops_before_any_job(project, capsys):
    path = Path("links/mine.py")
    path.write_text(path.read_text().replace('"all"', '"rows"'))
    assert main(["check", str(project)]) == 2
    assert "gated.yaml: model: the sign of row 1 changes the output" in capsys.readouterr().err
    path.write_text(
        path.read_text().replace("-np.log(np.abs(gate))", "np.log(np.abs(gate))").replace('"rows"', '"all"')
    )
    # A wrong weight is seen without any sampling.
    for command in (["check", str(project)], ["check-link", "links/mine.py:Gated"]):
        assert main(command) == 2
        assert "log_weight" in capsys.readouterr().err


def test_a_link_without_a_channel_is_refused_where_one_is_needed(project, capsys):
    project.write_text(re.sub(r"model: .*", "model: {link: multi_head, tokens: 3}", project.read_text()))
    assert main(["check", str(project)]) == 2
    assert "no channel to infer from" in capsys.readouterr().err


def test_the_exact_posterior_of_a_link(tmp_path, monkeypatch, capsys):
    """It is that of its fibre: without it the program samples, and all checks pass too."""
    monkeypatch.chdir(tmp_path)
    exact = python("class Relu(")
    for name, text in (("exact", exact), ("sampled", exact.replace("moments(", "unused("))):
        Path(f"{name}.py").write_text(text)
        assert main(["check-link", f"{name}.py:Relu"]) == 0
        assert ("importance sampling" if name == "sampled" else "moments of the link itself") in capsys.readouterr().out


@pytest.fixture
def sequences(tmp_path, monkeypatch):
    """A project with the functions of the section on sequences."""
    (tmp_path / "links").mkdir()
    for name, phrase in (("gates", "def gate(z)"), ("majority", "def soft_majority(")):
        (tmp_path / "links" / f"{name}.py").write_text(python(phrase))
    experiment = tmp_path / "config" / "sequence_single_index" / "experiments" / "majority.yaml"
    experiment.parent.mkdir(parents=True)
    experiment.write_text(blocks("yaml")[2])
    monkeypatch.chdir(tmp_path)
    return experiment.relative_to(tmp_path)


def test_the_exponents_of_targets_of_sequences(sequences, capsys):
    answers = []
    for line in blocks("sh")[1].splitlines():
        assert main(shlex.split(line)[1:]) == 0
        answers.append(re.findall(r"^(target|semantic|positional): (\d)", capsys.readouterr().out, re.MULTILINE))
    assert [int(order) for _, order in answers[0]] == [2, 2, 2]
    assert [int(order) for _, order in answers[1]] == [4, 4, 2]
    exec(python("import escape_law"), {})
    assert capsys.readouterr().out.startswith("2 [")


def test_sgd_of_any_student(sequences, capsys):
    assert main(["check", str(sequences)]) == 0
    assert main(["exponent", "--target", "links/majority.py:soft_majority", "--tokens", "3", "--order", "2"]) == 0
    assert "semantic: 1\n" in capsys.readouterr().out
    exec(python("import LinkFlow"), {})
    *steps, flow = map(float, re.findall(r"[\d.]+", capsys.readouterr().out.splitlines()[0]))
    # One run has a spread of about a third around the flow.
    assert len(steps) == 8
    assert all(0.2 < count / flow < 3 for count in steps)
