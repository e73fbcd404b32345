"""Faults of real machines: a message names each, it costs only the running jobs, and the data stay the same."""

import errno
import os
import shutil
import subprocess
import time

import pytest
import xarray as xr

from attention_limits.__main__ import main
from faults import mounted
from toy import imported

pytestmark = pytest.mark.slow

CUBE = "results/cubes/toy/growth_curve.nc"
FIGURE = "results/figures/toy/toy_heights.pdf"
SPEC = "config/toy/experiments/growth_curve.yaml"
GROWTH = "src/attention_limits/toy/estimators/growth.py"


def cube(project):
    return (project.folder / CUBE).read_bytes()


def test_an_exception_in_one_chunk_is_named_and_the_others_finish(toy, sound):
    toy.edit(
        GROWTH,
        "        for j, replica",
        "        assert alpha < float(os.environ['TOY_END']), 'no root'\n        for j, replica",
    )
    failed = toy.snakemake("--cores", "2", CUBE, TOY_END="0.3")
    assert failed.returncode == 1
    (log,) = [path for path in toy.folder.glob("results/logs/chunks/**/*.log") if "no root" in path.read_text()]
    text = failed.stdout + failed.stderr
    assert str(log.relative_to(toy.folder)) in text
    (messages,) = (toy.folder / ".snakemake/log").glob("*.log")
    assert f"growth {log.stem}" in messages.read_text()
    assert "AssertionError: no root" in text
    assert sorted(path.parent.name for path in toy.chunks()) == ["counting", "growth"]
    toy.computed()
    done = toy.snakemake("--cores", "2", CUBE, TOY_END="9")
    assert done.returncode == 0, done.stderr
    assert toy.computed() == sorted(f"growth {alpha} {replica}" for alpha in (0.4, 0.6) for replica in range(3))
    with xr.open_dataset(toy.folder / CUBE) as mended, xr.open_dataset(sound.folder / CUBE) as expected:
        xr.testing.assert_identical(mended.drop_attrs(), expected.drop_attrs())


def test_a_full_disk(toy, sound, monkeypatch, capsys):
    """The job prints the reason and leaves no half file; with more space it goes on."""
    monkeypatch.chdir(toy.folder)
    results = toy.folder / "results"
    growth = ["run", SPEC, "--estimator", "growth"]
    with imported(toy), mounted(results, "32k") as resize:
        assert main(growth) == 1
        assert os.strerror(errno.ENOSPC) in capsys.readouterr().err
        assert list(results.rglob(".*.nc")) == []
        resize("size=64m")
        assert [main(arguments) for arguments in (growth, [*growth[:-1], "counting"], ["merge", SPEC])] == [0, 0, 0]
        assert cube(toy) == cube(sound)


def test_results_that_cannot_be_written(finished, sound):
    results = finished.folder / "results"
    content = finished.folder / "content"
    results.rename(content)
    results.mkdir()
    with mounted(results, "64m") as remount:
        shutil.copytree(content, results, dirs_exist_ok=True)
        remount("ro")
        assert finished.planned() == []
        # Commands that only read still work.
        assert finished.program("show", CUBE).returncode == 0
        by_hand = finished.program("merge", SPEC)
        assert by_hand.returncode == 1
        (line,) = by_hand.stderr.splitlines()
        assert os.strerror(errno.EROFS) in line
        assert cube(finished) == cube(sound)
        remount("rw")
        assert finished.planned() == []


def test_a_dry_run_where_checkout_and_results_belong_to_another_user(finished, tmp_path):
    """They cannot be written. Snakemake needs a folder for its locks; a copy of the records says that all is done."""
    content = finished.folder.with_name("content")
    finished.folder.rename(content)
    looking, computing = tmp_path / "looking", tmp_path / "computing"
    shutil.copytree(content / ".snakemake", looking / ".snakemake")
    (looking / "results").symlink_to(finished.folder / "results")
    with mounted(finished.folder, "200m") as remount:
        shutil.copytree(content, finished.folder, dirs_exist_ok=True)
        remount("ro")
        assert finished.planned("--directory", str(looking)) == []
        assert len(finished.planned("--directory", str(computing))) == 5
    # A start writes nothing of ours.
    assert [path.name for path in computing.iterdir()] == [".snakemake"]


def test_two_commands_at_once_write_the_same_file(toy, sound):
    command = [toy.python, "-m", "attention_limits", "run", SPEC, "--estimator", "growth"]
    both = [subprocess.Popen(command, cwd=toy.folder, env=toy.environment(TOY_SLEEP="0.05")) for _ in range(2)]
    assert [process.wait(120) for process in both] == [0, 0]
    for path in toy.chunks():
        assert path.read_bytes() == (sound.folder / path.relative_to(toy.folder)).read_bytes()


def test_half_written_files_and_dates_in_the_future_make_no_work(finished):
    """A job was killed while it wrote, and the clock of the file server is ahead."""
    path = finished.chunks()[0]
    half = path.with_name(f".{path.stem}.1234.tmp.nc")
    half.write_bytes(path.read_bytes()[:-100])
    ahead = time.time() + 3600
    for path in (*finished.chunks(), finished.folder / CUBE):
        os.utime(path, (ahead, ahead))
    assert finished.planned() == []
