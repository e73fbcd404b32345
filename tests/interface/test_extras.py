"""An import that fails for a reason that the user can change ends in one line."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from attention_limits.interface.extras import NEEDED, extras
from attention_limits.pipeline.base.errors import SpecError
from toy import REPOSITORY


def imported(folder, monkeypatch, body):
    """Import a new module with this body inside the block."""
    file = folder / "heavy_package.py"
    file.write_text(body)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "heavy_package", raising=False)
    with extras():
        import heavy_package  # noqa: F401


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("raise MemoryError", r"the import of .*heavy_package\.py fails"),
        (
            "raise ImportError('a.so: failed to map segment from shared object')",
            "heavy_package.*fails: a.so: failed to map",
        ),
        (
            "raise SystemError('initialization of a raised without setting an exception')",
            "heavy_package.py fails: init",
        ),
    ],
)
def test_too_little_memory_for_an_import(tmp_path, monkeypatch, body, said):
    with pytest.raises(MemoryError, match=said):
        imported(tmp_path, monkeypatch, body)


@pytest.mark.parametrize("body", ["raise ImportError('no name x')", "raise SystemError('bad argument')"])
def test_other_errors_of_an_import_stay(tmp_path, monkeypatch, body):
    with pytest.raises((ImportError, SystemError), match=r"no name x|bad argument"):
        imported(tmp_path, monkeypatch, body)


def test_errors_outside_of_an_import_stay():
    def fill():
        raise MemoryError("Unable to allocate 3 GiB")

    with pytest.raises(MemoryError, match=r"^Unable to allocate 3 GiB$"), extras():
        fill()
    with pytest.raises(SystemExit), extras():
        sys.exit(3)


def test_a_file_in_the_place_of_a_package(tmp_path, monkeypatch):
    with pytest.raises(SpecError, match=r"heavy_package\.py ends the program when Python imports it \(sys\.exit\)"):
        imported(tmp_path, monkeypatch, "import sys; sys.exit(3)")


def run(folder, *command, **environment):
    """A command in a folder of the user, whose files Python finds first."""
    return subprocess.run(
        command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )


ENDS, BARE, RAISES = "import sys; sys.exit(0)\n", "", "raise ValueError('mine')\n"


@pytest.mark.slow
@pytest.mark.parametrize(("name", "body"), [("numba", BARE), ("random", ENDS), ("logging", RAISES)])
def test_a_file_of_the_user_in_the_place_of_a_package(tmp_path, name, body):
    """No command ends in silence or with the traceback of another package: one line names the file."""
    (tmp_path / f"{name}.py").write_text(body)
    done = run(tmp_path, sys.executable, "-m", "attention_limits", "list", "--project", REPOSITORY)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"attention-limits: {tmp_path / f'{name}.py'} ")
    assert line.endswith("rename it, start Python in another folder, or take its folder from PYTHONPATH")
    done = run(tmp_path, sys.executable, "-c", "import attention_limits as al; al.compute; al.__version__")
    assert f"SpecError: {tmp_path / f'{name}.py'} " in done.stderr


@pytest.mark.slow
def test_the_command_looks_into_the_working_directory_only_if_pythonpath_names_it(tmp_path):
    (tmp_path / "numpy.py").write_text(ENDS)
    command = Path(sys.executable).with_name("attention-limits"), "estimators"
    assert run(tmp_path, *command).returncode == 0
    done = run(tmp_path, *command, PYTHONPATH=str(tmp_path))
    assert (done.returncode, "numpy.py stands in the place of the Python package numpy" in done.stderr) == (2, True)


def test_a_file_that_nothing_imports_is_in_no_place(tmp_path):
    """A folder of the user may hold any file whose name the library does not need."""
    for name in ("plotly", "turtle", "curve"):
        (tmp_path / f"{name}.py").write_text(RAISES)
    done = run(tmp_path, sys.executable, "-c", "import attention_limits as al; print(al.estimators().shape[1])")
    assert done.stdout == "3\n", done.stderr


def test_the_packages_of_which_a_file_of_the_user_may_take_the_place():
    written = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    assert sorted(re.split(r"[-\[>]", line)[0] for line in written) == sorted(name.lower() for name in NEEDED)
