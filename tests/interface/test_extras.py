"""An import that fails for a reason that the user can change ends in one line."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from attention_limits.interface.extras import extras
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


@pytest.mark.parametrize("command", ["estimators", "list"])
def test_a_numpy_of_the_user_that_ends_the_program(tmp_path, command):
    """Snakemake imports numpy itself, and ends before it reads the workflow."""
    (tmp_path / "numpy.py").write_text("import sys; sys.exit(3)\n")
    done = subprocess.run(
        [Path(sys.executable).with_name("attention-limits"), command],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert f"{tmp_path}/numpy.py ends the program when Python imports it" in done.stderr
    assert "Traceback" not in done.stderr
