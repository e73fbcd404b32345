"""How the start of the workflow, a job and the merge grow with the number of chunks: `python tests/cluster/scale.py 1000 10000`.

CPU seconds and largest memory of: loading the project alone, a dry run of all jobs with the profile for Slurm (whose plugin
`make slurm` installs), a dry run for one chunk (each job on a cluster does this work twice), the job itself, the merge, and a
dry run after it. The chunks of the merge are written here, one point each, with 2000 numbers.
"""

import functools
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from toy import Toy

LOAD = """\
from pathlib import Path
from attention_limits.pipeline.experiments.project import load_project
paths = load_project(Path()).experiments["toy"]["growth_curve"].chunk_paths("results")
"""
FILL = """\
import sys
from pathlib import Path
import numpy as np, xarray as xr
from attention_limits.pipeline.base.files import canonical_json
from attention_limits.pipeline.cubes.cube_bytes import annotate, common_attributes, write_atomic
from attention_limits.pipeline.base.provenance import versions
from attention_limits.pipeline.experiments.experiment import load_experiment
import os
os.fsync = lambda descriptor: None
experiment = load_experiment(Path("config/toy/experiments/growth_curve.yaml"))
estimator = experiment.estimators["growth"]
for chunk in estimator.chunks:
    shape = [1, 1]
    trace = np.random.default_rng(chunk.replicas[0]).normal(size=(1, 1, 2000))
    dims = ("alpha", "replica")
    data = {"height": (dims, trace[..., 0]), "converged": (dims, trace[..., 0] > 0), "steps": (dims, np.full(shape, 3)),
            "trace": ((*dims, "iteration"), trace)}
    made = xr.Dataset(data, {"alpha": chunk.grid["alpha"], "replica": chunk.replicas, "iteration": np.arange(2000)})
    made = annotate(made, "toy", ["alpha"])
    made.attrs = {**common_attributes(experiment, 0, versions()), "spec": canonical_json(estimator.effective(chunk)),
                  **estimator.attributes(chunk, 0), "code_digest": estimator.code}
    write_atomic(made, Path(estimator.path("results", chunk)))
"""


def measured(toy: Toy, arguments: list[str]) -> str:
    """CPU seconds and the largest memory of one command."""
    process = subprocess.Popen(
        [sys.executable, *arguments],
        cwd=toy.folder,
        env=toy.environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        preexec_fn=functools.partial(resource.setrlimit, resource.RLIMIT_CORE, (0, 0)),
    )
    message = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(message[-3000:])
    return f"{usage.ru_utime + usage.ru_stime:7.1f} s {usage.ru_maxrss / 1024:6.0f} MB"


def main(numbers: list[int], merging: bool) -> None:
    for number in numbers:
        with tempfile.TemporaryDirectory(prefix="limits-scale-") as folder:
            toy = Toy(Path(folder) / "project")
            spec = "config/toy/experiments/growth_curve.yaml"
            toy.edit(
                spec,
                "    replicas: 3\n    chunk: {alpha: 2}\n",
                f"    replicas: {number}\n    chunk: {{alpha: 1, replicas: 1}}\n",
            )
            toy.edit(spec, "grid: {alpha: {start: 0.0, stop: 0.6, num: 4}}", "grid: {alpha: {values: [0.2]}}")
            toy.edit(spec, "smoke: {estimators: {growth: {grid: {alpha: {num: 2}}}}}", "smoke: {}")
            toy.edit(spec, "growth: {replicas: 5}", f"growth: {{replicas: {number}}}")
            print(f"{number} chunks", flush=True)
            print("  load the project ", measured(toy, ["-c", LOAD]), flush=True)
            dry = ["-m", "snakemake", "-n", "--quiet", "all", "--workflow-profile", "workflow/profiles/slurm"]
            print("  dry run of all   ", measured(toy, [*dry, "--", "results/cubes/toy/growth_curve.nc"]), flush=True)
            one = subprocess.run(
                [sys.executable, "-c", LOAD + "print(paths[-2])"],
                cwd=toy.folder, env=toy.environment(), capture_output=True, text=True, check=True,
            ).stdout.strip()  # fmt: skip
            print("  dry run of one   ", measured(toy, [*dry, "--", one]), flush=True)
            command = ["-m", "attention_limits", "run", spec, "--estimator", "growth", "--chunk", Path(one).stem]
            print("  a job            ", measured(toy, command), flush=True)
            if merging:
                subprocess.run([sys.executable, "-c", FILL], cwd=toy.folder, env=toy.environment(), check=True)
                subprocess.run(
                    [sys.executable, "-m", "attention_limits", "run", spec, "--estimator", "counting"],
                    cwd=toy.folder, env=toy.environment(), check=True, capture_output=True,
                )  # fmt: skip
                print("  a job beside all ", measured(toy, [*command, "--output", one]), flush=True)
                print("  the merge        ", measured(toy, ["-m", "attention_limits", "merge", spec]), flush=True)
                size = (toy.folder / "results/cubes/toy/growth_curve.nc").stat().st_size / 2**20
                print(f"  the cube on disk  {size:.0f} MB", flush=True)
                print(
                    "  nothing to do    ", measured(toy, [*dry, "--", "results/cubes/toy/growth_curve.nc"]), flush=True
                )


if __name__ == "__main__":
    main([int(item) for item in sys.argv[1:] if item.isdigit()], "--no-merge" not in sys.argv)
