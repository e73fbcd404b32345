"""Damaged files: nothing is made of them, and a message gives the command that makes them again."""

import os

import netCDF4
import pytest
import xarray as xr

pytestmark = pytest.mark.slow

CUBE = "results/cubes/toy/growth_curve.nc"
SPEC = "config/toy/experiments/growth_curve.yaml"
FIGURE = "results/figures/toy/toy_heights.pdf"


def truncate(path):
    path.write_bytes(path.read_bytes()[:-200])


def flip(path):
    """One bit of a stored number."""
    content = bytearray(path.read_bytes())
    with netCDF4.Dataset(path) as opened:
        before = opened["height"][:].tobytes()
    for place in range(len(content) - 1, 0, -16):
        content[place] ^= 1
        path.write_bytes(content)
        try:
            with netCDF4.Dataset(path) as opened:
                if opened["height"][:].tobytes() != before:
                    return
        except (OSError, RuntimeError):
            return
        content[place] ^= 1
    raise AssertionError("no bit belongs to the heights")


def replace_by_another_chunk(path):
    other = next(item for item in path.parent.glob("[!.]*.nc") if item != path)
    path.write_bytes(other.read_bytes())


def replace_by_another_seed(path):
    """A file that calls itself the same chunk, and was made from another seed."""
    with xr.open_dataset(path) as opened:
        other = opened.load()
    other.attrs["point_digest"] = other.attrs["point_digest"][::-1]
    other.to_netcdf(path)


def relative(project, path):
    return str(path.relative_to(project.folder))


def same_content(project, sound):
    """Whether cube and chunks are all there, with the bytes of the sound project."""
    paths = [project.folder / CUBE, *project.chunks()]
    same = all(path.read_bytes() == (sound.folder / path.relative_to(project.folder)).read_bytes() for path in paths)
    return same and len(project.chunks()) == len(sound.chunks())


def test_damaged_chunks_are_named_with_the_command_that_makes_them_again(finished, sound):
    """Also where the damage left the date of the file, and for a file of another seed."""
    counting, first, second = finished.chunks()
    damages = {first: replace_by_another_chunk, second: flip, counting: replace_by_another_seed}
    for path, damage in damages.items():
        date = path.stat()
        damage(path)
        os.utime(path, ns=(date.st_atime_ns, date.st_mtime_ns))
    # A start of Snakemake opens no results.
    assert finished.planned() == []
    (finished.folder / CUBE).unlink()
    stopped = finished.snakemake(CUBE)
    assert stopped.returncode == 1
    assert finished.computed() == []
    found = [line for line in stopped.stderr.splitlines() if line.startswith("attention-limits: ")]
    for line, path in zip(found, (first, second, counting), strict=False):
        name = relative(finished, path)
        assert f"{name}: " in line
        assert line.endswith(f"; repair: rm -f {name} && snakemake {name} --config scale=laptop seed=0")
    names = " ".join(relative(finished, path) for path in (first, second, counting))
    command = f"rm -f {names} && snakemake {CUBE} --config scale=laptop seed=0"
    assert found[3:] == [f"attention-limits: {CUBE}: 3 chunks to repair; all: {command}"]
    for path in damages:
        path.unlink()
    done = finished.snakemake("--cores", "2", CUBE)
    assert done.returncode == 0, done.stderr
    assert same_content(finished, sound)
    assert len(finished.computed()) == 16
    assert finished.planned(CUBE) == []


def test_a_chunk_of_an_older_specification_is_not_damaged(finished):
    """Edited by mistake while a run goes on: what was computed stays where it is."""
    finished.edit(SPEC, "steps: 3", "steps: 4")
    missing = finished.chunks()[0]
    missing.rename(missing.with_suffix(".away"))
    refused = finished.program("merge", SPEC)
    assert refused.returncode == 2
    lines = refused.stderr.splitlines()
    assert [line.count("was made with another specification, seed or code") for line in lines] == [1, 1, 0, 0]
    assert f"{relative(finished, missing)}: is missing; repair: " in lines[2]
    assert lines[2].endswith(f"&& snakemake {relative(finished, missing)} --config scale=laptop seed=0")
    missing.with_suffix(".away").rename(missing)
    finished.edit(SPEC, "steps: 4", "steps: 3")
    assert finished.planned() == []


def test_a_damaged_cube_is_not_drawn(finished, sound):
    truncate(finished.folder / CUBE)
    summary = finished.program("summary")
    assert summary.returncode == 0
    assert f"{CUBE}: is " in summary.stdout
    found = finished.program("draw", "toy/heights", CUBE, "--output", FIGURE)
    assert found.returncode == 2
    (line,) = found.stderr.splitlines()
    assert f"{CUBE}: is " in line
    assert line.endswith(f"; repair: rm -f {CUBE} && snakemake {CUBE}")
    assert (finished.folder / FIGURE).read_bytes() == (sound.folder / FIGURE).read_bytes()
