"""A file is written completely or not at all, and never in the place of something that is no file."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from attention_limits.__main__ import main
from attention_limits.pipeline.base.errors import SpecError
from attention_limits.pipeline.base.files import replacing, require_place
from toy import REPOSITORY


def write(path, text="new"):
    with replacing(path) as temporary:
        temporary.write_text(text)


def test_a_pipe_or_a_folder_is_not_replaced(tmp_path):
    """A move would replace a device too, such as /dev/null; a pipe is no regular file either, and needs no rights to make one."""
    os.mkfifo(pipe := tmp_path / "pipe")
    (folder := tmp_path / "folder").mkdir()
    (link := tmp_path / "link").symlink_to(pipe)
    for path, what in ((pipe, "no regular file"), (link, "no regular file"), (folder, "is a folder")):
        with pytest.raises(SpecError, match=f"{path.name}: .*{what}"):
            write(path)
    assert pipe.is_fifo()
    assert sorted(os.listdir(tmp_path)) == ["folder", "link", "pipe"]


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_and_its_file_changes(tmp_path, there):
    (target := tmp_path / "elsewhere" / "target").parent.mkdir()
    if there:
        target.write_text("old")
    (link := tmp_path / "link").symlink_to(target)
    write(link)
    assert link.is_symlink()
    assert target.read_text() == "new"


@pytest.mark.parametrize("name", ["y" * 250 + ".csv", "é" * 120 + ".csv"])
def test_a_name_as_long_as_the_disk_allows(tmp_path, name):
    write(tmp_path / name)
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--output", "table.csv"], "--output: table.csv: must end in .nc"),
        (["--output", "folder"], "folder: is a folder; allowed: the path of a file"),
        (["--plot", "picture"], "--plot: picture: allowed: a name that ends in .eps"),
        (["--plot", "picture.xyz"], "--plot: picture.xyz: allowed: a name that ends in .eps"),
        (["--csv", "pipe"], "pipe: is no regular file, but a device or a pipe"),
    ],
)
def test_a_wrong_output_is_refused_before_the_computation(tmp_path, monkeypatch, capsys, words, message):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    os.mkdir("folder")
    model = ["--tokens", "2", "--ratio", "0.5", "--channel", "linear", "--alpha", "0.1"]
    assert main(["compute", "attention_indexed.state_evolution", *model, *words]) == 2
    assert capsys.readouterr().err.startswith(f"attention-limits: {message}")


@pytest.mark.parametrize("name", ["file/table.csv", "y" * 300 + ".csv"])
def test_a_path_that_cannot_be_is_one_line(tmp_path, monkeypatch, capsys, name):
    import xarray as xr

    import attention_limits.interface.compute as compute

    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    cube = xr.Dataset({"height": (("alpha", "replica"), [[1.0]])}, {"alpha": [0.1], "replica": [0]})
    monkeypatch.setattr(compute, "open", lambda path: cube)
    assert main(["export", "cube.nc", "--csv", name]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("attention-limits: [Errno ")


KILLED = """
import os, signal, sys
from pathlib import Path
from attention_limits.pipeline.base.files import replacing, write_text

place = sys.argv[1]
def stop(*_):
    os.kill(os.getpid(), signal.SIGKILL)
if place == "sync":
    os.fsync = stop
if place == "replace":
    os.replace = stop
write_text(Path("table.csv"), "new " * 100_000)
"""


@pytest.mark.parametrize("place", ["sync", "replace", "after"])
def test_a_kill_leaves_the_old_file_or_the_new_one(tmp_path, place):
    (path := tmp_path / "table.csv").write_text("old")
    done = subprocess.run([sys.executable, "-c", KILLED, place], cwd=tmp_path, check=False)
    assert done.returncode == (0 if place == "after" else -signal.SIGKILL)
    assert path.read_text() == ("new " * 100_000 if place == "after" else "old")


def test_a_full_disk_leaves_the_old_file_and_is_one_line(tmp_path, monkeypatch, capsys):
    """The limit of the size of files stands for the disk."""
    import resource

    import xarray as xr

    import attention_limits.interface.compute as compute

    monkeypatch.chdir(tmp_path)
    cube = xr.Dataset({"height": (("alpha", "replica"), [[1.0]] * 2000)}, {"alpha": list(range(2000)), "replica": [0]})
    monkeypatch.setattr(compute, "open", lambda path: cube)
    Path("table.csv").write_text("old")
    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        done = main(["export", "cube.nc", "--csv", "table.csv"])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert done == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line == "attention-limits: [Errno 27] File too large"
    assert os.listdir(tmp_path) == ["table.csv"]
    assert Path("table.csv").read_text() == "old"


def test_every_file_is_written_beside_its_place():
    """Writers of files, in the package and in tools/, write to the temporary path of `replacing`, or are `write_text`."""
    writers = re.compile(r"\.(write_text|write_bytes|savefig|to_netcdf|to_parquet)\(|\bopen\([^)]*[\"'][wax]b?[\"']")
    # Seconds of a write; a figure in memory; an example that a user types.
    allowed = ("data.to_netcdf(path", "super().savefig(fname", "self.savefig(content", ">>> ")
    files = [*(REPOSITORY / "src").rglob("*.py"), *(REPOSITORY / "tools").glob("*.py")]
    found = [
        f"{file.relative_to(REPOSITORY)}:{number}: {line.strip()}"
        for file in files
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if writers.search(line) and "temporary" not in line and not any(text in line for text in allowed)
    ]
    assert found == []


def test_a_folder_of_another_user_is_refused_before_the_computation(tmp_path, monkeypatch, capsys):
    """The tests may run as root, who may write everywhere."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "access", lambda place, mode: Path(place) != tmp_path)
    model = ["--tokens", "2", "--ratio", "0.5", "--channel", "linear", "--alpha", "0.1"]
    assert main(["compute", "attention_indexed.state_evolution", *model, "--csv", "new/table.csv"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line == f"attention-limits: [Errno 13] no permission to write into the folder: '{tmp_path}'"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        ('"$@" >&-', 0, ""),
        ('"$@" >&- 2>&-', 0, ""),
        (
            'mkdir gone && cd gone && rmdir ../gone && "$@"',
            1,
            "attention-limits: the working directory does not exist any more\n",
        ),
    ],
)
def test_odd_surroundings(tmp_path, command, code, message):
    words = [sys.executable, "-P", "-m", "attention_limits", "estimators"]
    done = subprocess.run(
        ["bash", "-c", command, "bash", *words], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (code, message)


def test_a_file_system_that_takes_no_files():
    """The permissions of `/proc` allow root what its driver refuses; they refuse it to other users."""
    if not Path("/proc/self").exists():
        pytest.skip("no /proc")
    reason = "no file can be made" if os.access("/proc", os.W_OK) else "no permission to write"
    with pytest.raises(PermissionError, match=f"{reason} in.* the folder: '/proc'"):
        require_place(Path("/proc/results/a.nc"))
