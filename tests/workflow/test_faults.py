"""What goes wrong on real machines: it is named, it costs what was in flight, and the data come out the same."""

import errno
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from faults import mounted, started, wait_for_files
from toy import Toy

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
    failed = toy.snakemake("--cores", "2", TOY_END="0.3")
    assert failed.returncode == 1
    (log,) = [path for path in toy.folder.glob("results/logs/chunks/**/*.log") if "no root" in path.read_text()]
    text = failed.stdout + failed.stderr
    assert str(log.relative_to(toy.folder)) in text
    assert f"growth {log.stem}" in text
    assert "AssertionError: no root" in text
    assert sorted(path.parent.name for path in toy.chunks()) == ["counting", "growth"]
    toy.computed()
    done = toy.snakemake("--cores", "2", TOY_END="9")
    assert done.returncode == 0, done.stderr
    assert toy.computed() == sorted(f"growth {alpha} {replica}" for alpha in (0.4, 0.6) for replica in range(3))
    with xr.open_dataset(toy.folder / CUBE) as mended, xr.open_dataset(sound.folder / CUBE) as expected:
        xr.testing.assert_identical(mended.drop_attrs(), expected.drop_attrs())


def test_nan_in_the_middle_of_an_iteration_is_data(toy):
    toy.edit(GROWTH, "    coords =", "    height[1, 2] = np.inf - np.inf\n    coords =")
    done = toy.snakemake("--cores", "2")
    assert done.returncode == 0, done.stderr
    with xr.open_dataset(toy.folder / CUBE) as made:
        growth = made.sel(estimator="growth", replica=2)
        assert np.isnan(growth.height.values[[1, 3]]).all()
        assert (growth.converged.values[[1, 3]] == 0).all()
        assert growth.trace.sel(iteration=0).notnull().all()
        assert made.sel(estimator="growth", replica=[0, 1]).height.notnull().all()
    shown = toy.program("show", CUBE)
    assert re.search(r"[1-9] of 12 points of growth not converged", shown.stdout)
    assert (toy.folder / FIGURE).exists()
    assert toy.planned() == []


def test_the_other_chunks_do_without_an_emptied_one(finished):
    finished.chunks()[0].write_bytes(b"")
    assert finished.program("run", SPEC, "--estimator", "growth").returncode == 0


def test_a_full_disk(toy, sound):
    results = toy.folder / "results"
    with mounted(results, "32k") as resize:
        failed = toy.snakemake("--cores", "1", CUBE)
        assert failed.returncode == 1
        text = failed.stdout + failed.stderr
        assert os.strerror(errno.ENOSPC) in text
        assert not (toy.folder / CUBE).exists()
        kept = toy.chunks()
        assert all(path.read_bytes() == (sound.folder / path.relative_to(toy.folder)).read_bytes() for path in kept)
        assert list(results.rglob(".*.nc")) == []
        resize("size=64m")
        done = toy.snakemake("--cores", "1", CUBE)
        assert done.returncode == 0, done.stderr
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
        # What only reads goes on reading.
        assert finished.program("show", CUBE).returncode == 0
        finished.edit(SPEC, "steps: 3", "steps: 4")
        failed = finished.snakemake("--cores", "1")
        assert failed.returncode == 1
        assert "Write-protected output files" in failed.stderr
        finished.edit(SPEC, "steps: 4", "steps: 3")
        by_hand = finished.program("merge", SPEC)
        assert by_hand.returncode == 1
        (line,) = by_hand.stderr.splitlines()
        assert os.strerror(errno.EROFS) in line
        assert cube(finished) == cube(sound)
        remount("rw")
        assert finished.planned() == []


def test_two_snakemakes_at_once(toy, sound):
    first = started(toy, "--cores", "1", CUBE, TOY_SLEEP="0.5")
    try:
        wait_for_files(toy, "results/logs/chunks/**/*.log", 1)
        second = toy.snakemake("--cores", "1", CUBE)
        assert second.returncode == 1
        assert "Directory cannot be locked" in second.stdout + second.stderr
        assert first.poll() is None
    finally:
        assert first.wait(120) == 0
    assert cube(toy) == cube(sound)
    assert toy.planned(CUBE) == []


def test_two_commands_at_once_write_the_same_file(toy, sound):
    command = [toy.python, "-m", "attention_limits", "run", SPEC, "--estimator", "growth"]
    both = [subprocess.Popen(command, cwd=toy.folder, env=toy.environment(TOY_SLEEP="0.05")) for _ in range(2)]
    assert [process.wait(120) for process in both] == [0, 0]
    for path in toy.chunks():
        assert path.read_bytes() == (sound.folder / path.relative_to(toy.folder)).read_bytes()


