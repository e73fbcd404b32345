"""A file is written completely or not at all, and never in the place of something that is no file."""

import os

import pytest

from attention_limits.__main__ import main
from attention_limits.pipeline.base.errors import SpecError
from attention_limits.pipeline.base.files import replacing


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
