"""What the user's environment holds, and must not reach: a backend, settings of matplotlib, an encoding, options of Python."""

import os
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib.font_manager import FontEntry, fontManager

from attention_limits.plotting import house_style, new_figure

COMPUTE = (
    "compute", "attention_indexed.state_evolution", "--channel", "softmax", "--tokens", "2", "--ratio", "0.5",
    "--alpha", "0.05:0.2:2",
)  # fmt: skip


def run(folder, *arguments, options=(), **environment):
    """The command line in a process of its own, with the variables `environment`."""
    command = [sys.executable, *options, "-P", "-m", "attention_limits", *arguments]
    found = subprocess.run(command, cwd=folder, env=os.environ | environment, capture_output=True, check=False)
    assert found.returncode == 0, found.stderr.decode(errors="replace")
    return found.stdout


@pytest.mark.slow
def test_backend_of_a_notebook_and_scripts_named_as_modules(tmp_path):
    for name in ("random.py", "numba.py", "secrets.py"):
        (tmp_path / name).write_text("raise SystemExit('a script of the user')\n")
    run(tmp_path, *COMPUTE, "--plot", "curve.png", MPLBACKEND="module://a_notebook.backend")
    assert (tmp_path / "curve.png").stat().st_size > 1000


def picture(path):
    @house_style
    def draw():
        figure, axes = new_figure(1, 1, 3, 2)
        axes.plot([0, 1], [0, 1], label="$\\alpha$")
        axes.set(xlabel="x", yscale="symlog")
        axes.legend()
        return figure

    draw().savefig(path, metadata={"Software" if path.suffix == ".png" else "CreationDate": None})
    return Path(path).read_bytes()


@pytest.mark.parametrize("kind", ["png", "pdf"])
def test_a_picture_is_the_same_with_any_settings_and_backend_of_matplotlib(tmp_path, monkeypatch, kind):
    plain = picture(tmp_path / f"plain.{kind}")
    theirs = {
        "text.usetex": True, "font.size": 20.0, "savefig.dpi": 30, "savefig.bbox": "tight", "axes.grid": True,
        "lines.marker": "o", "axes.prop_cycle": mpl.cycler(color=["k"]), "font.family": "monospace", "xtick.direction": "in",
        "figure.facecolor": "b", "path.simplify": False, "pdf.fonttype": 42, "pdf.compression": 0,
    }  # fmt: skip
    with mpl.rc_context(theirs):
        # The context does not take the backend back.
        monkeypatch.setitem(mpl.rcParams, "backend", "svg")
        same = picture(tmp_path / f"theirs.{kind}") == plain
    # Not of the bytes: pytest would look for their differences.
    assert same


def test_a_picture_is_the_same_with_any_list_of_fonts(tmp_path, monkeypatch):
    plain = picture(tmp_path / "plain.png")
    # The list lacks matplotlib's fonts. Another font in it has the name of the font that pictures use.
    bold = Path(mpl.get_data_path(), "fonts", "ttf", "DejaVuSans-Bold.ttf")
    (tmp_path / "theirs.ttf").write_bytes(bold.read_bytes())
    theirs = FontEntry(fname=str(tmp_path / "theirs.ttf"), name="DejaVu Sans", weight=400, size="scalable")
    monkeypatch.setattr(fontManager, "ttflist", [theirs])
    # This also forgets which files were found for the first picture.
    fontManager.addfont(bold)
    same = picture(tmp_path / "theirs.png") == plain
    assert same


@pytest.mark.slow
def test_letters_that_the_terminal_lacks(tmp_path):
    plain = run(tmp_path, "describe", "attention_indexed.state_evolution", PYTHONIOENCODING="utf-8").decode()
    found = run(tmp_path, "describe", "attention_indexed.state_evolution", PYTHONIOENCODING="ascii").decode("ascii")
    assert not plain.isascii()
    assert found == plain.encode("ascii", "backslashreplace").decode("ascii")


@pytest.mark.slow
def test_an_optimised_python_prints_the_same_texts(tmp_path):
    assert run(tmp_path, "estimators", options=["-OO"]) == run(tmp_path, "estimators")
