"""Ways to make things go wrong in a toy project."""

import contextlib
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest


def started(project, *arguments: str, **variables: str) -> subprocess.Popen:
    """Snakemake that runs in a separate process group."""
    return subprocess.Popen(
        [project.python, "-m", "snakemake", *arguments],
        cwd=project.folder,
        env=project.environment(**variables),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


@contextlib.contextmanager
def mounted(folder: Path, size: str) -> Iterator[Callable[[str], None]]:
    """A file system of a limited size in a folder; yields a function that mounts it again with other options."""
    folder.mkdir(exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "limits-test", str(folder)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"file systems cannot be mounted here: {done.stderr.strip()}")
    try:
        yield lambda options: subprocess.run(
            ["mount", "-o", f"remount,{options}", str(folder)], check=True, capture_output=True
        )
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def tree(root: int) -> list[int]:
    """The ids of a process and of all that descend from it."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, IndexError, ValueError):
            # The name, in brackets, may hold spaces; the parent is the second word after it.
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(folder.name))
    found, open_ = [], [root]
    while open_:
        found.append(open_.pop())
        open_ += children.get(found[-1], [])
    return found


def _has_job_since(project, begun: float) -> bool:
    """Whether a job has opened its log since."""
    for path in project.folder.glob("results/logs/**/*.log"):
        with contextlib.suppress(OSError):
            if path.stat().st_mtime >= begun:
                return True
    return False


def kill_at_random(project, random_: random.Random, *arguments: str, longest: float, **variables: str) -> str:
    """Start Snakemake, kill a part of it with SIGKILL after a random time, and return the name of this part.

    The part is one of these: all processes at once, as in a power cut; Snakemake alone, whose workers go on; one other process,
    which Snakemake outlives, so that the rest ends by itself.
    """
    process = started(project, *arguments, **variables)
    begun = time.time()
    if random_.random() < 0.8:
        # Not in the first seconds, in which Snakemake still plans its jobs, even on a busy machine.
        while process.poll() is None and not _has_job_since(project, begun):
            time.sleep(0.02)
    time.sleep(random_.uniform(0, longest))
    what = random_.choice(["all", "snakemake", "worker"])
    if process.poll() is not None:
        return "finished"
    family = tree(process.pid)
    if what == "all":
        os.killpg(process.pid, signal.SIGKILL)
    elif what == "snakemake" or len(family) == 1:
        what = "snakemake"
        process.kill()
    else:
        with contextlib.suppress(ProcessLookupError):
            os.kill(random_.choice(family[1:]), signal.SIGKILL)
    process.wait(300)
    return what
