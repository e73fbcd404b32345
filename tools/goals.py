"""Measure both goals of docs/speed.md in a new clone: `python tools/goals.py FOLDER`, on a machine that runs nothing else.

Runs `make run`, then `make run FIGURES=all`, in FOLDER, and writes the wall and CPU seconds into docs/published.json. Afterwards
`make publish RESULTS=FOLDER/results` writes the times of the jobs and all tables.
"""

import json
import resource
import subprocess
import sys
import time
from pathlib import Path

from attention_limits.pipeline.base.files import write_text

ROOT = Path(__file__).parents[1]
DATA = ROOT / "docs" / "published.json"


def timed(folder, *arguments):
    """Wall and CPU seconds of `make run` in a checkout, and wall seconds until its first figure, None if one was there before."""
    before, start, first = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic(), None
    drawn = set(folder.glob("results/figures/*/*.png"))
    process = subprocess.Popen(["make", "run", *arguments], cwd=folder)
    while process.poll() is None:
        if first is None and not drawn and any(folder.glob("results/figures/*/*.png")):
            first = time.monotonic() - start
        time.sleep(0.5)
    if process.returncode:
        sys.exit(f"make run {' '.join(arguments)}: exit code {process.returncode}")
    wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, first


def main():
    """Clone, run, write."""
    folder = Path(sys.argv[1])
    subprocess.run(["git", "clone", "--quiet", ROOT, folder], check=True)
    papers, others = timed(folder), timed(folder, "FIGURES=all")
    data = json.loads(DATA.read_text(encoding="utf-8"))
    data["laptop"]["runs"] = {
        "papers": {"wall": round(papers[0]), "cpu": round(papers[1]), "first": round(papers[2])},
        "all": {"wall": round(papers[0] + others[0]), "cpu": round(papers[1] + others[1])},
    }
    write_text(DATA, json.dumps(data, indent=1, ensure_ascii=False) + "\n")
    print(f"{DATA.relative_to(ROOT)}: {data['laptop']['runs']}")


if __name__ == "__main__":
    main()
