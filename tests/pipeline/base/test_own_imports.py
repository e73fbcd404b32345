"""Files of models that import other files of the user: what they find, and what a digest reads."""

import subprocess
import sys

import pytest

from attention_limits.pipeline.base.errors import SpecError
from attention_limits.pipeline.base.provenance import imported_files
from attention_limits.pipeline.base.user_files import execute
from attention_limits.pipeline.experiments.experiment import load_experiment


@pytest.fixture
def write(tmp_path):
    """A function that writes a file below a folder. The modules of the test leave this process."""
    before = {*sys.modules}

    def write(name, text=""):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    yield write
    for name in {*sys.modules} - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def names_of(path, folder):
    """The files that a file imports, relative to a folder, with the names of their modules."""
    return {str(file.relative_to(folder)): name for file, name in imported_files(path).items()}


def test_a_file_imports_modules_beside_it(write):
    own = write(
        "links/own.py",
        """\
from own_parts.more import more
from own_scale import SCALE


def late():
    import own_late

    return own_late.x
""",
    )
    write("links/own_scale.py", "import own_number\n\nSCALE = own_number.x\n")
    write("links/own_number.py", "x = 3.0\n")
    write("links/own_parts/__init__.py", "from . import inner\n")
    write("links/own_parts/inner.py", "import own_number\n\nx = own_number.x\n")
    write("links/own_parts/more.py", "from .inner import x as more\n")
    write("links/own_late.py", "x = 5.0\n")
    write("links/another.py", "x = 1\n")
    module = execute(own)
    assert (module.SCALE, module.more, module.late()) == (3.0, 3.0, 5.0)
    assert names_of(own, own.parent) == {
        "own_scale.py": "own_scale",
        "own_number.py": "own_number",
        "own_parts/__init__.py": "own_parts",
        "own_parts/inner.py": "own_parts.inner",
        "own_parts/more.py": "own_parts.more",
        "own_late.py": "own_late",
    }


def test_only_files_of_models_find_modules_beside_them(write):
    """Other code would otherwise take a file of the user for a package."""
    write("own_secret.py", "x = 1\n")
    other = write("other.py", "import own_secret\n")
    packages = "import pathlib, runpy\nfrom attention_limits.pipeline.base.user_files import execute\n"

    def process(line):
        """A process with the path of a job."""
        command = [sys.executable, "-P", "-c", f"{packages}{line}"]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    plain = process(f"runpy.run_path({str(other)!r}, run_name='other')")
    assert "No module named 'own_secret'" in plain.stderr
    assert process(f"execute(pathlib.Path({str(other)!r}))").returncode == 0


def test_installed_modules_come_first_and_are_no_files_of_the_user(write):
    own = write("own.py", "import json\nimport numpy as np\nimport attention_limits\nimport own_missing\n")
    write("numpy.py", "raise SystemExit\n")
    assert names_of(own, own.parent) == {"numpy.py": "numpy"}
    own.write_text("import json\nimport numpy as np\n")
    assert execute(own).np.__name__ == "numpy"
    assert hasattr(execute(own).np, "tanh")


def test_a_module_on_the_path_of_python_counts(write, monkeypatch):
    own = write("links/own.py", "import own_library.tools\n")
    write("library/own_library/__init__.py")
    write("library/own_library/tools.py")
    folder = own.parents[1]
    assert names_of(own, folder) == {}
    monkeypatch.syspath_prepend(str(folder / "library"))
    expected = {"own_library/__init__.py": "own_library", "own_library/tools.py": "own_library.tools"}
    assert names_of(own, folder / "library") == expected


def test_a_file_that_is_no_python_imports_nothing(write):
    assert imported_files(write("own.py", "import (\n")) == {}
    assert imported_files(write("numbers.txt", "import json\n")) == {}


def test_circles_end(write):
    own = write("own.py", "import own_circle\n")
    write("own_circle.py", "import own_other_circle\n")
    write("own_other_circle.py", "import own_circle\nimport own\n")
    assert set(names_of(own, own.parent)) == {"own_circle.py", "own_other_circle.py"}


EXPERIMENT = """\
title: Own links
description: A link whose file imports another one.
model: {link: "{folder}/own.py:gate", noise: 0.1}
estimators:
  state_evolution: {grid: {alpha: {values: [2.0]}}, solver: {nodes: 32}}
"""


def test_files_of_two_folders_may_import_modules_of_one_name(write):
    """Each experiment has its own; a process that loads both reads the right ones."""
    for folder in "abb":
        write(f"{folder}/own.py", "from own_twin import gate\n")
        write(f"{folder}/own_twin.py", f"def gate(h):\n    return h[..., 0, 0] + {ord(folder)}\n")
        text = EXPERIMENT.replace("{folder}", folder)
        path = write(f"config/sequence_multi_index/experiments/own_{folder}.yaml", text)
        made = load_experiment(path)
        assert [file.parent.name for file in made.estimators["state_evolution"].imported_files] == [folder]
        assert sys.modules["own_twin"].__file__ == str(path.parents[3] / folder / "own_twin.py")


def test_two_modules_of_one_name_in_one_experiment_are_refused(write, monkeypatch):
    write("a/own.py", "from own_twin import gate\n")
    for folder in "ab":
        write(f"{folder}/own_twin.py", "def gate(h):\n    return h[..., 0, 0]\n")
    path = write("config/sequence_multi_index/experiments/own.yaml", EXPERIMENT.replace("{folder}", "a"))
    load_experiment(path)
    monkeypatch.syspath_prepend(str(path.parents[3] / "b"))
    with pytest.raises(
        SpecError, match=r"the module own_twin, which its files import, is .*a/own_twin.py or .*rename one"
    ):
        load_experiment(path)