def test_a_worker_that_is_killed_leaves_the_others_alone(toy, sound):
    running = started(toy, "--cores", "1", CUBE, TOY_SLEEP="0.3")
    wait_for_files(toy, "computed.log", 1)
    for worker in workers(toy, " run "):
        os.kill(worker, signal.SIGKILL)
    assert running.wait(120) == 1
    assert len(toy.chunks()) == 2
    assert toy.snakemake("--cores", "1", CUBE).returncode == 0
    assert cube(toy) == cube(sound)


def test_an_interrupted_merge_leaves_the_old_cube(finished, sound):
    """Killed with the new file written and not yet in its place."""
    wait = "        __import__('time').sleep(float(__import__('os').environ.get('TOY_WAIT', 0)))\n"
    finished.edit(
        "src/attention_limits/layout.py",
        "    with replacing(path) as temporary:\n",
        f"    with replacing(path) as temporary:\n        temporary.touch()\n{wait}",
    )
    finished.edit(SPEC, "title: Growth of a toy", "title: Growth")
    running = started(finished, "--cores", "1", CUBE, TOY_WAIT="60")
    wait_for_files(finished, "results/cubes/toy/.*.nc", 1)
    # Snakemake removes the output of a job before it starts: the program by itself would have left it.
    for worker in workers(finished, " merge "):
        os.kill(worker, signal.SIGKILL)
    assert running.wait(120) == 1
    assert not (finished.folder / CUBE).exists()
    finished.edit(SPEC, "title: Growth", "title: Growth of a toy")
    assert finished.snakemake("--cores", "1", CUBE).returncode == 0
    assert finished.computed() == []
    with xr.open_dataset(finished.folder / CUBE) as made, xr.open_dataset(sound.folder / CUBE) as expected:
        assert made.attrs["data_digest"] == expected.attrs["data_digest"]

    (finished.folder / "by_hand.nc").write_text("old")
    with pytest.raises(subprocess.TimeoutExpired):
        subprocess.run(
            [finished.python, "-m", "attention_limits", "merge", SPEC, "--output", "by_hand.nc"],
            cwd=finished.folder,
            env=finished.environment(TOY_WAIT="60"),
            timeout=8,
            check=False,
            capture_output=True,
        )
    assert (finished.folder / "by_hand.nc").read_text() == "old"


def test_what_a_killed_job_left_half_written_is_passed_over_and_listed(finished, sound):
    path = finished.chunks()[0]
    half = path.with_name(f".{path.stem}.1234.tmp.nc")
    half.write_bytes(path.read_bytes()[:-100])
    assert finished.planned() == []
    finished.edit(SPEC, "num: 4", "num: 7")
    assert finished.snakemake("--cores", "1", CUBE).returncode == 0
    assert str(half.relative_to(finished.folder)) in finished.program("list", "--stale").stdout.split()


def test_dates_in_the_future(finished, sound):
    """The clock of a file server that is ahead makes no work where the content is the same; elsewhere it is told."""
    ahead = time.time() + 3600
    for path in (*finished.chunks(), finished.folder / CUBE):
        os.utime(path, (ahead, ahead))
    assert finished.planned() == []
    finished.edit(SPEC, "1.0e-6", "1.0e-5")
    stopped = finished.snakemake("--cores", "2", CUBE)
    assert stopped.returncode == 1
    assert "This could indicate a clock skew problem" in stopped.stderr
    assert finished.computed() == sorted(f"counting {alpha} {replica}" for alpha in (0.2, 0.4) for replica in (0, 1))
    for path in finished.chunks():
        os.utime(path)
    finished.edit(SPEC, "1.0e-5", "1.0e-6")
    assert finished.snakemake("--cores", "2", CUBE).returncode == 0
    assert cube(finished) == cube(sound)


def test_an_experiment_file_that_disappears(toy):
    running = started(toy, "--cores", "1", CUBE, TOY_SLEEP="0.5")
    wait_for_files(toy, "results/logs/chunks/**/*.log", 1)
    (toy.folder / SPEC).unlink()
    assert running.wait(120) == 1
    logs = [path.read_text() for path in toy.folder.glob("results/logs/chunks/**/*.log")]
    assert any(f"{SPEC}: cannot be read: No such file" in text for text in logs)


def test_a_working_directory_with_any_name(tmp_path, sound):
    odd = Toy(tmp_path / 'it\'s a $(touch PWNED) "project"; {of} mine')
    done = odd.snakemake("--cores", "2")
    assert done.returncode == 0, done.stderr
    assert cube(odd) == cube(sound)
    assert odd.planned() == []
    assert list(tmp_path.rglob("PWNED")) == []


def workers(project, word):
    """The ids of the running commands of the project's own, by a word of their command line."""
    found = []
    for process in os.listdir("/proc"):
        if process.isdigit():
            try:
                line = Path(f"/proc/{process}/cmdline").read_text().replace("\0", " ")
                inside = os.readlink(f"/proc/{process}/cwd") == str(project.folder)
            except OSError:
                continue
            if inside and f"-m attention_limits{word}" in line and "bash" not in line and "/sh" not in line.split()[0]:
                found.append(int(process))
    return found
